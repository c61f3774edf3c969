"""Columns of keys and values as the bytes of their messages: `encode` for many of them.

    Arrow      16 bytes + head6 + key + length4 + value    joined in C++, message by message
    here       CRC of each; the 16 bytes are chosen so that they do not change it
    here       offset8 + size4 + crc4 replace the 16 bytes

If all messages of a block have the same lengths, they are the rows of a table, and its columns are
filled. Both ways give the same bytes. A block fits into a processor's cache. This module does not
know files, segments or limits on sizes. Source: format/message.py.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kminilog.columns.arrow_columns import Column, Integers, allocate, blocks
from kminilog.columns.boundaries import everywhere
from kminilog.columns.crc import NEUTRAL_BYTES, Words, crc32_of_each, crc32_of_rows
from kminilog.errors import NullValueError
from kminilog.format.dialect import Dialect
from kminilog.format.message import CRC_END, KEY_START, MAGIC, SIZE_END

_BEGINNING = np.dtype([("offset", ">i8"), ("size", ">i4"), ("crc", ">u4")])
_HEAD = np.dtype([("magic", "i1"), ("attributes", "i1"), ("key_length", ">i4")])
_PLACE_AND_HEAD = np.dtype([("place", f"V{CRC_END}"), *_HEAD.descr])
_LENGTH = np.dtype(">i4")
_NOTHING = pa.scalar(b"", pa.binary())  # made once: Arrow takes long to make one of b""


class Encoded(NamedTuple):
    """Some consecutive messages: their bytes, and the length of each message in bytes."""

    data: memoryview
    lengths: Integers


def encode_columns(
    dialect: Dialect, first_offset: int, keys: Any, values: Any
) -> Iterator[Encoded]:
    """Yield the messages of equally long Arrow columns of keys and values, about 1 MiB at a time.

    They get the offsets from `first_offset` on. A null key is no key. O(bytes). Raises
    NullValueError for a null value in a dialect without null values, perhaps after some blocks, and
    ValueError as `blocks` does.
    """
    for key_block, value_block in blocks(keys, values):
        if value_block.is_null is not None and not dialect.has_value_length:
            raise NullValueError(dialect.name)
        key_length, value_length = key_block.fixed_length, value_block.fixed_length
        if key_length is not None and value_length is not None:
            yield _encode_table(dialect, first_offset, key_block, value_block)
        else:
            yield _encode_joined(dialect, first_offset, key_block, value_block)
        first_offset += len(key_block)


def _encode_table(dialect: Dialect, first_offset: int, keys: Column, values: Column) -> Encoded:
    """Encode messages that are all of the same lengths, none of them null."""
    count, key_length, value_length = len(keys), int(keys.lengths[0]), int(values.lengths[0])
    size = dialect.overhead_bytes + key_length + value_length
    key_end, value_start = KEY_START + key_length, SIZE_END + size - value_length
    table = allocate(count * (SIZE_END + size)).reshape(count, -1)
    _fill(table[:, CRC_END:KEY_START], np.array([(MAGIC, 0, key_length)], _HEAD))
    _fill(table[:, KEY_START:key_end], keys.data)
    _fill(table[:, key_end:value_start], np.array([value_length], _LENGTH))
    _fill(table[:, value_start:], values.data)
    sizes = np.full(count, size)
    beginnings = table[:, :CRC_END].view(_BEGINNING)[:, 0]
    _fill_beginnings(beginnings, first_offset, sizes, crc32_of_rows(table[:, CRC_END:]))
    return Encoded(table.reshape(-1).data, sizes + SIZE_END)


def _fill(columns: NDArray[np.uint8], rows: Any) -> None:
    """Fill some neighbouring columns of a table with the bytes of its rows, or of one for all."""
    if width := columns.shape[1]:
        columns.view(f"V{width}")[:, 0] = np.frombuffer(rows, f"V{width}")  # a row at a time


def _encode_joined(dialect: Dialect, first_offset: int, keys: Column, values: Column) -> Encoded:
    """Encode messages of any lengths; put their first 16 bytes in at the end."""
    heads = np.zeros(len(keys), _PLACE_AND_HEAD)
    heads["place"] = np.void(NEUTRAL_BYTES)
    heads["magic"], heads["key_length"] = MAGIC, _stored_lengths(keys)
    parts = [_as_strings(heads), keys.array, values.array]
    if dialect.has_value_length:
        parts.insert(2, _as_strings(_stored_lengths(values).astype(_LENGTH)))
    sizes = keys.lengths + values.lengths + dialect.overhead_bytes
    lengths = sizes + SIZE_END
    data = np.frombuffer(_join(parts), np.uint8)
    beginnings = np.empty(len(keys), _BEGINNING)
    _fill_beginnings(beginnings, first_offset, sizes, crc32_of_each(data, lengths.tolist()))
    everywhere(data, CRC_END)[np.cumsum(lengths) - lengths] = beginnings.view(f"V{CRC_END}")
    return Encoded(data.data, lengths)


def _stored_lengths(column: Column) -> Integers:
    return (
        column.lengths if column.is_null is None else np.where(column.is_null, -1, column.lengths)
    )


def _fill_beginnings(
    beginnings: NDArray[np.void], first_offset: int, sizes: Integers, crcs: Words
) -> None:
    beginnings["offset"] = np.arange(first_offset, first_offset + len(sizes))
    beginnings["size"] = sizes
    beginnings["crc"] = crcs


def _as_strings(table: NDArray[Any]) -> Any:
    """Return the rows of an array as an Arrow column of byte strings."""
    starts = np.arange(len(table) + 1, dtype=np.int32) * np.int32(table.itemsize)
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(table)]
    return pa.Array.from_buffers(pa.binary(), len(table), buffers)


def _join(parts: list[Any]) -> Any:
    """Return the bytes of all columns, row by row and back to back; null counts as empty."""
    joined = pc.binary_join_element_wise(
        *parts, _NOTHING, null_handling="replace", null_replacement=b""
    )
    return joined.buffers()[2]
