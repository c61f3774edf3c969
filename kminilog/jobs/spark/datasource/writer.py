"""Writing to the data source: rows become messages of topics that exist, once per job.

    columns  value (binary or string), key (the same; may be missing or null),
             partition (int; null or missing: the partitioner chooses),
             topic (string; the option `topic` comes first)
    ignored  what a read gives beside these, here (offset, position, segment) or in Spark's Kafka
             source (timestamp, timestampType)

The partitioner places rows as in a bulk job (columns/partitioning.py): the number of a row's task
stands for that of its file, and the seed comes from the id of the job. Messages of a partition keep
the order of the rows in each task, and the order of the tasks. A batch write is one job, which the
option `job_id` may name. A micro-batch is the job `<query id>-<batch id>`, however often Spark runs
it; so writing it is idempotent. If rows name their topics, it is a job `<job id>.<topic>` for each
of them, one after the other. Each attempt of a batch write has directories of its own, and its
tasks hold locks there while they write. If a job is committed already, its tasks only count their
rows. Source: Spark's Python Data Source API; Spark's Kafka sink.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
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
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    NullType,
    StringType,
    StructType,
    TimestampType,
)

from kminilog.columns.digests import sum_of_rows
from kminilog.columns.partitioning import Places, chooser
from kminilog.columns.staged_logs import Run, RunWriter
from kminilog.errors import SettingError
from kminilog.jobs.source.tasks import Tasks
from kminilog.jobs.spark.datasource.commit import (
    check_not_written,
    commit_runs,
    compact_after,
    forget_runs,
    runs_path,
    staged_files_gone,
)
from kminilog.jobs.spark.datasource.options import (
    COLUMNS,
    NO_HEADERS,
    WriteOptions,
    in_one_line,
    write_options,
)
from kminilog.jobs.spark.runtime.tasks import SparkTasks
from kminilog.partitioners.keyed_rules import keyed_rule
from kminilog.storage.lock import LogDirLock
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.manifests import (
    check_job_id,
    committed_path,
    is_job_id,
    is_under_way,
)
from kminilog.storage.topics import Topic

_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"  # set by Spark for its tasks
_BYTES = (BinaryType, StringType)
_OPTIONAL = ("key", "partition")
_TYPES = {
    "key": (*_BYTES, NullType),
    "value": _BYTES,
    "partition": (IntegerType, NullType),
    "topic": (StringType,),
}
_REFUSED = {"headers": NO_HEADERS}
_IGNORED = {
    **{name: COLUMNS[name] for name in ("offset", "position", "segment")},
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
}
"""Columns that a read gives, here or of Spark's Kafka source, and that no message keeps."""

Messages = Sequence[WriterCommitMessage | None]


