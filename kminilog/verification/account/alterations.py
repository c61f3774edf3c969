"""A missing record and an extra message in the same place: one altered record.

In a partition, records and messages that are sound pairs follow each other on both sides. A missing
record has a number of them in front of it in the source, an extra message has one in the log:

    source   a   b   c   d           1 is in front of b, and of c
    log      a   x   c'  d           1 is in front of x, and of c': b became x, c became c'

If the number is the same, they are in the same place, and a missing record and an extra message may
be one altered record. The key tells most, so these pair in turn:

    the only record and the only message with their key, wherever they stand: as a sound pair
    equal keys in one place, in order
    the rest of a place, in order, between these pairs: first those with a key among themselves,
    and those without; then what is left of both

So a record that was removed gives its message to no other one. Where place says nothing, the rest
is not paired: if the source has no order, or if records beside it are not where they belong.

The sound pairs themselves are not here: their number is the number of all rows in front, without
those that are no sound pairs. So this costs as much as there is wrong.

Not all sound pairs count. One whose message stands in another partition does not. Nor does a
*survivor*: if one of two copies is missing, nobody can tell which, so the pair of the other one may
cross others. But nothing on one side of a survivor is in the same place as what is on the other.
All this needs the partition of the record, which is not always known. Source: ours.
"""

from bisect import bisect, insort
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kminilog.jobs.source.places import Order
from kminilog.verification.account.account import (
    REJECTED,
    SHOWN,
    Groups,
    PairGroup,
    Sample,
    StoredPlace,
)
from kminilog.verification.account.pairing import (
    CHANGED_MESSAGE,
    CHANGED_RECORD,
    ELSEWHERE,
    KINDS,
    NOTHING,
    SURVIVOR,
)
from kminilog.verification.account.rows import (
    SHOWN_BYTES,
    TEXTS,
    UNKNOWN,
    Breaks,
    CountedRows,
    Integers,
    joined,
)
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
        one, other = _altered(
            self._clues(records_before, "source", missing),
            self._clues(messages_before, "stored", extra),
            has_order=self._order.is_known,
        )
        pairs = {kind: Pairs(rows, rows) for kind, rows in found.items()}
        changed = [  # those by a key that occurs nowhere else are altered, too
            rows[self._column("stored_partition", rows) == self.partition]
            for rows in map(self._of_kind, (CHANGED_RECORD, CHANGED_MESSAGE))
        ]
        records, messages = map(
            np.concatenate, zip((missing[one], extra[other]), changed, strict=True)
        )
        order = np.argsort(self._column("source_order", records))
        pairs[FindingClass.ALTERED.value] = Pairs(records[order], messages[order])
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
        bases, name = (self._runs, "run") if side == "source" else (self._parts, "part")
        starts = self._column(f"{side}_{name}", rows)
        base = np.array([bases.get(start, 0) for start in starts.tolist()], np.int64)
        return self._column(f"{side}_number", rows) + base

    def _here(self, side: str, rows: Integers) -> Integers:
        """Return those whose record belongs to this partition, or whose message is "stored" here.

        A message has to count.
        """
        is_here = self._column(f"{side}_partition", rows) == self.partition
        if side == "stored":
            is_here &= self._column("stored_counted", rows) == 1
        found: Integers = rows[is_here]
        return found

    def _away(self) -> Integers:
        """Return the pairs of a record and a message that is not where the record belongs."""
        changed = self._of_kind(CHANGED_RECORD)
        names = ("source_partition", "stored_partition")
        belongs, stands = (self._column(name, changed) for name in names)
        return np.concatenate((self._of_kind(ELSEWHERE), changed[belongs != stands]))

    def _in_front_of_records(self, records: Integers) -> Integers:
        """Return how many sound pairs that count stand in front of each record."""
        others = np.concatenate((self._away(), self._of_kind(SURVIVOR)))
        belongs = self._here("source", others)
        gone = np.sort(self._number("source", np.concatenate((self._of_kind(_MISSING), belongs))))
        numbers = self._number("source", records)
        return numbers - np.searchsorted(gone, numbers)

    def _unsound_messages(self) -> Integers:
        """Return the numbers of the messages that count and are no sound pair that counts."""
        kinds = (_EXTRA, _DUPLICATE, SURVIVOR)
        rows = np.concatenate([self._away(), *map(self._of_kind, kinds)])
        return np.sort(self._number("stored", self._here("stored", rows)))

    def _in_front_of_messages(self, extra: Integers) -> Integers:
        numbers = self._number("stored", extra)
        return numbers - np.searchsorted(self._unsound_messages(), numbers)

    def _clues(self, before: Integers, side: str, rows: Integers) -> "list[_Clue | None]":
        """Return what tells of missing records, or of extra messages, which ones are the same.

        None for a row whose place says nothing: a message whose record may belong anywhere, or a
        row beside others of its sort (with a key, or without) that are not where they belong.
        """
        if not len(rows):
            return []
        counted = (self._column("stored_counted", rows) != 0).tolist()  # a record has NOTHING
        in_front = self._in_front_of_records if side == "source" else self._in_front_of_messages
        away = self._here(side, self._away())
        doubtful = {*zip(in_front(away).tolist(), self._keyless(away), strict=True)}
        keyless, families = self._keyless(rows), self._column("family", rows).tolist()
        found = map(_Clue, self._places(before, side, rows), families, keyless)
        return [
            one if is_counted and (one.place[0], one.is_keyless) not in doubtful else None
            for one, is_counted in zip(found, counted, strict=True)
        ]

    def _keyless(self, rows: Integers) -> list[bool]:
        keys = self._columns["key"].take(pa.array(rows))
        found: list[bool] = keys.is_null().to_pylist()
        return found

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


