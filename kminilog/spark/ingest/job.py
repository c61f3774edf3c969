"""Bulk ingest in a Spark session: tasks on executors write in staging.

It loads pyspark only when a function is called, so that a command can first say what it does.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kminilog.ingest.job import IngestResult, ingest_with
from kminilog.ingest.runs import Staged
from kminilog.ingest.staging import StagingJob
from kminilog.source.description import Source
from kminilog.source.files import SourceFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Session: TypeAlias = "SparkSession | Callable[[], SparkSession]"


class SparkIngest:
    """Runs the tasks of a job in a session; the session's settings stay as they are."""

    name = "spark"

    def __init__(self, spark: Session) -> None:
        """Take a session, or a function that starts one when it is needed."""
        self._spark = spark

    def start(self) -> None:
        """Start the session."""
        self._session()

    def stage(
        self, source: Source, files: Sequence[SourceFile], job: StagingJob, plan: str
    ) -> Staged:
        """Write the records of a source in staging; see `plans.stage`."""
        spark = self._session()
        from kminilog.spark.ingest.plans import stage
        from kminilog.spark.runtime.executor_checks import check_cluster
        from kminilog.spark.runtime.failures import spark_failures
        from kminilog.spark.source.own_session import own_session

        check_cluster(spark, Path(job.log_dir), sum(file.size_bytes for file in files))
        with spark_failures(str(source)), own_session(spark, source, files) as own:
            return stage(own, source, files, job, plan)

    def _session(self) -> "SparkSession":
        if callable(self._spark):
            self._spark = self._spark()
        return self._spark


def ingest(spark: Session, log_dir: Path, source: Source, **options: Any) -> IngestResult:
    """Append the records of a source to a topic, atomically; create the topic if there is none.

    `spark` is a session, or a function that starts one. The function is called only after all
    checks that need no Spark, and not for a committed job. The options, the result and the errors
    are those of `ingest_with`. Any thread may call this, also while other jobs run in the session.
    """
    return ingest_with(SparkIngest(spark), log_dir, source, **options)
