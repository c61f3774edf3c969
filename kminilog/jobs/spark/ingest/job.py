"""Bulk ingest in a Spark session: tasks on executors write in staging.

It loads pyspark only when a function is called, so that a command can first say what it does.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from kminilog.errors import KMiniLogError, SourceError
from kminilog.format.dialect import Dialect
from kminilog.jobs.ingest.job import IngestResult, ingest_with, topic_for
from kminilog.jobs.ingest.job_identity import committed_job, cut_since
from kminilog.jobs.ingest.job_writer import LOCK_TIMEOUT_MS, log_warning, open_writer
from kminilog.jobs.ingest.publishing import existing_topic
from kminilog.jobs.ingest.runs import Moved, Staged, join_again
from kminilog.jobs.ingest.staging import StagingJob
from kminilog.jobs.source.description import DATAFRAME, Source
from kminilog.jobs.source.source_files import SourceFile
from kminilog.progress import Progress
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter, log_end_offsets
from kminilog.storage.manifests import StagedPartition
from kminilog.storage.topics import Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Session: TypeAlias = "SparkSession | Callable[[], SparkSession]"


class SparkIngest:
    """Runs the tasks of a job in a session; the session's settings stay as they are."""

    name = "spark"

    def __init__(self, spark: Session, progress: Progress | None = None) -> None:
        """Take a session, or a function that starts one when it is needed."""
        self._spark = spark
        self._progress = progress

    def start(self) -> None:
        self._session()

    def stage(
        self, source: Source, files: Sequence[SourceFile], job: StagingJob, plan: str
    ) -> Staged:
        """Write the records of a source in staging; see `plans.stage`."""
        spark = self._session()
        from kminilog.jobs.spark.ingest.plans import stage
        from kminilog.jobs.spark.runtime.executor_checks import check_cluster
        from kminilog.jobs.spark.runtime.failures import spark_failures
        from kminilog.jobs.spark.runtime.session import own_session

        check_cluster(spark, Path(job.log_dir), is_writing=True)
        with spark_failures(str(source)), own_session(spark) as own:
            return stage(own, source, files, job, plan, self._progress)

    def join_again(self, job: StagingJob, moved: Sequence[Moved]) -> list[StagedPartition]:
        """Give staged partitions other offsets, in tasks."""
        spark = self._session()
        from kminilog.jobs.spark.runtime.failures import spark_failures
        from kminilog.jobs.spark.runtime.session import own_session
        from kminilog.jobs.spark.runtime.tasks import SparkTasks

        with spark_failures(job.topic.name), own_session(spark) as own:
            return join_again(SparkTasks(own, self._progress), job, moved)

    def _session(self) -> "SparkSession":
        if callable(self._spark):
            self._spark = self._spark()
        return self._spark


def ingest(
    spark: Session, log_dir: Path, source: "Source | DataFrame", **options: Any
) -> IngestResult:
    """Append the records of a source to a topic, atomically; create the topic if there is none.

    `spark` is a session, or a function that starts one. The function is called only after all
    checks that need no Spark, and not for a committed job. The options, the result and the errors
    are those of `ingest_with`. Any thread may call this, also while other jobs run in the session.

    A DataFrame is a source, too: its columns are those of a write (datasource/writer.py), and it
    takes the options of `ingest_rows`.
    """
    if isinstance(source, Source):
        engine = SparkIngest(spark, options.get("progress"))
        return ingest_with(engine, log_dir, source, **options)
    return ingest_rows(source, log_dir, **options)


def ingest_rows(
    frame: "DataFrame",
    log_dir: Path,
    *,
    topic: str,
    partitions: int | None = None,
    dialect: Dialect | None = None,
    settings: TopicSettings | None = None,
    partitioner: str = "default-2.4",
    job_id: str | None = None,
    lock_timeout_ms: int = LOCK_TIMEOUT_MS,
    allow_empty: bool = False,
) -> IngestResult:
    """Append the rows of a DataFrame to a topic, as `frame.write` does; create it if there is none.

    All rows become messages, or none. A topic that is created goes again if the job fails then.
    With a `job_id` this is idempotent: a committed job with the same rows is not written again.
    Raises what a write raises, PublicationError for a topic with other settings, and SourceError
    without rows, unless `allow_empty`.
    """
    from kminilog.jobs.spark.datasource.writer import write_rows
    from kminilog.jobs.spark.runtime.failures import spark_failures
    from kminilog.jobs.spark.runtime.session import context_of

    started, is_named, job_id = time.monotonic(), job_id is not None, job_id or str(uuid4())
    context_of(frame.sparkSession)
    open_locked = partial(open_writer, log_dir, lock_timeout_ms=lock_timeout_ms)
    with open_locked(create=True) as writer:
        found = committed_job(writer.path, job_id, log_warning) if is_named else None
        is_committed = found is not None
        target = topic_for(writer, job_id, topic, partitions, dialect, settings)
        made = writer.create_topic(target) if existing_topic(writer, topic) is None else None
    options = {
        "topic": topic,
        "partitioner": partitioner,
        "lockTimeoutMs": str(lock_timeout_ms),
    }
    try:
        with spark_failures(str(DATAFRAME)):
            write_rows(frame, log_dir.resolve(), job_id, options, allow_empty=allow_empty)
        with open_locked() as writer:
            manifest = committed_job(writer.path, job_id, log_warning)
            if manifest is None:
                reason = "it holds no records; allow_empty=True allows that"
                raise SourceError(str(DATAFRAME), reason=reason)
            cut_off = cut_since(writer, manifest) if is_committed else ()
    except BaseException:
        if made:
            _take_back(open_locked, made)
        raise
    return IngestResult(manifest, time.monotonic() - started, is_committed, cut_off)


def _take_back(open_locked: Callable[[], LogDirWriter], made: Topic) -> None:
    """Delete a topic that a job has made and not filled; another error is of more interest."""
    with suppress(KMiniLogError, OSError), open_locked() as writer:
        now = existing_topic(writer, made.name)
        if now and now.topic_id == made.topic_id:
            partitions = range(now.partitions)
            if not any(log_end_offsets(writer, now, partitions).values()):
                writer.delete_topic(now.name)
