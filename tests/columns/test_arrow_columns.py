from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns.arrow_columns import Column, blocks
from tests.support.columns.strategies import column_of

ROWS = st.lists(st.none() | st.binary(max_size=20), max_size=40)


def rows_of(column: Column) -> list[bytes | None]:
    """The rows by `starts` and `data`, as a reader of the docstring would take them."""
    data, starts = bytes(column.data), column.starts.tolist()
    nulls = [False] * len(column) if column.is_null is None else column.is_null.tolist()
    return [
        None if is_null else data[start:end]
        for (start, end), is_null in zip(pairwise(starts), nulls, strict=True)
    ]


@given(rows=ROWS, data=st.data(), block_rows=st.integers(1, 50), block_bytes=st.integers(1, 200))
def test_blocks_hold_the_rows_whatever_the_chunks(rows, data, block_rows, block_bytes):
    column = data.draw(column_of(rows))
    found = [block for (block,) in blocks(column, block_rows=block_rows, block_bytes=block_bytes)]
    assert [row for block in found for row in rows_of(block)] == rows
    assert [row for block in found for row in block.array.to_pylist()] == rows
    for block in found:
        own = rows_of(block)
        assert block.lengths.tolist() == [len(row or b"") for row in own]
        assert 1 <= len(own) <= block_rows
        assert len(own) == 1 or sum(block.lengths) <= block_bytes
        lengths = {None if row is None else len(row) for row in own}
        assert block.fixed_length == (lengths.pop() if len(lengths) == 1 else None)
        if block.fixed_length is not None:
            assert [bytes(row) for row in block.rows(block.fixed_length)] == own


@given(first=ROWS, data=st.data())
def test_blocks_of_two_columns_are_equally_long(first, data):
    second = first[::-1]
    columns = data.draw(column_of(first)), data.draw(column_of(second))
    found = list(blocks(*columns, block_rows=7, block_bytes=60))
    assert all(len(a) == len(b) for a, b in found)
    assert [row for a, _ in found for row in rows_of(a)] == first
    assert [row for _, b in found for row in rows_of(b)] == second


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["ü", None, ""]),
        pa.array(["ü", None, ""], pa.large_string()),
        pa.array(["ü", None, ""], pa.string_view()),
        pa.chunked_array([["ü"], [None, ""]]),
    ],
    ids=["string", "large_string", "string_view", "chunked"],
)
def test_blocks_of_texts_are_utf_8(column):
    rows = [row for (block,) in blocks(column) for row in rows_of(block)]
    assert rows == ["ü".encode(), None, b""]


def test_blocks_look_at_no_bytes_behind_nulls():
    offsets, data = pa.array([0, 1, 5, 6], pa.int32()).buffers()[1], pa.py_buffer(b"ajunkb")
    validity = pa.py_buffer(bytes([0b101]))
    column = pa.Array.from_buffers(pa.binary(), 3, [validity, offsets, data])
    ((block,),) = blocks(column)
    assert block.lengths.tolist() == [1, 0, 1]
    assert rows_of(block) == [b"a", None, b"b"]


@pytest.mark.parametrize(
    ("column", "rows"),
    [
        (pa.array([b"ab", None], pa.binary(2)), [b"ab", None]),
        (pa.array([None, None], pa.null()), [None, None]),
        (pa.array([], pa.binary()), []),
        (pa.chunked_array([], pa.binary()), []),
    ],
    ids=["fixed size", "null", "empty", "no chunks"],
)
def test_blocks_take_rare_columns(column, rows):
    assert [row for (block,) in blocks(column) for row in rows_of(block)] == rows


def test_blocks_of_numbers_are_refused():
    with pytest.raises(ValueError, match="a column of int64 has no bytes"):
        list(blocks(pa.array([1, 2])))


def test_blocks_of_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="different lengths"):
        list(blocks(pa.array([b"a"]), pa.array([b"a", b"b"])))
