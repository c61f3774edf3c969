"""Columns of bytes that no format can make smaller."""

from typing import Any

import numpy as np
import pyarrow as pa


def random_column(rng: np.random.Generator, rows: int, size_bytes: int) -> Any:
    """Return an Arrow column of byte strings, all of one size."""
    data = pa.py_buffer(rng.bytes(rows * size_bytes))
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(size_bytes), rows, [None, data])
    return column.cast(pa.binary())
