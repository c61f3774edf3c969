"""A missing record and an extra message in the same place: one altered record.

In a partition, records and messages that are sound pairs follow each other on both sides. A missing
record has a number of them in front of it in the source, an extra message has one in the log:

    source   a   b   c   d           1 is in front of b, and of c
    log      a   x   c'  d           1 is in front of x, and of c': b became x, c became c'

If the number is the same, the i-th missing record and the i-th extra message with it count as one
altered record. The sound pairs themselves are not here: their number is the number of all rows in
front, without those that are no sound pairs. So this costs as much as there is wrong.

Not all sound pairs count. One whose message stands in another partition does not. Nor does a
*survivor*: if one of two copies is missing, nobody can tell which, so the pair of the other one may
cross others. But nothing on one side of a survivor is in the same place as what is on the other.
All this needs the partition of the record, which is not always known. Source: ours.
"""

from bisect import bisect, insort
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kminilog.jobs.accounting.account import REJECTED, SHOWN, Groups, PairGroup, Sample, StoredPlace
from kminilog.jobs.accounting.pairing import ELSEWHERE, KINDS, NOTHING, SURVIVOR
from kminilog.jobs.accounting.rows import (
    SHOWN_BYTES,
    TEXTS,
    UNKNOWN,
    Breaks,
    CountedRows,
    Integers,
    joined,
)
from kminilog.jobs.source.places import Order
from kminilog.verification.both_sides import KeyValue
from kminilog.verification.causes import Slot
from kminilog.verification.findings import SAMPLE_COUNT, FindingClass

_UNBOUNDED = (1 << 63) - 1
_ROWS = 4096  # so many Python objects at once
_MISSING, _EXTRA = FindingClass.MISSING.value, FindingClass.EXTRA.value
_DUPLICATE = FindingClass.DUPLICATE.value
_MOVED = FindingClass.MOVED.value
_AS_THEY_ARE = (REJECTED, SHOWN, _DUPLICATE, FindingClass.KEY_ORDER.value, _MOVED)


class Pairs(NamedTuple):
    """Pairs of one kind, as places in the columns; `slots` of the first, if they are missing."""

    records: Integers
    messages: Integers
    slots: Sequence[Slot] = ()


