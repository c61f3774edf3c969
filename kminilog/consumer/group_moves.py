"""Where the committed offsets of a group would go: a plan, before anything is changed.

    earliest   the first offset that can be read
    latest     the log end: only what comes later is read
    N          offset N, which must be in the log or at its end
    -N         N messages before the log end, or the first one if there are not so many

A move back means that messages are read again. A move forward means that some are skipped. Nothing
is written here: who agrees with the plan commits it. Source: Kafka: ConsumerGroupCommand
(--reset-offsets), kcat (-o -N).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kminilog.consumer.interface import MessageSource
from kminilog.errors import OffsetOutOfRangeError
from kminilog.format.names import TopicPartition

EARLIEST = "earliest"
LATEST = "latest"


class Move(NamedTuple):
    """One committed offset, None if there is none, and where it would go."""

    topic_partition: TopicPartition
    committed: int | None
    new_offset: int
    log_start_offset: int
    log_end_offset: int

    @property
    def again_count(self) -> int:
        """How many messages that are still in the log would be read again."""
        if self.committed is None:
            return 0
        return max(0, min(self.committed, self.log_end_offset) - self.new_offset)

    @property
    def skipped_count(self) -> int:
        """How many messages would be skipped; without a committed offset, from the log start."""
        committed = self.log_start_offset if self.committed is None else self.committed
        return max(0, self.new_offset - max(committed, self.log_start_offset))


def plan_moves(
    source: MessageSource,
    committed: Mapping[TopicPartition, int],
    partitions: Iterable[TopicPartition],
    target: int | str,
) -> list[Move]:
    """Return a move for each of these partitions, in their order.

    `target` is "earliest", "latest" or a number; below zero it counts from the log end. Raises
    OffsetOutOfRangeError for an offset that is not in a log, and what the source raises.
    """
    return [_move(source, committed.get(found), found, target) for found in partitions]


def offset_of(target: int | str, log_start_offset: int, log_end_offset: int) -> int:
    """Return the offset that a target means in a log, also where it is not in that log.

    >>> offset_of("earliest", 3, 9), offset_of("latest", 3, 9), offset_of(7, 3, 9)
    (3, 9, 7)
    >>> offset_of(-2, 3, 9), offset_of(-99, 3, 9)
    (7, 3)
    """
    if isinstance(target, str):
        return {EARLIEST: log_start_offset, LATEST: log_end_offset}[target]
    return target if target >= 0 else max(log_start_offset, log_end_offset + target)


def _move(
    source: MessageSource, committed: int | None, partition: TopicPartition, target: int | str
) -> Move:
    start, end = source.beginning(partition), source.end(partition)
    new_offset = offset_of(target, start, end)
    if not start <= new_offset <= end:
        error = OffsetOutOfRangeError(
            f"{partition}: nothing was changed",
            offset=new_offset,
            log_start_offset=start,
            log_end_offset=end,
        )
        error.add_note(f"the log end itself, {end}, is possible, too")
        raise error
    return Move(partition, committed, new_offset, start, end)
