"""Topics as a Spark data source named `kminilog`: read, follow and write them in plain PySpark.

    register(spark)
    spark.read.format("kminilog").option("topic", "orders").load(log_dir)
    spark.readStream.format("kminilog").option("topic", "orders").load(log_dir)
    frame.write.format("kminilog").mode("append").option("topic", "orders").save(log_dir)
    frame.writeStream.format("kminilog").option("topic", "orders").start(log_dir)

This is the door; what is behind it is in log_options, log_reader, stream_reader and sink.
Source: Spark's Python Data Source API.
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

from kminilog.spark.log_options import read_options, schema_of
from kminilog.spark.log_reader import FilteringLogReader, LogReader
from kminilog.spark.sink import LogStreamWriter, LogWriter, Sink
from kminilog.spark.stream_reader import LogStreamReader


def register(spark: SparkSession) -> None:
    """Make the format `kminilog` known to a session; nothing else in it changes."""
    spark.dataSource.register(LogSource)


class LogSource(DataSource):
    """What Spark asks for a reader or a writer."""

    @classmethod
    def name(cls) -> str:
        """Return what `format` takes."""
        return "kminilog"

    def schema(self) -> str:
        """Return the columns of a read."""
        return schema_of(read_options(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads a batch."""
        options = read_options(self.options, is_stream=False)
        return FilteringLogReader(options) if options.pushes_filters else LogReader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return what follows topics."""
        return LogStreamReader(read_options(self.options, is_stream=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Return what writes a batch."""
        return LogWriter(Sink.of(self.options, schema, overwrite=overwrite, is_stream=False))

    def streamWriter(  # noqa: N802
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamArrowWriter:
        """Return what writes micro-batches."""
        return LogStreamWriter(Sink.of(self.options, schema, overwrite=overwrite, is_stream=True))
