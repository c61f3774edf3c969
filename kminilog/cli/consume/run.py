"""The run of `consume`: records come and are written, until it is to end; written ones count.

It ends after a number of messages, at the ends that the logs had when it began, or when no message
has come for consumer.timeout.ms. A member of a group commits what it has written to stdout: what
was fetched and not written is read again by the next owner. A record with another key than the one
that is asked for counts as written. Source: ours; Kafka: ConsoleConsumer; kcat (-e).
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from kminilog.cli.consume.record_lines import WriteRecord
from kminilog.cli.shared.cluster_option import given_cluster, placed
from kminilog.cli.shared.interrupts import check_interrupt
from kminilog.cli.shared.output import flush, warn
from kminilog.clock import Clock
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.errors import UnknownTopicIdError
from kminilog.consumer.fetching import OffsetReset
from kminilog.consumer.group_moves import offset_of
from kminilog.consumer.interface import ConsumerRecord, MessageSource
from kminilog.consumer.membership import NO_MEMBER, LostShare
from kminilog.errors import UnknownTopicOrPartitionError, typed
from kminilog.format.names import TopicPartition

_POLL_MS = 100
_NAMED_PARTITIONS = 3  # in one line


class Wanted(NamedTuple):
    """What is to be written, and when the run is to end.

    `key`: only messages with this key. `start` is what --offset says, if the user has given it.
    """

    max_messages: int | None = None
    is_until_end: bool = False
    key: bytes | None = None
    start: str | None = None


class ConsumeRun:
    """One run; the callbacks are for its consumer, which is handed to `run`."""

    def __init__(
        self, source: MessageSource, write: WriteRecord, wanted: Wanted, clock: Clock
    ) -> None:
        self.is_committing = False
        self._source = source
        self._write = write
        self._wanted = wanted
        self._clock = clock
        self._left = float("inf") if wanted.max_messages is None else wanted.max_messages
        self._written: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._is_start_told = wanted.start is None
        self._consumer: Consumer | None = None

    def run(self, consumer: Consumer) -> None:
        """Write records until the run is to end. Raises what `Consumer.poll` raises."""
        self._consumer = consumer
        self._note_ends(consumer.assignment)
        timeout_ms = consumer.config["consumer.timeout.ms"]
        interval_ms = consumer.config["auto.commit.interval.ms"]
        poll_ms = _POLL_MS if timeout_ms < 0 else min(_POLL_MS, timeout_ms)
        heard_ms = committed_ms = self._clock.now_ms()
        try:
            while self._left > 0 and not self._is_at_end(consumer):
                check_interrupt()
                most = int(consumer.config["max.poll.records"])
                if self._wanted.key is None:
                    most = int(min(self._left, most))
                records = consumer.poll(poll_ms, most)
                self._take(records)
                if not records:
                    # A log may have lost its end since: expect nothing more of it.
                    for partition, end in self._ends.items():
                        self._ends[partition] = min(end, self._source.end(partition))
                now_ms = self._clock.now_ms()
                if records or not consumer.is_settled:
                    heard_ms = now_ms
                elif 0 <= timeout_ms <= now_ms - heard_ms:
                    break
                if now_ms - committed_ms >= interval_ms:
                    self._commit()
                    committed_ms = now_ms
        finally:
            try:
                self._commit()
            finally:
                consumer.close()

    # ---- what the consumer tells

    def on_assigned(self, partitions: list[TopicPartition]) -> None:
        """Commit the first offsets, too, so that the next owner does not start at the end."""
        if self._consumer:
            self._tell_start(self._consumer, partitions)
            for partition in partitions:
                self._written[partition] = self._consumer.position(partition)
            self._note_ends(partitions)

    def on_revoked(self, partitions: list[TopicPartition]) -> None:
        """Commit what was written, while this member still owns them; name deleted topics."""
        self._commit()
        self._forget(partitions)
        for topic in sorted({partition.topic for partition in partitions}):
            try:
                self._source.topic_id(topic)
            except UnknownTopicOrPartitionError as error:
                warn(f"{error}; the group reads it once there is a topic of that name")

    def on_lost(self, partitions: list[TopicPartition]) -> None:
        """Report the loss; this member may no longer commit for these partitions."""
        if self._consumer:
            warn(str(LostShare(self._consumer.config["group.id"], partitions)))
        self._forget(partitions)

    def on_reset(self, reset: OffsetReset) -> None:
        """Report the reset and read on from there; the old committed offset is void."""
        warn(str(reset))
        self._written[reset.topic_partition] = reset.next_offset

    # ---- steps

    def _forget(self, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self._written.pop(partition, None)
            self._ends.pop(partition, None)

    def _take(self, records: list[ConsumerRecord]) -> None:
        """Write what is wanted of some records, and count them as written."""
        done = []
        for record in records:
            if self._left == 0:
                break  # of records with other keys, more were fetched than are needed
            if record.offset >= self._ends.get(record.topic_partition, record.offset + 1):
                continue  # it came after the command began
            if self._wanted.key is None or record.key == self._wanted.key:
                self._write(record)
                self._left -= 1
            done.append(record)
        if done:
            flush()  # before they count as written
        for record in done:
            self._written[record.topic_partition] = record.offset + 1

    def _note_ends(self, partitions: Iterable[TopicPartition]) -> None:
        if self._wanted.is_until_end:
            self._ends |= {partition: self._source.end(partition) for partition in partitions}

    def _is_at_end(self, consumer: Consumer) -> bool:
        if not self._wanted.is_until_end or not consumer.is_settled:
            return False
        if any(consumer.position(partition) < end for partition, end in self._ends.items()):
            return False
        if any(self._is_above_log(consumer.position(found), found) for found in self._ends):
            return False  # the consumer has yet to reset the offset, or to raise an error
        for partition, end in self._ends.items():
            self._source.fetch(partition, end, 1)  # raises if damage looks like the end of a log
        return True

    def _is_above_log(self, position: int, partition: TopicPartition) -> bool:
        return position > self._ends[partition] and position > self._source.log_end(partition)

    def _tell_start(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Say once that committed offsets count more than the start that the user has given."""
        if self._is_start_told or self._wanted.start is None:
            return
        self._is_start_told = True
        start, committed = self._wanted.start, consumer.committed()
        kept = [
            f"{found} at {committed[found]}"
            for found in partitions
            if committed.get(found) == consumer.position(found)
            and committed[found]
            != offset_of(start, self._source.beginning(found), self._source.end(found))
        ]
        if kept:
            more = ", …" if len(kept) > _NAMED_PARTITIONS else ""
            group = consumer.config["group.id"]
            told = (
                f"group {group} goes on at its committed offsets: "
                f"{', '.join(kept[:_NAMED_PARTITIONS])}{more}; --offset {start} is for "
                "partitions without one; "
                f"{typed('group reset', group, options=f'--to {start} --yes')} moves them"
            )
            warn(placed(told, given_cluster()))

    def _commit(self) -> None:
        if self.is_committing and self._written and self._consumer:
            # Others have the partitions then, or there is another topic of that name.
            with suppress(*NO_MEMBER, UnknownTopicIdError):
                self._consumer.commit(self._written)
