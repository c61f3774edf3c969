"""Read a partition in a broker's log directory: find a record, read records, leave out the aborted.

    find        names -> segment, .index -> a batch before the offset, and from there batch by batch
    find_time   .timeindex -> an offset before which no record is late enough, and from there
    read        batch after batch, across segments and formats
    committed   the same without control records, and without those of aborted transactions

The `.log` is the truth. An entry of an index only says where to begin, and counts only if a batch
begins there. Whether a transaction was committed is read from its marker, which stands in the log
after its records: `.txnindex` is not needed. Records of a transaction that has no marker yet end
what a consumer sees: its first offset is the *last stable offset*.

The broker may be at work. A batch that is not whole at the end of the last segment is the end of
the log, and so are zeros up to its end. If a file is gone, the directory is listed again. What was
replicated is not known here: a broker's consumer would see records up to the high watermark only.

Damage ends the reading, but not in front of the offset that is asked for: a broker, too, finds a
batch by the offsets of those before it, not by their checksums.
Source: Kafka: UnifiedLog, LogSegment.findOffsetByTimestamp, FileRecords.searchForTimestamp,
CompletedFetch (read_committed).
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kminilog.broker_files.directory import BrokerDirectory, PartitionListing, SegmentFiles
from kminilog.broker_files.entries import BatchOutcome, CorruptBatch, RecordBatch
from kminilog.broker_files.index_files import (
    TimeIndexEntry,
    parse_offset_index,
    parse_time_index,
)
from kminilog.broker_files.log_file import is_padding, next_position_after, scan_log, walk_log
from kminilog.broker_files.record import CorruptRecord, NotChecked, Record
from kminilog.broker_files.record_batch import BatchHeader, ControlRecord, control_record
from kminilog.broker_files.untouched import read_untouched
from kminilog.errors import CorruptLogError, KMiniLogError, OffsetOutOfRangeError
from kminilog.format.dialect import KAFKA
from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import NeedMoreBytes
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.storage.segment.lookup import UNTRACED, Tracer, entry_slot, segment_slot

ONE_BATCH_BYTES = 1 << 14  # a window where only one batch of a usual size is needed


class NotReadError(KMiniLogError):
    """Records that nobody could read here, although nothing is known to be wrong with them."""

    def __init__(self, path: Path, *, position: int, reason: str) -> None:
        super().__init__(f"{path}, byte {position}: not read: {reason}")


class StoredRecord(NamedTuple):
    """A record, and the batch and the segment that hold it."""

    segment: SegmentFiles
    batch: RecordBatch
    record: Record


class FoundRecord(NamedTuple):
    """A record, and how it was found: what was scanned goes to the end of its batch."""

    stored: StoredRecord
    index_entry: IndexEntry | None
    time_entry: TimeIndexEntry | None
    scanned_batches: int
    scanned_bytes: int


class BrokerPartition:
    """One partition, for one thread. Raises NotInDirectoryError if the broker does not have it."""

    def __init__(self, broker: BrokerDirectory, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self._broker = broker
        self.files: PartitionListing
        self._base_offsets: list[int] = []
        self.list_again()

    def list_again(self) -> bool:
        """List the directory; tell if the segments have changed since the last listing."""
        before = self._base_offsets
        self.files = self._broker.files_of(self.topic_partition)
        self._base_offsets = [segment.base_offset for segment in self.segments]
        self._log_start = self._broker.log_starts().get(self.topic_partition, 0)
        return self._base_offsets != before

    @property
    def segments(self) -> list[SegmentFiles]:
        """The segments of the last listing, ascending."""
        return self.files.segments

    @property
    def log_start_offset(self) -> int:
        """The first offset that counts: the first segment's name, or a greater one on record."""
        first = self.segments[0].base_offset if self.segments else 0
        return max(first, self._log_start)

    @property
    def log_end_offset(self) -> int:
        """One past the last offset of a whole batch, also of one after damage.

        Reads the last segment from its last index entry on.
        """
        while self.segments:
            try:
                end = self.end_of(self.segments[-1], past_damage=True)
            except FileNotFoundError:
                self.list_again()
                continue
            if not self.list_again():  # else a roll has come between
                return max(end, self.log_start_offset)
        return self.log_start_offset

    @staticmethod
    def start_of(segment: SegmentFiles) -> int:
        """Return the offset in a segment's name, or that of its first batch if it is lower.

        Raises FileNotFoundError if it was deleted.
        """
        first = _outcome_at(segment.log_path, 0)
        first_offset = _first_offset(first) if isinstance(first, RecordBatch) else MAX_OFFSET
        return min(segment.base_offset, first_offset)

    def end_of(self, segment: SegmentFiles, *, past_damage: bool = False) -> int:
        """Return one past the last offset in a segment, its base offset if it is empty.

        Reads from its last index entry on, and perhaps only up to damage after it. Raises
        FileNotFoundError if it was deleted.
        """
        entries = offset_index(segment)
        entry = entries[-1] if entries and _leads_to_batch(segment, entries[-1]) else None
        end = segment.base_offset
        for found in walk_log(segment.log_path, entry.position if entry else 0):
            if isinstance(found, RecordBatch):
                end = found.last_offset + 1
            elif not past_damage:
                break
        return end

    # ---- search

    def find(self, offset: int, tracer: Tracer = UNTRACED) -> FoundRecord:
        """Return the record with this offset; a control record is one. `tracer` watches.

        Raises OffsetOutOfRangeError if there is none, CorruptLogError if damage is in its place,
        and NotReadError if its batch cannot be decompressed here.
        """
        if not self.log_start_offset <= offset < self.log_end_offset:
            raise self._out_of_range(offset)
        tracer.begin()
        segment = self._segment_of(offset, tracer)
        entry = self._entry(segment, offset, tracer)
        scanned_bytes = 0
        batches = self._batches_from(segment, entry.position if entry else 0, offset)
        for scanned_batches, (stored_in, batch) in enumerate(batches, start=1):
            scanned_bytes += batch.length_bytes
            if batch.last_offset >= offset:
                for stored in records_of(stored_in, batch, offset):
                    if stored.record.offset == offset:
                        return FoundRecord(stored, entry, None, scanned_batches, scanned_bytes)
                break
        raise self._out_of_range(offset, is_in_gap=True)

    def find_time(self, timestamp: int) -> FoundRecord | None:
        """Return the first record with a timestamp not below this one, in ms; None without one.

        Format v0 has no timestamps. A time index is believed where it says that no record before an
        offset is late enough. Raises as `find`.
        """
        while True:
            try:
                return self._find_time(timestamp)
            except FileNotFoundError:
                if not self.list_again():
                    raise

    def _find_time(self, timestamp: int) -> FoundRecord | None:
        scanned_batches = scanned_bytes = 0
        for segment in self.segments:
            times = time_index(segment)
            slot = bisect_left([entry.timestamp for entry in times], timestamp) - 1
            time_entry = times[slot] if slot >= 0 else None
            offset = segment.base_offset + (time_entry.relative_offset if time_entry else 0)
            entry = self._entry(segment, offset)
            start = entry.position if entry else 0
            for batch in self._batches_of(segment, start, self.log_start_offset):
                scanned_batches += 1
                scanned_bytes += batch.length_bytes
                if batch.max_timestamp >= timestamp:
                    for stored in records_of(segment, batch, self.log_start_offset):
                        if stored.record.timestamp >= timestamp:
                            return FoundRecord(
                                stored, entry, time_entry, scanned_batches, scanned_bytes
                            )
        return None

    # ---- reading

    def batches(self, offset: int = 0) -> Iterator[tuple[SegmentFiles, RecordBatch]]:
        """Yield the batches in order, from the one that holds `offset`, or the next one, on.

        Ends at the end of the log. Raises CorruptLogError for damage that is not in front of it.
        """
        if self.segments:
            segment = self._segment_of(offset)
            entry = self._entry(segment, offset)
            position = entry.position if entry else 0
            for stored_in, batch in self._batches_from(segment, position, offset):
                if batch.last_offset >= offset:
                    yield stored_in, batch

    def read(self, offset: int) -> Iterator[StoredRecord]:
        """Yield the records from `offset` on, control records, too, to the end of the log.

        Raises OffsetOutOfRangeError for an offset that is not between log start and log end, else
        as `find`.
        """
        self.check_is_readable(offset)
        for segment, batch in self.batches(offset):
            yield from records_of(segment, batch, offset)

    def check_is_readable(self, offset: int) -> None:
        """Raise OffsetOutOfRangeError if reading cannot begin there; it can at the log end."""
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise self._out_of_range(offset)

    def _batches_from(
        self, segment: SegmentFiles, position: int, offset: int
    ) -> Iterator[tuple[SegmentFiles, RecordBatch]]:
        """Yield the batches from a position on, across segments. None comes twice."""
        next_offset = 0
        while True:
            was_last = segment.base_offset >= self.segments[-1].base_offset
            try:
                for batch in self._batches_of(segment, position, offset):
                    position = batch.position + batch.length_bytes
                    if batch.last_offset >= next_offset:
                        next_offset = batch.last_offset + 1
                        yield segment, batch
            except FileNotFoundError:
                self.list_again()
                if segment.base_offset in self._base_offsets:
                    raise
                if not self.segments:
                    return
                segment, position = self._segment_of(next_offset), 0
                continue
            if was_last:
                self.list_again()
            following = bisect_right(self._base_offsets, segment.base_offset)
            if following == len(self.segments):
                return
            if not was_last:  # else more may have come before the roll
                segment, position = self.segments[following], 0

    def _batches_of(
        self, segment: SegmentFiles, position: int, offset: int
    ) -> Iterator[RecordBatch]:
        """Yield the batches of one segment. Raises CorruptLogError as `_position_after`."""
        start: int | None = position
        while start is not None:
            next_position = None
            for at, outcome in scan_log(segment.log_path, start):
                if isinstance(outcome, RecordBatch):
                    yield outcome
                else:
                    next_position = self._position_after(segment, at, outcome, offset)
            start = next_position

    def _position_after(
        self, segment: SegmentFiles, at: int, outcome: NeedMoreBytes | CorruptBatch, offset: int
    ) -> int | None:
        """Return where to read on after bytes that are no batch; None: the log ends there.

        Raises CorruptLogError for damage, unless `offset` is in or after the next whole batch.
        """
        path, is_last = segment.log_path, segment.base_offset >= self.segments[-1].base_offset
        if is_last and is_padding(path, at):
            return None
        following = next_position_after(path, at)
        if isinstance(outcome, NeedMoreBytes):
            if is_last and following is None:
                return None
            # The broker may have finished it before it wrote what follows.
            if isinstance(_outcome_at(path, at), RecordBatch):
                return at
            reason = f"an unfinished batch, and {'batches' if following else 'segments'} after it"
        else:
            reason = outcome.detail
        after = None if following is None else _outcome_at(path, following)
        if isinstance(after, RecordBatch) and _first_offset(after) <= offset:
            return following
        raise _damage(segment, at, reason)

    def _segment_of(self, offset: int, tracer: Tracer = UNTRACED) -> SegmentFiles:
        return self.segments[segment_slot(KAFKA, self._base_offsets, offset, tracer)]

    def _entry(
        self, segment: SegmentFiles, offset: int, tracer: Tracer = UNTRACED
    ) -> IndexEntry | None:
        """Return the index entry at which the way to an offset begins; None: at byte 0."""
        entries = offset_index(segment)
        relative_offsets = [entry.relative_offset for entry in entries]
        slot = entry_slot(relative_offsets, offset - segment.base_offset, tracer)
        return entries[slot] if slot >= 0 and _leads_to_batch(segment, entries[slot]) else None

    def _out_of_range(self, offset: int, *, is_in_gap: bool = False) -> OffsetOutOfRangeError:
        return OffsetOutOfRangeError(
            str(self.topic_partition),
            offset=offset,
            log_start_offset=self.log_start_offset,
            log_end_offset=self.log_end_offset,
            is_in_gap=is_in_gap,
        )


