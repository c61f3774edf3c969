"""One partition for its one writer: append, roll, flush, and everything a reader can do.

Layout is a function of the messages and the settings, and of nothing else: a batch is all or
nothing towards errors, but its messages are placed one by one, each rolled and indexed by itself.
So neither batching nor reopening shows in the bytes (rolls by age apart).

Invariants
    P1  offsets are contiguous, from the first segment's first offset to `log_end_offset` - 1
    P2  each segment is named as the dialect says, after the last offset of the one before it
    P3  no segment but the last is empty, and none is above segment.bytes (but see `_must_roll`)

The writer must hold the lock of the log dir; this module knows neither lock nor clock: the time
comes in as an argument. Source: S1 5.2; Kafka: Log.append, Log.roll. Differs: Kafka rolls and
indexes once per appended set (docs/differences.md).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Self

from kminilog.errors import LogClosedError, WriteFailedError
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.cuts import Reason, recorded_cut
from kminilog.storage.durable_file import sync
from kminilog.storage.partition_reader import PartitionReader
from kminilog.storage.segment import Segment, damage_error
from kminilog.storage.segment_scan import check_segment, examine
from kminilog.storage.truncation import cut_off

KeyValue = tuple[bytes | None, bytes | None]


class _Mark(NamedTuple):
    """What an append must put back if it fails."""

    base_offset: int
    size_bytes: int
    entry_count: int
    next_offset: int
    first_append_ms: int | None


class PartitionLog(PartitionReader):
    """The log of one partition, open for writing. One object, one thread."""

    def __init__(
        self,
        directory: Path,
        topic_partition: TopicPartition,
        dialect: Dialect,
        settings: TopicSettings,
    ) -> None:
        super().__init__(directory, topic_partition, dialect, settings)
        self.recovery_point = 0
        self._next_offset = 0
        self._unflushed_messages = 0
        self._last_flush_ms: int | None = None
        self._first_append_ms: int | None = None
        self._has_new_names = False
        self._refusal = "it is not open"
        self.is_broken = False  # a write failed and is not undone: recovery will find the end

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
    ) -> Self:
        """Return the log in a directory that recovery has left sound.

        A directory without segments gets an empty one that is named `base_offset`. Messages from
        `recovery_point` on may not be on the disk yet: the next flush brings them there. Reads the
        last segment from its last index entry on; raises CorruptLogError if that is not sound.
        """
        log = cls(directory, topic_partition, dialect, settings)
        directory.mkdir(parents=True, exist_ok=True)
        if not PartitionReader._look(log):
            log._start_segment(base_offset)
        active = log._active
        active.open()
        log._next_offset = active.first_offset
        if active.size_bytes:
            examined = examine(active, active.last_entry())
            if examined.fault:
                raise damage_error(active, examined.sound_bytes, examined.fault)
            log._next_offset = examined.next_offset
            # The first append is not on record; the last one is, and was not before it.
            log._first_append_ms = active.last_append_ms
        log.recovery_point = recovery_point
        log._refusal = ""
        return log

    # ---- the log as its writer knows it

    @property
    def log_end_offset(self) -> int:
        """One past the offset of the last message; where the next one will go. O(1)."""
        return self._next_offset

    @property
    def _active(self) -> Segment:
        return self._in_order[-1]

    def _look(self) -> bool:
        return False  # nobody but this object changes the directory

    _is_overtaken = _look  # and whoever takes the lock finishes what is pending

    # ---- writing

    def append(self, messages: Iterable[KeyValue], *, now_ms: int = 0) -> range:
        """Append messages, all or none, and return their offsets.

        Once it returns the bytes are with the operating system: they survive the death of the
        process, and a power failure only after `flush`; with flush.messages = 1 every append is
        flushed. After kill -9 in the middle, a prefix of the batch may remain.

        Raises, with nothing written: MessageTooLargeError above max.message.bytes or segment.bytes,
        NullValueError, LogClosedError. Raises WriteFailedError if the operating system refuses to
        write or flush: the log is then as it was, on the disk too; or it takes no more, and the
        error says which offsets may be in it.
        """
        if self._refusal:
            raise LogClosedError(str(self.directory), reason=self._refusal)
        encoded = self._encode(messages)
        mark = self._mark()
        try:
            for data in encoded:
                if self._must_roll(len(data), now_ms):
                    self._active.write()
                    self._roll()
                if self._first_append_ms is None:
                    self._first_append_ms = now_ms
                self._active.add(self._next_offset, data)
                self._next_offset += 1
                self._unflushed_messages += 1
            self._active.write()
            if self._flush_is_due(now_ms):
                self.flush(now_ms=now_ms)
        except BaseException as error:  # Ctrl-C too
            failure = self._put_back(mark, error)
            if isinstance(error, OSError):
                raise failure from error
            raise
        return range(mark.next_offset, self._next_offset)

    def roll(self) -> bool:
        """Begin a new segment behind the last message; tell if there is one now.

        Not behind an empty segment, and not where the new one would get the same name. Raises
        WriteFailedError as `append` does.
        """
        if not self._active.size_bytes or not self._can_roll():
            return False
        mark = self._mark()
        try:
            self._roll()
        except OSError as error:
            raise self._put_back(mark, error) from error
        return True

    def flush(self, *, now_ms: int = 0) -> None:
        """Bring everything appended to the disk; once it returns, a power failure loses none of it.

        Raises LogClosedError, and OSError: what was not flushed yet may be lost in a power failure.
        """
        if self.is_broken:
            raise LogClosedError(str(self.directory), reason=self._refusal)
        slot = self.dialect.segment_slot(self._base_offsets, self.recovery_point)
        for segment in self._in_order[slot:]:
            segment.flush()
        if self._has_new_names:
            sync(self.directory)
            self._has_new_names = False
        self.recovery_point = self._next_offset
        self._unflushed_messages = 0
        self._last_flush_ms = now_ms

    def truncate_to(self, offset: int) -> None:
        """Cut off the messages from `offset` on, as if they had never been; an empty segment, too.

        Raises ValueError below the first message, LogClosedError, CorruptLogError. It is durable.
        """
        if self._refusal:
            raise LogClosedError(str(self.directory), reason=self._refusal)
        if offset < self.log_start_offset:
            raise ValueError(f"{self.topic_partition} has nothing below {self.log_start_offset}")
        if offset <= self._next_offset:
            log_dir, cut = self.directory.parent, range(offset, self._next_offset)
            with recorded_cut(log_dir, self.topic_partition, cut, Reason.TRUNCATION):
                for segment in cut_off(self.segments(), offset):
                    del self._segments[segment.base_offset]
            self._list()
            self._next_offset = offset
            self.recovery_point = min(self.recovery_point, offset)
            self._first_append_ms = self._active.last_append_ms

    def delete_first(self) -> Segment:
        """Take out the first segment, never the last, and return it; its files are left alone."""
        if len(self._segments) < 2:
            raise ValueError("the last segment of a log is never deleted")
        segment: Segment = self._segments.popitem(0)[1]
        del self._base_offsets[0], self._in_order[0]
        return segment

    def close(self) -> None:
        """Refuse to write from now on; no flush. The log can still be read."""
        self._refusal = self._refusal or "it is closed"

    def check(self) -> None:
        """Assert the invariants by reading every file; O(log)."""
        next_offset = self.log_start_offset
        for segment in self.segments():
            assert segment.base_offset == self.dialect.base_offset_for(next_offset), segment.name
            next_offset = check_segment(segment).next_offset
        assert next_offset == self.log_end_offset
        assert all(segment.file_bytes for segment in self.segments()[:-1])

    # ---- steps of an append

    def _encode(self, messages: Iterable[KeyValue]) -> list[bytes]:
        numbered = enumerate(messages, start=self._next_offset)
        encoded = [encode(self.dialect, offset, key, value) for offset, (key, value) in numbered]
        self.settings.check_message(max(map(len, encoded), default=0))
        return encoded

    def _must_roll(self, incoming_bytes: int, now_ms: int) -> bool:
        active = self._active
        if not active.size_bytes or not self._can_roll():
            return False
        age_ms = now_ms - (now_ms if self._first_append_ms is None else self._first_append_ms)
        index_bytes = (len(active.index) + 1) * ENTRY_SIZE_BYTES
        return (
            active.size_bytes + incoming_bytes > self.settings.segment_bytes
            or age_ms > self.settings.segment_ms
            or index_bytes > self.settings.segment_index_bytes
        )

    def _can_roll(self) -> bool:
        return self.dialect.can_follow(self._active.base_offset, self._next_offset)

    def _roll(self) -> None:
        self._start_segment(self.dialect.base_offset_for(self._next_offset))
        self._active.open()
        self._first_append_ms = None

    def _start_segment(self, base_offset: int) -> None:
        segment = self._segments[base_offset] = self._segment(base_offset, self.directory)
        self._base_offsets.append(base_offset)  # not by `_list`, which goes through all of them
        self._in_order.append(segment)
        self._has_new_names = True

    def _flush_is_due(self, now_ms: int) -> bool:
        if self._last_flush_ms is None:
            self._last_flush_ms = now_ms
        return (
            self._unflushed_messages >= self.settings.flush_messages
            or now_ms - self._last_flush_ms > self.settings.flush_ms
        )

    def _mark(self) -> _Mark:
        active = self._active
        return _Mark(
            active.base_offset,
            active.size_bytes,
            len(active.index),
            self._next_offset,
            self._first_append_ms,
        )

    def _put_back(self, mark: _Mark, error: BaseException) -> WriteFailedError:
        path = str(getattr(error, "filename", None) or self._active.log_path)
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        in_doubt = range(mark.next_offset, self._next_offset)
        added = list(self._segments.irange(mark.base_offset + 1))
        try:
            for base_offset in added:
                self._segments.pop(base_offset).remove()
            self._list()
            self._active.truncate_to(mark.size_bytes, mark.entry_count)
            self._active.flush()  # else what is undone now could be back after a power failure
            if added:
                sync(self.directory)
        except OSError as second:
            self._refusal = f"an earlier write failed ({reason}) and undoing it did too ({second})"
            self.is_broken = True
            return WriteFailedError(path, reason=reason, restored=False, in_doubt=in_doubt)
        self._next_offset = mark.next_offset
        self._unflushed_messages -= len(in_doubt)
        self._first_append_ms = mark.first_append_ms
        return WriteFailedError(path, reason=reason, restored=True)
