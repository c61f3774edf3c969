"""Messages that have no offsets yet, as an Arrow column: to be sorted first, then written.

    mark      8 bytes where the offset will be: any number, such as the partition
    rest      size, CRC, magic, key and value in their final form: the CRC does not cover the offset

So records become messages where they are read. Spark then moves one byte string for each message,
or for several that stay together, because each row that it moves has a cost. This module does not
know files and partitions. Source: format/message.py.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kminilog.columns.arrow_columns import Integers, blocks
from kminilog.columns.boundaries import Positions, everywhere, find_beginnings
from kminilog.columns.encoding import encode_columns
from kminilog.format.dialect import Dialect

MARK_BYTES = 8
_MARK = np.dtype(">i8")
_MOST_BYTES = (1 << 31) - 1
_BLOCK_BYTES = 4 << 20  # so that it has many rows to be walked at once


def encode_unnumbered(dialect: Dialect, keys: Any, values: Any, marks: NDArray[Any]) -> Any:
    """Return the messages of equally long Arrow columns of keys and values, each with its mark.

    The result is an Arrow column with a row for each message. O(bytes). Raises what
    `encode_columns` raises, and ValueError if the messages have 2 GiB or more.
    """
    parts, lengths = [np.empty(0, np.uint8)], [np.zeros(1, np.int64)]
    for encoded in encode_columns(dialect, 0, keys, values):
        parts.append(np.frombuffer(encoded.data, np.uint8))
        lengths.append(encoded.lengths)
    data = np.concatenate(parts)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{len(data)} bytes of messages are too many for one column")
    ends = np.cumsum(np.concatenate(lengths), dtype=np.int32)
    put_numbers(data, ends[:-1], marks)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, buffers)


def join_groups(
    messages: Any, groups: NDArray[Any], row_bytes: int
) -> tuple[NDArray[np.int64], Any]:
    """Return the slot of the first message of each joined row, and the joined rows.

    `messages` has one message in each row; `groups` has a number for each. A joined row has one or
    more messages of one group, in their order. A new row begins about every `row_bytes` bytes.
    O(messages).
    """
    # numpy sorts 16-bit numbers fastest. `is_first` separates groups that share their low 16 bits.
    order = np.argsort(groups.astype(np.uint16), kind="stable")
    _, offsets, data = messages.take(pa.array(order)).buffers()
    borders = np.frombuffer(offsets, np.int32)[: len(order) + 1]
    sorted_groups, cells = groups[order], borders[:-1] // row_bytes
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (np.diff(sorted_groups) != 0) | (np.diff(cells) != 0)
    firsts = np.flatnonzero(is_first)
    ends = pa.py_buffer(borders[np.append(firsts, len(order))])
    return order[firsts], pa.Array.from_buffers(pa.binary(), len(firsts), [None, ends, data])


def marks_of(messages: Any) -> Integers:
    """Return the mark of the first message of each row; a row has at least MARK_BYTES bytes."""
    found = [np.empty(0, np.int64)]
    for (block,) in blocks(messages):
        data = np.frombuffer(block.data, np.uint8)
        found.append(everywhere(data, MARK_BYTES)[block.starts[:-1]].view(_MARK).astype(np.int64))
    return np.concatenate(found)


def whole_messages(dialect: Dialect, messages: Any) -> Iterator[tuple[memoryview, Positions]]:
    """Yield the messages of all rows: bytes that may be changed, and the boundaries in them.

    Each result has a few MiB. The rows are hints where messages begin (boundaries.py). O(bytes).
    """
    for (block,) in blocks(messages, block_bytes=_BLOCK_BYTES):
        data = np.frombuffer(block.data, np.uint8).copy()
        boundaries = find_beginnings(dialect, data, block.starts[:-1].astype(np.int64))
        assert boundaries[-1] == len(data), "rows are whole messages"
        yield data.data, boundaries


def put_numbers(data: Any, positions: NDArray[Any], numbers: NDArray[Any]) -> None:
    """Write a number into the offset field of each message at these positions, in place."""
    everywhere(data, MARK_BYTES)[positions] = numbers.astype(_MARK).view(f"V{MARK_BYTES}")
