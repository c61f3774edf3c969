"""Reads a source and its log in this process, for verification without Spark.

The records are read in one run, and rows stay in memory. If both sides together are large, their
rows are paired in several passes, each for some buckets. Source: ours.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from kminilog.accounting.engine import Groups, Result
from kminilog.accounting.log_parts import Part
from kminilog.accounting.second_step import Item, Judged, SecondStep
from kminilog.source.columns import AnyColumns, Columns


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

    def compare(self, step: SecondStep, groups: Groups) -> list[Judged]:
        """Return what the second step finds; both sides are read once for each bucket."""
        partitions: dict[int, list[Any]] = defaultdict(list)
        for bucket in range(step.buckets):
            rows: dict[int, list[Any]] = {bucket: [], step.buckets: []}
            for number, item in self._rows(step, groups):
                if number in rows:
                    rows[number].append(item)
            others = rows[step.buckets] if bucket == 0 else []
            for partition, item in (*step.pair(bucket, rows[bucket]), *others):
                partitions[partition].append(item)
        return [step.judge(partition, items) for partition, items in partitions.items()]

    def _rows(self, step: SecondStep, groups: Groups) -> Iterator[Item]:
        yield from step.read_records(self._batches())
        for part in self._parts(groups):
            yield from step.read_messages(part)

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
