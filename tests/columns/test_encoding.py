from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns import arrow_columns
from kminilog.columns.encoding import encode_columns
from kminilog.errors import NullValueError
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.message import encoded_bytes
from tests.support.columns.strategies import (
    both_dialects,
    columns_of,
    crc_of,
    each_library,
    log_of,
    messages,
)


@each_library
@both_dialects
@given(data=st.data(), first_offset=st.sampled_from([0, 7, 2**31 - 3, 2**62]))
def test_encode_columns_gives_the_bytes_of_the_plain_codec(library, dialect, data, first_offset):
    rows = data.draw(messages(dialect))
    with crc_of(library):
        keys, values = data.draw(columns_of(rows))
        found = list(encode_columns(dialect, first_offset, keys, values))
    assert b"".join(bytes(encoded.data) for encoded in found) == log_of(dialect, rows, first_offset)
    lengths = [length for encoded in found for length in encoded.lengths.tolist()]
    assert lengths == [encoded_bytes(dialect, *row) for row in rows]
    assert all(len(encoded.data) == encoded.lengths.sum() for encoded in found)


@both_dialects
@given(data=st.data())
def test_encode_columns_of_many_blocks_counts_offsets_on(dialect, data):
    rows = data.draw(messages(dialect, max_size=30)) * 7
    keys, values = data.draw(columns_of(rows))
    whole = pa.table([keys, values], names=["k", "v"])
    with patch.object(
        arrow_columns.blocks, "__kwdefaults__", {"block_rows": 5, "block_bytes": 1 << 20}
    ):
        found = list(encode_columns(dialect, 3, whole["k"], whole["v"]))
    assert len(found) >= len(rows) / 5
    assert b"".join(bytes(encoded.data) for encoded in found) == log_of(dialect, rows, 3)


def test_encode_columns_with_a_null_value_is_refused_where_the_dialect_has_none():
    keys, values = pa.array([b"k", b"k"]), pa.array([b"v", None])
    with pytest.raises(NullValueError):
        list(encode_columns(DOCUMENTED, 0, keys, values))
    (encoded,) = encode_columns(KAFKA, 0, keys, values)
    assert bytes(encoded.data) == log_of(KAFKA, [(b"k", b"v"), (b"k", None)])


def test_encode_columns_without_rows_gives_nothing():
    empty = pa.array([], pa.binary())
    assert list(encode_columns(KAFKA, 0, empty, empty)) == []
