"""Verification in a Spark session; for callers in Python that have one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kminilog.jobs.accounting.job import verify_with
from kminilog.jobs.source.description import DATAFRAME, Source
from kminilog.jobs.source.tasks import Report as Progress
from kminilog.jobs.spark.verify.engine import SparkEngine
from kminilog.storage.log_dir import LogDir
from kminilog.system import SystemClock
from kminilog.verification.report import Report


def verify(
    spark: SparkSession,
    log_dir: LogDir,
    topics: Sequence[str],
    *,
    against: Source | DataFrame | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Check the storage of some topics, and compare one with a source, in Spark's tasks.

    The source may be any DataFrame with a column `value`, and perhaps `key`, both binary or string.
    It must give the same rows whenever it is read. Its rows have no order, so the order of keys is
    not checked then. It may be without rows with the option `allow_empty`. `progress` gets how far
    the tasks are. The other options, the report and the errors are those of `verify_with`. Any
    thread may call this, as `ingest`.
    """
    engine = SparkEngine(spark, report=progress)
    if isinstance(against, DataFrame):
        engine = SparkEngine(spark, against, progress)
        against = replace(DATAFRAME, allow_empty=options.pop("allow_empty", False))
    there = LogDir(log_dir.path.absolute())  # the current directory of tasks may be another one
    return verify_with(engine, SystemClock(), there, topics, against=against, **options)
