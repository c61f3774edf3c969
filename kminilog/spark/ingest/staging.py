"""Tasks that write in staging, as a Spark data sink.

    .staging/<job>/<attempt>/...    each attempt of a task has a directory of its own

What a task does with its records is a `TaskWriter`; what that says of them in the end is handed to
the driver, for those attempts that count. Spark hands it to `commit`, which runs in a Python
process beside the driver and so puts it into a file. No record reaches the driver, and nothing is
published here.

Attempts that do not count, or that go on after their job has ended, write where nobody looks; once
the job's directory is gone they fail at the next file that they begin.
"""

import pickle
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kminilog.bulk.partitioning import Choose, chooser
from kminilog.bulk.staged_logs import seal
from kminilog.bulk.writing import ColumnWriter
from kminilog.errors import LogDirError, WriteFailedError
from kminilog.spark.ingest.quarantine import RejectedPart, RejectedWriter
from kminilog.spark.runtime.tasks import freeze_modules
from kminilog.storage.durable_file import replace_file
from kminilog.storage.publish.manifests import StagedPartition
from kminilog.storage.publish.publication import open_staged_log
from kminilog.storage.topics import Topic

_RESULTS_FILE = "results.pickle"


@dataclass(frozen=True)
class StagingJob:
    """What the tasks of a job must know; `first_offsets` has one for each partition.

    `python_path` is where the driver finds modules: a user's partitioner may lie there.
    """

    log_dir: str
    directory: str
    topic: Topic
    first_offsets: list[int]
    partitioner: str
    seed: int
    max_rejected: int
    python_path: list[str]

    def target(self, partition: int) -> Path:
        """Return the directory of a partition."""
        return Path(self.log_dir, str(self.topic.partition(partition)))

    def chooser(self) -> Choose:
        """Return what chooses the partitions of records; in a task, a new one for each."""
        sys.path += [path for path in self.python_path if path not in sys.path]
        return chooser(
            self.partitioner, self.topic.partitions, seed=self.seed, topic=self.topic.name
        )

    def new_attempt(self) -> Path:
        """Return a new directory in staging; an error if the driver has given the job up."""
        attempt = Path(self.directory, uuid4().hex)
        attempt.mkdir()
        return attempt


class TaskWriter(Protocol):
    """What one attempt of a task does with its records."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take the next records, at least one."""
        ...

    def close(self) -> list[Any]:
        """Bring everything to the disk, and say what there is."""
        ...


MakeWriter = Callable[[StagingJob, Path, RejectedWriter], TaskWriter]


@dataclass
class TaskResult(WriterCommitMessage):
    """What a task has written, by its own account, and what it has rejected."""

    written: list[Any]
    rejected: list[RejectedPart]


def run_tasks(frame: DataFrame, job: StagingJob, make_writer: MakeWriter) -> list[TaskResult]:
    """Hand the records of each task to a writer, and return what became of them.

    `make_writer` is pickled. Raises Spark's exceptions.
    """
    frame.sparkSession.dataSource.register(_StagingSink)
    task = b64encode(pickle.dumps((job, make_writer))).decode()
    frame.write.format(_StagingSink.name()).mode("append").option("task", task).save()
    results: list[TaskResult] = pickle.loads(Path(job.directory, _RESULTS_FILE).read_bytes())
    return results


def run_task(
    batches: Iterable[pa.RecordBatch], job: StagingJob, make_writer: MakeWriter
) -> TaskResult:
    """Hand the records of this task to a writer, in a place of their own; called in the task."""
    freeze_modules()
    with writing_to(job.log_dir):
        attempt = job.new_attempt()
        rejected = RejectedWriter(attempt, job.max_rejected)
        writer = make_writer(job, attempt, rejected)
        for batch in filter(len, batches):
            writer.write(batch)
        return TaskResult(writer.close(), rejected.close())


def open_columns(
    directory: Path, topic: Topic, partition: int, *, target: Path, first_offset: int
) -> ColumnWriter:
    """Return a writer of a partition in a staging directory; see `open_staged_log`."""
    return ColumnWriter(
        open_staged_log(
            directory,
            topic.partition(partition),
            topic.dialect,
            topic.settings,
            target=target,
            first_offset=first_offset,
        )
    )


def seal_columns(writer: ColumnWriter, staging: Path, first_offset: int) -> StagedPartition:
    """Bring what was written to the disk and return what it holds; see `seal`."""
    writer.flush()
    return seal(writer.reopen(), staging, first_offset)


@contextmanager
def writing_to(log_dir: str) -> Iterator[None]:
    """Tell of failed writes in one line."""
    try:
        yield
    except (OSError, WriteFailedError) as error:
        reason = f"a task cannot write its staged files: {error}"
        raise LogDirError(log_dir, reason=reason) from error


class _StagingSink(DataSource):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._task: tuple[StagingJob, MakeWriter] = pickle.loads(b64decode(options["task"]))

    @classmethod
    def name(cls) -> str:
        return "kminilog-staging"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return _StagingWriter(*self._task)


class _StagingWriter(DataSourceArrowWriter):
    def __init__(self, job: StagingJob, make_writer: MakeWriter) -> None:
        self._job = job
        self._make_writer = make_writer

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return run_task(iterator, self._job, self._make_writer)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        results = [message for message in messages if isinstance(message, TaskResult)]
        replace_file(Path(self._job.directory, _RESULTS_FILE), pickle.dumps(results))
