"""Check one segment: its bytes, offsets, name, index, and the partition of its keys.

Three modules do parts of this. Here their results meet, so that one fault gets one finding:

    damage_scan     messages and damage, in order; damage counts as the offsets that are missing
                    after it, or as one
    offset_checks   a valid message with a wrong offset
    index_checks    the index, which is not checked where the log is damaged

If the name and the first message disagree, the name is wrong: `name-base-mismatch`. But if the
index agrees with the name, messages are missing in front of the first one, or there twice. Where
one segment is not enough, its neighbours decide (partition_checks.py); the summary has what they
need. Source: ours; Kafka: DumpLogSegments.
"""

from collections.abc import Callable, Iterator, Sequence
from errno import EIO
from functools import partial

from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import Message, is_next_message
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.storage.files import read_regular
from kminilog.storage.publish.fingerprints import RangeSums
from kminilog.storage.segment.damage_scan import (
    Damage,
    ScannedMessage,
    has_grown,
    most_messages,
    walk,
)
from kminilog.storage.segment.segment import Segment
from kminilog.verification.findings import Finding, FindingClass, NewRest, Tally
from kminilog.verification.index_checks import IndexCheck
from kminilog.verification.offset_checks import (
    OffsetFault,
    gap,
    goes_on,
    judge_offset,
    overlap,
)
from kminilog.verification.summaries import (
    Placement,
    SegmentSummary,
    UndecidedFinding,
    range_at,
)


def check_segment(
    topic_partition: TopicPartition,
    segment: Segment,
    placement: Placement = (),
    borders: Sequence[int] = (),
    *,
    known: SegmentSummary | None = None,
    rest: NewRest | None = None,
) -> SegmentSummary:
    """Read a segment and return its content and findings; O(file), in windows.

    If the summary of its first bytes is `known`, without findings, it reads the bytes after them.

    It checks that messages with keys are in their partition, where the `placement` knows it. It
    sums up fingerprints from each of the `borders` to the next. A file that cannot be read becomes
    `unchecked`. It ignores what a writer appends meanwhile. `rest` makes what takes the findings
    that the summary does not keep.
    """
    begun = known or SegmentSummary.of_nothing(segment)
    check = SegmentCheck(topic_partition, segment, placement, RangeSums(borders), begun, rest)
    return check.run(lambda: check.read_on(begun.log_bytes))