class _Clue(NamedTuple):
    """What tells of a missing record, or of an extra message; `family` is a number of its key."""

    place: tuple[int, int, int]
    family: int
    is_keyless: bool


_Clues = Sequence[_Clue | None]


def _altered(
    records: _Clues, messages: _Clues, *, has_order: bool = True
) -> tuple[Integers, Integers]:
    """Return which missing records and extra messages are one altered record, in source order.

    Both are in the order of their side.

    >>> clues = {key: _Clue((0, -1, -1), ord(key), key == "n") for key in "abcn"}
    >>> source, log = ([clues[key] for key in keys] for keys in ("bcn", "abna"))
    >>> [rows.tolist() for rows in _altered(source, log)]
    [[0, 2], [1, 2]]
    """
    partner: dict[int, int] = {}
    sides = records, messages
    _pair(partner, *([clue and (clue.place, clue.family) for clue in side] for side in sides))
    if has_order:
        gaps = [*map(_gaps, sides, (partner.keys(), {*partner.values()}))]
        _pair(partner, *gaps)
        _pair(partner, *([gap and gap[:2] for gap in side] for side in gaps))
    found = np.array(sorted(partner.items()), np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _gaps(side: _Clues, paired: Collection[int]) -> list[Any]:
    """Return for each row its place, the number of pairs in front of it, and if it has no key."""
    in_front = accumulate(slot in paired for slot in range(len(side)))
    both = zip(side, in_front, strict=True)
    return [clue and (clue.place, count, clue.is_keyless) for clue, count in both]


def _pair(partner: dict[int, int], one: Sequence[Any], other: Sequence[Any]) -> None:
    """Pair the i-th of a value with the i-th of that value on the other side, if both are free.

    None belongs to nothing.

    >>> partner = {0: 3}
    >>> _pair(partner, "aabc", "bcaa")
    >>> partner
    {0: 3, 1: 2, 2: 0, 3: 1}
    """
    taken = {*partner.values()}
    free = defaultdict[Any, deque[int]](deque)
    for slot, value in enumerate(other):
        if slot not in taken:
            free[value].append(slot)
    for slot, value in enumerate(one):
        if value is not None and slot not in partner and free.get(value):
            partner[slot] = free[value].popleft()


def _by(numbers: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Return rows and their numbers, by number; rows with one number stay as they are."""
    order = np.argsort(numbers, kind="stable")
    return rows[order], numbers[order]
