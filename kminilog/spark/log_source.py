"""The messages of a topic as verification wants them: all that are whole, whatever is around them.

Damage is passed over, since the storage checks name it, and a segment that retention has deleted
meanwhile is not there. What a writer adds after planning may be read or not. The columns are those
of the data source.
"""

from pyspark.sql import DataFrame, SparkSession

from kminilog.spark.data_source import LogSource, register
from kminilog.storage.log_dir import LogDir


def read_log(spark: SparkSession, log_dir: LogDir, topic: str) -> DataFrame:
    """Return the messages of a topic; columns as in `log_options`."""
    register(spark)
    options = {
        "topic": topic,
        "cores": str(spark.sparkContext.defaultParallelism),
        "failOnDamage": "false",
        "failOnDataLoss": "false",
    }
    return spark.read.format(LogSource.name()).options(**options).load(str(log_dir.path.resolve()))
