"""Writing to the data source: rows become messages of a topic that exists, once per job.

    columns  value (binary or string), key (the same; may be missing or null),
             partition (int; null or missing: the partitioner chooses)

The partitioner places rows as in a bulk job (columns/partitioning.py): the number of a row's task
stands for that of its file, and the seed comes from the id of the job. Messages of a partition keep
the order of the rows in each task, and the order of the tasks. Rows for a table also have the
columns that the log assigns (topic, offset, position, segment); these must be null. A batch write
is one job, which the option `job_id` may name. A micro-batch is the job `<query id>-<batch id>`,
however often Spark runs it; so writing it is idempotent. Source: Spark's Python Data Source API.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import BinaryType, IntegerType, NullType, StringType, StructType

from kminilog.columns.partitioning import Places, chooser
from kminilog.columns.staged_logs import RunWriter
from kminilog.errors import SettingError
from kminilog.jobs.source.tasks import Tasks
from kminilog.jobs.spark.datasource.commit import (
    WrittenRun,
    commit_runs,
    compact_after,
    forget_runs,
    runs_path,
)
from kminilog.jobs.spark.datasource.options import COLUMNS, WriteOptions, write_options
from kminilog.jobs.spark.runtime.tasks import SparkTasks
from kminilog.partitioners.keyed_rules import keyed_rule
from kminilog.storage.files import replace_file
from kminilog.storage.log_dir import LogDir
from kminilog.storage.topics import Topic

_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"  # set by Spark for its tasks
_BYTES = (BinaryType, StringType)
_ASSIGNED = ("topic", "offset", "position", "segment")
_TYPES = {"key": (*_BYTES, NullType), "value": _BYTES, "partition": (IntegerType, NullType)}

Messages = Sequence[WriterCommitMessage | None]


@dataclass(frozen=True)
class Sink:
    """Where rows go: options, topic and columns, checked before any task starts."""

    options: WriteOptions
    topic: Topic
    columns: tuple[str, ...]

    @classmethod
    def of(
        cls,
        options: Mapping[str, str],
        schema: StructType,
        *,
        overwrite: bool,
        is_stream: bool,
        is_table: bool = False,
    ) -> "Sink":
        """Return the sink of these options and columns, checked.

        `is_table` means that Spark has added the columns that the log assigns. Raises SettingError,
        UnknownTopicOrPartitionError, LogDirError, and PublicationError for a wrong job id.
        """
        wanted = write_options(options, is_stream=is_stream)
        if overwrite:
            reason = "messages are only ever added: use mode append, or INSERT INTO"
            raise SettingError("mode", reason=reason)
        log_dir = LogDir(wanted.log_dir)
        topic = log_dir.topic(wanted.topic)
        try:
            keyed_rule(wanted.partitioner)
        except ValueError as error:
            raise SettingError("partitioner", reason=str(error)) from None
        if wanted.job_id is not None:
            runs_path(log_dir.path, wanted.job_id)  # is it a file name?
        assigned = {name: COLUMNS[name] for name in _ASSIGNED} if is_table else {}
        if is_table and not assigned.keys() & set(schema.names):
            reason = "this table cannot be written; create it with all: leave out option columns"
            raise SettingError("columns", reason=reason)
        for field in schema:
            if field.dataType == assigned.get(field.name):
                continue
            if not isinstance(field.dataType, _TYPES.get(field.name, ())):
                reason = (
                    f"{field.name} {field.dataType.simpleString()} cannot be written; there are "
                    "value and key (binary or string) and partition (int)"
                )
                raise SettingError("columns", reason=reason)
        if "value" not in schema.names:
            raise SettingError("columns", reason="there is no column value")
        return cls(wanted, topic, tuple(schema.names))

    @property
    def log_dir(self) -> Path:
        """The path of the log dir."""
        return Path(self.options.log_dir)

    def write(self, job_id: str, batches: Iterator[pa.RecordBatch], task: int) -> WrittenRun:
        """Write the rows of a task as a run, and return it.

        Raises SettingError for a value that the log assigns, and what `RunWriter.write` raises.
        """
        place = RowPartitioner(self.topic, self.options.partitioner, task, job_id)
        staging = runs_path(self.log_dir, job_id)
        writer = RunWriter(staging / uuid4().hex, self.topic)
        for batch in filter(len, batches):
            self._write(writer, place, batch)
        return WrittenRun(job_id, writer.close(staging))

    def _write(self, writer: RunWriter, place: "RowPartitioner", batch: pa.RecordBatch) -> None:
        nothing = pa.nulls(len(batch), pa.binary())
        values = batch.column("value").cast(pa.binary())
        keys = batch.column("key").cast(pa.binary()) if "key" in self.columns else nothing
        for name in _ASSIGNED:
            if name in self.columns and batch.column(name).null_count < len(batch):
                reason = f"a row has a value for {name}, which the log assigns: leave it out"
                raise SettingError("columns", reason=reason)
        named = batch.column("partition") if "partition" in self.columns else None
        writer.write(place.partitions(keys, named), keys, values)

    def commit(self, job_id: str, messages: Messages, tasks: Tasks | None = None) -> None:
        """Publish the runs of the successful task attempts; see `commit_runs`."""
        rule = None if "partition" in self.columns else self.options.partitioner
        facts = {"writer": "spark", "partitioner": rule, "rejected": 0}
        runs = [message for message in messages if isinstance(message, WrittenRun)]
        if self.options.job_id is not None:  # a user may give an id twice, Spark does not
            facts["count"] = sum(written.run.count for written in runs)
        commit_runs(
            self.log_dir,
            self.topic,
            job_id,
            runs,
            facts,
            lock_timeout_ms=self.options.lock_timeout_ms,
            tasks=tasks,
        )


class RowPartitioner:
    """Chooses the partition of each row of one task."""

    def __init__(self, topic: Topic, partitioner: str, task: int, job_id: str) -> None:
        self._topic = topic
        self._choose = chooser(partitioner, topic.partitions, seed=crc32(job_id.encode()))
        self._task = task
        self._next_row = 0  # of those without key and partition

    def partitions(self, keys: Any, named: Any) -> Any:
        """Return the partition of each row as a numpy array.

        `named` has the partitions that rows name, null where a row names none; None if there is no
        such column. Raises UnknownTopicOrPartitionError if the topic has no such partition.
        """
        named = pa.nulls(len(keys), pa.int32()) if named is None else named.cast(pa.int32())
        if len(keys) > named.null_count:
            bounds = pc.min_max(named).as_py()
            self._topic.partition(bounds["min"])
            self._topic.partition(bounds["max"])
        is_free = pc.and_(keys.is_null(), named.is_null()).to_numpy(zero_copy_only=False)
        rows = self._next_row + np.cumsum(is_free) - is_free
        self._next_row += int(is_free.sum())
        places = Places(np.full_like(rows, self._task), np.zeros_like(rows), rows)
        chosen = self._choose(keys, places)
        return pc.coalesce(named, pa.array(chosen)).to_numpy()


class LogWriter(DataSourceArrowWriter):
    """Writes a batch, as one job."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._job_id = sink.options.job_id or str(uuid4())
        # The driver makes it: a task that goes on after the end of the job must not do so again.
        runs_path(sink.log_dir, self._job_id).mkdir(parents=True, exist_ok=True)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task."""
        return self._sink.write(self._job_id, iterator, _task().partitionId())

    def commit(self, messages: Messages) -> None:
        """Publish the job."""
        self._sink.commit(self._job_id, messages)

    def abort(self, messages: Messages) -> None:
        """Delete what the tasks have written."""
        forget_runs(self._sink.log_dir, self._job_id)


_RUNS_FILE = "runs.pickle"


class _Runs(DataSource):
    """A sink like `kminilog`, whose commit only hands the runs to the driver, in a file."""

    @classmethod
    def name(cls) -> str:
        return "kminilog-runs"

    def writer(self, schema: StructType, overwrite: bool) -> "LogWriter":
        return _RunsWriter(Sink.of(self.options, schema, overwrite=overwrite, is_stream=False))


class _RunsWriter(LogWriter):
    def commit(self, messages: Messages) -> None:
        path = runs_path(self._sink.log_dir, self._job_id) / _RUNS_FILE
        replace_file(path, pickle.dumps(list(messages)))


def write_rows(frame: DataFrame, log_dir: Path, job_id: str, options: Mapping[str, str]) -> None:
    """Write a DataFrame as a write of the data source does; but tasks join the runs, too.

    A data source cannot do so, because Spark gives it no session to run tasks in.
    """
    spark, options = frame.sparkSession, {**options, "path": str(log_dir), "job_id": job_id}
    sink = Sink.of(options, frame.schema, overwrite=False, is_stream=False)
    spark.dataSource.register(_Runs)
    frame.write.format(_Runs.name()).mode("append").options(**options).save()
    runs = (runs_path(sink.log_dir, job_id) / _RUNS_FILE).read_bytes()
    sink.commit(job_id, pickle.loads(runs), SparkTasks(spark))


class LogStreamWriter(DataSourceStreamArrowWriter):
    """Writes micro-batches, each as one job."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task."""
        task = _task()
        query, batch = task.getLocalProperty(_QUERY), task.getLocalProperty(_BATCH)
        assert None not in (query, batch), "Spark has not said which query this is"
        job_id = f"{query}-{batch}"
        runs_path(self._sink.log_dir, job_id).mkdir(parents=True, exist_ok=True)
        return self._sink.write(job_id, iterator, task.partitionId())

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        """Publish a micro-batch; do nothing if it was published before."""
        job_ids = {message.job_id for message in messages if isinstance(message, WrittenRun)}
        for job_id in job_ids:
            self._sink.commit(job_id, messages)
        compact_after(self._sink.options, self._sink.topic, batchId)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        """Delete the known runs of a failed micro-batch; its replay deletes the others."""
        for message in messages:
            if isinstance(message, WrittenRun):
                forget_runs(self._sink.log_dir, message.job_id)


def _task() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "called by a task of Spark only"
    return context
