"""The messages in some bytes as Arrow columns; CRCs and offsets are not checked.

    offset int64 | position int64 | key binary | value binary

Null keys and null values are null. A compressed message is one row, with its compressed value. The
caller checks CRCs (`checking`) and the order of offsets. This module does not know files. Source:
format/message.py; Arrow's columnar format.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kminilog.columns.boundaries import Positions
from kminilog.columns.checking import Structure
from kminilog.format.message import KEY_START

SCHEMA = pa.schema(
    [
        ("offset", pa.int64()),
        ("position", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)


def to_batch(data: Any, messages: Structure, start_position: int = 0) -> Any:
    """Return the messages of a structure as a record batch with SCHEMA; O(bytes).

    `data` has the bytes that the structure was read from, less than 2 GiB. It begins at byte
    `start_position` of its file. The batch is a copy.
    """
    positions = messages.positions + start_position
    columns = [pa.array(messages.offsets), pa.array(positions), keys_of(data, messages)]
    ends, is_null = messages.boundaries[1:], messages.is_value_null
    columns.append(_strings(data, messages.value_starts, ends, is_null))
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def keys_of(data: Any, messages: Structure) -> Any:
    """Return the keys of a structure's messages as a `pa.BinaryArray`, a copy; O(bytes)."""
    starts = messages.positions + KEY_START
    return _strings(data, starts, messages.key_ends, messages.is_key_null)


def _strings(data: Any, starts: Positions, ends: Positions, is_null: NDArray[np.bool_]) -> Any:
    rows = _rows(data, starts, ends)
    gathered = _gathered(data, starts, ends) if rows is None else rows
    if not is_null.any():
        return gathered
    validity = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), len(starts), [validity, *gathered.buffers()[1:]])


def _rows(data: Any, starts: Positions, ends: Positions) -> Any:
    """Return the bytes as one copy, if rows are equally long and far apart; else None."""
    count = len(starts)
    if count < 2 or ends[0] == starts[0]:
        return None
    length, step = int(ends[0] - starts[0]), int(starts[1] - starts[0])
    if (ends - starts != length).any() or (np.diff(starts) != step).any():
        return None
    content = np.ndarray(count, f"V{length}", data, int(starts[0]), strides=step).copy()
    offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int32) * np.int32(length))
    return pa.Array.from_buffers(pa.binary(), count, [None, offsets, pa.py_buffer(content)])


def _gathered(data: Any, starts: Positions, ends: Positions) -> Any:
    count = len(starts)
    borders = np.empty(2 * count + 1, np.int32)  # wanted bytes and the bytes between, in turn
    borders[:-1:2], borders[1::2] = starts, ends
    borders[-1] = ends.max(initial=0)
    pieces = pa.Array.from_buffers(
        pa.binary(), 2 * count, [None, pa.py_buffer(borders), pa.py_buffer(data)]
    )
    wanted = pa.array(np.arange(0, 2 * count, 2, dtype=np.uint32))
    return pc.take(pieces, wanted, boundscheck=False)
