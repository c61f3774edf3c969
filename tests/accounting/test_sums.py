"""Sums of two sequences are equal if the sequences are, however they were divided; else not."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.accounting.digests import cells_of, digests
from kminilog.accounting.rows import numbered, scattered
from kminilog.accounting.sums import Sums

CELLS, ROWS = 16, 3

records = st.lists(
    st.tuples(st.integers(0, ROWS - 1), st.sampled_from([b"a", b"b", None]), st.integers(0, 9)),
    max_size=30,
)


def sums_of(found: list[tuple[int, bytes | None, int]]) -> Sums:
    sums = Sums(ROWS, CELLS)
    keys = pa.array([key for _, key, _ in found], pa.binary())
    values = pa.array([b"%d" % value for *_, value in found], pa.binary())
    sums.add(np.array([row for row, *_ in found], np.int64), digests(keys, values))
    return sums


def in_parts(found: list[tuple[int, bytes | None, int]], cuts: list[int]) -> Sums:
    sums = Sums(ROWS, CELLS)
    borders = [0, *sorted(min(cut, len(found)) for cut in cuts), len(found)]
    for start, stop in pairwise(borders):
        sums.append(sums_of(found[start:stop]))
    return sums


@given(records, st.lists(st.integers(0, 30), max_size=4))
def test_sums_of_the_parts_are_the_sums_of_the_whole(found, cuts):
    assert not in_parts(found, cuts).differing(sums_of(found)).any()


@given(records.filter(len), st.data())
def test_another_record_and_another_row_are_seen(found, data):
    slot = data.draw(st.integers(0, len(found) - 1))
    row, key, value = found[slot]
    for other in ((row, key, value + 1), ((row + 1) % ROWS, key, value), (row, b"c", value)):
        changed = [*found[:slot], other, *found[slot + 1 :]]
        assert sums_of(changed).differing(sums_of(found)).any()
    shorter = sums_of([*found[:slot], *found[slot + 1 :]])
    assert shorter.differing(sums_of(found)).any()


@pytest.mark.parametrize("row", range(ROWS))
def test_order_of_a_key_counts_but_not_in_the_last_row(row):
    one, other = (row, b"a", 1), (row, b"a", 2)
    between = (row, b"b", 3)
    differs = sums_of([one, between, other]).differing(sums_of([other, between, one])).any()
    assert differs == (row < ROWS - 1)
    keys = digests(pa.array([b"a", b"b"]), pa.array([b"", b""])).families
    if len(set(cells_of(keys, CELLS).tolist())) == 2:  # keys in different cells
        assert not sums_of([one, between]).differing(sums_of([between, one])).any()


def test_null_and_empty_have_digests_of_their_own():
    keys = pa.array([None, b"", None, b"", b"x"])
    values = pa.array([None, None, b"", b"", b""])
    found = digests(keys, values)
    assert len(set(zip(found.low.tolist(), found.high.tolist(), strict=True))) == 5


@given(
    st.lists(st.tuples(st.sampled_from([b"a", b"b", None]), st.integers(0, 5)), min_size=1),
    st.integers(1, 7),
)
def test_rows_of_a_key_and_copies_without_a_key_share_a_bucket(found, buckets):
    keys = pa.array([key for key, _ in found], pa.binary())
    values = pa.array([b"%d" % value for _, value in found], pa.binary())
    columns = {"slot": np.arange(len(found))}
    wanted = np.ones(len(found), np.bool_)
    where: dict[object, set[int]] = {}
    seen = []
    for bucket, rows in scattered(columns, keys, digests(keys, values), wanted, buckets):
        assert 0 <= bucket < buckets
        for slot in rows.column("slot").to_pylist():
            key, value = found[slot]
            where.setdefault(key or value, set()).add(bucket)
            seen.append(slot)
    assert sorted(seen) == list(range(len(found)))
    assert all(len(there) == 1 for there in where.values())


def test_rows_are_numbered_by_partition_from_what_stands_in_front():
    before = np.array([5, 0, 2])
    assert numbered(np.array([2, 0, -1, 2, 0]), before).tolist() == [2, 5, 0, 3, 6]
    assert before.tolist() == [7, 0, 4]
