"""Reading a topic in Spark, to nowhere: the data source, a source of tuples, and Spark's Parquet.

    arrow     `kminilog`, whose tasks hand over Arrow record batches
    handover  batches of the same rows that are ready in memory: what Spark takes for them
    tuples    the tasks of arrow by the plain codec, handing over a tuple for each message
    parquet   the same rows in a file of Spark's own, scanned

All take turns; what counts are the ratios, of seconds and of the time of processors, in all
processes of the session. `python -m bench.reading` shows this only.
"""

import os
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from bench.timing import by_clock, ratio, rounds_of_each, wall_and_cpu
from kminilog.columns.writing import ColumnWriter
from kminilog.format.dialect import DIALECTS, Dialect
from kminilog.format.message import Message
from kminilog.format.names import TopicPartition
from kminilog.jobs.spark.datasource.batch_reader import LogReader
from kminilog.jobs.spark.datasource.door import register
from kminilog.jobs.spark.datasource.options import read_options
from kminilog.jobs.spark.runtime.session import spark_session
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic

MESSAGES, PARTITIONS, ROUNDS = 2_000_000, 4, 7
SCHEMA = "topic string, partition int, offset long, position long, key binary, value binary"
COLUMNS = "topic, partition, offset, position, key, value"


class ReadySource(DataSource):
    """One task a partition; the same Arrow batch again and again."""

    @classmethod
    def name(cls) -> str:
        return "kminilog-ready"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        return ReadyReader(self.options["path"])


class ReadyReader(DataSourceReader):
    def __init__(self, path: str) -> None:
        self._path = path

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(PARTITIONS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        options = read_options({"path": self._path, "columns": COLUMNS})
        reader = LogReader(options)
        batch = next(iter(reader.read(reader.partitions()[0])))
        left = MESSAGES // PARTITIONS
        while left > 0:
            yield batch.slice(0, left)
            left -= len(batch)


class TupleSource(DataSource):
    """One task a partition; a tuple for each message."""

    @classmethod
    def name(cls) -> str:
        return "kminilog-tuples"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        return TupleReader(self.options["path"])


class TupleReader(DataSourceReader):
    def __init__(self, path: str) -> None:
        self._path = path

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(PARTITIONS)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        where = TopicPartition("orders", partition.value)
        for segment in LogDir(Path(self._path)).reader(where).segments():
            for position, message in segment.scan():
                assert isinstance(message, Message)
                yield (*where, message.offset, position, message.key, message.value)


def write_topic(log_dir: Path, dialect: Dialect, messages: int = MESSAGES) -> None:
    """Write keys of 10 and values of 100 bytes, the same number into each partition."""
    rng = random.Random(1)
    rows = 100_000
    keys = pa.array([rng.randbytes(10) for _ in range(rows)])
    values = pa.array([rng.randbytes(100) for _ in range(rows)])
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("orders", PARTITIONS, dialect))
        for topic_partition in writer.topic("orders").all_partitions():
            columns = ColumnWriter(writer.log(topic_partition))
            for _ in range(messages // PARTITIONS // rows):
                columns.append(keys, values)


def measure() -> None:
    checkout = str(Path(__file__).parents[1])  # for the workers, which must find TupleSource
    os.environ["PYTHONPATH"] = os.pathsep.join([checkout, os.environ.get("PYTHONPATH", "")])
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = spark_session("local[2]", app_name="kminilog-bench")
    register(spark)
    spark.dataSource.register(ReadySource)
    spark.dataSource.register(TupleSource)
    for dialect in DIALECTS.values():
        with tempfile.TemporaryDirectory() as directory:
            measure_dialect(spark, dialect, Path(directory))
    spark.stop()


def measure_dialect(spark: SparkSession, dialect: Dialect, directory: Path) -> None:
    log_dir, parquet = str(directory / "log"), str(directory / "parquet")
    write_topic(directory / "log", dialect)
    arrow = spark.read.format("kminilog").option("columns", COLUMNS).option("cores", 2)
    arrow.load(log_dir).write.parquet(parquet)
    names = ["arrow", "handover", "tuples", "parquet"]
    rounds = rounds_of_each(
        [
            lambda: to_nowhere(arrow.load(log_dir)),
            lambda: to_nowhere(spark.read.format(ReadySource.name()).load(log_dir)),
            lambda: to_nowhere(spark.read.format(TupleSource.name()).load(log_dir)),
            lambda: to_nowhere(spark.read.parquet(parquet)),
        ],
        ROUNDS,
        clock=wall_and_cpu,
    )
    print(f"\n{dialect.name}: {MESSAGES} messages in Spark, to nowhere")
    wall, cpu = by_clock(rounds[-1])
    for name, taken in zip(names, rounds, strict=True):
        times, cpus = by_clock(taken)
        seconds, cpu_seconds = statistics.median(times), statistics.median(cpus)
        speed = MESSAGES / seconds / 1e6
        print(f"  {name:10}{seconds:8.2f} s{speed:8.2f} M messages/s"
              f"{ratio(times, wall):8.2f} x as long as parquet"
              f"{cpu_seconds:8.2f} s cpu{ratio(cpus, cpu):8.2f} x")  # fmt: skip


def to_nowhere(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


if __name__ == "__main__":
    measure()
