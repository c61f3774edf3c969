"""The checksum pass: sums of both sides, each in one pass; equal sums mean that nothing is wrong.

    source   run 0 | run 1 | run 2              each task sums what it reads, by partition
    log      t-0, part 0 | t-0, part 1 | t-1    and sends the cells that have a record
    ranges   some partitions each               runs in source order, parts in the order of the log
    driver   which cells differ, and counts     a few bytes, however many tasks there were

Equal cells have the same records as messages, in the same order for each key, so the account would
find nothing in them. It is made only for the families of the other cells. Records without a key
whose partition nobody can know have a row of their own on both sides, without order. Source: ours.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kminilog.columns.digests import Digests
from kminilog.verification.account.log_parts import Part
from kminilog.verification.account.rows import UNKNOWN, Bits, Counted, Item, add_counts
from kminilog.verification.account.sides import Sides
from kminilog.verification.account.sums import FilledCells, Sums

_MOST_CELLS = 1 << 16  # of all partitions together
_DATA_BYTES = 1 << 11  # of both sides, for each cell of each task
_CELL_BYTES = 48
_RANGE_BYTES = 64 << 20  # that all tasks together send to one range


class SideSums(NamedTuple):
    """The cells of one run, or of one part, in one range.

    `start` is the number of the run's first record, or the first segment of the part.
    """

    is_source: bool
    start: int
    cells: FilledCells


class PartOffsets(NamedTuple):
    """The first and the last offset of a part; `is_ascending` tells if no other one is wrong."""

    partition: int
    start: int
    first: int
    last: int
    is_ascending: bool


class Compared(NamedTuple):
    """What was counted, and which cells differ; None if offsets are out of order."""

    counted: Counted
    differing: Bits | None


@dataclass(frozen=True)
class ChecksumPass:
    """What tasks must know: how many cells a partition has, and how many ranges there are."""

    sides: Sides
    cells: int
    ranges: int

    @classmethod
    def of(cls, sides: Sides, tasks: int, total_bytes: int) -> "ChecksumPass":
        """Return the pass for so many tasks, which read so many bytes of both sides."""
        rows = sides.partitions + 1
        cells = cell_count(sides.partitions, tasks, total_bytes)
        return cls(sides, cells, min(-(-tasks * rows * cells * _CELL_BYTES // _RANGE_BYTES), rows))

    def read_records(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Item]:
        """Yield the sums of one run by range, and its Counted; nothing without records. O(bytes)"""
        sums = Sums(self.sides.partitions + 1, self.cells)
        start, count, rejected = None, 0, 0
        read = self.sides.reader()
        for records in map(read, filter(len, batches)):
            start = int(records.numbers[0]) if start is None else start
            count += len(records.numbers)
            rows = np.where(
                records.partitions == UNKNOWN, self.sides.partitions, records.partitions
            )
            found = records.digests
            if records.is_rejected.any():
                kept = ~records.is_rejected
                rejected += int((~kept).sum())
                rows, found = rows[kept], Digests(*(part[kept] for part in found))
            sums.add(rows, found)
        if start is not None:
            yield 0, Counted(count, 0, rejected)
            for number, cells in self._by_range(sums.filled()):
                yield number, SideSums(True, start, cells)

    def read_messages(self, part: Part) -> Iterator[Item]:
        """Yield the sums of one part by range, Counted, PartOffsets; nothing without messages.

        O(bytes).
        """
        sums = Sums(2, self.cells)  # its partition, and messages that may stand anywhere
        first, last, count, is_ascending = None, -1, 0, True
        for messages in self.sides.messages(part):
            offsets = messages.offsets
            first = int(offsets[0]) if first is None else first
            is_ascending &= bool(offsets[0] > last and (np.diff(offsets) > 0).all())
            last = int(offsets[-1])
            count += len(offsets)
            sums.add(np.where(messages.is_counted, 0, 1), messages.digests)
        if first is not None:
            partition = part.topic_partition.partition
            yield 0, Counted(0, count, 0)
            yield 0, PartOffsets(partition, part.start, first, last, is_ascending)
            filled = sums.filled().in_rows([partition, self.sides.partitions], self.cells)
            for number, cells in self._by_range(filled):
                yield number, SideSums(False, part.start, cells)

    def compare(self, number: int, items: Iterable[Any]) -> Iterator[Compared]:
        """Yield what the items of one range say, whatever their order. O(cells of the items)."""
        items = list(items)
        first, end = self._borders()[number : number + 2]
        ordered = min(end, self.sides.partitions) - first
        source, stored = (Sums(end - first, self.cells, ordered) for _ in range(2))
        found = (item for item in items if isinstance(item, SideSums))
        for one in sorted(found, key=lambda one: one.start):
            (source if one.is_source else stored).append(one.cells)
        parts = [item for item in items if isinstance(item, PartOffsets)]
        counted = add_counts(item for item in items if isinstance(item, Counted))
        yield Compared(counted, source.differing(stored) if _are_ascending(parts) else None)

    def joined(self, ranges: Iterable[Compared]) -> Compared:
        """Return what all ranges say together."""
        found = list(ranges)
        counted = add_counts(one.counted for one in found)
        differing = np.zeros(self.cells, np.bool_)
        for one in found:
            if one.differing is None:
                return Compared(counted, None)
            differing |= one.differing
        return Compared(counted, differing)

    def _borders(self) -> list[int]:
        """Return the first row of each range, and the number of rows."""
        rows = self.sides.partitions + 1
        return [number * rows // self.ranges for number in range(self.ranges + 1)]

    def _by_range(self, filled: FilledCells) -> Iterator[tuple[int, FilledCells]]:
        borders = np.array(self._borders()) * self.cells
        cuts = np.searchsorted(filled.places, borders)
        for number, (start, stop) in enumerate(pairwise(cuts.tolist())):
            if start < stop:
                places = filled.places[start:stop] - borders[number]
                yield number, FilledCells(places, filled.cells[:, start:stop])


def cell_count(partitions: int, tasks: int, total_bytes: int) -> int:
    """Return how many cells a partition gets: a power of 2.

    It grows with the data: what tasks send is about 2 % of what they read, at most.

    >>> cell_count(4, 16, 1 << 30), cell_count(1000, 400, 1 << 40), cell_count(1, 2, 3000)
    (4096, 64, 1)
    """
    most = min(_MOST_CELLS, total_bytes // _DATA_BYTES // max(tasks, 1)) // (partitions + 1)
    return 1 << most.bit_length() - 1 if most else 1


def _are_ascending(parts: Iterable[PartOffsets]) -> bool:
    ends: dict[int, int] = {}
    is_ascending = True
    for part in sorted(parts):
        is_ascending &= part.is_ascending and part.first > ends.get(part.partition, -1)
        ends[part.partition] = part.last
    return is_ascending
