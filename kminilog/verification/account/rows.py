"""The rows that the row join compares: a record or a message by its digest, without its value.

    record    order      its place in the source as one number (places.py)
              partition  where it belongs; UNKNOWN if nobody can know
              number     how many records of this run that belong there stand in front of it
              run        order of the first record of its run, an unbroken stretch of the source
              row        its number in its file, or in the piece of it that was read in one go
              rejected   it is known to be no message
    message   partition, offset, position, segment
              number     how many messages of this part stand in front of it
              part       which stretch of the partition was read in one go, by its first segment
              counted    it counts for the numbers of other messages

Where nobody can know the partition of records without keys, only rows with keys count, on both
sides. `key` holds the first bytes of the key, for those who read the findings; if every finding is
written down, the whole key, and `value`. Source: ours.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kminilog.columns.digests import Digests

UNKNOWN = -1
TEXTS = ("key", "value")
SHOWN_BYTES = 60  # of a key

Integers = NDArray[np.int64]
Bits = NDArray[np.bool_]


Item = tuple[int, Any]
"""Where an item goes, and the item: a range of partitions, a bucket of rows, a partition."""


class Counted(NamedTuple):
    """How many rows were read. `left_out` were rejected, and are in no group for they were not
    paired."""

    source: int
    stored: int
    left_out: int


def add_counts(counted: Iterable[Counted]) -> Counted:
    """Return the sum of several counts."""
    return Counted(*map(sum, zip(Counted(0, 0, 0), *counted, strict=True)))


class CountedRows(NamedTuple):
    """How many rows that count a run of the source, or a part of the log, has in one partition.

    `start` is the column `run` or `part` of these rows.
    """

    start: int
    total: int
    is_source: bool


class Breaks(NamedTuple):
    """The offsets of the rows of one part that count, where they do not go on by 1.

    `numbers` are those of the column `number`.
    """

    part: int
    numbers: Integers
    offsets: Integers


def bits_of(column: pa.Array) -> Bits:
    """Return an Arrow column of booleans without nulls as a numpy array."""
    found: Bits = column.to_numpy(zero_copy_only=False)
    return found


def numbered(partitions: Integers, before: NDArray[np.int64]) -> Integers:
    """Return the number of each row in its partition, and add them to `before`, in place.

    `before` says how many rows each partition has in front of these. A row with UNKNOWN gets 0.

    >>> before = np.array([10, 20])
    >>> numbered(np.array([0, 1, -1, 0]), before).tolist(), before.tolist()
    ([10, 20, 0, 11], [12, 21])
    """
    numbers = np.zeros(len(partitions), np.int64)
    known = np.flatnonzero(partitions >= 0)
    order = known[np.argsort(partitions[known].astype(np.int32), kind="stable")]
    counts = np.bincount(partitions[known], minlength=len(before))
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    numbers[order] = np.arange(len(order)) + np.repeat(before - starts, counts)
    before += counts
    return numbers


def scattered(
    columns: Mapping[str, Any],
    keys: Any,
    found: Digests,
    wanted: Bits,
    buckets: int,
    values: Any = None,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the wanted rows by bucket; all rows of a family are in the same bucket.

    `columns` are numpy arrays; digests, families and the beginnings of `keys` come with them, or
    with `values` both as they are.
    """
    chosen = np.flatnonzero(wanted)
    if not len(chosen):
        return
    shown = keys.take(pa.array(chosen))
    if values is None:
        texts = {"key": pc.binary_slice(shown, 0, SHOWN_BYTES + 1)}
    else:
        texts = {"key": shown, "value": values.take(pa.array(chosen)).cast(pa.large_binary())}
    rows = pa.record_batch(
        {
            **{name: pa.array(column[chosen]) for name, column in columns.items()},
            "low": pa.array(found.low[chosen]),
            "high": pa.array(found.high[chosen]),
            "family": pa.array(found.families[chosen]),
            **texts,
        }
    )
    # High bits: the low ones are those of the cell, and all wanted rows may be of few cells.
    numbers = (found.families[chosen] >> np.uint64(33)).astype(np.int64) % buckets
    order = np.argsort(numbers, kind="stable")
    borders = np.searchsorted(numbers[order], np.arange(buckets + 1))
    for bucket in range(buckets):
        there = order[borders[bucket] : borders[bucket + 1]]
        if len(there):
            yield bucket, rows.take(pa.array(there))


def joined(batches: Sequence[pa.RecordBatch]) -> Mapping[str, Any]:
    """Return the columns of some batches as numpy arrays, and those of TEXTS as Arrow columns."""
    table = pa.Table.from_batches(batches)
    return {
        name: table.column(name) if name in TEXTS else table.column(name).to_numpy()
        for name in table.column_names
    }
