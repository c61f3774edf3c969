"""Reads a source and its log in this process, for verification without Spark.

The records are read in one run, and rows stay in memory. If both sides together are large, their
rows are paired in several passes, each for some buckets. Source: ours.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from kminilog.jobs.accounting.checksum_pass import ChecksumPass, Compared
from kminilog.jobs.accounting.engine import Groups
from kminilog.jobs.accounting.row_join import Judged, RowJoin, joined
from kminilog.jobs.accounting.rows import Item
from kminilog.jobs.source.columns import AnyColumns, Columns
from kminilog.jobs.source.tasks import LocalTasks


class LocalReader:
    """Reads a source and its log."""

    cores, task_count, tasks = 1, 1, LocalTasks()

    def __init__(self, columns: AnyColumns, progress: Callable[[str], None]) -> None:
        self.columns = columns
        self._progress = progress

    def sums(self, step: ChecksumPass, groups: Groups) -> Compared:
        """Return what the checksum pass finds."""
        ranges: dict[int, list[Any]] = defaultdict(list)
        for number, item in self._items(step, groups):
            ranges[number].append(item)
        return step.joined(one for found in ranges.items() for one in step.compare(*found))

    def compare(self, join: RowJoin, groups: Groups) -> Judged:
        """Return what the row join finds; both sides are read once for each bucket."""
        partitions: dict[int, list[Any]] = defaultdict(list)
        for bucket in range(join.buckets):
            rows: dict[int, list[Any]] = {bucket: [], join.buckets: []}
            for number, item in self._items(join, groups):
                if number in rows:
                    rows[number].append(item)
            others = rows[join.buckets] if bucket == 0 else []
            for partition, item in (*join.pair(bucket, rows[bucket]), *others):
                partitions[partition].append(item)
        return joined(join.judge(partition, items) for partition, items in partitions.items())

    def _items(self, step: ChecksumPass | RowJoin, groups: Groups) -> Iterator[Item]:
        yield from step.read_records(self._batches())
        for part in chain.from_iterable(groups):
            self._progress(f"reading {part.topic_partition}")
            yield from step.read_messages(part)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        columns: Columns[Any] = self.columns
        for group in columns.groups(1):
            for batch in columns.read(group):
                self._progress(f"reading {batch.num_rows} records")
                yield batch
