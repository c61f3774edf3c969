"""The place of a record as one number, in source order.

    rank of the file | where the record begins in it, or the number of its row (csv, parquet)

Sorting one number is cheaper than comparing the three columns of a place. Source: ours.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kminilog.columns.partitioning import Places
from kminilog.jobs.source.description import DATAFRAME, Place, Source

Integers = NDArray[np.int64]
PLACE_COLUMNS = ("source_rank", "source_position", "source_row")
RECORD_COLUMNS = (*PLACE_COLUMNS, "key", "value", "rejected")
TOLD_COLUMNS = ("told_partition", "told_offset")
"""Where a record says that its message is, if that is asked for (`Source.same_places`)."""


class Order(NamedTuple):
    """How places become numbers: by how many bits the rank is shifted, and what stands below.

    It `is_known`, but for the rows of a DataFrame: these may come in another order each time.
    """

    shift: int
    by_position: bool
    is_known: bool = True

    @classmethod
    def of(cls, source: Source, files: int) -> "Order":
        """Return the order of a source with so many files."""
        return cls(63 - files.bit_length(), not source.has_rows, source != DATAFRAME)

    def numbers(self, places: Places) -> Integers:
        """Return the number of each place."""
        within = places.position if self.by_position else places.row
        return places.rank << self.shift | within

    def place(self, number: int) -> Place:
        """Return the place with a number; what the number does not hold is 0.

        >>> Order(60, True).place(Order(60, True).numbers(Places(*np.array([[1], [99], [7]])))[0])
        Place(rank=1, position=99, row=0)
        """
        rank, within = divmod(int(number), 1 << self.shift)
        return Place(rank, within, 0) if self.by_position else Place(rank, 0, within)


def records_of(
    rank: int, positions: Any, rows: Any, key: Any, value: Any, rejected: Any, *told: Any
) -> pa.RecordBatch:
    """Return records of one file with RECORD_COLUMNS; `rejected` are reasons, or null.

    Arguments are Arrow columns, numpy arrays or, of positions, one number for all. A rejected
    record has neither key nor value. `told` are TOLD_COLUMNS, or nothing.
    """
    count = len(rejected)
    if rejected.null_count < count:
        is_kept, nothing = rejected.is_null(), pa.scalar(None, pa.binary())
        key, value = (pc.if_else(is_kept, column, nothing) for column in (key, value))
    if isinstance(positions, int):
        positions = np.full(count, positions)
    ranks = pa.repeat(pa.scalar(rank, pa.int32()), count)
    columns = [ranks, pa.array(positions), pa.array(rows), key, value, rejected, *told]
    return pa.record_batch(columns, names=[*RECORD_COLUMNS, *TOLD_COLUMNS][: len(columns)])


def places_of(records: pa.Table | pa.RecordBatch) -> Places:
    """Return the places of records as numpy arrays."""
    return Places(*(records.column(name).to_numpy().astype(np.int64) for name in PLACE_COLUMNS))
