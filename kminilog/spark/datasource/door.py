"""Topics as a Spark data source named `kminilog`: read, follow and write them in plain PySpark.

    register(spark)
    spark.read.format("kminilog").option("topic", "orders").load(log_dir)
    spark.readStream.format("kminilog").option("topic", "orders").load(log_dir)
    frame.write.format("kminilog").mode("append").option("topic", "orders").save(log_dir)
    frame.writeStream.format("kminilog").option("topic", "orders").start(log_dir)

This is the door; what is behind it is in options, table_options, batch_reader, stream_reader and
writer. Source: Spark's Python Data Source API.
"""

from collections.abc import Collection

from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType

from kminilog.spark.datasource.batch_reader import LogReader
from kminilog.spark.datasource.options import (
    READING,
    STREAMING,
    WRITING,
    ReadOptions,
    check_schema,
    check_table_options,
    read_options,
    schema_of,
)
from kminilog.spark.datasource.stream_reader import LogStreamReader
from kminilog.spark.datasource.table_options import (
    defined_options,
    keep_options,
    kept_options,
    options_in_use,
)
from kminilog.spark.datasource.writer import LogStreamWriter, LogWriter, Sink


def register(spark: SparkSession) -> None:
    """Make the format `kminilog` known to a session; nothing else in it changes."""
    spark.dataSource.register(LogSource)


class LogSource(DataSource):
    """What Spark asks for a reader or a writer."""

    @classmethod
    def name(cls) -> str:
        """Return what `format` takes."""
        return "kminilog"

    def schema(self) -> StructType:
        """Return the columns of a read; those of a table, when it is created, keep its options."""
        defined = defined_options(self.options)
        if defined is None:
            return schema_of(read_options(self.options))
        return keep_options(schema_of(check_table_options(defined)), defined)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads a batch."""
        return LogReader(self._reading(schema, READING, is_stream=False))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return what follows topics."""
        return LogStreamReader(self._reading(schema, STREAMING, is_stream=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Return what writes a batch."""
        return LogWriter(self._sink(schema, overwrite=overwrite, is_stream=False))

    def streamWriter(  # noqa: N802
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamArrowWriter:
        """Return what writes micro-batches."""
        return LogStreamWriter(self._sink(schema, overwrite=overwrite, is_stream=True))

    def _reading(
        self, schema: StructType, names: Collection[str], *, is_stream: bool
    ) -> ReadOptions:
        options = read_options(options_in_use(self.options, schema, names), is_stream=is_stream)
        check_schema(options, schema)
        return options

    def _sink(self, schema: StructType, *, overwrite: bool, is_stream: bool) -> Sink:
        return Sink.of(
            options_in_use(self.options, schema, WRITING),
            schema,
            overwrite=overwrite,
            is_stream=is_stream,
            is_table=kept_options(self.options, schema) is not None,
        )