class _Marker(NamedTuple):
    """Ends the transaction of a producer: COMMIT or ABORT."""

    offset: int
    type: str


class CommittedRecords:
    """The records from an offset on that a consumer with read_committed sees, and what it does not.

    An iteration ends at the end of the log, or in front of a transaction that has neither been
    committed nor aborted: at `open_offset`. A later one goes on from there. The counts are of what
    was left out so far.
    """

    def __init__(self, partition: BrokerPartition, offset: int) -> None:
        self.aborted_count = 0
        self.control_count = 0
        self.open_offset: int | None = None
        self.next_offset = offset
        self._partition = partition
        self._ahead: Iterator[tuple[SegmentFiles, RecordBatch]] | None = None
        self._markers: defaultdict[int, deque[_Marker]] = defaultdict(deque)

    def __iter__(self) -> Iterator[StoredRecord]:
        start, self.open_offset = self.next_offset, None
        for segment, batch in self._partition.batches(start):
            header = batch.fields
            if isinstance(header, BatchHeader) and not header.record_count:
                pass  # compaction has kept it for its sequence, but perhaps not its marker
            elif isinstance(header, BatchHeader) and header.is_control:
                self.control_count += _count_from(start, header)
            elif isinstance(header, BatchHeader) and header.is_transactional:
                fate = self._fate(header.producer_id, batch.last_offset)
                if fate is None:
                    self.open_offset = max(header.base_offset, start)
                    return
                if fate == "ABORT":
                    self.aborted_count += _count_from(start, header)
                else:
                    yield from records_of(segment, batch, start)
            else:
                yield from records_of(segment, batch, start)
            self.next_offset = batch.last_offset + 1

    def _fate(self, producer_id: int, offset: int) -> str | None:
        """Return ABORT or COMMIT: the producer's first marker after `offset`; None without one.

        Reads ahead as far as needed; each batch once.
        """
        if self._ahead is None:
            self._markers.clear()
            self._ahead = self._partition.batches(offset + 1)
        markers = self._markers[producer_id]
        while True:
            while markers and markers[0].offset < offset:  # of an earlier transaction
                markers.popleft()
            if markers:
                return markers[0].type
            segment, batch = next(self._ahead, (None, None))
            if segment is None or batch is None:
                self._ahead = None
                return None
            if isinstance(batch.fields, BatchHeader) and batch.fields.is_control:
                for stored in records_of(segment, batch, 0):
                    found = control_record(stored.record)
                    if isinstance(found, ControlRecord) and found.type in ("ABORT", "COMMIT"):
                        marker = _Marker(stored.record.offset, found.type)
                        self._markers[batch.fields.producer_id].append(marker)


