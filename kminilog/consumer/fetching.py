"""The next offset of each partition, and the records from there, partition by partition.

Partitions take turns, so that a busy one does not make others wait. Records that were fetched but
not returned yet are kept for the next call. A position is the offset of the next record to return.
If a partition has no position, or one that is out of range, `reset` decides:

    earliest  from the first offset that can be read
    latest    from the end on
    none      an error: NoOffsetError, OffsetOutOfRangeError

If a position was out of range, `on_reset` gets a notice, because records are skipped or repeated.

An offset counts only in the topic that it was read from. If that topic was deleted, and another one
has its name now, reading begins anew: at the first offset of the new topic, because all of its
messages came later. `on_reset` gets a notice of that, too. What was fetched is checked after the
fetch: so it never comes from another topic than its position.

Source: S3; Kafka: Fetcher, auto.offset.reset, KIP-516 (topic ids).
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from kminilog.consumer.errors import NoOffsetError
from kminilog.consumer.interface import ConsumerRecord, MessageSource
from kminilog.errors import (
    KMiniLogError,
    LeaderNotAvailableError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from kminilog.format.message import Message
from kminilog.format.names import TopicPartition

Starts = Mapping[TopicPartition, int]


class OffsetReset(NamedTuple):
    """A position outside of the log, and the offset at which reading continues instead.

    `reset` is the value of auto.offset.reset. `is_committed` tells if the position was a committed
    offset. With `is_replaced` it was one in an earlier topic of the same name.
    """

    topic_partition: TopicPartition
    offset: int
    log_start_offset: int
    log_end_offset: int
    reset: str
    next_offset: int
    is_committed: bool
    is_replaced: bool = False

    def __str__(self) -> str:
        what = "the committed offset" if self.is_committed else "offset"
        if self.is_replaced:
            return (
                f"{self.topic_partition}: topic {self.topic_partition.topic} was deleted and "
                f"created again; {what} {self.offset} was one of the old topic; reading begins "
                f"anew at {self.next_offset}"
            )
        where = f"below the log start {self.log_start_offset}"
        if self.offset > self.log_end_offset:
            where = f"above the log end {self.log_end_offset}"
        return (
            f"{self.topic_partition}: {what} {self.offset} is {where}; reading goes on at "
            f"{self.next_offset}, as auto.offset.reset = {self.reset} says"
        )


class _Former(NamedTuple):
    """A position that was given up, or an outdated committed one, and the topic that it was in."""

    topic_id: str | None
    offset: int
    is_committed: bool


_ANOTHER_TOPIC = ""  # no topic has this id


class Fetching:
    """The positions of one consumer, and what it has fetched."""

    def __init__(
        self,
        source: MessageSource,
        *,
        reset: str,
        max_bytes: int,
        on_reset: Callable[[OffsetReset], object],
    ) -> None:
        self._source = source
        self._reset = reset
        self._max_bytes = max_bytes
        self._on_reset = on_reset
        self._turns: deque[TopicPartition] = deque()
        self._positions: dict[TopicPartition, int] = {}
        self._topic_ids: dict[TopicPartition, str | None] = {}  # of what each position is in
        self._former: dict[TopicPartition, _Former] = {}  # until a position replaces it
        self._reached: dict[TopicPartition, int] = {}  # the log is known to go as far as that
        self._fetched: dict[TopicPartition, deque[Message]] = {}
        self._error: KMiniLogError | None = None

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """All partitions, ascending."""
        return tuple(sorted(self._turns))

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The next offset of each partition for which it is known."""
        return dict(self._positions)

    @property
    def topic_ids(self) -> dict[TopicPartition, str | None]:
        """The identity of the topic that each position is in."""
        return {p: self._topic_ids[p] for p in self._turns if p in self._topic_ids}

    def keep_only(
        self,
        partitions: Iterable[TopicPartition],
        committed: Callable[[], Starts] | None = None,
        outdated: Callable[[], Starts] | None = None,
    ) -> None:
        """Read these partitions from now on; new ones begin where they are committed.

        A committed offset above the end of its log does not count. Without one, a partition begins
        at its first offset if it was read in an earlier topic: by this consumer, or by its group,
        as `outdated` says. Else `reset` decides, now if possible: with latest, it is the end that
        the log has now.
        """
        wanted = list(partitions)
        self._error = None
        for gone in set(self._turns) - set(wanted):
            self._forget(gone)
        new = {partition for partition in wanted if partition not in self._turns}
        self._turns = deque(wanted)
        for partition in new:
            with suppress(KMiniLogError):
                self._note_topic(partition)
        # Now, because an offset of a topic that came before the noted one must not count.
        starts = committed() if new and committed else {}
        old = outdated() if new and outdated else {}
        self._positions |= {partition: starts[partition] for partition in new & starts.keys()}
        for partition in new & old.keys():
            self._former[partition] = _Former(_ANOTHER_TOPIC, old[partition], is_committed=True)
        for partition in wanted:
            with suppress(NoOffsetError, LeaderNotAvailableError, UnknownTopicOrPartitionError):
                if partition in new & starts.keys():
                    self._check_start(partition)
                self.position(partition)  # on an error, `take` tries again or raises it

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at this offset. Raises ValueError for a partition that is not read."""
        self._require(partition)
        self._positions[partition] = offset
        self._fetched.pop(partition, None)

    def position(self, partition: TopicPartition) -> int:
        """Return the offset of the next record; find where to begin if it is not known yet.

        Raises ValueError for a partition that is not read, and NoOffsetError.
        """
        self._require(partition)
        if partition not in self._positions:
            self._start(partition)
        return self._positions[partition]

    def positions_in_log(self) -> dict[TopicPartition, int]:
        """Return the positions, without those above the end of their log, as after a wrong seek."""
        positions = self._positions.items()
        return {p: offset for p, offset in positions if self._end_below(p, offset) is None}

    def refuse_above_end(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Raise OffsetOutOfRangeError if one of these offsets lies above the end of its log.

        An offset that `take` has reached is accepted, even if the log was cut since.
        """
        for partition, offset in offsets.items():
            end = self._end_below(partition, offset)
            if end is not None:
                raise OffsetOutOfRangeError(
                    f"{partition}: nothing was committed",
                    offset=offset,
                    log_start_offset=self._source.beginning(partition),
                    log_end_offset=end,
                )

    def take(self, max_records: int) -> list[ConsumerRecord]:
        """Return up to `max_records` records; fetch at most once from each partition, in turn.

        A partition without leader is skipped. Raises NoOffsetError or OffsetOutOfRangeError if
        `reset` is none, and what the source raises for damage or for a topic that is gone. If
        records were taken before the error, they are returned, and the next call raises it.
        """
        if self._error:
            error, self._error = self._error, None
            raise error
        records: list[ConsumerRecord] = []
        for _ in range(len(self._turns)):
            if len(records) >= max_records:
                break
            partition = self._turns[0]
            self._turns.rotate(-1)
            try:
                records += self._take_from(partition, max_records - len(records))
            except KMiniLogError as error:
                if not records:
                    raise
                self._error = error
                break
        return records

    def _take_from(self, partition: TopicPartition, count: int) -> list[ConsumerRecord]:
        if not self._fetched.get(partition):
            try:
                self._fetched[partition] = deque(self._fetch(partition))
            except LeaderNotAvailableError:
                return []
        kept = self._fetched[partition]
        taken = [kept.popleft() for _ in range(min(count, len(kept)))]
        if taken:
            self._positions[partition] = self._reached[partition] = taken[-1].offset + 1
        return [
            ConsumerRecord(*partition, message.offset, message.key, message.value)
            for message in taken
        ]

    def _fetch(self, partition: TopicPartition) -> list[Message]:
        may_reset = self._reset != "none"
        while True:
            self._note_topic(partition)
            try:
                messages = self._source.fetch(partition, self.position(partition), self._max_bytes)
            except KMiniLogError as error:
                if self._is_restarted_with_topic(partition):
                    continue
                if not may_reset or not isinstance(error, OffsetOutOfRangeError):
                    raise
                # The log has lost its beginning to retention, or its end to a crash.
                self._reset_out_of_range(partition, error.log_start_offset, error.log_end_offset)
                may_reset = False
            else:
                if not self._is_restarted_with_topic(partition):
                    return messages

    # ---- the topic that a position is in

    def _note_topic(self, partition: TopicPartition) -> None:
        if partition not in self._topic_ids:
            self._topic_ids[partition] = self._source.topic_id(partition.topic)

    def _forget(self, partition: TopicPartition) -> None:
        position = self._positions.pop(partition, None)
        if partition in self._topic_ids and position is not None:
            self._former[partition] = _Former(
                self._topic_ids[partition], position, is_committed=False
            )
        self._topic_ids.pop(partition, None)
        self._reached.pop(partition, None)
        self._fetched.pop(partition, None)

    def _start(self, partition: TopicPartition) -> None:
        """Take a position: the first offset of a topic that follows another, else by `reset`."""
        self._note_topic(partition)
        former = self._former.get(partition)
        if former and former.topic_id != self._topic_ids[partition]:
            self._restart(partition, former.offset, is_committed=former.is_committed)
        else:
            self._positions[partition] = self._reset_position(partition)
        self._former.pop(partition, None)  # not before: an error means that this comes again

    def _is_restarted_with_topic(self, partition: TopicPartition) -> bool:
        """Restart if another topic has the name now, and tell if so.

        Raises UnknownTopicOrPartitionError if none has it.
        """
        topic_id = self._source.topic_id(partition.topic)
        if self._topic_ids[partition] == topic_id:
            return False
        self._restart(partition, self._positions.get(partition, 0))
        self._topic_ids[partition] = topic_id
        return True

    def _restart(
        self, partition: TopicPartition, offset: int, *, is_committed: bool = False
    ) -> None:
        start, end = self._source.beginning(partition), self._source.log_end(partition)
        self._fetched.pop(partition, None)
        self._reached.pop(partition, None)
        self._positions[partition] = start
        self._on_reset(
            OffsetReset(
                partition, offset, start, end, self._reset, start, is_committed, is_replaced=True
            )
        )

    # ---- positions outside of the log

    def _check_start(self, partition: TopicPartition) -> None:
        """Reset a committed offset above the end of the log: the log was cut since the commit."""
        end = self._end_below(partition, self._positions[partition])
        if end is not None and self._reset != "none":
            self._reset_out_of_range(
                partition, self._source.beginning(partition), end, is_committed=True
            )

    def _end_below(self, partition: TopicPartition, offset: int) -> int | None:
        """Return the end of a log if this offset lies above it; None if not, or if unknown."""
        if offset > self._reached.get(partition, 0):
            with suppress(KMiniLogError):
                end = self._source.log_end(partition)
                if offset > end:
                    return end
                self._reached[partition] = offset
        return None

    def _reset_out_of_range(
        self, partition: TopicPartition, start: int, end: int, *, is_committed: bool = False
    ) -> None:
        offset, position = self._positions[partition], self._reset_position(partition)
        self._positions[partition] = position
        self._on_reset(
            OffsetReset(partition, offset, start, end, self._reset, position, is_committed)
        )

    def _reset_position(self, partition: TopicPartition) -> int:
        if self._reset == "earliest":
            return self._source.beginning(partition)
        if self._reset == "latest":
            return self._source.end(partition)
        raise NoOffsetError(str(partition))

    def _require(self, partition: TopicPartition) -> None:
        if partition not in self._turns:
            raise ValueError(f"{partition} is not read by this consumer; assign it first")
