"""Compare the three indexes of a segment with the batches of its `.log`.

A batch is told if an index has an entry for it: `OffsetIndexCheck.next_position` and
`TimeIndexCheck.next_offset` say which one that is, so all other batches cost a comparison.

    .index       the position is where a batch begins; the offset is the last one of that batch
    .timeindex   the timestamp is the greatest so far, and the offset the last one of its batch
    .txnindex    producer, first and last offset of an aborted transaction, the last stable one

Brokers before 4.0 choose other offsets: the last one of a whole appended set of batches; or the
very record with the greatest timestamp. And an entry is due after `index.interval.bytes`, which no
file tells, since the last one or since the broker was started. What only a broker of today would
have written otherwise is a *note*: a finding by the strict rule. Entries ascend, or a search goes
wrong. Entries that point into damage of the log are not judged. Faults of one class in one index
are one finding, at the first of them, which stands for all.
Source: Kafka: LogSegment.append, OffsetIndex, TimeIndex, AbortedTxn.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from kminilog.broker_files.index_files import (
    AbortedTransaction,
    IndexContents,
    parse_offset_index,
    parse_time_index,
    parse_transaction_index,
)
from kminilog.format.names import MAX_OFFSET
from kminilog.text import agreeing, count
from kminilog.verification.broker_files.faults import BrokerFault
from kminilog.verification.broker_files.producers import Aborted

NO_MORE = MAX_OFFSET + 1
_ENTRY_BYTES, _TIME_ENTRY_BYTES, _ABORTED_BYTES = 8, 12, 34
_USUAL_INTERVAL_BYTES = 4096  # the default of index.interval.bytes
EntryOf = TypeVar("EntryOf", bound=tuple[int, ...])


class SegmentIndexFault(NamedTuple):
    """A fault; `position` is a byte of the index. As a note it counts by the strict rule only."""

    kind: BrokerFault
    detail: str
    offset: int | None
    position: int | None
    total: int = 1
    is_note: bool = False


class _Faults:
    """The faults of one index by class: the first of each, and how many."""

    def __init__(self) -> None:
        self._found: dict[tuple[BrokerFault, bool], SegmentIndexFault] = {}

    def add(self, fault: SegmentIndexFault) -> None:
        key = fault.kind, fault.is_note
        first = self._found.get(key)
        self._found[key] = first._replace(total=first.total + fault.total) if first else fault

    def __iter__(self) -> Iterator[SegmentIndexFault]:
        for fault in self._found.values():
            more = fault.total - 1
            nor = f", nor {agreeing('do', more)} {more} more" if more else ""
            yield fault._replace(detail=fault.detail + nor)


class OffsetIndexCheck:
    """Compares the entries of an `.index` with batches. Memory O(entries)."""

    def __init__(self, data: bytes, base_offset: int) -> None:
        self._base_offset = base_offset
        self._faults = _Faults()
        contents = parse_offset_index(data)
        self.count = len(contents.entries)
        self.padding_bytes = contents.padding_bytes
        self._entries = _ascending(self._faults, BrokerFault.INDEX_ORDER, contents, _ENTRY_BYTES)
        self._next = 0
        self._of_sets: list[tuple[int, int]] = []  # number and offset, of entries still unjudged
        self._last_position = 0
        self._least: int | None = None  # bytes from an entry to the next one
        # From the entry in front to the last batch without one, by the number of the entry.
        self._passed = array("q", bytes(8 * (self.count + 1)))
        self.next_position = self._position()

    def tell(self, position: int, base_offset: int, last_offset: int, before: int) -> bool:
        """Compare the entries up to this batch; tell if one points to it. `before` is where the
        batch before it begins."""
        while self.next_position < position:
            self._fail(BrokerFault.INDEX_POSITION, "does not point to where a batch begins")
        if self.next_position > position:
            return False
        number, entry = self._entries[self._next]
        offset = self._base_offset + entry.relative_offset
        if offset < base_offset:
            self._fail(BrokerFault.INDEX_OFFSET, self._other(base_offset, last_offset))
            return True
        if offset > last_offset:
            self._of_sets.append((number, offset))
        elif offset < last_offset:
            self._note(number, offset, self._other(base_offset, last_offset))
        if self._last_position >= 0:
            taken = position - self._last_position
            self._least = min(taken, self._least or taken)
            self._passed[number] = before - self._last_position
        self._last_position = position
        self._advance()
        return True

    def tell_later(self, base_offset: int, last_offset: int) -> None:
        """Compare entries with the offset of a later batch than the one that they point to."""
        waiting = []
        for number, offset in self._of_sets:
            if offset > last_offset:
                waiting.append((number, offset))
            elif offset == last_offset:
                self._note(number, offset, "has the offset of a later batch, as of an appended set")
            else:
                self._add_offset(number, offset)
        self._of_sets = waiting

    @property
    def awaits_offsets(self) -> bool:
        """Whether an entry has the offset of a batch that has not been told."""
        return bool(self._of_sets)

    def tell_damage(self, start: int, end: int) -> None:
        """Pass over entries that point into damage, `start` to `end`; what is in front is wrong."""
        while self.next_position < start:
            self._fail(BrokerFault.INDEX_POSITION, "does not point to where a batch begins")
        while self.next_position < end:
            self._advance()
        self._last_position = -1  # nobody knows how far the next one should be
        self._of_sets = []

    def faults(
        self, log_bytes: int, last_batch: int, *, is_last: bool
    ) -> Iterator[SegmentIndexFault]:
        """Yield all faults, after the last batch was told; it begins at `last_batch`."""
        while self._next < len(self._entries):
            if self.next_position >= log_bytes:
                detail = f"points past the end of the log, which has {count(log_bytes, 'byte')}"
                self._fail(BrokerFault.INDEX_PAST_END, detail)
            else:
                self._fail(BrokerFault.INDEX_POSITION, "does not point to where a batch begins")
        for number, offset in self._of_sets:
            self._add_offset(number, offset)
        if self.padding_bytes and not is_last:
            detail = f"{count(self.padding_bytes, 'byte')} of zeros: only the last segment has any"
            at = self.count * _ENTRY_BYTES
            self._faults.add(SegmentIndexFault(BrokerFault.INDEX_ORDER, detail, None, at))
        least = self._least or _USUAL_INTERVAL_BYTES + 1
        if self._last_position >= 0:
            self._passed[self.count] = last_batch - self._last_position
        for number, distance in enumerate(self._passed):
            if distance >= least:
                detail = f"no entry for {count(distance, 'byte')} before entry {number}"
                at = number * _ENTRY_BYTES
                self._faults.add(
                    SegmentIndexFault(BrokerFault.INDEX_SPARSE, detail, None, at, is_note=True)
                )
        yield from self._faults

    def _other(self, base_offset: int, last_offset: int) -> str:
        return f"points to a batch with the offsets {base_offset} to {last_offset}"

    def _add_offset(self, number: int, offset: int) -> None:
        detail = f"entry {number} has offset {offset}, with which no batch ends"
        place = number * _ENTRY_BYTES
        self._faults.add(SegmentIndexFault(BrokerFault.INDEX_OFFSET, detail, offset, place))

    def _note(self, number: int, offset: int, complaint: str) -> None:
        detail = f"entry {number}, offset {offset}, {complaint}"
        place = number * _ENTRY_BYTES
        self._faults.add(
            SegmentIndexFault(BrokerFault.INDEX_OFFSET, detail, offset, place, is_note=True)
        )

    def _fail(self, kind: BrokerFault, complaint: str) -> None:
        number, entry = self._entries[self._next]
        detail = f"entry {number}, {tuple(entry)}, {complaint}"
        offset = self._base_offset + entry.relative_offset
        self._faults.add(SegmentIndexFault(kind, detail, offset, number * _ENTRY_BYTES))
        self._advance()

    def _advance(self) -> None:
        self._next += 1
        self.next_position = self._position()

    def _position(self) -> int:
        at_end = self._next == len(self._entries)
        return NO_MORE if at_end else self._entries[self._next][1].position


class TimeIndexCheck:
    """Compares the entries of a `.timeindex` with batches. Memory O(entries)."""

    def __init__(self, data: bytes, base_offset: int) -> None:
        self._base_offset = base_offset
        self._faults = _Faults()
        contents = parse_time_index(data)
        self.count = len(contents.entries)
        self.padding_bytes = contents.padding_bytes
        self._entries = _ascending(
            self._faults,
            BrokerFault.TIME_INDEX_ORDER,
            contents,
            _TIME_ENTRY_BYTES,
        )
        self._next = 0
        self._greatest = -1  # timestamp of the last entry that is true
        self._is_damaged = False
        self.next_offset = self._offset()

    def tell(
        self, base_offset: int, last_offset: int, timestamp: int, greatest_before: int
    ) -> None:
        """Compare the entries up to this batch, whose greatest timestamp this is."""
        while self.next_offset < base_offset:
            self._fail("is not in any batch")
        while self.next_offset <= last_offset:
            number, entry = self._entries[self._next]
            if entry.timestamp != timestamp:
                self._fail(f"but the greatest timestamp of its batch is {timestamp}")
            elif timestamp <= greatest_before:
                self._fail(f"but a batch before it has timestamp {greatest_before}")
            else:
                if self.next_offset != last_offset:
                    detail = f"entry {number} has offset {self.next_offset}, not {last_offset}"
                    self._add(number, detail, is_note=True)
                self._greatest = timestamp
                self._advance()

    def tell_indexed(self, greatest: int) -> None:
        """Note a missing entry: the `.index` has one for a batch, and a timestamp is greater."""
        if greatest > self._greatest and not self._is_damaged:
            self._sparse(f"timestamp {greatest} needs an entry before this one")
            self._greatest = greatest

    def tell_damage(self, next_offset: int) -> None:
        """Pass over entries of offsets that are damaged, those below `next_offset`."""
        self._is_damaged = True
        while self.next_offset < next_offset:
            self._advance()

    def faults(self, greatest: int, *, is_last: bool) -> Iterator[SegmentIndexFault]:
        """Yield all faults, after the last batch was told."""
        while self._next < len(self._entries):
            self._fail("is not in any batch")
        if self.padding_bytes and not is_last:
            detail = f"{count(self.padding_bytes, 'byte')} of zeros: only the last segment has any"
            at = self.count * _TIME_ENTRY_BYTES
            self._faults.add(SegmentIndexFault(BrokerFault.TIME_INDEX_ORDER, detail, None, at))
        if not is_last and greatest > self._greatest and not self._is_damaged:
            self._sparse(f"the last entry is not of timestamp {greatest}, the greatest")
        yield from self._faults

    def _sparse(self, detail: str) -> None:
        kind, at = BrokerFault.TIME_INDEX_SPARSE, self._next * _TIME_ENTRY_BYTES
        self._faults.add(SegmentIndexFault(kind, detail, None, at, is_note=True))

    def _fail(self, complaint: str) -> None:
        number, entry = self._entries[self._next]
        self._add(number, f"entry {number}, {tuple(entry)}, {complaint}")
        self._advance()

    def _add(self, number: int, detail: str, *, is_note: bool = False) -> None:
        offset, place = self.next_offset, number * _TIME_ENTRY_BYTES
        kind = BrokerFault.TIME_INDEX_ENTRY
        self._faults.add(SegmentIndexFault(kind, detail, offset, place, is_note=is_note))

    def _advance(self) -> None:
        self._next += 1
        self.next_offset = self._offset()

    def _offset(self) -> int:
        if self._next == len(self._entries):
            return NO_MORE
        return self._base_offset + self._entries[self._next][1].relative_offset


def transaction_index_faults(
    data: bytes | None,
    later_data: bytes | None,
    aborted: Sequence[Aborted],
    starts: Iterable[int],
    lost: Collection[range] = (),
) -> Iterator[SegmentIndexFault]:
    """Yield the faults of a `.txnindex`, None if there is none.

    It was read before the log, `later_data` after it, because a transaction may end meanwhile.
    `aborted` are the transactions whose marker the segment has. `starts` are the first offsets of
    those that began after one of them: the stable offset may be one, if a follower appended several
    sets at once.
    Offsets in `lost` are not there, so nobody knows what began or ended in them.
    """
    faults, kind = _Faults(), BrokerFault.TRANSACTION_INDEX_ENTRY
    contents = parse_transaction_index(data or b"")
    if contents.torn_bytes:
        detail = _torn(contents.torn_bytes)
        faults.add(SegmentIndexFault(kind, detail, None, len(contents.entries) * _ABORTED_BYTES))
    expected, known_starts = {one.last_offset: one for one in aborted}, set(starts)
    for number, entry in enumerate(contents.entries):
        one = expected.get(entry.last_offset)
        if one and entry.producer_id == one.producer_id:
            del expected[entry.last_offset]
        if why := _why_wrong(entry, one, known_starts):
            known = (one.first_offset or 0, one.last_stable_offset) if one else ()
            lowest = min(entry.first_offset, entry.last_stable_offset, *known)
            if any(r.start <= entry.last_offset and lowest < r.stop for r in lost):
                continue
            at = number * _ABORTED_BYTES
            faults.add(SegmentIndexFault(kind, f"entry {number} {why}", entry.last_offset, at))
    later = {entry.last_offset for entry in parse_transaction_index(later_data or b"").entries}
    for one in expected.values():
        if one.first_offset is not None and one.last_offset not in later:
            detail = f"none for producer {one.producer_id}, from offset {one.first_offset}"
            sparse = BrokerFault.TRANSACTION_INDEX_SPARSE
            faults.add(SegmentIndexFault(sparse, detail, one.last_offset, None))
    yield from faults


def _why_wrong(entry: AbortedTransaction, one: Aborted | None, starts: set[int]) -> str:
    """Return what does not fit, or nothing."""
    if entry.version != 0:
        return f"has version {entry.version}"
    if one is None or entry.producer_id != one.producer_id:
        return (
            f"is of producer {entry.producer_id}, but offset {entry.last_offset} is no ABORT of it"
        )
    if one.first_offset is None:
        return ""
    if entry.first_offset != one.first_offset:
        return f"begins at offset {entry.first_offset}, the transaction at {one.first_offset}"
    stable = entry.last_stable_offset
    is_of_set = stable > entry.last_offset and stable in starts
    if stable != one.last_stable_offset and not is_of_set:
        return f"has last stable offset {stable}, not {one.last_stable_offset}"
    return ""


def _ascending(
    faults: _Faults, kind: BrokerFault, contents: IndexContents[EntryOf], entry_bytes: int
) -> list[tuple[int, EntryOf]]:
    """Return the entries with their numbers, but for those that are out of order.

    Of two that do not ascend the first one is wrong, if the second one fits without it.
    """
    kept: list[tuple[int, EntryOf]] = []
    for number, entry in enumerate(contents.entries):
        if kept and not _is_below(kept[-1][1], entry):
            odd = number, entry
            if len(kept) == 1 or _is_below(kept[-2][1], entry):
                odd, kept[-1] = kept[-1], odd
            detail = f"entry {odd[0]}, {tuple(odd[1])}, does not ascend"
            faults.add(SegmentIndexFault(kind, detail, None, odd[0] * entry_bytes))
        else:
            kept.append((number, entry))
    if contents.torn_bytes:
        detail = _torn(contents.torn_bytes)
        at = len(contents.entries) * entry_bytes + contents.padding_bytes
        faults.add(SegmentIndexFault(kind, detail, None, at))
    return kept


def _is_below(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one[0] < other[0] and one[1] < other[1]


def _torn(torn_bytes: int) -> str:
    are = agreeing("are", torn_bytes)
    return f"the index ends with {count(torn_bytes, 'byte')} that {are} no entry"
