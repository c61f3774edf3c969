"""Which segments a partition has: the list that a reader asks for.

Here is the plain list: a directory as it is. Beside a publication another one leaves out what is
not committed (publish/visibility.py). Source: S1 5.1; Kafka: Log.loadSegments.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from kminilog.format.names import LOG_SUFFIX, parse_segment_file

Result = TypeVar("Result")


class PartitionFiles(Protocol):
    def names(self) -> list[str]:
        """List the names of all files; FileNotFoundError if the directory is gone."""
        ...

    def segments(self) -> dict[int, Path]:
        """List the segments: base offsets, and the directory in which each is to be read."""
        ...

    def is_overtaken(self) -> bool:
        """Tell if what was read since the last listing may not be what the partition holds."""
        ...

    def undisturbed(self, work: Callable[[], Result], look: Callable[[], object]) -> Result:
        """Return what a piece of work returns that reads; if it was overtaken, look and repeat."""
        ...


class PlainFiles:
    """The files of a directory, as they are: nothing overtakes them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def names(self) -> list[str]:
        return os.listdir(self._directory)

    def segments(self) -> dict[int, Path]:
        return dict.fromkeys(segments_among(self.names()), self._directory)

    def is_overtaken(self) -> bool:
        return False

    def undisturbed(self, work: Callable[[], Result], look: Callable[[], object]) -> Result:
        return work()


def segments_among(names: list[str]) -> list[int]:
    """Return the base offsets of the segments whose `.log` is among these names.

    >>> segments_among(["00000000000000000007.log", "00000000000000000007.index", "notes.txt"])
    [7]
    """
    parsed = filter(None, map(parse_segment_file, names))
    return [base_offset for base_offset, suffix in parsed if suffix == LOG_SUFFIX]


def nobody_counts() -> None:
    """Take no note of files that are gone: nobody keeps files of this log open."""
