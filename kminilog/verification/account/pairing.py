"""Records beside their messages: the copies of a bucket, numbered and paired.

All copies of a record are in one bucket, and so are all rows with one key. A bucket is sorted by
digest, records in front of messages. Then copies stand together, and the n-th record of a group
belongs to the n-th message of it:

    digest    5  5  5  5  5  8  8        group 5: 2 records, 3 messages
    side      r  r  m  m  m  r  m        pairs: 0-2, 1-3; message 4 is a duplicate

Copies may belong to several partitions. So the records of a group are first paired in the partition
where they belong, and what is left over across partitions. Where nobody knows to which partition
each copy belongs, a pair of copies says nothing about the order of a key.

The result, of `unsound_pairs`, is what is not a sound pair in its own partition, as columns. A row
of it is of one kind. `account` says what the kinds mean. Source: ours.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kminilog.columns.digests import Words
from kminilog.verification.account.account import REJECTED, SHOWN
from kminilog.verification.account.rows import TEXTS, UNKNOWN, Bits, Integers, joined
from kminilog.verification.findings import FindingClass

ELSEWHERE = "elsewhere"
"""A sound pair whose message is not where the record belongs, or whose record was rejected."""

SURVIVOR = "survivor"
"""Another sound pair, of copies of which there are more records than messages, or fewer."""

CHANGED_RECORD, CHANGED_MESSAGE = "changed record", "changed message"
"""Both sides of a pair that differs, and is the only record and the only message with its key."""

NOTHING = -1
KINDS = (
    REJECTED,
    FindingClass.MISSING.value,
    FindingClass.EXTRA.value,
    FindingClass.DUPLICATE.value,
    FindingClass.KEY_ORDER.value,
    FindingClass.MOVED.value,
    SHOWN,
    ELSEWHERE,
    SURVIVOR,
    CHANGED_RECORD,
    CHANGED_MESSAGE,
)
_RECORD = ("order", "partition", "number", "run", "row")
_MESSAGE = ("partition", "offset", "position", "segment", "number", "part", "counted")

Columns = Mapping[str, Any]


def unsound_pairs(
    records: Sequence[pa.RecordBatch],
    messages: Sequence[pa.RecordBatch],
    shown: Collection[tuple[int, int]],
) -> list[pa.RecordBatch]:
    """Return the pairs of one bucket that are not sound, or that are to be shown.

    The batches of `records` and `messages` come in any order. `shown` has partitions and offsets of
    messages. A batch has `kind` (a place in KINDS), `key`, its `family`, perhaps `value`, and the
    columns of the record, named source_*, and of the message, named stored_*; NOTHING where there
    is none. A pair may be in two kinds. O(n log n).
    """
    if not records and not messages:
        return []
    sides = [_sorted(batches, by) for batches, by in ((records, _BY_SOURCE), (messages, _BY_LOG))]
    source, stored = (side or _NO_ROWS for side in sides)
    pairs = _Pairs(source, stored)
    return [
        _batch(kind, source, stored, of_record, of_message)
        for kind, of_record, of_message in pairs.kinds(shown)
        if len(of_record)
    ]


_BY_SOURCE = ("order",)
_BY_LOG = ("partition", "offset", "position")
_NO_ROWS: Columns = {
    **{name: np.empty(0, np.int64) for name in {*_RECORD, *_MESSAGE}},
    **{name: np.empty(0, np.uint64) for name in ("low", "high", "family")},
    **{name: np.empty(0, np.bool_) for name in ("has_key", "is_rejected")},
    "counted": np.empty(0, np.int64),
    "key": pa.chunked_array([], pa.binary()),
    "value": pa.chunked_array([], pa.large_binary()),
}
# The others have what the source has.
_WITH_VALUE = (FindingClass.MISSING, FindingClass.EXTRA, CHANGED_RECORD, CHANGED_MESSAGE)


def _sorted(batches: Sequence[pa.RecordBatch], by: Sequence[str]) -> Columns | None:
    """Return the columns of batches in the order of some of them."""
    if not batches:
        return None
    columns = joined(batches)
    order = np.lexsort([columns[name] for name in reversed(by)])
    return {
        name: column.take(pa.array(order)) if name in TEXTS else column[order]
        for name, column in columns.items()
    }


def partners(groups: Sequence[int], is_record: Sequence[bool]) -> Sequence[int]:
    """Return for each row the place of the message that belongs to it; -1 for a row without one.

    The n-th record of a group belongs to its n-th message. Rows of a group stand together, its
    records in front of its messages. Messages have -1. O(rows).

    >>> groups, is_record = [5, 5, 5, 5, 5, 8, 9, 9], [1, 1, 0, 0, 0, 1, 1, 0]
    >>> [int(place) for place in partners(groups, is_record)]
    [2, 3, -1, -1, -1, -1, 7, -1]
    """
    group, of_record = np.asarray(groups, np.int64), np.asarray(is_record, np.bool_)
    is_first = np.diff(group, prepend=NOTHING) != 0
    starts = np.flatnonzero(is_first)
    slot = np.cumsum(is_first) - 1
    records = np.bincount(slot[of_record], minlength=len(starts))
    messages = np.bincount(slot[~of_record], minlength=len(starts))
    at = np.arange(len(group)) - starts[slot]  # number of each row in its group
    has_partner = of_record & (at < messages[slot])
    found: Any = np.where(has_partner, np.arange(len(group)) + records[slot], NOTHING)
    return found  # type: ignore[no-any-return]


class _Pairs:
    """Which record belongs to which message."""

    def __init__(self, source: Columns, stored: Columns) -> None:
        self._source, self._stored = source, stored
        count = len(source["low"])
        low, high, partition = (
            np.concatenate((source[name], stored[name])) for name in ("low", "high", "partition")
        )
        # Rejected records after their copies; messages after both.
        side = np.concatenate((source["is_rejected"], np.full(len(stored["low"]), 2))).astype(int)
        order = _by_digest(low, high, side)
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)
        group = np.cumsum(is_first) - 1
        starts = np.flatnonzero(is_first)
        is_record = order < count
        records = np.bincount(group[is_record], minlength=len(starts))
        messages = np.bincount(group[~is_record], minlength=len(starts))

        self.message_of = np.full(count, NOTHING)
        self.tells_order = np.ones(count, np.bool_)
        has_copies = ((records > 1) | (messages > 1))[group]
        self._match(order[~has_copies], group[~has_copies])
        if has_copies.any():
            self._match_copies(order[has_copies], group[has_copies], partition, side)
        self.is_balanced = np.zeros(count, np.bool_)
        self.is_balanced[order[is_record]] = (records == messages)[group[is_record]]
        is_surplus = ~is_record
        is_surplus[is_surplus] = ~np.isin(order[is_surplus] - count, self.message_of)
        self.surplus = order[is_surplus] - count
        self.first_copy = np.where(records > 0, order[starts], NOTHING)[group[is_surplus]]

    def _match_copies(
        self, rows: Integers, groups: Integers, partition: Integers, side: Integers
    ) -> None:
        """Pair copies in the partitions of the records, and then what is left over."""
        by_home = np.lexsort((side[rows], partition[rows], groups))
        homes = np.stack((groups[by_home], partition[rows[by_home]]))
        is_new = (np.diff(homes, prepend=NOTHING - 1) != 0).any(axis=0)
        self._match(rows[by_home], np.cumsum(is_new))
        count = len(self.message_of)
        is_alone = np.ones(count + len(self._stored["low"]), np.bool_)
        paired = np.flatnonzero(self.message_of != NOTHING)
        is_alone[paired] = is_alone[self.message_of[paired] + count] = False
        left = np.flatnonzero(is_alone[rows])
        found = self._match(rows[left], groups[left])
        # Messages of one group that stand in several partitions: which record is which?
        is_message = rows[by_home] >= count
        group, where = homes[:, is_message]
        scattered = group[1:][(np.diff(group) == 0) & (np.diff(where) != 0)]
        self.tells_order[rows[left[found]]] = ~np.isin(groups[left[found]], scattered)
        if "told" in self._source:  # copies were paired by what they say, which may be wrong
            self.tells_order[rows[rows < count]] = False

    def _match(self, rows: Integers, groups: Any) -> Integers:
        """Pair the n-th record of each group with its n-th message; return which rows were records
        that found one. Rows of a group stand together, records in front."""
        count = len(self.message_of)
        is_record: Any = rows < count
        partner = np.asarray(partners(groups, is_record), np.int64)
        found: Integers = np.flatnonzero(partner != NOTHING)
        self.message_of[rows[found]] = rows[partner[found]] - count
        return found

    def kinds(self, shown: Collection[tuple[int, int]]) -> list[tuple[str, Integers, Integers]]:
        """Return for each kind its records and its messages, as places in the two sides."""
        is_alone = self.message_of == NOTHING
        is_rejected = self._source["is_rejected"]
        is_duplicate = self.first_copy != NOTHING
        missing, extra = np.flatnonzero(is_alone & ~is_rejected), self.surplus[~is_duplicate]
        # Changed: missing records and extra messages that are the only ones with their key.
        sides = self._source["family"], self._stored["family"]
        families, *slots = np.intersect1d(
            *(side[rows] for side, rows in zip(sides, (missing, extra), strict=True)),
            return_indices=True,
        )
        is_only = np.ones(len(families), np.bool_)
        for side in sides:
            is_only &= _counts(side, families) == 1
        records, messages = missing[slots[0][is_only]], extra[slots[1][is_only]]
        alone = {
            REJECTED: np.flatnonzero(is_alone & is_rejected),
            FindingClass.MISSING.value: np.setdiff1d(missing, records),
        }
        extra = np.setdiff1d(extra, messages)
        pairs = {
            FindingClass.KEY_ORDER.value: self._disordered(),
            FindingClass.MOVED.value: self._moved(),
            SHOWN: self._shown(shown),
            **self._landmarks(),
        }
        return [
            *((kind, found, np.full(len(found), NOTHING)) for kind, found in alone.items()),
            (FindingClass.EXTRA.value, np.full(len(extra), NOTHING), extra),
            (CHANGED_RECORD, records, messages),
            (CHANGED_MESSAGE, records, messages),
            (
                FindingClass.DUPLICATE.value,
                self.first_copy[is_duplicate],
                self.surplus[is_duplicate],
            ),
            *((kind, found, self.message_of[found]) for kind, found in pairs.items()),
        ]

    def _disordered(self) -> Integers:
        """Return the records of pairs that a later record with the same key stands in front of."""
        is_known = self.is_balanced & self.tells_order
        records = np.flatnonzero(is_known & self._source["has_key"])
        if not len(records):
            return records
        messages = self.message_of[records]
        partitions = self._stored["partition"][messages]
        family = self._source["family"][records]
        order = np.lexsort((messages, family, partitions))  # messages are sorted by their place
        records, partitions, family = records[order], partitions[order], family[order]
        follows = (np.diff(partitions) == 0) & (np.diff(family) == 0)
        found: Integers = records[1:][follows & (np.diff(records) < 0)]  # records: by their place
        return found

    def _moved(self) -> Integers:
        """Return the records of pairs whose message is not where they say that it is."""
        records = np.flatnonzero((self.message_of != NOTHING) & ~self._source["is_rejected"])
        if "told" not in self._source:
            return records[:0]
        messages = self.message_of[records]
        is_there = self._source["partition"][records] == self._stored["partition"][messages]
        is_there &= self._source["told"][records] == self._stored["offset"][messages]
        found: Integers = records[~is_there]
        return found

    def _shown(self, shown: Collection[tuple[int, int]]) -> Integers:
        records = np.flatnonzero(self.message_of != NOTHING)
        if not shown or not len(records):
            return records[:0]
        messages = self.message_of[records]
        wanted = np.zeros(len(records), np.bool_)
        for partition, offset in shown:
            wanted |= (self._stored["partition"][messages] == partition) & (
                self._stored["offset"][messages] == offset
            )
        found: Integers = records[wanted]
        return found

    def _landmarks(self) -> dict[str, Integers]:
        """Return the sound pairs that do not stand among the others as the source has them."""
        records = np.flatnonzero(self.message_of != NOTHING)
        belongs = self._source["partition"][records]
        stands = self._stored["partition"][self.message_of[records]]
        is_elsewhere = (belongs != UNKNOWN) & (belongs != stands)
        is_elsewhere |= self._source["is_rejected"][records]
        is_survivor = ~self.is_balanced[records] & ~is_elsewhere
        return {ELSEWHERE: records[is_elsewhere], SURVIVOR: records[is_survivor]}


def _counts(column: Words, values: Words) -> Integers:
    """Return how often a column has each of some values."""
    ordered = np.sort(column) if len(values) else column
    begin, end = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    found: Integers = end - begin
    return found


def _by_digest(low: Words, high: Words, side: Integers) -> Integers:
    """Return the order of rows by digest, then by side.

    Sides come in order but for rejected records, and rows with the same low half mostly have the
    same high half. If so, a sort by one column is enough.
    """
    order = np.argsort(low, kind="stable")
    is_same = np.diff(low[order]) == 0
    if (np.diff(high[order])[is_same] != 0).any() or (np.diff(side[order])[is_same] < 0).any():
        order = np.lexsort((side, high, low))
    return order


def _batch(
    kind: str, source: Columns, stored: Columns, records: Integers, messages: Integers
) -> pa.RecordBatch:
    columns = {"kind": pa.array(np.full(len(records), KINDS.index(kind), np.int8))}
    for prefix, side, names, places in (
        ("source", source, _RECORD, records),
        ("stored", stored, _MESSAGE, messages),
    ):
        there: Bits = places != NOTHING
        for name in names:
            column: NDArray[np.int64] = np.full(len(places), NOTHING, np.int64)
            column[there] = side[name][places[there]]
            columns[f"{prefix}_{name}"] = pa.array(column)
    # The message's key if there is a message: it is what the log has.
    of_message = kind != CHANGED_RECORD and bool((messages != NOTHING).all())
    texts, places = (stored, messages) if of_message else (source, records)
    columns["key"] = texts["key"].take(pa.array(places)).combine_chunks()
    columns["family"] = pa.array(texts["family"][places])
    if "value" in source and "value" in stored:
        columns["value"] = pa.nulls(len(places), pa.large_binary())
        if kind in _WITH_VALUE:
            columns["value"] = texts["value"].take(pa.array(places)).combine_chunks()
    return pa.record_batch(columns)
