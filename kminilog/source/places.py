"""The place of a record as one number, in source order; where a run of records ends.

    rank of the file | position of the line (text, json) or number of the row (csv, parquet)

Sorting one number is cheaper than comparing the three columns of a place. Source: ours.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kminilog.bulk.partitioning import Places
from kminilog.source.description import Place, Source

Integers = NDArray[np.int64]
PLACE_COLUMNS = ("source_rank", "source_position", "source_row")
RECORD_COLUMNS = (*PLACE_COLUMNS, "key", "value", "rejected")


class Order(NamedTuple):
    """How places become numbers: by how many bits the rank is shifted, and what stands below."""

    shift: int
    by_position: bool

    @classmethod
    def of(cls, source: Source, files: int) -> "Order":
        """Return the order of a source with so many files."""
        return cls(63 - files.bit_length(), source.format in ("text", "json"))

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


def places_of(records: pa.Table | pa.RecordBatch) -> Places:
    """Return the places of records as numpy arrays."""
    return Places(*(records.column(name).to_numpy().astype(np.int64) for name in PLACE_COLUMNS))


def breaks(places: Places, previous: Place | None, *, by_rows: bool) -> list[int]:
    """Return which records begin a new run: those that do not follow the record before them.

    `previous` is the place of the record before the first one; without it, record 0 begins a run.

    >>> places = Places(np.array([0, 0, 0, 1]), np.zeros(4, int), np.array([5, 6, 8, 9]))
    >>> breaks(places, Place(0, 0, 4), by_rows=True)
    [2, 3]
    >>> breaks(places, None, by_rows=False)
    [0]
    """
    if previous is not None:
        places = Places(
            *(np.insert(part, 0, at) for part, at in zip(places, previous, strict=True))
        )
    rank, position, row = (np.diff(part) for part in places)
    if by_rows:
        goes_on = (rank == 0) & (row == 1)
    else:
        goes_on = (rank > 0) | (rank == 0) & ((position > 0) | (position == 0) & (row > 0))
    found: list[int] = (np.flatnonzero(~goes_on) + (previous is None)).tolist()
    return [0, *found] if previous is None else found
