"""Verification in a Spark session; for callers in Python that have one."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from kminilog.accounting.job import verify_with
from kminilog.spark.verify.engine import SparkEngine
from kminilog.storage.log_dir import LogDir
from kminilog.system import SystemClock
from kminilog.verification.report import Report


def verify(spark: SparkSession, log_dir: LogDir, topics: Sequence[str], **options: Any) -> Report:
    """Check the storage of some topics, and compare one with a source, in Spark's tasks.

    The options, the report and the errors are those of `verify_with`. Any thread may call this, as
    `ingest`.
    """
    return verify_with(SparkEngine(spark), SystemClock(), log_dir, topics, **options)
