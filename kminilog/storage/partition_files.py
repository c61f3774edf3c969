"""Which segments a partition has: the interface that a reader asks, and its plain implementation.

The plain one lists a directory as it is. The one of publish/visibility.py leaves out what a job
has not committed yet. Source: S1 5.1; Kafka: Log.loadSegments.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from kminilog.format.names import LOG_SUFFIX, parse_segment_file

T = TypeVar("T")


class PartitionFiles(Protocol):
    """What a reader may see of one partition's directory."""

    def names(self) -> list[str]:
        """Return the names of all files; FileNotFoundError if the directory is gone."""
        ...

    def segments(self) -> dict[int, Path]:
        """Return the directory of each segment, by base offset; FileNotFoundError as `names`."""
        ...

    def has_changed(self) -> bool:
        """Tell if a job has come or gone since the last listing: what was read may be wrong."""
        ...

    def retry_if_changed(self, work: Callable[[], T], list_again: Callable[[], object]) -> T:
        """Return what `work` reads; if a job has changed that, call `list_again` and retry."""
        ...


class PlainFiles:
    """The files of a directory as they are; no job changes them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def names(self) -> list[str]:
        return os.listdir(self._directory)

    def segments(self) -> dict[int, Path]:
        return dict.fromkeys(segments_among(self.names()), self._directory)

    def has_changed(self) -> bool:
        return False

    def retry_if_changed(self, work: Callable[[], T], list_again: Callable[[], object]) -> T:
        return work()


def segments_among(names: list[str]) -> list[int]:
    """Return the base offsets of the segments whose `.log` is among these names.

    >>> segments_among(["00000000000000000007.log", "00000000000000000007.index", "notes.txt"])
    [7]
    """
    parsed = filter(None, map(parse_segment_file, names))
    return [base_offset for base_offset, suffix in parsed if suffix == LOG_SUFFIX]


def no_reader_to_tell() -> None:
    """Do nothing: no reader keeps files of this log open."""