def records_of(segment: SegmentFiles, batch: RecordBatch, offset: int) -> Iterator[StoredRecord]:
    """Yield the records of a batch from `offset` on; raises CorruptLogError, NotReadError."""
    for record in batch.records():
        if isinstance(record, CorruptRecord):
            raise _damage(segment, batch.position, record.detail)
        if isinstance(record, NotChecked):
            raise NotReadError(segment.log_path, position=batch.position, reason=record.reason)
        if record.offset >= offset:
            yield StoredRecord(segment, batch, record)


def offset_index(segment: SegmentFiles) -> list[IndexEntry]:
    """Return the entries of a segment's `.index`, up to the first that does not ascend."""
    try:
        entries = parse_offset_index(read_untouched(segment.path(".index"))).entries
    except FileNotFoundError:
        return []
    before = IndexEntry(-1, 0)
    for slot, entry in enumerate(entries):
        if not (
            before.relative_offset < entry.relative_offset and before.position < entry.position
        ):
            return entries[:slot]
        before = entry
    return entries


def time_index(segment: SegmentFiles) -> list[TimeIndexEntry]:
    """Return the entries of a segment's `.timeindex`, up to the first that does not ascend."""
    try:
        entries = parse_time_index(read_untouched(segment.path(".timeindex"))).entries
    except FileNotFoundError:
        return []
    before = TimeIndexEntry(-1, -1)
    for slot, entry in enumerate(entries):
        if entry.timestamp < before.timestamp or entry.relative_offset < before.relative_offset:
            return entries[:slot]
        before = entry
    return entries


