"""Notices: what a user should know although it is no error, such as a gap that a read skipped.

A caller passes a callable, which gets each notice; its text is one line. Such a callable is `warn`:
it makes a Python warning of the class `KMiniLogWarning`, of which stderr shows each text once.
Source: ours.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

from kminilog.format.names import TopicPartition


class KMiniLogWarning(UserWarning):
    """A notice that `warn` got."""


class Gap(NamedTuple):
    """Offsets from `first_offset` to `next_offset` - 1 that a log of another program does not hold.

    The next message is in the file `path` at byte `position`, or further on if the gap is at the
    end of that file.
    """

    topic_partition: TopicPartition
    first_offset: int
    next_offset: int
    path: str
    position: int

    def __str__(self) -> str:
        last = self.next_offset - 1
        missing = f"offset {last} is"
        if last > self.first_offset:
            missing = f"offsets {self.first_offset} to {last} are"
        place = f"{self.path}: byte {self.position}"
        return f"{self.topic_partition}: a gap: {missing} not in the log ({place})"


OnGap = Callable[[Gap], object]


def warn(notice: object) -> None:
    """Issue the notice as a Python warning."""
    warnings.warn(str(notice), KMiniLogWarning, stacklevel=3)
