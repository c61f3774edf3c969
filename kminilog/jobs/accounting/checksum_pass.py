"""The checksum pass: sums of both sides, each in one pass; equal sums mean that nothing is wrong.

    source   run 0 | run 1 | run 2      each task sums what it reads, row by row of partitions
    log      t-0, part 0 | t-0, part 1 | t-1, part 0
    driver   appends the runs in source order, the parts in the order of the log; compares cells

Equal cells have the same records as messages, in the same order for each key, so the account would
find nothing in them. It is made only for the families of the other cells. Records without a key
whose partition nobody can know have a row of their own on both sides, without order. Source: ours.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kminilog.jobs.accounting.digests import Digests
from kminilog.jobs.accounting.log_parts import Part
from kminilog.jobs.accounting.rows import UNKNOWN, Bits
from kminilog.jobs.accounting.sides import Sides
from kminilog.jobs.accounting.sums import FilledCells, Sums

_MOST_CELLS = 1 << 16  # of all partitions together
_DATA_BYTES = 1 << 11  # of both sides, for each cell of each task
_CELL_BYTES = 48
_MOST_BYTES = 128 << 20  # that reach the driver


class RunSums(NamedTuple):
    """The sums of one run of the source; `start` is the number of its first record's place."""

    start: int
    sums: FilledCells
    records: int
    rejected: int


class PartSums(NamedTuple):
    """The sums of one part: row 0 for its partition, row 1 for messages that may stand anywhere.

    `is_ascending` tells if each offset is greater than the one before. `first` and `last` are the
    offsets of the first and the last message.
    """

    part: Part
    sums: FilledCells
    messages: int
    first: int
    last: int
    is_ascending: bool


class ChecksumPass(NamedTuple):
    """What was counted, and which cells differ; None if offsets are out of order."""

    source: int
    stored: int
    rejected: int
    differing: Bits | None


def cell_count(partitions: int, tasks: int, total_bytes: int) -> int:
    """Return how many cells a partition gets: a power of 2.

    It grows with the data. The sums of all tasks together stay at about 128 MiB, unless each task
    has records of more partitions than that leaves room for.

    >>> cell_count(4, 16, 1 << 30), cell_count(1000, 400, 1 << 40), cell_count(1, 2, 3000)
    (4096, 4, 1)
    """
    tasks = max(tasks, 1)
    of_driver, of_data = _MOST_BYTES // _CELL_BYTES // tasks, total_bytes // _DATA_BYTES // tasks
    most = min(_MOST_CELLS, of_driver, of_data)
    most //= partitions + 1
    return 1 << most.bit_length() - 1 if most else 1


def sum_records(sides: Sides, cells: int, batches: Iterable[pa.RecordBatch]) -> list[RunSums]:
    """Return the sums of one run; none if it has no records. O(bytes)."""
    sums = Sums(sides.partitions + 1, cells)
    start, count, rejected = None, 0, 0
    read = sides.reader()
    for records in map(read, filter(len, batches)):
        start = int(records.numbers[0]) if start is None else start
        count += len(records.numbers)
        rows = np.where(records.partitions == UNKNOWN, sides.partitions, records.partitions)
        found = records.digests
        if records.is_rejected.any():
            kept = ~records.is_rejected
            rejected += int((~kept).sum())
            rows, found = rows[kept], Digests(*(part[kept] for part in found))
        sums.add(rows, found)
    return [] if start is None else [RunSums(start, sums.filled(), count, rejected)]


def sum_messages(sides: Sides, cells: int, part: Part) -> list[PartSums]:
    """Return the sums of one part; none if it has no messages. O(bytes)."""
    sums = Sums(2, cells)
    first, last, count, is_ascending = None, -1, 0, True
    for messages in sides.messages(part):
        offsets = messages.offsets
        first = int(offsets[0]) if first is None else first
        is_ascending &= bool(offsets[0] > last and (np.diff(offsets) > 0).all())
        last = int(offsets[-1])
        count += len(offsets)
        rows = np.where(messages.is_counted, 0, 1)
        sums.add(rows, messages.digests)
    return (
        [] if first is None else [PartSums(part, sums.filled(), count, first, last, is_ascending)]
    )


def compare_sums(
    partitions: int, cells: int, runs: Iterable[RunSums], parts: Iterable[PartSums]
) -> ChecksumPass:
    """Return which cells differ. `runs` may come in any order, `parts` in the order of the log."""
    source, stored = Sums(partitions + 1, cells), Sums(partitions + 1, cells)
    records = rejected = messages = 0
    for run in sorted(runs, key=lambda run: run.start):
        source.append(run.sums)
        records, rejected = records + run.records, rejected + run.rejected
    is_ascending = True
    ends: dict[int, int] = {}
    for part in parts:
        partition = part.part.topic_partition.partition
        stored.append(part.sums, [partition, partitions])
        messages += part.messages
        is_ascending &= part.is_ascending and part.first > ends.get(partition, -1)
        ends[partition] = part.last
    differing = source.differing(stored) if is_ascending else None
    return ChecksumPass(records, messages, rejected, differing)
