"""The two ways from records to staged partitions, and which one to take.

    sorted   records as messages --> shuffle --> sort --> each task gives some partitions offsets
    runs     each task writes what it reads, by partition; joined in a second job (runs.py)

Both plans write the same files, because the partition depends on key and place only, and places
give the order. In an empty topic these are the files of plain appends. In both plans the tasks read
the files themselves (jobs/source/columns.py), and the number of tasks depends on the bytes only,
not on the partitions. *runs* is faster with any number of partitions, since no record passes
through the JVM. But the log dir holds each message twice, until the runs are joined. So *sorted* is
for a log dir that has no space for that: there the shuffle is on the disks of the executors.

In *sorted*, the rows that tasks write in staging go to a Spark data sink. Spark gives the results
of the successful attempts to `commit`. That runs in a Python process beside the driver, so it hands
them to the driver in a file. No record reaches the driver. This module does not know publication.
Source: ours.
"""

import pickle
import shutil
from base64 import b64decode, b64encode
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kminilog.columns.staged_logs import seal
from kminilog.columns.unnumbered import whole_messages
from kminilog.columns.writing import ColumnWriter
from kminilog.jobs.ingest.quarantine import RejectedWriter
from kminilog.jobs.ingest.runs import RunsWriter, Staged, joined, rejected_parts
from kminilog.jobs.ingest.staging import StagingJob, TaskResult, check_space, copies_of, run_task
from kminilog.jobs.source.columns import Columns, columns_of, left_out
from kminilog.jobs.source.description import Source, check_options
from kminilog.jobs.source.pieces import content_digest
from kminilog.jobs.source.places import Order
from kminilog.jobs.source.source_files import SourceFile
from kminilog.jobs.spark.ingest.placing import place_columns, unpack
from kminilog.jobs.spark.runtime.tasks import SparkTasks, freeze_modules, watched
from kminilog.progress import Progress
from kminilog.storage.durable_files import replace_file
from kminilog.storage.manifests import StagedPartition
from kminilog.storage.publish.publication import sync_staged

# ---- rows that tasks write in staging


_RESULTS_FILE = "results.pickle"


def _run_tasks(messages: DataFrame, job: StagingJob) -> list[TaskResult]:
    messages.sparkSession.dataSource.register(_StagingSink)
    pickled = b64encode(pickle.dumps(job)).decode()
    messages.write.format(_StagingSink.name()).mode("append").option("job", pickled).save()
    results: list[TaskResult] = pickle.loads(Path(job.directory, _RESULTS_FILE).read_bytes())
    return results


@dataclass
class _Written(WriterCommitMessage):
    result: TaskResult


class _StagingSink(DataSource):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._job: StagingJob = pickle.loads(b64decode(options["job"]))

    @classmethod
    def name(cls) -> str:
        return "kminilog-staging"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return _StagingWriter(self._job)


class _StagingWriter(DataSourceArrowWriter):
    def __init__(self, job: StagingJob) -> None:
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        freeze_modules()
        return _Written(run_task(iterator, self._job, SortedWriter))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        results = [message.result for message in messages if isinstance(message, _Written)]
        replace_file(Path(self._job.directory, _RESULTS_FILE), pickle.dumps(results))


# ---- the plans


def stage(
    spark: SparkSession,
    source: Source,
    files: Sequence[SourceFile],
    job: StagingJob,
    plan: str,
    report: Progress | None = None,
) -> Staged:
    """Write the records of a source in staging, and return what is there.

    `plan` is auto, sorted or runs; `report` gets how far the tasks are. No record reaches the
    driver. Once it returns, the staged partitions are on the disk. Raises SourceError and Spark's
    exceptions.
    """
    check_options(source)
    tasks = SparkTasks(spark, report)
    found = columns_of(source, files, tasks)
    columns: Columns[Any] = found
    groups = columns.groups(tasks.cores)
    reason = "asked for"
    if plan == "auto":
        plan, reason = _suitable(columns.staged_bytes, shutil.disk_usage(job.log_dir).free)
    check_space(job.log_dir, plan, columns.staged_bytes)
    if plan == "sorted":
        order = Order.of(source, len(files))
        placed = place_columns(spark, columns, groups, order, job)
        with watched(spark, report, "shuffling and writing", columns.size_bytes):
            staged = _stage_sorted(placed, min(len(groups), job.topic.partitions), job)
    else:
        write = partial(_write_run, columns, job)
        runs = tasks.map(groups, write, step="reading", size_bytes=columns.size_bytes)
        staged = joined(tasks, job, runs)
    staged.content, staged.reason = content_digest(files, tasks), reason
    staged.left_out = left_out(found, tasks)
    return staged


def _write_run(columns: Columns[Any], job: StagingJob, items: list[Any]) -> TaskResult:
    return run_task(columns.read(items), job, RunsWriter)


def _suitable(staged_bytes: int, free_bytes: int) -> tuple[str, str]:
    """Return the plan for messages of some bytes, and why it is taken.

    >>> _suitable(10 << 20, 21 << 20)[0], _suitable(10 << 20, 19 << 20)[0]
    ('runs', 'sorted')
    """
    space = f"it needs twice the {staged_bytes} bytes of the messages, and {free_bytes} are free"
    if free_bytes >= copies_of("runs") * staged_bytes:
        return "runs", f"it needs no shuffle; {space}"
    return "sorted", f"runs would be faster, but {space}"


def _stage_sorted(placed: DataFrame, writers: int, job: StagingJob) -> Staged:
    partitions = job.topic.partitions
    task = sql.floor(sql.col("partition") * writers / partitions).cast("int")
    messages = (
        placed.repartitionById(writers, task)
        .sortWithinPartitions("partition", "order")
        .select("messages")
    )
    results = _run_tasks(messages, job)
    staged = sorted(
        (partition for result in results for partition in result.written),
        key=lambda found: found.partition,
    )
    return Staged("sorted", staged, rejected_parts(results))


class SortedWriter:
    """Writes the messages of some partitions, one after the other; they get their offsets here."""

    def __init__(self, job: StagingJob, attempt: Path, rejected: RejectedWriter) -> None:
        self._job = job
        self._ends = job.ends()
        self._attempt = attempt
        self._rejected = rejected
        self._partition = -1
        self._first_offset = 0
        self._writer: ColumnWriter | None = None
        self._staged: list[StagedPartition] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Append messages, and put rejected records aside."""
        found, rejected = unpack(batch.column("messages"))
        if rejected:
            self._rejected.take_out(rejected)
        for partition, messages in found:
            if self._writer is None or partition != self._partition:
                self._finish()
                self._partition = partition
                log = self._job.open_log(self._attempt, partition, self._ends.get(partition, 0))
                self._writer = ColumnWriter(log)
                self._first_offset = self._writer.next_offset
            for data, boundaries in whole_messages(self._job.topic.dialect, messages):
                self._writer.append_whole(data, boundaries)

    def close(self) -> list[StagedPartition]:
        """Bring the partitions to the disk and return them; nothing if no message came."""
        self._finish()
        sync_staged(Path(self._job.directory), self._staged)
        return self._staged

    def _finish(self) -> None:
        if self._writer:
            staging = Path(self._job.directory)
            self._staged.append(seal(self._writer.reopen(), staging, self._first_offset))