@dataclass
class WrittenRuns(WriterCommitMessage):
    """What one attempt of a task has written, by topic.

    `topics` are these topics as the task saw them, `sums` the sums of their rows.
    """

    job_id: str
    runs: dict[str, Run]
    topics: dict[str, Topic] = field(default_factory=dict)
    sums: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Sink:
    """Where rows go: options and columns, checked before any task starts.

    Without a topic, each row names one in its column `topic`. A stream has no `attempt`: nobody
    else writes its micro-batches.
    """

    options: WriteOptions
    topic: Topic | None
    columns: tuple[str, ...]
    attempt: str

    @classmethod
    def of(
        cls,
        options: Mapping[str, str],
        schema: StructType,
        *,
        overwrite: bool,
        is_stream: bool,
    ) -> "Sink":
        """Return the sink of these options and columns, checked.

        Raises SettingError, UnknownTopicOrPartitionError, LogDirError, and PublicationError for a
        wrong job id.
        """
        wanted = write_options(options, is_stream=is_stream)
        if overwrite:
            reason = "messages are only ever added: use mode append, or INSERT INTO"
            raise SettingError("mode", reason=reason)
        log_dir = LogDir(wanted.log_dir)
        topic = None if wanted.topic is None else log_dir.topic(wanted.topic)
        if topic is None and "topic" not in schema.names:
            reason = "name the topic to write to, or give each row one, in a column topic"
            raise SettingError("topic", reason=reason)
        try:
            keyed_rule(wanted.partitioner)
        except ValueError as error:
            raise SettingError("partitioner", reason=str(error)) from None
        if wanted.job_id is not None:
            check_job_id(wanted.job_id)
        _check_columns(schema)
        attempt = "" if is_stream else uuid4().hex
        return cls(wanted, topic, tuple(schema.names), attempt)

    @property
    def log_dir(self) -> Path:
        """The path of the log dir."""
        return Path(self.options.log_dir)

    def write(self, job_id: str, batches: Iterator[pa.RecordBatch], task: int) -> WrittenRuns:
        """Write the rows of a task as a run for each topic, and return these.

        Raises SettingError for a row without a topic, UnknownTopicOrPartitionError, and what
        `RunWriter.write` raises.
        """
        writers: dict[str, TopicWriter] = {}
        for batch in filter(len, batches):
            for topic, rows in self._by_topic(batch):
                if topic not in writers:
                    writers[topic] = TopicWriter(self, topic, self.job_of(job_id, topic), task)
                writers[topic].write(rows)
        runs = {name: writer.close() for name, writer in writers.items()}
        topics = {name: writer.topic for name, writer in writers.items()}
        return WrittenRuns(job_id, runs, topics, {name: one.sum for name, one in writers.items()})

    def _by_topic(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        if self.topic is not None:
            yield self.topic.name, batch
            return
        topics = batch.column("topic")
        if topics.null_count:
            reason = "a row has no topic: name one for all rows with this option, or in each row"
            raise SettingError("topic", reason=reason)
        for topic in pc.unique(topics).to_pylist():
            yield topic, batch.filter(pc.equal(topics, topic))

    def runs_of(self, job_id: str) -> Path:
        """Return the directory for the runs of a topic's job."""
        return runs_path(self.log_dir, job_id, self.attempt)

    def job_of(self, job_id: str, topic: str) -> str:
        """Return the id of the job that writes the rows of a topic."""
        return job_id if self.topic is not None else f"{job_id}.{topic}"

    def commit(
        self,
        job_id: str,
        messages: Messages,
        tasks: Tasks | None = None,
        *,
        allow_empty: bool = False,
    ) -> None:
        """Publish the runs of the successful task attempts, topic by topic; see `commit_runs`."""
        rule = None if "partition" in self.columns else self.options.partitioner
        by_task = [message for message in messages if isinstance(message, WrittenRuns)]
        if self.topic is not None and not any(one.runs for one in by_task):
            nothing, name = Run("", 0, 0), self.topic.name
            by_task = [WrittenRuns(job_id, {name: nothing}, {name: self.topic}, {name: 0})]
        for name in sorted({name for one in by_task for name in one.runs}):
            written = [one for one in by_task if name in one.runs]
            runs = [one.runs[name] for one in written]
            facts = {"writer": "spark", "partitioner": rule, "rejected": 0}
            if self.options.job_id is not None:  # a user may give an id twice, Spark does not
                facts["count"] = sum(run.count for run in runs)
                facts["rows_sum"] = f"{sum(one.sums[name] for one in written) % (1 << 64):016x}"
            commit_runs(
                self.log_dir,
                [one.topics[name] for one in written],
                self.job_of(job_id, name),
                runs,
                facts,
                attempt=self.attempt,
                allow_empty=allow_empty,
                lock_timeout_ms=self.options.lock_timeout_ms,
                tasks=tasks,
            )

    def begin(self, job_id: str) -> None:
        """Make the directories of a job's runs, unless the job is committed.

        Raises PublicationError if another process writes it now.
        """
        jobs = self._possible_jobs(job_id)
        if self.options.job_id is not None:  # else it is new
            jobs = [job for job in jobs if not is_under_way(self.log_dir, job)]
            for job in jobs:
                check_not_written(self.log_dir, job)
        for job in jobs:
            self.runs_of(job).mkdir(parents=True, exist_ok=True)

    def forget(self, job_id: str) -> None:
        """Delete the runs of a job."""
        for job in self._possible_jobs(job_id):
            forget_runs(self.log_dir, job, self.attempt)

    def _possible_jobs(self, job_id: str) -> list[str]:
        """Return the ids of the jobs that rows may be for; a topic's name may be too long for one.

        Such a topic's rows are refused when they come.
        """
        topics = LogDir(self.log_dir).topics() if self.topic is None else [self.topic]
        return [one for t in topics if is_job_id(one := self.job_of(job_id, t.name))]


def _check_columns(schema: StructType) -> None:
    unknown = []
    for column in schema:
        kind = column.dataType.simpleString()
        if column.name in _REFUSED:
            reason = f"{column.name} {kind} cannot be written; {_REFUSED[column.name]}"
            raise SettingError("columns", reason=reason)
        is_ignored = column.dataType == _IGNORED.get(column.name)
        if not (is_ignored or isinstance(column.dataType, _TYPES.get(column.name, ()))):
            unknown.append(f"{column.name} {kind}")
    if unknown:
        written = "there are value and key (binary or string), partition (int), topic (string)"
        reason = f"{', '.join(unknown)} cannot be written; {written}"
        raise SettingError("columns", reason=reason)
    if "value" not in schema.names:
        raise SettingError("columns", reason="there is no column value")


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


class TopicWriter:
    """Writes what one task has for one topic as a run; only counts it if the job is committed.

    It holds a lock on the run: as long as it writes, the job is not begun a second time.
    """

    def __init__(self, sink: Sink, topic: str, job_id: str, task: int) -> None:
        """Begin the run. Raises UnknownTopicOrPartitionError, and PublicationError.

        The topic is as it is now: what is published in the end must be for the same one.
        """
        self.topic = sink.topic or LogDir(sink.log_dir).topic(topic)
        self._has_keys, self._names_partitions = (name in sink.columns for name in _OPTIONAL)
        self._place = RowPartitioner(self.topic, sink.options.partitioner, task, job_id)
        self._count, self.sum, self._is_named = 0, 0, sink.options.job_id is not None
        self._runs = sink.runs_of(job_id)
        self._run: RunWriter | None = None
        if is_under_way(sink.log_dir, job_id):
            return
        if not sink.attempt:
            self._runs.mkdir(parents=True, exist_ok=True)
        directory = self._runs / uuid4().hex
        try:
            self._run, self._lock = RunWriter(directory, self.topic), LogDirLock(directory)
        except FileNotFoundError:
            raise staged_files_gone(job_id) from None

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows; raises what `RunWriter.write` raises."""
        self._count += len(batch)
        nothing = pa.nulls(len(batch), pa.binary())
        values = batch.column("value").cast(pa.binary())
        keys = batch.column("key").cast(pa.binary()) if self._has_keys else nothing
        named = batch.column("partition") if self._names_partitions else None
        if self._run is not None:
            self._run.write(self._place.partitions(keys, named), keys, values)
        if self._is_named:
            self.sum += sum_of_rows(keys, values, named)

    def close(self) -> Run:
        """Write the rest, and return the run; one without a directory if rows were only counted."""
        if self._run is None:
            return Run("", self._count, 0)
        run = self._run.close(self._runs)
        self._lock.release()
        return run


class LogWriter(DataSourceArrowWriter):
    """Writes a batch, as one job."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._job_id = sink.options.job_id or str(uuid4())
        # The driver makes them: a task that goes on after the end of the job must not do so again.
        sink.begin(self._job_id)

    @in_one_line()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task."""
        return self._sink.write(self._job_id, iterator, _task().partitionId())

    @in_one_line()
    def commit(self, messages: Messages) -> None:
        """Publish the job."""
        self._sink.commit(self._job_id, messages)
        self._sink.forget(self._job_id)

    def abort(self, messages: Messages) -> None:
        """Delete what the tasks have written."""
        self._sink.forget(self._job_id)


_RUNS_FILE = "runs_file"


class _Runs(DataSource):
    """A sink like `kminilog`, whose commit only hands the runs to the driver, in a file."""

    @classmethod
    def name(cls) -> str:
        return "kminilog-runs"

    def writer(self, schema: StructType, overwrite: bool) -> "LogWriter":
        options = dict(self.options)
        path = Path(options.pop(_RUNS_FILE))
        sink = Sink.of(options, schema, overwrite=overwrite, is_stream=False)
        return _RunsWriter(sink, path)


class _RunsWriter(LogWriter):
    def __init__(self, sink: Sink, path: Path) -> None:
        super().__init__(sink)
        self._path = path

    def commit(self, messages: Messages) -> None:
        self._path.write_bytes(pickle.dumps((self._sink, list(messages))))


def write_rows(
    frame: DataFrame,
    log_dir: Path,
    job_id: str,
    options: Mapping[str, str],
    *,
    allow_empty: bool = False,
) -> None:
    """Write a DataFrame as a write of the data source does; but tasks join the runs, too.

    With `allow_empty` there is a job without messages if there are no rows. A data source cannot
    let tasks join, because Spark gives it no session to run tasks in.
    """
    spark, options = frame.sparkSession, {**options, "path": str(log_dir), "job_id": job_id}
    Sink.of(options, frame.schema, overwrite=False, is_stream=False)  # before Spark does anything
    spark.dataSource.register(_Runs)
    with TemporaryDirectory() as directory:
        path = Path(directory, _RUNS_FILE)
        options[_RUNS_FILE] = str(path)
        frame.write.format(_Runs.name()).mode("append").options(**options).save()
        sink, messages = pickle.loads(path.read_bytes())
    try:
        sink.commit(job_id, messages, SparkTasks(spark), allow_empty=allow_empty)
    finally:
        sink.forget(job_id)


class LogStreamWriter(DataSourceStreamArrowWriter):
    """Writes micro-batches, each as one job."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    @in_one_line()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task."""
        task = _task()
        query, batch = task.getLocalProperty(_QUERY), task.getLocalProperty(_BATCH)
        assert None not in (query, batch), "Spark has not said which query this is"
        job_id = f"{query}-{batch}"
        return self._sink.write(job_id, iterator, task.partitionId())

    @in_one_line()
    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        """Publish a micro-batch; do nothing if it was published before."""
        job_ids = {message.job_id for message in messages if isinstance(message, WrittenRuns)}
        for job_id in job_ids:
            self._sink.commit(job_id, messages)
            for topic in self._to_compact(job_id, batchId):
                compact_after(self._sink.log_dir, topic, self._sink.options.lock_timeout_ms)

    def _to_compact(self, job_id: str, batch_id: int) -> list[Topic]:
        """Return the topics written to since the last compaction, if another one is due."""
        sink, every = self._sink, self._sink.options.compact_every
        if not every or (batch_id + 1) % every:
            return []
        if sink.topic is not None:
            return [sink.topic]
        query, _, _ = job_id.rpartition("-")
        jobs = [f"{query}-{number}" for number in range(batch_id + 1 - every, batch_id + 1)]
        return [
            topic
            for topic in LogDir(sink.log_dir).topics()
            if any(committed_path(sink.log_dir, sink.job_of(j, topic.name)).exists() for j in jobs)
        ]

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        """Delete the known runs of a failed micro-batch; its replay deletes the others."""
        for job_id in {message.job_id for message in messages if isinstance(message, WrittenRuns)}:
            self._sink.forget(job_id)


def _task() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "called by a task of Spark only"
    return context
