"""Bulk ingest by both plans against Spark's own Parquet writes, and against one process.

Records have keys of 10 bytes and values of 100, in Parquet files; Spark has two cores. All works of
a table take turns, what a work takes is a median, and a ratio, the median of those of each round,
says how many times as fast as its yardstick a work is. Beside that: the most memory that a Python
worker and the JVM ever held.
`python -m bench.ingesting [RECORDS] [PARTITIONS...]` shows this part only, for each number of
partitions.

    plain     what Spark reads, it writes
    shuffled  the same, partition by partition (repartitionById) and in the order in which it was
              read; nothing of it is ours
"""

import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from bench.timing import ratio, rounds_of_each
from kminilog.columns.partitioning import Places, chooser
from kminilog.columns.writing import ColumnWriter
from kminilog.format.dialect import DOCUMENTED
from kminilog.format.names import TopicPartition
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.jobs.spark.runtime.session import spark_session
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from tests.support.process_memory import peaks
from tests.support.random_columns import random_column

RECORDS = 2_000_000
PARTITIONS = (8,)
ROUNDS = 3
RECORDS_A_FILE = 1_000_000
KEY_BYTES, VALUE_BYTES = 10, 100
CONFIG = {"spark.driver.memory": "6g"}
YARDSTICKS = {
    "ingest sorted": ("parquet shuffled",),
    "ingest runs": ("parquet plain", "ingest sorted"),
    "one process": ("ingest runs",),
}


HEAD = "  {:18}{:>11}{:>9}{:>11}{:>10}{:>10}"


def make_source(directory: Path, records: int, records_a_file: int = RECORDS_A_FILE) -> None:
    """Write records whose bytes are random, so that no format can make them smaller."""
    rng = np.random.default_rng(1)
    for start in range(0, records, records_a_file):
        count = min(records_a_file, records - start)
        columns = [random_column(rng, count, size) for size in (KEY_BYTES, VALUE_BYTES)]
        table = pa.table(columns, names=["key", "value"])
        pq.write_table(table, directory / f"{start:010d}.parquet", compression="none")


class Works:
    """Each work makes what it writes anew."""

    def __init__(self, spark: SparkSession, source: Path, target: Path, partitions: int) -> None:
        self._spark = spark
        self._path = source
        self._source = Source((str(source),), "parquet", key="key", value="value")
        self._target = target
        self._partitions = partitions

    def parquet_plain(self) -> None:
        frame = self._spark.read.parquet(str(self._path))
        frame.write.mode("overwrite").parquet(str(self._target / "plain"))

    def parquet_shuffled(self) -> None:
        partition = sql.pmod(sql.hash("key"), sql.lit(self._partitions))
        frame = self._spark.read.parquet(str(self._path)).withColumns(
            {"partition": partition, "order": sql.monotonically_increasing_id()}
        )
        frame = frame.repartitionById(self._partitions, sql.col("partition"))
        frame = frame.sortWithinPartitions("order").select("partition", "key", "value")
        frame.write.mode("overwrite").parquet(str(self._target / "shuffled"))

    def ingest_sorted(self) -> None:
        self._ingest("sorted")

    def ingest_runs(self) -> None:
        self._ingest("runs")

    def _ingest(self, plan: str) -> None:
        log_dir = self._target / plan
        shutil.rmtree(log_dir, ignore_errors=True)
        options = {"topic": "t", "partitions": self._partitions, "plan": plan}
        ingest(self._spark, log_dir, self._source, **options)

    def one_process(self) -> None:
        directory = self._target / "one"
        shutil.rmtree(directory, ignore_errors=True)
        choose, settings = chooser("default-2.4", self._partitions), TopicSettings()
        topic_partitions = [TopicPartition("t", number) for number in range(self._partitions)]
        writers = [
            ColumnWriter(PartitionLog.open(directory / str(tp), tp, DOCUMENTED, settings))
            for tp in topic_partitions
        ]
        for rank, path in enumerate(sorted(self._path.iterdir())):
            row = 0
            for batch in pq.ParquetFile(path).iter_batches(1 << 16):
                rows = np.arange(row, row := row + len(batch))
                places = Places(np.full(len(rows), rank), np.zeros_like(rows), rows)
                chosen = choose(batch.column("key"), places)
                order = np.argsort(chosen, kind="stable")
                table, borders = batch.take(pa.array(order)), chosen[order]
                for number, writer in enumerate(writers):
                    start, stop = borders.searchsorted([number, number + 1])
                    piece = table.slice(start, stop - start)
                    writer.append(piece.column("key"), piece.column("value"))
        for writer in writers:
            writer.flush()


def measure(
    records: int = RECORDS, partitions: Sequence[int] = PARTITIONS, rounds: int = ROUNDS
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        source, target = Path(directory, "source"), Path(directory, "target")
        source.mkdir()
        target.mkdir()
        make_source(source, records)
        spark = spark_session("local[2]", app_name="kminilog-bench", config=CONFIG)
        print(f"\ningest of {records} records")
        print(HEAD.format("", "partitions", "seconds", "records/s", "worker", "JVM"))
        for count in partitions:
            _show(Works(spark, source, target, count), records, count, rounds)
        spark.stop()


def _show(works: Works, records: int, partitions: int, rounds: int) -> None:
    names = ("parquet plain", "parquet shuffled", "ingest sorted", "ingest runs", "one process")
    held: dict[str, dict[str, int]] = {name: {} for name in names}

    def watched(name: str) -> Callable[[], None]:
        def work() -> None:
            with peaks() as found:
                getattr(works, name.replace(" ", "_"))()
            for kind, peak in found.items():
                held[name][kind] = max(peak, held[name].get(kind, 0))

        return work

    times = rounds_of_each([watched(name) for name in names], rounds)
    taken = dict(zip(names, times, strict=True))
    for name in names:
        seconds = statistics.median(taken[name])
        worker, jvm = (
            f"{held[name][kind] >> 20} MiB" if held[name].get(kind) else "-"
            for kind in ("worker", "jvm")
        )
        told = HEAD.format(
            name, partitions, f"{seconds:.2f}", f"{records / seconds:.0f}", worker, jvm
        )
        for yardstick in YARDSTICKS.get(name, ()):
            told += f"  {ratio(taken[yardstick], taken[name]):.2f} x {yardstick}"
        print(told, flush=True)


if __name__ == "__main__":
    records, *partitions = map(int, sys.argv[1:] or [RECORDS])
    measure(records, partitions or PARTITIONS)
