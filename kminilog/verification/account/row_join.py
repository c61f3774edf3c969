"""The row join: rows of both sides, paired. An engine moves them twice, by number:

    read     records, messages           --> rows, by bucket (of their family)
    pair     all rows of a bucket        --> pairs that are not sound, by partition
    judge    all pairs of a partition    --> counts and samples; missing and extra may be altered

Rows whose cells the checksum pass has found to be equal are left out when they are read. Items that
are no rows pass the second line as they are: what was counted, and where offsets do not go on.
Source: ours.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kminilog.columns.digests import cells_of
from kminilog.verification.account.account import Groups, merged
from kminilog.verification.account.alterations import PartitionPairs
from kminilog.verification.account.log_parts import Part
from kminilog.verification.account.pair_lines import PairLines
from kminilog.verification.account.pairing import (
    CHANGED_RECORD,
    ELSEWHERE,
    KINDS,
    NOTHING,
    unsound_pairs,
)
from kminilog.verification.account.rows import (
    UNKNOWN,
    Bits,
    Breaks,
    Counted,
    CountedRows,
    Integers,
    Item,
    add_counts,
    numbered,
    scattered,
)
from kminilog.verification.account.sides import Messages, Sides, SourceRecords


class Judged(NamedTuple):
    """What became of the rows of some partitions.

    `parts` have a line for every finding, if somebody wants that.
    """

    counted: Counted
    groups: Groups
    parts: list[str]


def joined(judged: Iterable[Judged]) -> Judged:
    """Return what became of the rows of all these partitions."""
    found = list(judged)
    counted = add_counts(one.counted for one in found)
    parts = [part for one in found for part in one.parts]
    return Judged(counted, merged(one.groups for one in found), parts)


@dataclass(frozen=True)
class RowJoin:
    """What tasks must know. `wanted` are the cells to be compared; None for all.

    `shown` has partitions and offsets of messages, `bounds` by partition the first and the next
    offset of what jobs wrote. `lines` writes down every pair that is a finding, if asked.
    """

    sides: Sides
    buckets: int
    wanted: Bits | None
    shown: Collection[tuple[int, int]]
    bounds: Mapping[int, tuple[int, int]]
    lines: PairLines | None = None

    def read_records(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Item]:
        """Yield the rows of records by bucket, and CountedRows of each run. O(bytes)."""
        reader = RecordReader(self)
        for batch in batches:
            yield from reader.read(batch)

    def read_messages(self, part: Part) -> Iterator[Item]:
        """Yield the rows of messages by bucket, CountedRows of the part, its Breaks. O(bytes)."""
        partition = part.topic_partition.partition
        count, counted = 0, 0
        breaks: list[tuple[Integers, Integers]] = []
        next_offset = -1
        for messages in self.sides.messages(part, self.wanted):
            numbers = counted + np.cumsum(messages.is_counted) - messages.is_counted
            columns = {
                "partition": np.full(len(numbers), partition),
                "offset": messages.offsets,
                "position": messages.positions,
                "segment": np.full(len(numbers), messages.segment),
                "number": numbers,
                "part": np.full(len(numbers), part.start),
                "counted": messages.is_counted.astype(np.int64),
            }
            yield from self.scattered(columns, messages)
            offsets = messages.offsets[messages.is_counted]
            at = np.flatnonzero(np.diff(offsets, prepend=next_offset - 1) != 1)
            breaks.append((at + counted, offsets[at]))
            if len(offsets):
                next_offset = int(offsets[-1]) + 1
            count, counted = count + len(numbers), counted + len(offsets)
        yield self.buckets, (UNKNOWN, Counted(0, count, 0))
        yield self.buckets, (partition, CountedRows(part.start, counted, is_source=False))
        if breaks:
            numbers, offsets = (np.concatenate(side) for side in zip(*breaks, strict=True))
            found = Breaks(part.start, numbers, offsets)
            yield self.buckets, (partition, found)

    def scattered(
        self, columns: Mapping[str, Any], rows: SourceRecords | Messages
    ) -> Iterator[Item]:
        """Yield the rows that are compared by bucket, with these columns and what is asked."""
        values = rows.values if self.lines else None
        wanted = self.is_wanted(rows)
        yield from scattered(columns, rows.keys, rows.digests, wanted, self.buckets, values)

    def is_wanted(self, rows: SourceRecords | Messages) -> Bits:
        """Return which rows are compared: those in cells that are wanted."""
        if self.wanted is None:
            return np.ones(len(rows.keys), np.bool_)
        found: Bits = self.wanted[cells_of(rows.digests.families, len(self.wanted))]
        return found

    def pair(self, bucket: int, items: Iterable[Any]) -> Iterator[Item]:
        """Yield what one bucket has, by partition: the pairs that are not sound.

        Bucket number `buckets` has no rows; its items already have their partitions.
        """
        if bucket == self.buckets:
            yield from items
            return
        batches = list(items)
        records = [batch for batch in batches if "order" in batch.schema.names]
        messages = [batch for batch in batches if "order" not in batch.schema.names]
        for found in unsound_pairs(records, messages, self.shown):
            yield from _by_partition(found)

    def judge(self, partition: int, items: Iterable[Any]) -> Judged:
        """Return what became of one partition, or of the records of which it is UNKNOWN."""
        items = list(items)
        counted = [item for item in items if isinstance(item, Counted)]
        bounds = self.bounds.get(partition)
        pairs = PartitionPairs(partition, items, self.sides.order, bounds)
        found = pairs.found()
        parts = self.lines.write(pairs, found) if self.lines else []
        return Judged(add_counts(counted), pairs.groups(found), parts)


class RecordReader:
    """Makes rows of the records that one task reads: one run."""

    def __init__(self, join: RowJoin) -> None:
        self._join = join
        self._records = join.sides.reader(join.wanted)
        self._before = np.zeros(join.sides.partitions, np.int64)
        self._run = NOTHING

    def read(self, batch: pa.RecordBatch) -> Iterator[Item]:
        """Yield the rows of a batch by bucket, and what was counted. O(bytes)."""
        if len(batch):
            records = self._records(batch)
            if self._run == NOTHING:
                self._run = int(records.numbers[0])
            yield from self._rows(records)

    def _rows(self, records: SourceRecords) -> Iterator[Item]:
        join, counted_before = self._join, self._before.copy()
        columns = {
            "order": records.numbers,
            "partition": records.partitions,
            "number": numbered(records.partitions, self._before),
            "run": np.full(len(records.numbers), self._run),
            "row": records.rows,
            "has_key": records.has_key,
            "is_rejected": records.is_rejected,
        }
        if records.told_offsets is not None:
            columns["told"] = records.told_offsets
        yield from join.scattered(columns, records)
        left_out = int((records.is_rejected & ~join.is_wanted(records)).sum())
        yield join.buckets, (UNKNOWN, Counted(len(records.numbers), 0, left_out))
        counts = self._before - counted_before
        for partition in np.flatnonzero(counts).tolist():
            tally = CountedRows(self._run, int(counts[partition]), is_source=True)
            yield join.buckets, (partition, tally)


def _by_partition(found: pa.RecordBatch) -> Iterator[Item]:
    """Yield pairs by the partitions that they matter to: most to one, some to two."""
    is_of_both = KINDS[found.column("kind")[0].as_py()] in (ELSEWHERE, CHANGED_RECORD)
    belongs = found.column("source_partition").to_numpy()
    stands = found.column("stored_partition").to_numpy()
    where = np.where(stands == NOTHING, belongs, stands)
    for partition in np.unique(np.concatenate((where, belongs)) if is_of_both else where):
        is_here = where == partition
        if is_of_both:
            is_here |= belongs == partition
        yield int(partition), found.filter(pa.array(is_here))
