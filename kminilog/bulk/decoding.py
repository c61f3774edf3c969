"""The messages in some bytes as Arrow columns, without a look at their crcs.

    offset int64 | position int64 | key binary | value binary

Null keys and null values are null. Whether the crcs are right and the offsets in order is for
`checking`; a compressed message is one row, its value as it stands. Nothing here knows files.
Source: format/message.py; Arrow's columnar format.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kminilog.bulk.boundaries import NO_HINTS, Positions
from kminilog.bulk.structure import read_structure
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
    key_starts = messages.positions + HEADER_BYTES
    keys = _strings(data, key_starts, messages.key_ends, messages.is_key_null)
    ends = messages.boundaries[1:]
    values = _strings(data, messages.value_starts, ends, messages.is_value_null)
    positions = messages.positions + start_position
    columns = [pa.array(messages.offsets), pa.array(positions), keys, values]
    return Decoded(pa.RecordBatch.from_arrays(columns, schema=SCHEMA), messages.end)


def _strings(
    data: Any,
    starts: Positions,
    ends: Positions,
    is_null: NDArray[np.bool_],
) -> Any:
    """Return a part of each message as an Arrow column."""
    lengths = ends - starts
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    if _is_regular(starts) and (lengths == lengths[0]).all():
        content = _from_table(data, starts, int(lengths[0]))
    else:
        content = _gathered(data, starts, ends)
    validity = None
    if is_null.any():
        validity = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    return pa.Array.from_buffers(
        pa.binary(), len(lengths), [validity, pa.py_buffer(offsets), content]
    )


def _is_regular(positions: Positions) -> bool:
    steps = np.diff(positions)
    return len(steps) > 0 and bool((steps == steps[0]).all())


def _from_table(data: Any, starts: Positions, length: int) -> Any:
    first, step = int(starts[0]), int(starts[1] - starts[0])
    rows = np.ndarray((len(starts), length), np.uint8, data, first, strides=(step, 1))
    return pa.py_buffer(np.ascontiguousarray(rows))


def _gathered(data: Any, starts: Positions, ends: Positions) -> Any:
    """Return the bytes from each start to its end, back to back."""
    count = len(starts)
    borders = np.empty(2 * count + 1, np.int32)  # in turn what is wanted and what lies between
    borders[:-1:2], borders[1::2] = starts, ends
    borders[-1] = ends.max(initial=0)
    pieces = pa.Array.from_buffers(
        pa.binary(), 2 * count, [None, pa.py_buffer(borders), pa.py_buffer(data)]
    )
    wanted = pieces.take(pa.array(np.arange(0, 2 * count, 2)))
    return wanted.buffers()[2]
