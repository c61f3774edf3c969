"""The messages in some bytes as Arrow columns, without a look at their crcs.

    offset int64 | position int64 | key binary | value binary

Null keys and null values are null. Whether the crcs are right and the offsets in order is for
`checking`; a compressed message is one row, its value as it stands. Nothing here knows files.
Source: format/message.py; Arrow's columnar format.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kminilog.bulk.boundaries import NO_HINTS, Positions
from kminilog.bulk.structure import Structure, read_structure
from kminilog.format.dialect import Dialect
from kminilog.format.message import HEADER_BYTES

SCHEMA = pa.schema(
    [
        ("offset", pa.int64()),
        ("position", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)


class Decoded(NamedTuple):
    """A `pa.RecordBatch` with SCHEMA, and where in the bytes its last message ends."""

    batch: Any
    end: int


def decode_columns(
    dialect: Dialect, data: Any, hints: Positions = NO_HINTS, *, start_position: int = 0
) -> Decoded:
    """Return the messages from byte 0 on, up to the first whose fields do not agree; O(bytes).

    `end` is where that one stands, or the end of `data`, which must have less than 2 GiB.
    `start_position` is the position of `data` in its file; `hints` are ascending positions in
    `data` at which messages probably begin.
    """
    messages = read_structure(dialect, data, hints)
    return Decoded(to_batch(data, messages, start_position), messages.end)


def to_batch(data: Any, messages: Structure, start_position: int = 0) -> Any:
    """Return messages in some bytes, as `structure` or `checking` found them, as a record batch."""
    positions = messages.positions + start_position
    columns = [pa.array(messages.offsets), pa.array(positions), keys_of(data, messages)]
    ends, is_null = messages.boundaries[1:], messages.is_value_null
    columns.append(_strings(data, messages, messages.value_starts, ends, is_null))
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def keys_of(data: Any, messages: Structure) -> Any:
    """Return the keys of messages in some bytes as a `pa.BinaryArray`."""
    starts = messages.positions + HEADER_BYTES
    return _strings(data, messages, starts, messages.key_ends, messages.is_key_null)


def _strings(
    data: Any,
    messages: Structure,
    starts: Positions,
    ends: Positions,
    is_null: NDArray[np.bool_],
) -> Any:
    """Return a part of each message as an Arrow column."""
    count = len(messages)
    if messages.is_uniform:
        length = int(ends[0] - starts[0])
        offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int32) * np.int32(length))
        content = _from_table(data, int(starts[0]), length, messages.boundaries)
    else:
        _, offsets, content = _gathered(data, starts, ends).buffers()
    validity = None
    if is_null.any():
        validity = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), count, [validity, offsets, content])


def _from_table(data: Any, first: int, length: int, boundaries: Positions) -> Any:
    """Return some bytes of each of equally long messages, back to back."""
    if not length:
        return pa.py_buffer(b"")
    step, count = int(boundaries[1]), len(boundaries) - 1
    return pa.py_buffer(np.ndarray(count, f"V{length}", data, first, strides=step).copy())


def _gathered(data: Any, starts: Positions, ends: Positions) -> Any:
    """Return the bytes from each start to its end as an Arrow column."""
    count = len(starts)
    borders = np.empty(2 * count + 1, np.int32)  # in turn what is wanted and what lies between
    borders[:-1:2], borders[1::2] = starts, ends
    borders[-1] = ends.max(initial=0)
    pieces = pa.Array.from_buffers(
        pa.binary(), 2 * count, [None, pa.py_buffer(borders), pa.py_buffer(data)]
    )
    wanted = pa.array(np.arange(0, 2 * count, 2, dtype=np.uint32))
    return pc.take(pieces, wanted, boundscheck=False)
