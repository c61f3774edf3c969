"""Find the faults of one `.index`, by comparison with the messages of its `.log`.

The caller passes the messages one by one, ascending by offset. An entry is *true* if the message
with its offset begins at its position. The classes of faults, slot by slot:

    index-order      zero, or not above the true entries before it; or the file ends inside a slot
    index-past-end   not true, and its position is not inside the `.log`
    index-position   not true, and its position is inside the `.log`
    index-sparse     a message was due an entry by the rule `is_due`, and has none; the interval is
                     the largest that the topic has had, because the index may be older

One fault gets one finding. A bad slot replaces one entry that is due. Damage in the log gets no
second finding in the index: entries for its offsets are not judged. If the damage removed or
repeated a message, all bytes after it have moved. So the next entry may be wrong by any number of
bytes, and the entries after that one by exactly the same number.

An additional entry is no fault: Kafka's rule counts appended sets, not messages. This module reads
no file and does not know the faults of a log. Source: ours; Kafka: DumpLogSegments,
OffsetIndex.sanityCheck.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain, compress
from typing import NamedTuple

from kminilog.format.index_entry import ENTRY_SIZE_BYTES, decode_entry, is_due
from kminilog.format.names import MAX_OFFSET
from kminilog.text import agreeing, count
from kminilog.verification.findings import FindingClass

_NO_ENTRY = MAX_OFFSET + 1
_TRUE, _NOT_JUDGED = 1, 2


class IndexFault(NamedTuple):
    """One fault; `position` is a byte of the `.log` for `index-sparse`, else of the `.index`."""

    kind: FindingClass
    offset: int | None
    position: int
    detail: str


class _Absent(NamedTuple):
    """Messages without an entry that is due: their number, and the first of them."""

    total: int = 0
    offset: int = 0
    position: int = 0

    def plus(self, other: "_Absent") -> "_Absent":
        first = self if self.total else other
        return first._replace(total=self.total + other.total)


def _slots(entries: bytes) -> tuple[list[int], int]:
    """Return the numbers of the slots to compare: one zero slot stands for all; how many more.

    A killed broker of Kafka 0.8 leaves megabytes of them.

    >>> _slots(bytes(7) + b"1" + bytes(16) + b"2" + bytes(7))
    ([0, 1, 3], 1)
    """
    words = array("q", entries)
    numbers = [*compress(range(len(words)), words)]
    zeros = len(words) - len(numbers)
    return sorted([*numbers, words.index(0)]) if zeros else numbers, max(zeros - 1, 0)


def _nor_more(number: int) -> str:
    return f", nor {agreeing('do', number)} {number} more" if number else ""


class IndexCheck:
    """Compares the entries of one index with the messages that it is told. Memory O(entries)."""

    def __init__(self, data: bytes, base_offset: int, interval_bytes: int) -> None:
        self._base_offset = base_offset
        self._interval_bytes = interval_bytes
        self._size_bytes = len(data)
        self._torn_bytes = len(data) % ENTRY_SIZE_BYTES
        self._numbers, self._more_zeros = _slots(data[: len(data) - self._torn_bytes])
        starts = (number * ENTRY_SIZE_BYTES for number in self._numbers)
        fields = array("i", chain.from_iterable(decode_entry(data, start) for start in starts))
        self._relative_offsets, self._positions = fields[0::2], fields[1::2]
        self._verdicts = bytearray(len(self._positions))  # of each slot; at first none is true
        self._last_indexed = 0
        self._shift: int | None = 0  # by how many bytes entries are off; None: any number
        self._absent_between = _Absent()  # in front of the last true entry
        self._absent_after = _Absent()
        slots = range(len(self._positions))
        self._waiting = iter(sorted(slots, key=self._relative_offsets.__getitem__))
        self._advance()

    def tell_message(self, lowest_offset: int, offset: int, position: int) -> None:
        """Compare the entries with a message that is where it belongs.

        A compressed message holds the offsets from `lowest_offset` to its own `offset`.
        """
        while self._awaited_offset <= offset:
            if self._awaited_offset >= lowest_offset:
                # Accept the current entry if its message is where it points.
                shift = self._positions[self._slot] - position
                if shift == 0 or self._shift in (None, shift):
                    self._shift = shift
                    self._accept()
                    self._absent_between = self._absent_between.plus(self._absent_after)
                    self._absent_after = _Absent()
            self._advance()
        if self._shift is None:
            return
        shifted = position + self._shift
        if is_due(shifted, self._last_indexed, self._interval_bytes):
            self._absent_after = self._absent_after.plus(_Absent(1, offset, position))
            self._last_indexed = shifted

    def tell_messages(self, first_offset: int, positions: Sequence[int]) -> None:
        """Compare the entries with messages whose offsets follow each other without a gap.

        This is `tell_message` for each of them, but O(entries log messages): it passes over those
        that neither have an entry nor are due one.
        """
        slot = 0
        while True:
            awaited = max(self._awaited_offset - first_offset, slot)
            slot = min(awaited, self._first_due(positions, slot))
            if slot >= len(positions):
                return
            offset = first_offset + slot
            self.tell_message(offset, offset, positions[slot])
            slot += 1

    def tell_known(self, entries: int, next_offset: int) -> None:
        """Accept the first entries, of messages below an offset: they were compared before."""
        while self._awaited_offset < next_offset:
            if self._numbers[self._slot] < entries:
                self._accept()
            self._advance()

    def tell_fault(self, offset: int, next_offset: int) -> None:
        """Skip a fault of the log that affects the offsets `offset` to `next_offset` - 1.

        This range may be empty.
        """
        while self._awaited_offset < next_offset:
            if self._awaited_offset >= offset:
                self._verdicts[self._slot] = _NOT_JUDGED
            self._advance()
        self._shift = None

    def faults(
        self, seen_bytes: int, log_bytes: int, *, may_lag: bool = False
    ) -> Iterator[IndexFault]:
        """Yield the faults, after the caller has passed all messages of the first `seen_bytes`.

        A writer may have appended messages since then, up to `log_bytes`. If it may still be about
        to append their entries, the index `may_lag`.
        """
        bad_slots = out_of_order = first_out_of_order = 0
        last_offset, last_position = -1, 0
        for slot, relative_offset in enumerate(self._relative_offsets):
            position = self._positions[slot]
            if self._verdicts[slot] == _NOT_JUDGED:
                continue
            if relative_offset <= last_offset or position <= last_position:
                first_out_of_order = first_out_of_order if out_of_order else slot
                out_of_order += 1 if relative_offset or position else 1 + self._more_zeros
            elif self._verdicts[slot] == _TRUE:
                last_offset, last_position = relative_offset, position
            elif not seen_bytes <= position < log_bytes:
                bad_slots += 1
                yield self._false_entry(slot, log_bytes)
        if out_of_order:
            yield self._slot_fault(
                FindingClass.INDEX_ORDER,
                first_out_of_order,
                "does not ascend" + _nor_more(out_of_order - 1),
            )
        elif self._torn_bytes:
            rest = count(self._torn_bytes, "byte")
            detail = f"the index ends with {rest} that {agreeing('are', self._torn_bytes)} no entry"
            torn_at = self._size_bytes - self._torn_bytes
            yield IndexFault(FindingClass.INDEX_ORDER, None, torn_at, detail)
        absent = self._absent_between
        if not (may_lag or self._torn_bytes):
            absent = absent.plus(self._absent_after)
        missing = absent.total - bad_slots - out_of_order
        if missing > 0:
            detail = f"{missing} index entries are missing, the first one for this message"
            if missing == 1:
                detail = "1 index entry is missing, for this message"
            yield IndexFault(FindingClass.INDEX_SPARSE, absent.offset, absent.position, detail)

    def _first_due(self, positions: Sequence[int], start: int) -> int:
        """Return the first of the messages from `start` on that is due an entry."""
        if self._shift is None:
            return len(positions)
        limit = self._last_indexed + self._interval_bytes - self._shift
        return bisect_right(positions, limit, start)

    def _advance(self) -> None:
        self._slot = next(self._waiting, -1)
        self._awaited_offset = (
            _NO_ENTRY if self._slot < 0 else self._base_offset + self._relative_offsets[self._slot]
        )

    def _accept(self) -> None:
        self._verdicts[self._slot] = _TRUE
        self._last_indexed = self._positions[self._slot]

    def _false_entry(self, slot: int, log_bytes: int) -> IndexFault:
        if self._positions[slot] >= log_bytes:
            detail = f"points past the end of the log, which has {count(log_bytes, 'byte')}"
            return self._slot_fault(FindingClass.INDEX_PAST_END, slot, detail)
        detail = "does not point to the beginning of the message with its offset"
        return self._slot_fault(FindingClass.INDEX_POSITION, slot, detail)

    def _slot_fault(self, kind: FindingClass, slot: int, complaint: str) -> IndexFault:
        relative_offset, position = self._relative_offsets[slot], self._positions[slot]
        number = self._numbers[slot]
        detail = f"entry {number}, ({relative_offset}, {position}), {complaint}"
        offset = self._base_offset + relative_offset
        return IndexFault(kind, offset, number * ENTRY_SIZE_BYTES, detail)
