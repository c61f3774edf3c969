"""Check one segment of a broker: its batches one by one, and its indexes against them.

The header of a batch and its checksum are looked at, no record: so the cost is that of the
checksum. A *full* check decodes every record, too. What the next segment must go on with is the
`LogState`: the check of a segment by itself begins with a new one, which expects nothing.

One fault is one finding, as far as places can prove it: what damage has made unreadable is missing
from offsets, sequences and indexes, and nobody complains of that. A file that cannot be read
becomes `unchecked`. What a broker appends meanwhile is ignored.
Source: Kafka: LogSegment, UnifiedLog.analyzeAndValidateRecords, DumpLogSegments; verdicts are ours.
"""

import os
from dataclasses import dataclass, field

from kminilog.broker_files.damage import batch_at, explained, is_zero_from, next_batch
from kminilog.broker_files.directory import SegmentFiles
from kminilog.broker_files.entries import BatchOutcome, CorruptBatch, RecordBatch
from kminilog.broker_files.record import CorruptRecord, NotChecked, Record
from kminilog.broker_files.record_batch import (
    CONTROL_BIT,
    BatchHeader,
    ControlRecord,
    control_record,
)
from kminilog.broker_files.untouched import open_untouched
from kminilog.format.message import SIZE_END, NeedMoreBytes
from kminilog.format.names import TopicPartition
from kminilog.text import agreeing, count
from kminilog.verification.broker_files.batch_reader import read_batches
from kminilog.verification.broker_files.faults import BrokerFault
from kminilog.verification.broker_files.index_checks import NO_MORE
from kminilog.verification.broker_files.leader_epochs import BatchPlace
from kminilog.verification.broker_files.log_state import LogState
from kminilog.verification.broker_files.offset_order import MissingOffsets, judge_offset
from kminilog.verification.broker_files.segment_indexes import SegmentIndexes
from kminilog.verification.findings import Finding, NewRest, Tally

_FARTHEST = 1 << 31  # of the offset of a batch after damage


@dataclass
class SegmentCounts:
    """What a segment holds; `thinned_count` batches have lost records to compaction.

    `notes` are findings by the strict rule only. `unread` says why records were not looked at, and
    how often. `readable` is the offset at which a reader meets the first fault, and how many
    records stand in front of it.
    """

    name: str
    log_bytes: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    batch_count: int = 0
    record_count: int = 0
    control_count: int = 0
    thinned_count: int = 0
    compressed_set_count: int = 0
    lost_in_damage: int = 0
    index_entries: int = 0
    findings: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    unread: dict[str, int] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)
    readable: tuple[int, int] | None = None
    is_tail_damaged: bool = False


def check_segment(
    topic_partition: TopicPartition,
    files: SegmentFiles,
    state: LogState,
    *,
    next_base: int | None = None,
    is_full: bool = False,
    rest: NewRest | None = None,
) -> SegmentCounts:
    """Return what a segment holds, and its findings; O(file), in windows, memory O(indexes).

    `state` is that after the segment before, and becomes that after this one. `next_base` is where
    the next segment begins; None for the last one, which alone may have a torn tail. `rest` makes
    what takes the findings that are not kept.
    """
    return _SegmentCheck(topic_partition, files, state, next_base, is_full, rest).run()


