"""Index files: their entries, the padding of a segment that is still written, torn ends."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from kminilog.broker_files.index_files import (
    AbortedTransaction,
    parse_offset_index,
    parse_time_index,
    parse_transaction_index,
)

INT32 = st.integers(0, 2**31 - 1)
OFFSET_ROWS = st.lists(st.tuples(INT32, st.integers(1, 2**31 - 1)))
TIME_ROWS = st.lists(st.tuples(st.integers(1, 2**62), INT32))


@given(OFFSET_ROWS, st.integers(0, 5), st.integers(0, 7))
def test_offset_index_is_entries_then_zeros_then_a_torn_end(rows, padding, torn):
    data = b"".join(struct.pack(">ii", *row) for row in rows) + bytes(8 * padding + torn)
    assert parse_offset_index(data) == (rows, 8 * padding, torn)


@given(TIME_ROWS, st.integers(0, 5), st.integers(0, 11))
def test_time_index_is_entries_then_zeros_then_a_torn_end(rows, padding, torn):
    data = b"".join(struct.pack(">qi", *row) for row in rows) + bytes(12 * padding + torn)
    assert parse_time_index(data) == (rows, 12 * padding, torn)


def test_zeros_between_entries_are_entries():
    data = struct.pack(">iiiiii", 1, 50, 0, 0, 3, 70)
    assert parse_offset_index(data).entries == [(1, 50), (0, 0), (3, 70)]


def test_transaction_index_has_34_bytes_for_each_aborted_transaction():
    data = bytes.fromhex("0000 0000000000000fa1 0000000000000032 0000000000000037 0000000000000030")
    aborted = AbortedTransaction(0, 4001, 50, 55, 48)
    assert parse_transaction_index(data * 2) == ([aborted, aborted], 0, 0)
    assert parse_transaction_index(data[:-1]) == ([], 0, 33)
    assert parse_transaction_index(data + bytes(34)).padding_bytes == 0


@given(st.binary())
def test_no_bytes_raise(data):
    for parse, size in (
        (parse_offset_index, 8),
        (parse_time_index, 12),
        (parse_transaction_index, 34),
    ):
        entries, padding_bytes, torn_bytes = parse(data)
        assert len(entries) * size + padding_bytes + torn_bytes == len(data)
