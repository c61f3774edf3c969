"""One partition for its one writer: append, roll, flush.

An append writes all its messages, or none if an error occurs. It places them one by one, and
decides for each whether to roll and to index. So the bytes depend only on the messages and the
settings, except where a segment rolls by age, by retention or by a call of `roll`. From the bytes
nobody can see how messages were batched, or when a log was opened.

Invariants
    P1  offsets are contiguous, from the first segment's first offset to `log_end_offset` - 1
    P2  each segment is named as the dialect says, after the last offset of the one before it
    P3  only the last segment may be empty
    P4  no append makes a segment larger than segment.bytes, which is the setting at that moment,
        unless no other segment can follow it (`Dialect.can_follow`)

The writer must hold the lock of the log dir. This module knows neither lock nor clock: the caller
passes the time.
Source: S1 5.1 and 5.2; Kafka: Log.append, Log.maybeRoll, Log.roll. Differs: Kafka rolls and indexes
once per appended set. After a roll, Kafka flushes the old segment in the background; here the roll
itself flushes it, so no power failure leaves a gap (docs/differences.md).
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, Self

from sortedcontainers import SortedDict

from kminilog.errors import LogClosedError, WriteFailedError
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import KeyValue, encode
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.files import sync
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.segment_names import segments_among
from kminilog.storage.segment.lookup import segment_slot
from kminilog.storage.segment.scan import next_offset
from kminilog.storage.segment.segment import Segment


def must_roll(
    settings: TopicSettings, *, size_bytes: int, incoming_bytes: int, entry_count: int, age_ms: int
) -> bool:
    """Tell if the log must begin a new segment before a message of `incoming_bytes`. O(1).

    `size_bytes`, `entry_count` and `age_ms`, the time since its first append, are those of the last
    segment. It must roll if the message does not fit, if one more index entry does not fit, or if
    it is too old. An empty segment never rolls.

    >>> settings = TopicSettings(segment_bytes=1000, segment_ms=60_000)
    >>> facts = dict(size_bytes=900, entry_count=0, age_ms=0)
    >>> must_roll(settings, incoming_bytes=100, **facts)
    False
    >>> must_roll(settings, incoming_bytes=101, **facts)
    True
    """
    index_bytes = (entry_count + 1) * ENTRY_SIZE_BYTES
    return size_bytes > 0 and (
        size_bytes + incoming_bytes > settings.segment_bytes
        or age_ms > settings.segment_ms
        or index_bytes > settings.segment_index_bytes
    )


class _Mark(NamedTuple):
    """The state before an append, which a failed append restores."""

    segment_count: int
    size_bytes: int
    entry_count: int
    next_offset: int
    recovery_point: int
    unflushed_messages: int
    first_append_ms: int | None


class PartitionLog:
    """The log of one partition, open for writing; `reader` reads it. One object, one thread.

    Log and reader have `Segment` objects of their own. Those of the log may hold messages that are
    not written yet; those of the reader know only the files.
    """

    def __init__(
        self,
        reader: PartitionReader,
        on_files_removed: Callable[[], None],
        record_start: Callable[[int], object],
    ) -> None:
        self.reader = reader
        self.directory = reader.directory
        self.topic_partition = reader.topic_partition
        self.dialect = reader.dialect
        self.settings = reader.settings
        self.recovery_point = 0
        self.is_broken = False  # a write failed and could not be undone: recovery finds the end
        self._is_closed = False
        self._broken_by = ""  # of a broken log: what failed, for the text of errors
        self._on_files_removed = on_files_removed
        self.record_start = record_start  # called before the log's first offset moves up
        self._segments: SortedDict[int, Segment] = SortedDict()  # by base offset
        self._next_offset = 0
        self._unflushed_messages = 0
        self._last_flush_ms: int | None = None
        self._first_append_ms: int | None = None
        self._has_new_names = False

    @classmethod
    def open(
        cls,
        directory: Path,
        topic_partition: TopicPartition,
        dialect: Dialect,
        settings: TopicSettings,
        *,
        base_offset: int = 0,
        recovery_point: int = 0,
        on_files_removed: Callable[[], None] = lambda: None,
        record_start: Callable[[int], object] = lambda offset: None,
    ) -> Self:
        """Return the log in a directory, after recovery has made the directory valid.

        A directory without segments gets an empty one, named `base_offset`. Messages from
        `recovery_point` on may not be on the disk yet; the next flush syncs them. Reads the last
        segment from its last index entry on, and raises CorruptLogError for damage there. The log
        calls `on_files_removed` after it has deleted or renamed files: readers must list them
        again. `record_start` stores in the log dir, so that it survives a crash, where the log will
        begin: retention calls it before it deletes messages.
        """
        reader = PartitionReader(directory, topic_partition, dialect, settings)
        log = cls(reader, on_files_removed, record_start)
        directory.mkdir(parents=True, exist_ok=True)
        for base in segments_among(os.listdir(directory)):
            log._segments[base] = log.reader.segment_named(base)
        if not log._segments:
            log._start_segment(base_offset)
        log._active.open()
        log._next_offset = next_offset(log._active)
        # No file records the first append. The last one, which was not earlier, stands in for it.
        log._first_append_ms = log._active.last_append_ms
        log.recovery_point = recovery_point
        # A killed writer may have left new files whose names are not on the disk yet.
        log._has_new_names |= recovery_point < log._next_offset
        return log

    # ---- the log as its writer knows it

    def segments(self) -> list[Segment]:
        """Return the segments, ascending."""
        return list(self._segments.values())

    @property
    def log_start_offset(self) -> int:
        """The offset of the first message; the log end offset if there is none."""
        return self._segments.peekitem(0)[1].first_offset

    @property
    def log_end_offset(self) -> int:
        """One past the offset of the last message: the next one's. O(1)."""
        return self._next_offset

    @property
    def _active(self) -> Segment:
        return self._segments.peekitem()[1]

    # ---- writing

    def append(self, messages: Iterable[KeyValue], *, now_ms: int = 0) -> range:
        """Append messages, all or none, and return their offsets. O(bytes).

        Once it returns, the bytes are in the page cache: they survive the death of the process.
        They survive a power failure only after `flush`. flush.messages = 1 flushes every append; a
        roll flushes all segments before the new one. A kill -9 during the call, or a later power
        failure, may leave a prefix of the batch. `now_ms` is for segment.ms and flush.ms only: pass
        the time always or never, because 0 is a time, too.

        Raises, with nothing written: MessageTooLargeError above max.message.bytes or segment.bytes,
        NullValueError, LogClosedError. Raises WriteFailedError if a write or flush fails: the log
        is then as before the call, on the disk too. If even that fails, the log is broken, takes no
        more messages, and the error says which offsets may be in it.
        """
        return append_encoded(self, encoded(self, messages), now_ms=now_ms)

    def roll(self) -> bool:
        """Begin a new segment after the last message; tell if it did.

        It does not if the last segment is empty, or if the new one would get the same name. Raises
        LogClosedError and WriteFailedError as `append` does.
        """
        self.check_is_open()
        if not self._active.size_bytes or not self._can_roll():
            return False
        mark = self._mark()
        try:
            self._roll()
        except BaseException as error:
            self._undo(mark, error)
            raise
        return True

    def flush(self, *, now_ms: int | None = None) -> None:
        """Fsync all that was appended; once it returns, a power failure loses none of it.

        flush.ms counts from `now_ms`; if that is None, from the next append. A closed log can still
        be flushed. Raises LogClosedError if the log is broken, and OSError: a power failure may
        then lose what no earlier flush has covered. O(segments since the last flush).
        """
        self._check_is_whole()
        if self.recovery_point < self._next_offset:
            first = segment_slot(self.dialect, self._segments.keys(), self.recovery_point)
            for segment in self._segments.values()[first:]:
                segment.flush()
        if self._has_new_names:
            sync(self.directory)
            self._has_new_names = False
        self.recovery_point = self._next_offset
        self._unflushed_messages = 0
        self._last_flush_ms = now_ms

    def continue_from(self, offset: int, gone: list[Segment]) -> None:
        """Continue at `offset`: the caller has cut a replica's files there, and deleted `gone`."""
        for segment in gone:
            del self._segments[segment.base_offset]
        self._next_offset = offset
        self.recovery_point = min(self.recovery_point, offset)
        self._first_append_ms = self._active.last_append_ms

    def begin_at(self, offset: int) -> None:
        """Let an empty log begin at a greater offset; once it returns, that survives a crash.

        For a replica whose leader has deleted all that this one held. ValueError if it is not
        empty, or has that offset already.
        """
        (empty,) = self._segments.values()  # more than one: ValueError, too
        if empty.size_bytes or offset <= self._next_offset:
            raise ValueError(f"{self.topic_partition} cannot begin at offset {offset}")
        self.record_start(offset)
        self._start_segment(self.dialect.base_offset_for(offset)).open()
        self.remove_first_segment(Segment.remove)
        self._next_offset = offset
        self.flush()

    def remove_first_segment(self, remove: Callable[[Segment], None]) -> None:
        """Remove the first segment, whose files `remove` removes; ValueError if it is the last."""
        if len(self._segments) < 2:
            raise ValueError("the last segment of a log is never deleted")
        remove(self._segments.popitem(0)[1])
        self._on_files_removed()

    def check_is_open(self) -> None:
        """Raise LogClosedError if the log is closed or broken."""
        self._check_is_whole()
        if self._is_closed:
            raise LogClosedError(str(self.directory), reason="it is closed")

    def _check_is_whole(self) -> None:
        if self.is_broken:
            raise LogClosedError(str(self.directory), reason=self._broken_by)

    def close(self) -> None:
        """Refuse to write from now on, without a flush; reading still works. Idempotent."""
        self._is_closed = True

    # ---- steps of an append

    def _append(self, messages: list[bytes], now_ms: int) -> range:
        """Place each message, write what was placed, and undo all of it if that fails."""
        mark = self._mark()
        try:
            active = self._active
            for data in messages:
                if self._is_roll_due(active, len(data), now_ms):
                    active.write()
                    active = self._roll(now_ms)
                if self._first_append_ms is None:
                    self._first_append_ms = now_ms
                active.add(self._next_offset, data)
                self._next_offset += 1
                self._unflushed_messages += 1
            active.write()
            if self._last_flush_ms is None:
                self._last_flush_ms = now_ms
            if self._is_flush_due(now_ms - self._last_flush_ms):
                self.flush(now_ms=now_ms)
        except BaseException as error:  # Ctrl-C too
            self._undo(mark, error)
            raise
        return range(mark.next_offset, self._next_offset)

    def _check_has_offsets(self, count: int) -> None:
        if self._next_offset + count > MAX_OFFSET:
            reason = f"no offset is left after {self._next_offset - 1}"
            raise LogClosedError(str(self.directory), reason=reason)

    def _is_roll_due(self, active: Segment, incoming_bytes: int, now_ms: int) -> bool:
        first_append_ms = now_ms if self._first_append_ms is None else self._first_append_ms
        is_due = must_roll(
            self.settings,
            size_bytes=active.size_bytes,
            incoming_bytes=incoming_bytes,
            entry_count=len(active.index),
            age_ms=now_ms - first_append_ms,
        )
        return is_due and self._can_roll()

    def _can_roll(self) -> bool:
        return self.dialect.can_follow(self._active.base_offset, self._next_offset)

    def _roll(self, now_ms: int | None = None) -> Segment:
        self.flush(now_ms=now_ms)  # else a power failure could leave a gap before the new one
        active = self._start_segment(self.dialect.base_offset_for(self._next_offset))
        active.open()
        self._first_append_ms = None
        return active

    def _start_segment(self, base_offset: int) -> Segment:
        self._segments[base_offset] = segment = self.reader.segment_named(base_offset)
        self._has_new_names = True
        return segment

    def _is_flush_due(self, waited_ms: int) -> bool:
        is_many = self._unflushed_messages >= self.settings.flush_messages
        return is_many or waited_ms > self.settings.flush_ms

    def _mark(self) -> _Mark:
        active = self._active
        return _Mark(
            len(self._segments),
            active.size_bytes,
            len(active.index),
            self._next_offset,
            self.recovery_point,
            self._unflushed_messages,
            self._first_append_ms,
        )

    def _undo(self, mark: _Mark, error: BaseException) -> None:
        """Restore the state before an append; raise WriteFailedError if the error is an OSError.

        Another error, such as Ctrl-C, is for the caller to raise again.
        """
        path = str(getattr(error, "filename", None) or self._active.log_path)
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        new_offsets = range(mark.next_offset, self._next_offset)
        try:
            self._restore(mark)
        except BaseException as second:  # noqa: BLE001 - a second Ctrl-C, too
            self.is_broken = True
            why = getattr(second, "strerror", None) or type(second).__name__
            self._broken_by = f"an earlier write failed ({reason}) and undoing it did too ({why})"
        if isinstance(error, OSError):
            in_doubt = new_offsets if self.is_broken else range(0)
            raise WriteFailedError(
                path, reason=reason, restored=not self.is_broken, in_doubt=in_doubt
            ) from error

    def _restore(self, mark: _Mark) -> None:
        added = self._segments.values()[mark.segment_count :]
        for segment in added:
            del self._segments[segment.base_offset]
        for segment in reversed(added):
            segment.remove()
        self._on_files_removed()
        self._active.truncate_to(mark.size_bytes, mark.entry_count)
        self._active.flush()  # else a power failure could bring back what is undone here
        self._next_offset = mark.next_offset
        self.recovery_point = mark.recovery_point  # a roll may have set it beyond the restored end
        self._unflushed_messages = mark.unflushed_messages
        self._first_append_ms = mark.first_append_ms


def encoded(log: PartitionLog, messages: Iterable[KeyValue]) -> list[bytes]:
    """Return the bytes that `append` stores for messages, with the offsets that come next.

    O(bytes). Raises NullValueError, LogClosedError.
    """
    log.check_is_open()
    batch = list(messages)
    log._check_has_offsets(len(batch))
    numbered = enumerate(batch, start=log.log_end_offset)
    return [encode(log.dialect, offset, key, value) for offset, (key, value) in numbered]


def append_encoded(log: PartitionLog, messages: list[bytes], *, now_ms: int = 0) -> range:
    """Append messages that are encoded, with the offsets that come next; else as `append`.

    For what `encoded` has made, and for what a client has sent to `kminilog serve`, after its
    checksums were checked. Of the bytes it checks the first offset only, and raises ValueError.
    """
    log.check_is_open()
    log._check_has_offsets(len(messages))
    if messages and int.from_bytes(messages[0][:8]) != log.log_end_offset:
        raise ValueError(f"the next offset of {log.topic_partition} is {log.log_end_offset}")
    log.settings.check_message(max(map(len, messages), default=0))
    return log._append(messages, now_ms)