class SegmentCheck:
    """One reading of a segment: which offset comes next, and the findings so far.

    It goes on after the messages of `known`.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        segment: Segment,
        placement: Placement,
        sums: RangeSums,
        known: SegmentSummary,
        rest: NewRest | None = None,
    ) -> None:
        self._topic_partition = topic_partition
        self._known = known
        self._segment = segment
        self._placement = placement
        self._sums = sums
        self._tally = Tally(rest=rest)
        self._start_offset = known.start_offset
        self._expected = known.next_offset or 0
        self._log_bytes = 0
        self._index_data = b""
        self._has_index = False
        self._indexes: list[IndexCheck] = []
        self._misnamed: Finding | None = None
        self._undecided: UndecidedFinding | None = None
        self._swapped_offset: int | None = None
        self._missing = range(0)
        self._damaged_from: int | None = None
        self._readable: tuple[int, int] | None = None
        self._message_count = known.message_count
        self._compressed_count, self._unplaced_count = known.compressed_count, known.unplaced_count
        self._first_offset, self._last_offset = known.first_offset, known.last_offset

    def run(self, read: Callable[[], object]) -> SegmentSummary:
        """Return the summary, once `read` has read the log to its end; O(file)."""
        unchecked = []
        try:
            self._log_bytes = self._segment.file_bytes  # before the index: else it may lack entries
            if self._log_bytes < self._known.log_bytes:
                raise OSError(EIO, "it became shorter while it was checked", self._segment.log_path)
            path = self._segment.index.path
            try:
                self._index_data = read_regular(path)
                self._has_index = True
            except FileNotFoundError:
                self._add(FindingClass.INDEX_SPARSE, f"there is no {path.name}", None, None)
            self._indexes = [self._index_check(self._segment.base_offset)]
            self._indexes[0].tell_known(self._known.index_entries, self._expected)
            read()
            if self._has_index:
                self._judge_index()
            if self._misnamed:
                self._tally.add(self._misnamed)
                if self._message_count == 1:
                    self._undecided = UndecidedFinding(self._misnamed, self._segment.first_offset)
        except OSError as error:
            unchecked = [f"{error.filename or self._segment.log_path}: {error.strerror}"]
        return SegmentSummary(
            base_offset=self._segment.base_offset,
            name=self._segment.name,
            first_offset=self._first_offset,
            last_offset=self._last_offset,
            message_count=self._message_count,
            log_bytes=self._log_bytes,
            index_entries=len(self._index_data) // ENTRY_SIZE_BYTES,
            findings=self._tally.findings(),
            unchecked=unchecked,
            start_offset=self._start_offset,
            next_offset=None if unchecked else self._expected,
            damaged_from=self._damaged_from,
            readable=self._readable,
            undecided=self._undecided,
            compressed_count=self._compressed_count,
            unplaced_count=self._unplaced_count,
            fingerprints=(*self._known.fingerprints, *self._sums.rows()),
        )

    def read_on(self, position: int, at_least: int = MAX_OFFSET) -> int:
        """Check messages one by one, from the one at `position` on; return where it stopped.

        It stops at the end of the log, or after `at_least` steps at a message without damage in
        front of it.
        """
        steps = walk(self._segment, self._log_bytes, position)
        step = next(steps, None)
        while step and (at_least > 0 or step.damage):
            following = next(steps, None)
            self._take(step, following)
            step = following
            at_least -= 1
        return step.position if step else self._log_bytes

    def take_messages(self, positions: Sequence[int], unplaced_count: int) -> None:
        """Take messages that begin at these positions, with the next offsets and uncompressed.

        The caller has checked their bytes and keys, and added them to the sums; nobody knows where
        `unplaced_count` of the keys belong. O(index entries).
        """
        if not len(positions):
            return
        for index in self._indexes:
            index.tell_messages(self._expected, positions)
        if self._first_offset is None:
            self._first_offset = self._expected
        self._message_count += len(positions)
        self._unplaced_count += unplaced_count
        self._expected += len(positions)
        self._last_offset = self._expected - 1

    # ---- the log

    def _take(self, step: ScannedMessage, following: ScannedMessage | None) -> None:
        """Check one message and the damage in front of it; the step after it helps to decide."""
        message, after = step.message, following.message if following else None
        lost = self._count_lost(step, following) if step.damage else 0
        if step.damage:
            self._take_damage(step.damage, lost, is_last=message is None)
        if message is None:
            return
        if lost > 1 and after and self._expected + lost == after.offset:
            self._expected += lost  # the damage has reached the offset of this message
            return
        if step.position == 0:
            self._judge_name(message, after)
        if message.offset != self._expected:
            self._expected += lost  # the damaged messages had these
        if message.offset == self._expected:
            self._take_in_place(message, step.position)
        elif message.offset == self._swapped_offset:
            self._swapped_offset = None  # this message is the other half of the same finding
        else:
            between = following is not None and following.damage is not None
            fault = judge_offset(
                message, self._expected, after, missing=self._missing, is_damage_between=between
            )
            if fault:
                self._take_fault(fault, step.position, message.offset, has_witness=bool(after))
            if fault is None or fault.kind == FindingClass.OFFSET_GAP:
                self._take_in_place(message, step.position)
        self._count(message, step.position)

    def _end_readable(self, faulty: int) -> None:
        """Note that no reader passes this place; so many messages that stand here are faulty."""
        if self._readable is None:
            self._readable = self._expected, self._message_count + faulty

    def _take_in_place(self, message: Message, position: int) -> None:
        for index in self._indexes:
            index.tell_message(self._expected, message.offset, position)
        self._expected = message.offset + 1

    def _count_lost(self, step: ScannedMessage, following: ScannedMessage | None) -> int:
        """Return how many messages were in the damage in front of a message: 1, if it is not
        certain.

        The offsets that are missing after it were there, if so many messages fit into its bytes.
        If the message after it contradicts the next one, damage has reached its offset: it is one
        of them. With damage between the two, nothing contradicts it.
        """
        if step.damage is None or step.message is None:
            return 1
        room = most_messages(self._segment.dialect, step.position - step.damage.position)
        missing = step.message.offset - self._expected
        after = following.message if following and not following.damage else None
        if after and not goes_on(step.message.offset, after):
            missing, room = after.offset - self._expected, room + 1
        return missing if 1 < missing <= room else 1

    def _take_damage(self, damage: Damage, lost: int, *, is_last: bool) -> None:
        detail = damage.detail
        if lost > 1:
            detail += f"; {lost} messages were in these bytes"
        self._add(FindingClass(damage.kind), detail, self._expected, damage.position)
        if damage.kind != FindingClass.TORN_TAIL:  # else it ends the log
            self._end_readable(0)
        if is_last:
            self._damaged_from = damage.position
        concerned_end = MAX_OFFSET if is_last else self._expected + lost
        for index in self._indexes:
            index.tell_fault(self._expected, concerned_end)

    def _take_fault(
        self, fault: OffsetFault, position: int, offset: int, *, has_witness: bool
    ) -> None:
        is_disorder = fault.kind == FindingClass.OFFSET_DISORDER
        place = fault.concerned.start if is_disorder else offset
        finding = self._add(fault.kind, fault.detail, place, position)
        self._end_readable(1)
        if not (is_disorder or has_witness):
            self._undecided = UndecidedFinding(finding, self._expected)
        if fault.kind == FindingClass.OFFSET_GAP:
            is_next_gap = fault.concerned.start == self._missing.stop + 1
            start = self._missing.start if is_next_gap else fault.concerned.start
            self._missing = range(start, fault.concerned.stop)
        self._swapped_offset = fault.swapped_offset
        for index in self._indexes:
            index.tell_fault(fault.concerned.start, fault.concerned.stop)
            if self._undecided:
                index.tell_fault(self._expected, self._expected + 1)
        self._expected = fault.next_offset

    def _count(self, message: Message, position: int) -> None:
        offset = message.offset
        self._message_count += 1
        self._sums.add(offset, message.size, message.crc)
        self._last_offset = offset
        if self._first_offset is None:
            self._first_offset = offset
        if message.is_compressed:
            self._compressed_count += 1
        elif message.key is not None:
            placed = range_at(self._placement, offset)
            if placed is None:
                self._unplaced_count += 1
            elif (partition := placed.partition_of(message.key)) != self._topic_partition.partition:
                detail = f"its key belongs to partition {partition}"
                found = self._finding(FindingClass.WRONG_PARTITION, detail, offset, position)
                self._tally.add(found._replace(key=message.key))

    def _add(
        self, kind: FindingClass, detail: str, offset: int | None, position: int | None
    ) -> Finding:
        finding = self._finding(kind, detail, offset, position)
        self._tally.add(finding)
        return finding

    def _finding(
        self, kind: FindingClass, detail: str, offset: int | None, position: int | None
    ) -> Finding:
        topic, partition = self._topic_partition
        return Finding(kind, topic, partition, detail, self._segment.name, offset, position)

    # ---- the name, and the index, which is relative to it

    def _judge_name(self, message: Message, after: Message | None) -> None:
        """Take the first message's offset for the base, unless the next message contradicts it.

        From here on, compare the index with both bases: by the message and by the name.
        """
        named, offset = self._expected, message.offset
        if offset < 0 or is_next_message(message, named) or (after and not goes_on(offset, after)):
            return
        detail = f"its name says offset {named}, but its first message has {offset}"
        self._misnamed = self._finding(FindingClass.NAME_BASE_MISMATCH, detail, offset, 0)
        self._end_readable(1)
        for index in self._indexes:
            index.tell_fault(named, offset)
        self._indexes.insert(0, self._index_check(self._segment.dialect.base_offset_for(offset)))
        self._start_offset = self._expected = offset

    def _index_check(self, base_offset: int) -> IndexCheck:
        return IndexCheck(self._index_data, base_offset, self._segment.widest_index_interval)

    def _judge_index(self) -> None:
        judged = [self._judge_one(index) for index in self._indexes]
        likelier = min(judged, key=lambda one: one[0])
        if likelier is not judged[0]:
            # Take the name for right after all: the index contradicts the first message.
            named, offset = self._segment.first_offset, self._start_offset
            fault = gap(range(named, offset)) if offset > named else overlap(offset, named)
            self._misnamed = self._finding(fault.kind, fault.detail, offset, 0)
            self._start_offset = named
        for finding in likelier[1]():  # once more: nobody has kept them
            self._tally.add(finding)

    def _judge_one(self, index: IndexCheck) -> tuple[int, Callable[[], Iterator[Finding]]]:
        """Return how many faults an index has, and the function that finds them."""
        strict, lenient = (partial(self._faults, index, may_lag=lag) for lag in (False, True))
        tally = Tally(strict())
        if FindingClass.INDEX_SPARSE in tally.counts():
            lenient_total, index_bytes = Tally(lenient()).total(), len(self._index_data)
            if lenient_total < tally.total() and has_grown(self._segment.index.path, index_bytes):
                return lenient_total, lenient
        return tally.total(), strict

    def _faults(self, index: IndexCheck, *, may_lag: bool) -> Iterator[Finding]:
        faults = index.faults(self._log_bytes, self._segment.file_bytes, may_lag=may_lag)
        return (self._finding(kind, detail, at, byte) for kind, at, byte, detail in faults)
