"""The class that Spark asks for readers and writers of the format `kminilog`.

With it, plain PySpark reads, follows and writes topics:

    register(spark)
    spark.read.format("kminilog").option("topic", "orders").load(log_dir)
    spark.readStream.format("kminilog").option("topic", "orders").load(log_dir)
    frame.write.format("kminilog").mode("append").option("topic", "orders").save(log_dir)
    frame.writeStream.format("kminilog").option("topic", "orders").start(log_dir)

Spark asks `LogSource` for readers and writers. The work is done in batch_reader, stream_reader and
writer, with the values of options; for a Kafka broker's directory, which nobody writes here, in
broker_reader. Source: Spark's Python Data Source API.
"""

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType

from kminilog.errors import KMiniLogError, SettingError
from kminilog.jobs.source.source_topics import check_no_brokers, is_brokers
from kminilog.jobs.spark.datasource.batch_reader import LogReader
from kminilog.jobs.spark.datasource.options import (
    ReadOptions,
    for_schema,
    in_one_line,
    read_options,
    schema_of,
)
from kminilog.jobs.spark.datasource.pushdown import plan_each_scan
from kminilog.jobs.spark.datasource.stream_reader import LogStreamReader, RefusedStreamReader
from kminilog.jobs.spark.datasource.writer import LogStreamWriter, LogWriter, Sink
from kminilog.jobs.spark.runtime.shipping import ship

_NO_STREAM = "a Kafka broker's directory is read in batches; a stream would ask the broker itself"


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
        return schema_of(self._read_options(is_stream=None))

    @in_one_line()
    def reader(self, schema: StructType) -> DataSourceReader:
        options = for_schema(self._read_options(is_stream=False), schema)
        if not options.of_broker:
            return LogReader(options)
        from kminilog.jobs.spark.datasource.broker_reader import BrokerReader

        return BrokerReader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return a reader that follows topics, or one that raises what is wrong with the options.

        If this method raised it, Spark would report an error of its own in its place.
        """
        try:
            options = for_schema(self._read_options(is_stream=True), schema)
            if options.of_broker:
                raise SettingError("path", reason=_NO_STREAM)
            return LogStreamReader(options)
        except KMiniLogError as error:
            return RefusedStreamReader(error)

    def _read_options(self, *, is_stream: bool | None) -> ReadOptions:
        of_broker = is_brokers(self._path())
        return read_options(self.options, is_stream=is_stream, of_broker=of_broker)

    def _path(self) -> str:
        return self.options.get("path", "").removeprefix("file:")

    @in_one_line()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return LogWriter(self._sink(schema, overwrite=overwrite, is_stream=False))

    @in_one_line()
    def streamWriter(  # noqa: N802
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamArrowWriter:
        """Return a writer of micro-batches."""
        return LogStreamWriter(self._sink(schema, overwrite=overwrite, is_stream=True))

    def _sink(self, schema: StructType, *, overwrite: bool, is_stream: bool) -> Sink:
        if path := self._path():
            check_no_brokers(Path(path))
        return Sink.of(self.options, schema, overwrite=overwrite, is_stream=is_stream)
