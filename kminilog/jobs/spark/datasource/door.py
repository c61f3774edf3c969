"""The class that Spark asks for readers and writers of the format `kminilog`.

With it, plain PySpark reads, follows and writes topics:

    register(spark)
    spark.read.format("kminilog").option("topic", "orders").load(log_dir)
    spark.readStream.format("kminilog").option("topic", "orders").load(log_dir)
    frame.write.format("kminilog").mode("append").option("topic", "orders").save(log_dir)
    frame.writeStream.format("kminilog").option("topic", "orders").start(log_dir)

Spark asks `LogSource` for readers and writers. The work is done in batch_reader, stream_reader and
writer, with the values of options. Source: Spark's Python Data Source API.
"""

from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType

from kminilog.errors import KMiniLogError
from kminilog.jobs.spark.datasource.batch_reader import LogReader
from kminilog.jobs.spark.datasource.options import (
    for_schema,
    in_one_line,
    read_options,
    schema_of,
)
from kminilog.jobs.spark.datasource.pushdown import plan_each_scan
from kminilog.jobs.spark.datasource.stream_reader import LogStreamReader, RefusedStreamReader
from kminilog.jobs.spark.datasource.writer import LogStreamWriter, LogWriter, Sink
from kminilog.jobs.spark.runtime.shipping import ship


def register(spark: SparkSession) -> None:
    """Register the format `kminilog` in a session, and make its queries push filters down to it.

    Nothing else in the session changes. Idempotent. On a cluster it also brings kminilog to the
    executors. Raises SparkUnavailableError for a session of Spark Connect.
    """
    ship(spark)
    spark.dataSource.register(LogSource)
    plan_each_scan(spark)


class LogSource(DataSource):
    """The data source that Spark asks for a schema, a reader or a writer.

    All methods raise SettingError for an option that is unknown or wrong.
    """

    @classmethod
    def name(cls) -> str:
        return "kminilog"

    @in_one_line()
    def schema(self) -> StructType:
        """Return the columns of a read."""
        return schema_of(read_options(self.options))

    @in_one_line()
    def reader(self, schema: StructType) -> DataSourceReader:
        return LogReader(for_schema(read_options(self.options, is_stream=False), schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return a reader that follows topics, or one that raises what is wrong with the options.

        If this method raised it, Spark would report an error of its own in its place.
        """
        try:
            return LogStreamReader(for_schema(read_options(self.options, is_stream=True), schema))
        except KMiniLogError as error:
            return RefusedStreamReader(error)

    @in_one_line()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return LogWriter(Sink.of(self.options, schema, overwrite=overwrite, is_stream=False))

    @in_one_line()
    def streamWriter(  # noqa: N802
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamArrowWriter:
        """Return a writer of micro-batches."""
        sink = Sink.of(self.options, schema, overwrite=overwrite, is_stream=True)
        return LogStreamWriter(sink)