class _SegmentCheck:
    def __init__(
        self,
        topic_partition: TopicPartition,
        files: SegmentFiles,
        state: LogState,
        next_base: int | None,
        is_full: bool,
        rest: NewRest | None,
    ) -> None:
        self._topic_partition = topic_partition
        self._files = files
        self._state = state
        self._next_base = next_base
        self._is_full = is_full
        self._tally, self._notes = Tally(rest=rest), Tally()
        self._counts = SegmentCounts(files.name)
        if state.next_offset is None:  # what was in front of the log, nobody knows
            state.next_offset = files.base_offset
            state.lose(0, files.base_offset)
        self._expected = state.next_offset
        self._indexes: SegmentIndexes
        self._greatest = -1  # timestamp so far
        self._last_batch = 0  # its position
        self._padding_bytes = 0  # zeros at its end

    def run(self) -> SegmentCounts:
        counts = self._counts
        try:
            # The indexes first: what a broker appends meanwhile is not in them.
            self._indexes = SegmentIndexes(self._files)
            counts.index_entries = self._indexes.offsets.count
            descriptor = open_untouched(self._files.log_path)
            try:
                counts.log_bytes = os.fstat(descriptor).st_size
                self._check_log(descriptor)
            finally:
                os.close(descriptor)
            self._take_index_faults()
        except OSError as error:
            counts.unchecked.append(f"{error.filename or self._files.log_path}: {error.strerror}")
            counts.is_tail_damaged = True  # nobody knows where it ends
            if self._next_base is not None:
                self._state.lose(self._expected, self._next_base)
                self._expected = self._next_base
                self._state.missing_until = self._state.damaged_until = self._next_base
        counts.findings, counts.notes = self._tally.findings(), self._notes.findings()
        self._state.next_offset = self._expected
        return counts

    @property
    def _base(self) -> int:
        return self._files.base_offset

    # ---- the log

    def _check_log(self, descriptor: int) -> None:
        position, end = 0, self._counts.log_bytes
        while position < end:
            position, outcome = self._check_batches(descriptor, position, end)
            if outcome is None:
                continue
            before, end = end, max(end, os.fstat(descriptor).st_size)
            if end > before or batch_at(descriptor, position, end):
                continue  # the broker was about to append this batch
            if self._next_base is None and is_zero_from(descriptor, position, end):
                detail = f"{count(end - position, 'byte')} of zeros to the end of the file"
                self._add(BrokerFault.ZERO_TAIL, detail, self._expected, position)
                self._end_readable(self._expected)
                self._padding_bytes = end - position
                break
            position = self._pass_damage(descriptor, position, end, outcome)
        self._counts.log_bytes = end
        if not self._counts.batch_count and self._base > self._expected:
            self._miss(self._expected, self._base, 0, is_at_leader=False)
            self._expected = self._base

    def _check_batches(
        self, descriptor: int, position: int, end: int
    ) -> tuple[int, BatchOutcome | None]:
        """Check whole batches; return where they end, and what stands there."""
        batches = read_batches(descriptor, position, end, with_data=self._is_full)
        counts, epochs = self._counts, self._state.epochs
        indexes, times = self._indexes.offsets, self._indexes.times
        ahead: BatchOutcome | None = None
        while (batch := ahead or next(batches, None)) is not None:
            ahead = None
            if not isinstance(batch, RecordBatch):
                return position, batch
            fields = batch.fields
            if isinstance(fields, BatchHeader):
                size, timestamp = SIZE_END + fields.length, fields.max_timestamp
                base_offset = fields.base_offset
                last_offset = base_offset + fields.last_offset_delta
            else:
                size, timestamp = batch.length_bytes, fields.timestamp
                base_offset, last_offset = self._first_inside(batch), fields.offset
            if base_offset != self._expected:
                ahead = next(batches, None)
                following = self._next_base if ahead is None else None
                if isinstance(ahead, RecordBatch):
                    following = ahead.base_offset
                base = self._take_offset(batch, base_offset, last_offset, following)
                if base is None:
                    position += size
                    continue
                last_offset += base - base_offset
                base_offset = base
                if isinstance(fields, BatchHeader):
                    fields = fields._replace(base_offset=base)
            else:
                self._expected = last_offset + 1
            if isinstance(fields, BatchHeader):
                epoch = fields.partition_leader_epoch
                if epoch != epochs.epoch or base_offset >= epochs.next_start:
                    self._take_epoch(epoch, base_offset, position)
                count = fields.record_count
                is_plain = fields.producer_id < 0 and not fields.attributes & CONTROL_BIT
                if is_plain and count == fields.last_offset_delta + 1:
                    counts.record_count += count
                else:
                    self._take_header(batch, fields, position)
            else:
                counts.record_count += 1
            if last_offset >= times.next_offset:
                times.tell(base_offset, last_offset, timestamp, self._greatest)
            if timestamp > self._greatest:
                self._greatest = timestamp
            if position >= indexes.next_position and indexes.tell(
                position, base_offset, last_offset, self._last_batch
            ):
                times.tell_indexed(self._greatest)
            if indexes.awaits_offsets:
                indexes.tell_later(base_offset, last_offset)
            if self._is_full:
                self._check_records(batch, fields, base_offset, last_offset)
            if counts.first_offset is None:
                self._take_first(base_offset)
            counts.last_offset = last_offset
            counts.batch_count += 1
            self._last_batch = position
            position += size
        return position, None

    def _first_inside(self, message: RecordBatch) -> int:
        """Return the first offset of a message of format v0 or v1.

        Only a full check looks into a compressed one.
        """
        if message.base_offset is not None:
            return message.base_offset
        self._counts.compressed_set_count += 1
        first = next(message.records(), None) if self._is_full else None
        return (
            first.offset if isinstance(first, Record) else min(self._expected, message.last_offset)
        )

    def _take_first(self, base_offset: int) -> None:
        self._counts.first_offset = base_offset
        if base_offset < self._base:
            detail = f"its first offset is {base_offset}, but its name says {self._base}"
            self._add(BrokerFault.NAME_BASE_MISMATCH, detail, base_offset, 0)

    def _take_header(self, batch: RecordBatch, header: BatchHeader, position: int) -> None:
        """Take what only a batch of format v2 has."""
        counts, offsets = self._counts, header.last_offset_delta + 1
        if header.record_count != offsets:
            if 0 <= header.record_count < offsets:
                counts.thinned_count += 1
                if not header.record_count:  # a transaction may have begun there
                    self._state.lose(header.base_offset, header.base_offset + offsets)
            else:
                detail = f"{count(header.record_count, 'record')} in {count(offsets, 'offset')}"
                self._add(BrokerFault.BAD_RECORD_COUNT, detail, header.base_offset, position)
        if header.is_control:
            counts.control_count += header.record_count
            self._take_marker(batch, header, position)
        else:
            counts.record_count += max(header.record_count, 0)
            if header.producer_id >= 0:
                self._take_producer(header, position)

    def _take_producer(self, header: BatchHeader, position: int) -> None:
        state = self._state
        if state.producers.begins(header):
            if self._indexes.aborted:  # else no entry can have it
                self._indexes.starts.add(header.base_offset)
            place = BatchPlace(self._files.name, header.base_offset, position)
            state.open_places[header.producer_id] = place
        wrong = state.producers.take(header, state.missing_until)
        if wrong:
            self._add(wrong.kind, wrong.detail, header.base_offset, position)

    def _take_marker(self, batch: RecordBatch, header: BatchHeader, position: int) -> None:
        record = next(batch.records(), None)
        if record is None:
            return  # compaction has removed it
        said = control_record(record) if isinstance(record, Record) else record
        if isinstance(said, ControlRecord):
            if said.type not in ("ABORT", "COMMIT"):
                return
            self._state.open_places.pop(header.producer_id, None)
            is_aborted = said.type == "ABORT"
            aborted = self._state.producers.end_transaction(header, is_aborted=is_aborted)
            if aborted:
                self._indexes.aborted.append(aborted)
        elif isinstance(said, CorruptRecord):
            self._add(BrokerFault.BAD_RECORD, said.detail, header.base_offset, position)
        else:
            self._unread(said.reason)

    def _take_epoch(self, epoch: int, offset: int, position: int) -> None:
        wrong = self._state.epochs.take(epoch, BatchPlace(self._files.name, offset, position))
        if wrong:
            segment, offset, position = wrong.place
            found = self._finding(BrokerFault.LEADER_EPOCH, wrong.detail, offset, position)
            self._tally.add(found._replace(segment=segment))

    def _take_offset(
        self, batch: RecordBatch, base_offset: int, last_offset: int, following: int | None
    ) -> int | None:
        """Judge an offset that was not expected; return what it should be, None for none."""
        expected, position = self._expected, batch.position
        is_first, is_followed = self._counts.batch_count == 0, following == last_offset + 1
        if is_first and base_offset < expected == self._base and is_followed:
            self._expected = last_offset + 1  # the name is wrong, which is another finding
            return base_offset
        verdict = judge_offset(expected, base_offset, last_offset, following, self._state.gaps)
        self._expected = verdict.next_offset
        if verdict.kind is None:
            epoch = getattr(batch.fields, "partition_leader_epoch", -1)
            is_at_leader = self._state.epochs.epoch not in (-1, epoch)
            self._miss(expected, base_offset, position, is_at_leader=is_at_leader)
        else:
            if verdict.kind is not BrokerFault.OFFSET_OVERLAP:  # it does not stop a reader
                self._end_readable(expected)
            self._add(verdict.kind, verdict.detail, base_offset, position)
        return verdict.base_offset

    def _miss(self, start: int, stop: int, position: int, *, is_at_leader: bool) -> None:
        gap = MissingOffsets(start, stop, self._files.name, position, is_at_leader)
        self._state.miss(gap)

    # ---- damage

    def _pass_damage(self, descriptor: int, position: int, end: int, outcome: BatchOutcome) -> int:
        """Add a finding for damage at `position`; return where the next whole batch begins."""
        expected = self._expected
        after = None
        if isinstance(outcome, CorruptBatch) and outcome.length_bytes > 0:
            after = batch_at(descriptor, position + outcome.length_bytes, end)
        offsets = range(expected, expected + _FARTHEST)
        after = after or next_batch(descriptor, position, end, offsets)
        resumed = after.position if after else end
        kind, detail = self._damage(descriptor, position, end, outcome, is_tail=after is None)
        lost = 0
        if after and after.base_offset is not None:
            lost = max(after.base_offset - expected, 0)
        elif self._next_base is not None and after is None:
            lost = max(self._next_base - expected, 0)
        if lost:
            detail += f"; {count(lost, 'offset', 'were')} in these bytes"
        self._counts.lost_in_damage += lost
        self._end_readable(expected)
        last = expected + lost - 1 if lost > 1 else None
        self._tally.add(self._finding(kind, detail, expected, position)._replace(last_offset=last))
        self._counts.is_tail_damaged = after is None
        self._expected += lost
        self._state.missing_until = self._expected
        is_end = after is None and self._next_base is None
        self._indexes.offsets.tell_damage(position, NO_MORE if is_end else resumed)
        self._state.damaged_until = NO_MORE if is_end else self._expected
        self._indexes.times.tell_damage(self._state.damaged_until)
        self._state.lose(expected, self._state.damaged_until)
        return resumed

    def _damage(
        self, descriptor: int, position: int, end: int, outcome: BatchOutcome, *, is_tail: bool
    ) -> tuple[BrokerFault, str]:
        if is_tail and is_zero_from(descriptor, position, end):
            detail = f"{count(end - position, 'byte')} of zeros to the end of the file"
            return BrokerFault.BAD_LENGTH, detail
        if isinstance(outcome, CorruptBatch):
            return BrokerFault(outcome.fault.value), explained(descriptor, position, outcome).detail
        left_bytes = end - position
        left = f"{left_bytes} {agreeing('are', left_bytes)} left"
        needed_bytes = outcome.needed_bytes if isinstance(outcome, NeedMoreBytes) else 0
        detail = f"a batch of {needed_bytes} bytes or more, but {left}"
        is_torn = is_tail and self._next_base is None
        return BrokerFault.TORN_TAIL if is_torn else BrokerFault.BAD_LENGTH, detail

    def _end_readable(self, offset: int) -> None:
        if self._counts.readable is None:
            self._counts.readable = offset, self._counts.record_count

    # ---- the records

    def _check_records(
        self,
        batch: RecordBatch,
        fields: object,
        base_offset: int,
        last_offset: int,
    ) -> None:
        """Decode every record of a batch; a compressed message counts as those inside."""
        previous, greatest, position = base_offset - 1, -1, batch.position
        shift = base_offset - (batch.base_offset if batch.base_offset is not None else base_offset)
        decoded = 0
        for record in batch.records():
            if isinstance(record, NotChecked):
                self._unread(record.reason)
                return
            if isinstance(record, CorruptRecord):
                self._add(BrokerFault.BAD_RECORD, record.detail, previous + 1, position)
                return
            offset = record.offset + shift
            if not previous < offset <= last_offset:
                detail = f"record offset {offset} after {previous}, in a batch to {last_offset}"
                self._add(BrokerFault.BAD_RECORD, detail, offset, position)
                return
            previous, greatest = offset, max(greatest, record.timestamp)
            decoded += 1
        if not isinstance(fields, BatchHeader):
            self._counts.record_count += decoded - 1
        elif decoded and greatest != fields.max_timestamp:
            detail = f"{fields.max_timestamp}, but its records have {greatest} at most"
            self._add(BrokerFault.BAD_MAX_TIMESTAMP, detail, base_offset, position)

    def _unread(self, reason: str) -> None:
        self._counts.unread[reason] = self._counts.unread.get(reason, 0) + 1

    # ---- findings

    def _take_index_faults(self) -> None:
        for fault in self._indexes.faults(
            self._counts.log_bytes - self._padding_bytes,
            self._last_batch if self._counts.batch_count else None,
            self._greatest,
            self._state.lost,
            is_last=self._next_base is None,
        ):
            finding = self._finding(fault.kind, fault.detail, fault.offset, fault.position)
            tally = self._notes if fault.is_note else self._tally
            tally.add(finding._replace(stands_for=fault.total))

    def _add(
        self, kind: BrokerFault, detail: str, offset: int | None, position: int | None
    ) -> None:
        self._tally.add(self._finding(kind, detail, offset, position))

    def _finding(
        self, kind: BrokerFault, detail: str, offset: int | None, position: int | None
    ) -> Finding:
        topic, partition = self._topic_partition
        return Finding(kind, topic, partition, detail, self._files.name, offset, position)
