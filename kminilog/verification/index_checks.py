"""What one `.index` gets wrong, by comparison with the messages of its `.log`.

The messages are told one by one, in the order of their offsets. An entry is *true* if the message
with its offset begins at its position. Then, slot by slot:

    index-order      zero, or not above the true entries before it; or the file ends inside a slot
    index-past-end   not true, and its position is not inside the `.log`
    index-position   not true, though its position is
    index-sparse     a message was due an entry by the one rule, `is_due`, and has none

One fault has one name. A bad slot stands for one entry that is due. Damage in the log is not named
again in the index: entries for the offsets it concerns are not judged. It may have moved all that
stands behind it (a message is gone, or there twice), so the next entry may be off by any number of
bytes, and from there on entries may be off by exactly as many.

An entry more than is due does no harm: Kafka's own rule counts appended sets, not messages. This
module reads no file and does not know what a fault in the log is. Source: ours; Kafka:
DumpLogSegments, OffsetIndex.sanityCheck.
"""

from array import array
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from kminilog.format.index_entry import ENTRY_SIZE_BYTES, decode_entries, is_due
from kminilog.format.names import MAX_OFFSET
from kminilog.verification.findings import FindingClass

_NO_ENTRY = MAX_OFFSET + 1
_TRUE, _NOT_JUDGED = 1, 2


class IndexFault(NamedTuple):
    """One thing that is wrong; `position` is a byte of the `.log` only for `index-sparse`."""

    kind: FindingClass
    offset: int | None
    position: int
    detail: str


class _Absent(NamedTuple):
    """Messages that are due an entry and have none: how many, and the first one."""

    total: int = 0
    offset: int = 0
    position: int = 0

    def plus(self, other: "_Absent") -> "_Absent":
        first = self if self.total else other
        return first._replace(total=self.total + other.total)


class IndexCheck:
    """The entries of one index, waiting for the messages. Memory: O(entries)."""

    def __init__(self, data: bytes, base_offset: int, interval_bytes: int) -> None:
        self._base_offset = base_offset
        self._interval_bytes = interval_bytes
        self._torn_bytes = len(data) % ENTRY_SIZE_BYTES
        # One slot at a time: a single entry is always well-formed.
        starts = range(0, len(data) - self._torn_bytes, ENTRY_SIZE_BYTES)
        slots = (decode_entries(data[start : start + ENTRY_SIZE_BYTES])[0] for start in starts)
        fields = array("i", chain.from_iterable(slots))
        self._relative_offsets, self._positions = fields[0::2], fields[1::2]
        self._verdicts = bytearray(len(self._positions))  # of each slot; at first all are false
        self._last_indexed = 0
        self._shift: int | None = 0  # by how much entries are off; None: any number is fine
        self._absent_between = _Absent()  # in front of the last true entry
        self._absent_behind = _Absent()
        self._waiting = iter(sorted(range(len(starts)), key=self._relative_offsets.__getitem__))
        self._advance()

    def __len__(self) -> int:
        return len(self._positions)

    def tell_message(self, lowest_offset: int, offset: int, position: int) -> None:
        """Compare with a message that is where it belongs.

        A compressed one takes up the offsets from `lowest_offset` to its own `offset`.
        """
        while self._awaited_offset <= offset:
            if self._awaited_offset >= lowest_offset:
                self._compare(position)
            self._advance()
        if self._shift is None:
            return
        shifted = position + self._shift
        if is_due(shifted, self._last_indexed, self._interval_bytes):
            self._absent_behind = self._absent_behind.plus(_Absent(1, offset, position))
            self._last_indexed = shifted

    def tell_fault(self, offset: int, next_offset: int) -> None:
        """Pass over a fault in the log that concerns the offsets `offset` to `next_offset` - 1.

        That may be none.
        """
        while self._awaited_offset < next_offset:
            if self._awaited_offset >= offset:
                self._verdicts[self._slot] = _NOT_JUDGED
            self._advance()
        self._shift = None

    def faults(
        self, told_bytes: int, log_bytes: int, *, may_lag: bool = False
    ) -> Iterator[IndexFault]:
        """Yield what is wrong, once all messages in the first `told_bytes` are told.

        A writer may have added some since then, up to the `log_bytes` that the log has now, and may
        be about to add entries: then the index `may_lag`.
        """
        bad_slots = out_of_order = first_out_of_order = 0
        last_offset, last_position = -1, 0
        for slot, relative_offset in enumerate(self._relative_offsets):
            position = self._positions[slot]
            if self._verdicts[slot] == _NOT_JUDGED:
                continue
            if relative_offset <= last_offset or position <= last_position:
                first_out_of_order = first_out_of_order if out_of_order else slot
                out_of_order += 1
            elif self._verdicts[slot] == _TRUE:
                last_offset, last_position = relative_offset, position
            elif not told_bytes <= position < log_bytes:
                bad_slots += 1
                yield self._false_entry(slot, log_bytes)
        if out_of_order:
            yield self._slot_fault(
                FindingClass.INDEX_ORDER,
                first_out_of_order,
                f"does not ascend ({out_of_order} such entries)",
            )
        elif self._torn_bytes:
            detail = f"the index ends with {self._torn_bytes} bytes that are no entry"
            yield IndexFault(FindingClass.INDEX_ORDER, None, len(self) * ENTRY_SIZE_BYTES, detail)
        absent = self._absent_between
        if not (may_lag or self._torn_bytes):
            absent = absent.plus(self._absent_behind)
        count = absent.total - bad_slots - out_of_order
        if count > 0:
            detail = f"{count} index entries are missing, the first one for this message"
            yield IndexFault(FindingClass.INDEX_SPARSE, absent.offset, absent.position, detail)

    def _advance(self) -> None:
        self._slot = next(self._waiting, -1)
        self._awaited_offset = (
            _NO_ENTRY if self._slot < 0 else self._base_offset + self._relative_offsets[self._slot]
        )

    def _compare(self, position: int) -> None:
        """Accept the awaited entry if the message it waits for, at `position`, is where it says."""
        entry_position = self._positions[self._slot]
        shift = entry_position - position
        if shift == 0 or self._shift in (None, shift):
            self._shift = shift
            self._verdicts[self._slot] = _TRUE
            self._last_indexed = entry_position
            self._absent_between = self._absent_between.plus(self._absent_behind)
            self._absent_behind = _Absent()

    def _false_entry(self, slot: int, log_bytes: int) -> IndexFault:
        if self._positions[slot] >= log_bytes:
            detail = f"points past the end of the log, which has {log_bytes} bytes"
            return self._slot_fault(FindingClass.INDEX_PAST_END, slot, detail)
        detail = "does not point to the beginning of the message with its offset"
        return self._slot_fault(FindingClass.INDEX_POSITION, slot, detail)

    def _slot_fault(self, kind: FindingClass, slot: int, complaint: str) -> IndexFault:
        relative_offset, position = self._relative_offsets[slot], self._positions[slot]
        detail = f"entry {slot}, ({relative_offset}, {position}), {complaint}"
        offset = self._base_offset + relative_offset
        return IndexFault(kind, offset, slot * ENTRY_SIZE_BYTES, detail)
