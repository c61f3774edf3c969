"""Messages that have no offsets yet, as an Arrow column: to be sorted first, then written.

    mark      8 bytes, where the offset will be: any number, such as the partition
    rest      size, crc, magic, key and value, as they will be: the crc does not cover the offset

So records become messages where they are read, and what moves on is one string for each. Files and
partitions are not known here. Source: format/message.py.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kminilog.bulk.columns import Integers, blocks
from kminilog.bulk.encoding import Encoded, encode_columns
from kminilog.format.dialect import Dialect

MARK_BYTES = 8
_MARK = np.dtype(">i8")


def encode_unnumbered(dialect: Dialect, keys: Any, values: Any, marks: NDArray[Any]) -> Any:
    """Return the messages that equally long Arrow columns of keys and values make, marked.

    In all less than 2 GiB. Raises what `encode_columns` raises.
    """
    parts, lengths = [np.empty(0, np.uint8)], [np.zeros(1, np.int64)]
    for encoded in encode_columns(dialect, 0, keys, values):
        parts.append(np.frombuffer(encoded.data, np.uint8))
        lengths.append(encoded.lengths)
    data = np.concatenate(parts)
    ends = np.cumsum(np.concatenate(lengths), dtype=np.int32)
    _mark(data, ends[:-1], marks)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, buffers)


def marks_of(messages: Any) -> Integers:
    """Return the marks of a column of messages; each has at least MARK_BYTES bytes."""
    found = [np.empty(0, np.int64)]
    for (block,) in blocks(messages):
        data = np.frombuffer(block.data, np.uint8)
        found.append(_marks(data)[block.starts[:-1]].view(_MARK).astype(np.int64))
    return np.concatenate(found)


def number(messages: Any, first_offset: int) -> Iterator[Encoded]:
    """Yield the messages with offsets from `first_offset` on, about 1 MiB each; marks are gone."""
    for (block,) in blocks(messages):
        data = np.frombuffer(block.data, np.uint8).copy()
        _mark(data, block.starts[:-1], np.arange(first_offset, first_offset + len(block)))
        yield Encoded(data.data, block.lengths)
        first_offset += len(block)


def _mark(data: NDArray[np.uint8], starts: NDArray[Any], marks: NDArray[Any]) -> None:
    if len(starts):
        _marks(data)[starts] = marks.astype(_MARK).view(f"V{MARK_BYTES}")


def _marks(data: NDArray[np.uint8]) -> NDArray[np.void]:
    """The eight bytes from each byte on."""
    return np.ndarray(len(data) - MARK_BYTES + 1, f"V{MARK_BYTES}", data, strides=1)
