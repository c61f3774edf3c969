"""Rows that tasks write in staging, as a Spark data sink.

Spark gives the results of the successful attempts to `commit`. That runs in a Python process beside
the driver, so it hands them to the driver in a file. No record reaches the driver.
"""

import pickle
from base64 import b64decode, b64encode
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kminilog.jobs.ingest.staging import MakeWriter, StagingJob, TaskResult, run_task
from kminilog.jobs.spark.runtime.tasks import freeze_modules
from kminilog.storage.durable_file import replace_file

_RESULTS_FILE = "results.pickle"


def run_tasks(frame: DataFrame, job: StagingJob, make_writer: MakeWriter) -> list[TaskResult]:
    """Write the records of a DataFrame, each task with a writer of its own; return the results.

    There is one result for each successful task. Spark pickles `make_writer`. Raises Spark's
    exceptions.
    """
    frame.sparkSession.dataSource.register(_StagingSink)
    task = b64encode(pickle.dumps((job, make_writer))).decode()
    frame.write.format(_StagingSink.name()).mode("append").option("task", task).save()
    results: list[TaskResult] = pickle.loads(Path(job.directory, _RESULTS_FILE).read_bytes())
    return results


@dataclass
class _Written(WriterCommitMessage):
    result: TaskResult


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
        freeze_modules()
        return _Written(run_task(iterator, self._job, self._make_writer))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        results = [message.result for message in messages if isinstance(message, _Written)]
        replace_file(Path(self._job.directory, _RESULTS_FILE), pickle.dumps(results))