def _leads_to_batch(segment: SegmentFiles, entry: IndexEntry) -> bool:
    """Tell if a batch begins where an entry points, and not after the entry's offset.

    The entry of several batches that were appended together has the last offset in them.
    """
    offset = segment.base_offset + entry.relative_offset
    try:
        batch = _outcome_at(segment.log_path, entry.position)
    except FileNotFoundError:
        return False
    return isinstance(batch, RecordBatch) and _first_offset(batch) <= offset


def _outcome_at(path: Path, position: int) -> BatchOutcome | None:
    """Return what is at a position; None at or past the end of the file."""
    _, outcome = next(scan_log(path, position, ONE_BATCH_BYTES), (position, None))
    return outcome


def _first_offset(batch: RecordBatch) -> int:
    """Return the first offset of a batch; MAX_OFFSET if its records cannot be read."""
    if batch.base_offset is not None:
        return batch.base_offset
    first = next(batch.records())
    return first.offset if isinstance(first, Record) else MAX_OFFSET


def _count_from(start: int, header: BatchHeader) -> int:
    """Return how many records of a batch are from `start` on, without reading them."""
    last_offset = header.base_offset + header.last_offset_delta
    return min(header.record_count, last_offset + 1 - max(start, header.base_offset))


def _damage(segment: SegmentFiles, position: int, reason: str) -> CorruptLogError:
    return CorruptLogError(
        str(segment.log_path),
        position=position,
        reason=reason,
        remedy="`kminilog verify` says what is lost",
    )
