"""The messages of a topic for verification: all whole messages, also those between damage.

Damage is skipped, because the storage checks report it. So is a segment that retention has deleted
meanwhile. A message that a writer adds after planning may be read or not. The columns are those of
the data source.
"""

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from kminilog.spark.datasource.door import LogSource, register
from kminilog.spark.runtime.driver_rows import to_frame
from kminilog.storage.log_dir import LogDir
from kminilog.storage.publish.manifests import Manifest


def read_log(
    spark: SparkSession, log_dir: LogDir, topic: str, *, job: Manifest | None = None
) -> DataFrame:
    """Return the messages of a topic; with `job`, only those at offsets that this job has written.

    The columns are those of `spark.datasource.options`. Reads nothing yet.
    """
    register(spark)
    options = {
        "topic": topic,
        "cores": str(spark.sparkContext.defaultParallelism),
        "failOnDamage": "false",
        "failOnDataLoss": "false",
    }
    if job:  # other partitions are not opened; a manifest may name some that are not there
        there = range(log_dir.topic(topic).partitions)
        numbers = sorted({staged.partition for staged in job.partitions}.intersection(there))
        options["partitions"] = ",".join(map(str, numbers))
    reader = spark.read.format(LogSource.name()).options(**options)
    messages = reader.load(str(log_dir.path.resolve()))
    return _within(messages, job) if job else messages


def _within(messages: DataFrame, job: Manifest) -> DataFrame:
    """Return the messages that a job has written.

    This is a join, because conditions for thousands of partitions are too many for Spark's planner.
    """
    ranges = {
        "staged_partition": pa.array([staged.partition for staged in job.partitions], pa.int32()),
        "first_offset": pa.array([staged.first_offset for staged in job.partitions], pa.int64()),
        "next_offset": pa.array([staged.next_offset for staged in job.partitions], pa.int64()),
    }
    staged = to_frame(messages.sparkSession, pa.table(ranges))
    is_within = (
        (sql.col("partition") == sql.col("staged_partition"))
        & (sql.col("offset") >= sql.col("first_offset"))
        & (sql.col("offset") < sql.col("next_offset"))
    )
    return messages.join(sql.broadcast(staged), is_within, "left_semi")
