"""Digests of whole columns are those that a record has by itself, in any form of column."""

import numpy as np
import pyarrow as pa
import pytest
from xxhash import xxh3_128_digest

from kminilog.columns.digests import digests, sum_of_rows
from kminilog.columns.mixing import mixed

RECORDS = [
    (b"k", b"v"),
    (b"k", None),
    (None, b""),
    (b"", b""),
    (None, None),
    (b"", None),
    (b"k", b"v" * 300),
    (None, b"v"),
    (b"k", b"v"),
]


def plain(key, value):
    """Low and high half of one record, and its family: the picture in `digests`, step by step."""

    def words(entry):
        digest = xxh3_128_digest(b"null", seed=1) if entry is None else xxh3_128_digest(entry)
        return np.frombuffer(digest, "<u8").astype(np.uint64)

    of_key = mixed(words(key))
    low, high = mixed(words(value) ^ of_key)
    return low, high, low if key is None else of_key[0]


def columns(kind=None, records=RECORDS):
    kind = kind or pa.binary()
    return [pa.array(column, kind) for column in zip(*records, strict=True)]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
def test_each_record_has_the_digest_that_it_has_by_itself(kind):
    found = digests(*columns(kind))
    assert list(zip(*found, strict=True)) == [plain(*record) for record in RECORDS]


def test_digests_of_a_slice_and_of_many_records():
    many = RECORDS * (5000 // len(RECORDS) + 1)
    keys, values = columns(records=many)
    found = digests(keys[2:], values[2:])
    expected = [plain(*record) for record in RECORDS]
    assert list(zip(*found, strict=True)) == [
        expected[n % len(RECORDS)] for n in range(2, len(many))
    ]


def test_bytes_that_arrow_keeps_for_a_null_do_not_count():
    offsets = pa.py_buffer(np.array([0, 1, 4, 5], np.int32))
    buffers = [pa.py_buffer(b"\x05"), offsets, pa.py_buffer(b"aXXXb")]
    kept = pa.Array.from_buffers(pa.binary(), 3, buffers)
    assert kept.to_pylist() == [b"a", None, b"b"]
    found = digests(kept, kept)
    assert list(zip(*found, strict=True)) == [plain(e, e) for e in (b"a", None, b"b")]


def test_no_records_have_no_digests():
    assert [len(part) for part in digests(*[pa.array([], pa.binary())] * 2)] == [0] * 3


def test_sum_of_rows_tells_rows_apart_and_neither_their_order_nor_their_parts():
    keys, values = columns()
    named = pa.array([2, None, 0, 1, 1, 0, 0, 2, 2], pa.int32())
    for whole in ((keys, values), (keys, values, named)):

        def rows(chosen, whole=whole):
            return sum_of_rows(*(column.take(pa.array(chosen)) for column in whole))

        expected = rows(range(9))
        assert rows([*range(9)][::-1]) == expected
        assert (rows(range(4)) + rows(range(4, 9))) % (1 << 64) == expected
        assert rows([*range(7), 0, 0]) != expected  # one that occurs twice
    exchanged = named.take(pa.array([2, 1, 0, *range(3, 9)]))
    assert sum_of_rows(keys, values, exchanged) != sum_of_rows(keys, values, named)
    assert sum_of_rows(keys, values) != sum_of_rows(values, keys)
