"""Arrow columns of byte strings as numpy sees them, and several of them cut into common blocks.

Arrow has many forms of such columns: plain or chunked, bytes or texts, with 32-bit or 64-bit
offsets, views, of fixed size, with nulls, and slices of larger columns. A `Column` has one form:
its bytes back to back, a start for each row, and which rows are null. A null row has no bytes;
bytes that Arrow may keep for it are ignored. This module does not know messages. Source: Arrow's
columnar format.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Integers = NDArray[np.int64]

BLOCK_ROWS = 1 << 13
BLOCK_BYTES = 1 << 20


class Column(NamedTuple):
    """Some rows of byte strings: row n is `data[starts[n]:starts[n] + lengths[n]]`.

    `is_null` is None if no row is null; a null row has length 0. `array` is the same column as a
    `pa.BinaryArray` that is not a slice of another one.
    """

    array: Any
    data: Any
    starts: NDArray[np.int32]
    lengths: Integers
    is_null: NDArray[np.bool_] | None

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def fixed_length(self) -> int | None:
        """The length of all rows; None if they differ, one is null or there is none. O(rows)."""
        if self.is_null is not None or not len(self):
            return None
        length = int(self.lengths[0])
        return length if (self.lengths == length).all() else None

    def rows(self, length: int) -> NDArray[np.uint8]:
        """Return the bytes as a table, without copying; all rows must have this length."""
        shape = (len(self), length)
        return np.ndarray(shape, np.uint8, buffer=self.data or b"")


def blocks(
    *columns: Any, block_rows: int = BLOCK_ROWS, block_bytes: int = BLOCK_BYTES
) -> Iterator[list[Column]]:
    """Yield equally long Arrow columns in common blocks that fit into a processor's cache.

    A block has at most `block_rows` rows, and at most `block_bytes` bytes in all columns together
    unless one row has more. Empty columns give no block. Raises ValueError if the columns are not
    equally long, or not byte strings.
    """
    if len({len(column) for column in columns}) > 1:
        raise ValueError(f"columns of different lengths: {[len(column) for column in columns]}")
    table = pa.table(
        [_plain(column) for column in columns], names=list(map(str, range(len(columns))))
    )
    for batch in table.to_batches(max_chunksize=block_rows):
        whole = [_column(array) for array in batch.columns]  # mostly small enough for one block
        ends = np.cumsum(sum(column.lengths for column in whole))
        if len(ends) and ends[-1] <= block_bytes:
            yield whole
            continue
        start = 0
        while start < len(ends):
            limit = block_bytes + (ends[start - 1] if start else 0)
            stop = max(int(ends.searchsorted(limit, "right")), start + 1)
            yield [_column(array[start:stop]) for array in batch.columns]
            start = stop


def allocate(size_bytes: int) -> NDArray[np.uint8]:
    """Return an array of bytes with any content, from Arrow's memory pool.

    The pool reuses freed memory. Fresh pages from the operating system would cost more than the
    work that is done in them.
    """
    memory: NDArray[np.uint8] = np.frombuffer(pa.allocate_buffer(size_bytes), np.uint8)
    return memory


def _plain(column: Any) -> Any:
    """Return the same strings as a binary or large_binary column."""
    kind = column.type
    if kind in (pa.binary(), pa.large_binary()):
        return column
    if kind in (pa.string(), pa.null()) or pa.types.is_fixed_size_binary(kind):
        return pc.cast(column, pa.binary())
    if kind in (pa.large_string(), pa.binary_view(), pa.string_view()):
        return pc.cast(column, pa.large_binary())
    raise ValueError(f"a column of {kind} has no bytes: cast it first")


def _column(array: Any) -> Column:
    """Return a slice as a column of its own, without copying bytes."""
    _, offsets, data = array.buffers()
    width = np.int64 if pa.types.is_large_binary(array.type) else np.int32
    starts = np.frombuffer(offsets, width)[array.offset : array.offset + len(array) + 1]
    first, last = int(starts[0]), int(starts[-1])
    relative: NDArray[np.int32] = (starts - first).astype(np.int32, copy=False)
    lengths = np.diff(starts).astype(np.int64)
    is_null = validity = None
    if array.null_count:
        is_null = pc.is_null(array).to_numpy(zero_copy_only=False)
        validity = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
        lengths[is_null] = 0
    data = data.slice(first, last - first) if data else pa.py_buffer(b"")
    buffers = [validity, pa.py_buffer(relative), data]
    own = pa.Array.from_buffers(pa.binary(), len(lengths), buffers)
    return Column(own, data, relative, lengths, is_null)