class PartitionPairs:
    """The pairs of one partition that are not sound, and where they stand among the sound ones."""

    def __init__(
        self, partition: int, items: Sequence[Any], order: Order, bounds: tuple[int, int] | None
    ) -> None:
        """Take what was found of a partition: batches of `unsound_pairs`, CountedRows, Breaks.

        The partition may be UNKNOWN. `bounds` are the first and the next offset of what jobs wrote.
        """
        self.partition = partition
        self._order = order
        self._bounds = bounds or (0, _UNBOUNDED)
        batches = [item for item in items if isinstance(item, pa.RecordBatch)]
        tallies = [item for item in items if isinstance(item, CountedRows)]
        self._breaks = [item for item in items if isinstance(item, Breaks)]
        self._runs, _ = _bases(tally for tally in tallies if tally.is_source)
        self._parts, self._stored_count = _bases(t for t in tallies if not t.is_source)
        self._columns = joined(batches) if batches else {}
        self._kinds = self._columns.get("kind", np.empty(0, np.int8))

    def found(self) -> Mapping[str, "Pairs"]:
        """Return the pairs of each kind that has some, as places in their columns."""
        found = {kind: self._of_kind(kind) for kind in _AS_THEY_ARE}
        missing, extra = self._of_kind(_MISSING), self._of_kind(_EXTRA)
        if self.partition == UNKNOWN:
            found |= {_MISSING: missing, _EXTRA: extra}
            return {kind: Pairs(rows, rows) for kind, rows in found.items() if len(rows)}
        missing, records_before = _by(self._in_front_of_records(missing), missing)
        extra, messages_before = _by(self._in_front_of_messages(extra), extra)
        one, other = _same_place(
            self._places(records_before, "source", missing),
            self._places(messages_before, "stored", extra),
        )
        pairs = {kind: Pairs(rows, rows) for kind, rows in found.items()}
        pairs[FindingClass.ALTERED.value] = Pairs(missing[one], extra[other])
        left = np.delete(np.arange(len(missing)), one)
        slots = self._slots(records_before[left])
        pairs[_MISSING] = Pairs(missing[left], missing[left], slots)
        pairs[_EXTRA] = Pairs(*2 * (np.delete(extra, other),))
        return {kind: one for kind, one in pairs.items() if len(one.records)}

    def groups(self, found: Mapping[str, "Pairs"]) -> Groups:
        """Return how many pairs of each kind there are, and the first samples."""
        return {kind: self._group(*pairs) for kind, pairs in found.items()}

    def all_of(self, pairs: "Pairs") -> Iterator[tuple[Sample, int, list[KeyValue]]]:
        """Yield pairs, with the row of each record, and the keys and values of both sides.

        Only of a record that is missing, and of a message that is extra, the value is known.
        """
        for start in range(0, len(pairs.records), _ROWS):
            sides = [side[start : start + _ROWS] for side in pairs[:2]]
            rows = self._columns["source_row"][sides[0]].tolist()
            both = zip(*(self._texts(side) for side in sides), strict=True)
            for record, message, row, texts in zip(*sides, rows, both, strict=True):
                yield self._sample(int(record), int(message), None), row, [*texts]

    def _texts(self, rows: Integers) -> Iterator[KeyValue]:
        keys, values = (self._columns[name].take(pa.array(rows)).to_pylist() for name in TEXTS)
        return map(KeyValue, keys, values)

    def _column(self, name: str, rows: Integers) -> Integers:
        return self._columns[name][rows] if len(rows) else np.empty(0, np.int64)

    def _of_kind(self, kind: str) -> Integers:
        """Return the rows of a kind, in the order of the source, then of the log."""
        rows = np.flatnonzero(self._kinds == KINDS.index(kind))
        names = ("stored_position", "stored_offset", "stored_partition", "source_order")
        order: Integers = np.lexsort([self._column(name, rows) for name in names])
        return rows[order]

    def _number(self, side: str, rows: Integers) -> Integers:
        """Return the numbers of records (or messages) in the whole partition."""
        bases, name = (self._runs, "run") if side == "source" else (self._parts, "part")
        starts = self._column(f"{side}_{name}", rows)
        base = np.array([bases.get(start, 0) for start in starts.tolist()], np.int64)
        return self._column(f"{side}_number", rows) + base

    def _in_front_of_records(self, records: Integers) -> Integers:
        """Return how many sound pairs that count stand in front of each record."""
        others = np.concatenate((self._of_kind(ELSEWHERE), self._of_kind(SURVIVOR)))
        belongs = others[self._column("source_partition", others) == self.partition]
        gone = np.sort(self._number("source", np.concatenate((self._of_kind(_MISSING), belongs))))
        numbers = self._number("source", records)
        return numbers - np.searchsorted(gone, numbers)

    def _unsound_messages(self) -> Integers:
        """Return the numbers of the messages that count and are no sound pair that counts."""
        kinds = (_EXTRA, _DUPLICATE, ELSEWHERE, SURVIVOR)
        rows = np.concatenate([self._of_kind(kind) for kind in kinds])
        is_here = self._column("stored_partition", rows) == self.partition
        is_counted = self._column("stored_counted", rows) == 1
        return np.sort(self._number("stored", rows[is_here & is_counted]))

    def _in_front_of_messages(self, extra: Integers) -> Integers:
        numbers = self._number("stored", extra)
        return numbers - np.searchsorted(self._unsound_messages(), numbers)

    def _places(self, before: Integers, side: str, rows: Integers) -> list[tuple[int, int, int]]:
        """Return what tells the places of rows apart: two rows with the same are in one place.

        It is how many sound pairs that count stand in front, and which survivors are next to them
        among those that have as many in front.
        """
        survivors = self._of_kind(SURVIVOR)
        in_front = self._in_front_of_records if side == "source" else self._in_front_of_messages
        near = defaultdict[int, list[tuple[int, int]]](list)
        for row, count, number in zip(
            survivors, in_front(survivors), self._number(side, survivors), strict=True
        ):
            insort(near[count], (number, row))
        found = []
        for count, number in zip(before, self._number(side, rows), strict=True):
            there = near.get(count, [])
            slot = bisect(there, (number, NOTHING))
            previous = there[slot - 1][1] if slot else NOTHING
            following = there[slot][1] if slot < len(there) else NOTHING
            found.append((int(count), int(previous), int(following)))
        return found

    def _slots(self, before: Integers) -> list[Slot]:
        """Return between which messages missing records belong, for those that may be samples."""
        if not len(before):
            return []
        unsound = self._unsound_messages()
        sound_count = self._stored_count - len(unsound)
        numbers, offsets = self._offsets()
        _, first, counts = np.unique(before, return_index=True, return_counts=True)
        count_of = dict(zip(before[first].tolist(), counts.tolist(), strict=True))
        first_of = dict(zip(before[first].tolist(), first.tolist(), strict=True))

        def offset_of(sound: int) -> int | None:
            """The offset of a sound message, by its number among the sound ones."""
            if not 0 <= sound < sound_count or not len(numbers):
                return None
            at = sound + int(np.searchsorted(unsound - np.arange(len(unsound)), sound, "right"))
            slot = int(np.searchsorted(numbers, at, "right")) - 1
            return int(offsets[slot] + at - numbers[slot])

        slots = []
        for row, count in enumerate(before[:SAMPLE_COUNT].tolist()):
            lower, upper = offset_of(count - 1), offset_of(count)
            start, end = self._bounds
            slots.append(
                Slot(
                    self.partition,
                    start - 1 if lower is None else lower,
                    end if upper is None else upper,
                    row - first_of[count] + 1,
                    count_of[count],
                )
            )
        return slots

    def _offsets(self) -> tuple[Integers, Integers]:
        """Return the numbers at which offsets do not go on by 1, and the offsets there."""
        found = sorted(self._breaks, key=attrgetter("part"))
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        numbers = [one.numbers + self._parts.get(one.part, 0) for one in found]
        return np.concatenate(numbers), np.concatenate([one.offsets for one in found])

    def _group(
        self, records: Integers, messages: Integers, slots: Sequence[Slot] = ()
    ) -> PairGroup:
        first = slice(SAMPLE_COUNT)
        rows = zip(records[first].tolist(), messages[first].tolist(), strict=True)
        samples = [
            self._sample(record, message, slots[number] if slots else None)
            for number, (record, message) in enumerate(rows)
        ]
        return PairGroup(len(records), samples)

    def _sample(self, record: int, message: int, slot: Slot | None) -> Sample:
        columns = self._columns
        order = int(columns["source_order"][record])
        names = [f"stored_{name}" for name in StoredPlace._fields]
        stored = StoredPlace(*(int(columns[name][message]) for name in names))
        key = columns["key"][message].as_py()
        return Sample(
            None if order == NOTHING else self._order.place(order),
            None if stored.partition == NOTHING else stored,
            key and key[: SHOWN_BYTES + 1],
            int(columns["source_partition"][record]),
            slot,
        )


def _bases(tallies: Any) -> tuple[Mapping[int, int], int]:
    """Return how many rows stand in front of each run or part, and how many there are in all."""
    bases, total = {}, 0
    for start, found in groupby(sorted(tallies), attrgetter("start")):
        bases[start] = total
        total += sum(tally.total for tally in found)
    return bases, total


def _same_place(one: Sequence[Any], other: Sequence[Any]) -> tuple[Integers, Integers]:
    """Return which entries of two lists belong to each other: the i-th with the i-th that is equal.

    >>> _same_place([1, 1, 4], [0, 1, 4, 4])
    (array([0, 2]), array([1, 2]))
    """
    free = defaultdict[Any, deque[int]](deque)
    for slot, place in enumerate(other):
        free[place].append(slot)
    pairs = [(slot, free[place].popleft()) for slot, place in enumerate(one) if free.get(place)]
    found = np.array(pairs, np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _by(numbers: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Return rows and their numbers, by number; rows with one number stay as they are."""
    order = np.argsort(numbers, kind="stable")
    return rows[order], numbers[order]
