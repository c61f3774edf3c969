"""Tasks that write in staging.

    <the job's directory>/<attempt>/...    each attempt of a task has a directory of its own

A `TaskWriter` decides what a task does with its records. In the end it returns a result. Nothing is
published here.

Failed attempts, and attempts that go on after their job has ended, write into directories that
nobody reads. Once the job's directory is deleted, they fail at the next file that they open.
"""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import pyarrow as pa

from kminilog.columns.partitioning import Choose, chooser
from kminilog.errors import LogDirError, WriteFailedError, in_words
from kminilog.jobs.ingest.quarantine import RejectedPart, RejectedWriter
from kminilog.storage.checkpoint import read_checkpoint
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.publish.publication import open_staged_log
from kminilog.storage.topics import Topic


@dataclass(frozen=True)
class Staging:
    """Where the tasks of a job write, and for which topic; `is_new` if the job will create it."""

    log_dir: str
    directory: str
    topic: Topic
    is_new: bool = False

    def ends(self) -> Mapping[int, int]:
        """Return where partitions end, as the last writer put it on record; a new one has no end.

        No lock holds them there, so the job compares again when it publishes.
        """
        points = {} if self.is_new else read_checkpoint(Path(self.log_dir))
        return {p.partition: end for p, end in points.items() if p.topic == self.topic.name}

    def open_log(self, attempt: Path, partition: int, first_offset: int) -> PartitionLog:
        """Return a new log in the directory of an attempt, to be appended to this partition.

        Its messages get offsets from `first_offset` on.
        """
        target = Path(self.log_dir, str(self.topic.partition(partition)))
        return open_staged_log(
            attempt, self.topic, partition, target=target, first_offset=first_offset
        )

    def new_attempt(self) -> Path:
        """Return a new directory in staging.

        Raises FileNotFoundError if the job's directory is gone, because the job has ended.
        """
        attempt = Path(self.directory, uuid4().hex)
        attempt.mkdir()
        return attempt


@dataclass(frozen=True)
class StagingJob(Staging):
    """What the tasks of an ingest must know.

    `python_path` is the driver's, because the module of a user's partitioner may stand there.
    """

    partitioner: str = "default-2.4"
    seed: int = 0
    max_rejected: int = 0
    python_path: Sequence[str] = ()

    def chooser(self) -> Choose:
        """Return a new function that chooses the partitions of records; a task makes its own.

        Raises SettingError and PluginError as `columns.partitioning.chooser` does.
        """
        sys.path += [path for path in self.python_path if path not in sys.path]
        return chooser(
            self.partitioner, self.topic.partitions, seed=self.seed, topic=self.topic.name
        )


def check_space(log_dir: str, plan: str, staged_bytes: int) -> None:
    """Raise LogDirError if there is no space for the messages of a job, or twice with plan runs."""
    needed_bytes, free_bytes = copies_of(plan) * staged_bytes, shutil.disk_usage(log_dir).free
    if free_bytes < needed_bytes:
        reason = f"the job needs about {needed_bytes} bytes, but only {free_bytes} are free there"
        raise LogDirError(log_dir, reason=reason)


def copies_of(plan: str) -> int:
    """Return how many copies of its messages a job has in the log dir until it is published."""
    return 2 if plan == "runs" else 1


class TaskWriter(Protocol):
    """What one attempt of a task does with its records."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take the next records of the task, at least one."""
        ...

    def close(self) -> list[Any]:
        """Finish the files, and return what was written."""
        ...


MakeWriter = Callable[[StagingJob, Path, RejectedWriter], TaskWriter]


@dataclass
class TaskResult:
    """What the writer of a task returned, and which records the task has rejected."""

    written: list[Any]
    rejected: list[RejectedPart]


def run_task(
    batches: Iterable[pa.RecordBatch], job: StagingJob, make_writer: MakeWriter
) -> TaskResult:
    """Write the records of one task and return its result; a task calls this.

    The writer has a new directory of its own. Raises LogDirError if a file cannot be written.
    """
    with writing_to(job.log_dir):
        attempt = job.new_attempt()
        with closing(RejectedWriter(attempt, job.max_rejected)) as rejected:
            writer = make_writer(job, attempt, rejected)
            for batch in filter(len, batches):
                writer.write(batch)
            return TaskResult(writer.close(), rejected.close())


@contextmanager
def writing_to(log_dir: str) -> Iterator[None]:
    """Raise LogDirError, in one line, in place of OSError and WriteFailedError."""
    try:
        yield
    except (OSError, WriteFailedError) as error:
        reason = f"a task cannot write its staged files: {in_words(error)}"
        raise LogDirError(log_dir, reason=reason) from error
