"""Sums of two sequences are equal if the sequences are, however they were divided; else not."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns.digests import cells_of, digests
from kminilog.verification.account.rows import numbered, scattered
from kminilog.verification.account.sums import Sums

CELLS, ROWS = 16, 3

records = st.lists(
    st.tuples(st.integers(0, ROWS - 1), st.sampled_from([b"a", b"b", None]), st.integers(0, 9)),
    max_size=30,
)


def sums_of(found: list[tuple[int, bytes | None, int]]) -> Sums:
    sums = Sums(ROWS, CELLS, ordered=ROWS - 1)
    keys = pa.array([key for _, key, _ in found], pa.binary())
    values = pa.array([b"%d" % value for *_, value in found], pa.binary())
    sums.add(np.array([row for row, *_ in found], np.int64), digests(keys, values))
    return sums


def in_parts(found: list[tuple[int, bytes | None, int]], cuts: list[int]) -> Sums:
    sums = Sums(ROWS, CELLS, ordered=ROWS - 1)
    borders = [0, *sorted(min(cut, len(found)) for cut in cuts), len(found)]
    for start, stop in pairwise(borders):
        sums.append(sums_of(found[start:stop]).filled())
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


def in_cells(found: list[tuple[int, bytes | None, int]]) -> dict[tuple[int, int], list[int]]:
    """The records of each cell but those of the last row, in their order."""
    keys = pa.array([key for _, key, _ in found], pa.binary())
    values = pa.array([b"%d" % value for *_, value in found], pa.binary())
    cells: dict[tuple[int, int], list[int]] = {}
    parts = digests(keys, values)
    for (row, *_), cell, low in zip(
        found, cells_of(parts.families, CELLS).tolist(), parts.low.tolist(), strict=True
    ):
        if row < ROWS - 1:
            cells.setdefault((row, cell), []).append(low)
    return cells


few_values = st.lists(st.tuples(st.just(0), st.just(b"a"), st.integers(0, 1)), max_size=12)


@given(st.data(), records | few_values)
def test_any_other_order_within_a_cell_is_seen_whatever_is_repeated(data, found):
    other = data.draw(st.permutations(found))
    differs = sums_of(found).differing(sums_of(other)).any()
    assert differs == (in_cells(found) != in_cells(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ABBA", "BAAB"),
        ("AABBABABBBAA", "BBAAABABAABB"),
        ("ABBABAABBAABABBA", "BAABABBAABBABAAB"),  # Thue and Morse: equal in many sums
        ("ABBABAABBAABABBA" * 64, "BAABABBAABBABAAB" * 64),
    ],
    ids=["4", "12", "16", "1024"],
)
def test_order_of_copies_is_seen_whole_and_in_parts(one, other):
    sequences = [[(0, b"k", ord(letter)) for letter in text] for text in (one, other)]
    first, second = map(sums_of, sequences)
    assert first.differing(second).sum() == 1
    cuts = [3, len(one) // 2]
    assert not in_parts(sequences[0], cuts).differing(first).any()
    assert in_parts(sequences[0], cuts).differing(in_parts(sequences[1], cuts)).any()


def test_parts_of_more_records_than_a_table_of_powers_are_those_of_the_whole():
    found = [(0, b"k", n % 3) for n in range(150_000)]
    whole = sums_of(found)
    assert not in_parts(found, [1, 70_000, 149_999]).differing(whole).any()
    found[100_000], found[100_001] = found[100_001], found[100_000]
    assert sums_of(found).differing(whole).any()


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
