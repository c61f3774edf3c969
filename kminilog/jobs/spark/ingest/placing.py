"""Records as messages with their partition, and their place as one number: ready for the shuffle.

    partition   by key and place (columns/partitioning.py); 0 if the record is rejected
    order       the place as one number, because Spark sorts one number by radix, but compares the
                three columns of a place
    messages    one message, or several that follow each other in source and partition. They are
                valid, but each has its partition where its offset will stand
                (columns/unnumbered.py). A rejected record has a number below 0 there, then place,
                reason, key and value

So the JVM shuffles and sorts byte strings, and the task that gets them only has to write them.
Tasks read stretches of the source that no other task reads a part of. A row has about as many bytes
as lie between two index entries, so the JVM has few rows to move. Source: ours.
"""

import pickle
from base64 import b64decode, b64encode
from collections.abc import Iterator, MutableMapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kminilog.columns.partitioning import Choose
from kminilog.columns.unnumbered import MARK_BYTES, encode_unnumbered, join_groups, marks_of
from kminilog.jobs.ingest.quarantine import screen
from kminilog.jobs.ingest.staging import StagingJob
from kminilog.jobs.source.columns import Columns
from kminilog.jobs.source.places import Order, places_of
from kminilog.jobs.spark.runtime.tasks import freeze_modules

_REJECTED_MARK = b"\xff" * MARK_BYTES
_ROW_BYTES = 4096


def place_columns(
    spark: SparkSession,
    columns: Columns[Any],
    groups: Sequence[Sequence[Any]],
    order: Order,
    job: StagingJob,
) -> DataFrame:
    """Return rows of partition, order and messages, which tasks read: each a group of items.

    The rows are not sorted yet.
    """
    spark.dataSource.register(_PlacedColumns)
    task = b64encode(pickle.dumps((columns, groups, order, job))).decode()
    return spark.read.format(_PlacedColumns.name()).option("task", task).load()


def pack(records: pa.RecordBatch, job: StagingJob, choose: Choose) -> tuple[NDArray[np.int64], Any]:
    """Return an array of marks and an Arrow column of messages, one of each for a record.

    A mark is the partition. Each rejected record has a mark of its own below 0, so that it is never
    joined with another one.
    """
    screened = screen(records, job.topic)
    reasons = screened.column("rejected")
    if reasons.null_count == len(screened):
        return _encode(screened, job, choose)
    is_fine, is_rejected = reasons.is_null(), reasons.is_valid()
    marks = -1 - np.arange(len(screened))
    marks[is_fine.to_numpy(zero_copy_only=False)], encoded = _encode(
        screened.filter(is_fine), job, choose
    )
    rejected = screened.filter(is_rejected).to_pylist()
    told = pa.array([_REJECTED_MARK + pickle.dumps(record) for record in rejected], pa.binary())
    messages = pc.replace_with_mask(pa.nulls(len(screened), pa.binary()), is_fine, encoded)
    return marks, pc.replace_with_mask(messages, is_rejected, told)


def _encode(
    records: pa.RecordBatch, job: StagingJob, choose: Choose
) -> tuple[NDArray[np.int64], Any]:
    key, value = records.column("key"), records.column("value")
    marks = choose(key, places_of(records)).astype(np.int64)
    return marks, encode_unnumbered(job.topic.dialect, key, value, marks)


def _partitions(marks: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.maximum(marks, 0).astype(np.int32)


def unpack(messages: Any) -> tuple[list[tuple[int, Any]], pa.Table | None]:
    """Return the messages of each partition, in the order in which they come, and those rejected.

    A partition comes once if the rows are sorted by partition. The second value is None if no
    record was rejected.
    """
    marks = marks_of(messages)
    is_fine = marks >= 0
    rejected = None
    if not is_fine.all():
        told = messages.filter(pa.array(~is_fine)).to_pylist()
        rejected = pa.Table.from_pylist([pickle.loads(data[MARK_BYTES:]) for data in told])
        marks, messages = marks[is_fine], messages.filter(pa.array(is_fine))
    starts = np.flatnonzero(np.diff(marks, prepend=-1)).tolist()
    bounds = pairwise([*starts, len(marks)])
    return [(int(marks[start]), messages[start:stop]) for start, stop in bounds], rejected


class TaskInput(InputPartition):
    """The items that one task reads."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(items)
        self.items = items


class _PlacedColumns(DataSource):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._reader = _PlacedReader(*pickle.loads(b64decode(options["task"])))

    @classmethod
    def name(cls) -> str:
        return "kminilog-columns"

    def schema(self) -> str:
        return "partition int, order long, messages binary"

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._reader


class _PlacedReader(DataSourceReader):
    def __init__(
        self,
        columns: Columns[Any],
        groups: Sequence[Sequence[Any]],
        order: Order,
        job: StagingJob,
    ) -> None:
        self._columns = columns
        self._groups = groups
        self._order = order
        self._job = job

    def partitions(self) -> Sequence[TaskInput]:
        return [TaskInput(list(group)) for group in self._groups]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        if partition is None:  # Spark's way to say that there are no partitions
            return
        assert isinstance(partition, TaskInput)
        freeze_modules()
        choose = self._job.chooser()
        for records in self._columns.read(partition.items):
            marks, messages = pack(records, self._job, choose)
            order = self._order.numbers(places_of(records))
            firsts, messages = join_groups(messages, marks, _ROW_BYTES)
            columns = {
                "partition": _partitions(marks[firsts]),
                "order": order[firsts],
                "messages": messages,
            }
            yield pa.record_batch(columns)
