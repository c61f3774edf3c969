"""Reads a source and its log in this process, for verification without Spark.

The records are read in one run, and rows stay in memory. If both sides together are large, their
rows are paired in several passes, each for some buckets. Source: ours.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from kminilog.jobs.accounting.engine import Groups, Result
from kminilog.jobs.accounting.log_parts import Part
from kminilog.jobs.accounting.row_join import Item, Judged, RowJoin
from kminilog.jobs.source.columns import AnyColumns, Columns


class LocalReader:
    """Reads a source and its log."""

    cores, task_count = 1, 1

    def __init__(self, columns: AnyColumns, progress: Callable[[str], None]) -> None:
        self.columns = columns
        self._progress = progress

    def map_source(self, work: Callable[[Iterator[pa.RecordBatch]], list[Result]]) -> list[Result]:
        """Return what `work` returns for all records."""
        return work(self._batches())

    def map_parts(self, groups: Groups, work: Callable[[Part], list[Result]]) -> list[Result]:
        """Return what `work` returns for each part."""
        return [found for part in self._parts(groups) for found in work(part)]

    def compare(self, join: RowJoin, groups: Groups) -> list[Judged]:
        """Return what the row join finds; both sides are read once for each bucket."""
        partitions: dict[int, list[Any]] = defaultdict(list)
        for bucket in range(join.buckets):
            rows: dict[int, list[Any]] = {bucket: [], join.buckets: []}
            for number, item in self._rows(join, groups):
                if number in rows:
                    rows[number].append(item)
            others = rows[join.buckets] if bucket == 0 else []
            for partition, item in (*join.pair(bucket, rows[bucket]), *others):
                partitions[partition].append(item)
        return [join.judge(partition, items) for partition, items in partitions.items()]

    def _rows(self, join: RowJoin, groups: Groups) -> Iterator[Item]:
        yield from join.read_records(self._batches())
        for part in self._parts(groups):
            yield from join.read_messages(part)

    def _parts(self, groups: Groups) -> Iterator[Part]:
        for group in groups:
            for part in group:
                self._progress(f"reading {part.topic_partition}")
                yield part

    def _batches(self) -> Iterator[pa.RecordBatch]:
        columns: Columns[Any] = self.columns
        for group in columns.groups(1):
            for batch in columns.read(group):
                self._progress(f"reading {batch.num_rows} records")
                yield batch
