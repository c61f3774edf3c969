"""Ingest of text, CSV, JSON lines and Parquet rows against Spark's own read of them, written as
Parquet.

Records have keys of about 10 bytes and values of 100. Spark makes the same key and value of each
record: of a line by a regex, of a CSV or JSON record by the names of its columns; Spark knows the
columns beforehand. `rows` are Parquet files with six columns, whose value is the row as JSON. The
plan is the one that `auto` takes. All works of a format take turns; a ratio says how many times as
long as Spark's own an ingest takes, or how many times the time of processors, in all processes of
the session. `python -m bench.ingesting_formats [RECORDS]` shows this part only.
"""

import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from bench.ingesting import CONFIG
from bench.timing import by_clock, ratio, rounds_of_each, wall_and_cpu
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.jobs.spark.runtime.session import spark_session

RECORDS = 2_000_000
ROUNDS = 3
PARTITIONS = 8
KEYS = 50_000
VALUE_CHARACTERS = 100
SCHEMA = "key string, value string"
REGEX = r"^(\S+)"
LINE = {
    "text": "{key} {value}\n",
    "csv": '"{key}",{value}\n',
    "json": '{{"key":"{key}","value":"{value}"}}\n',
}
HEAD = {"text": "", "csv": "key,value\n", "json": ""}
FORMATS = (*LINE, "rows")


def values(records: int) -> Iterator[str]:
    """Yield texts of random letters."""
    rng = np.random.default_rng(1)
    for start in range(0, records, 100_000):
        count = min(100_000, records - start)
        letters = rng.integers(97, 123, (count, VALUE_CHARACTERS), dtype=np.uint8)
        yield from (row.tobytes().decode() for row in letters)


def make_source(path: Path, format: str, records: int) -> None:
    """Write one file of that format."""
    if format == "rows":
        pq.write_table(pa.concat_tables(tables(records)), path, row_group_size=250_000)
        return
    with path.open("w") as file:
        file.write(HEAD[format])
        line = LINE[format]
        file.writelines(
            line.format(key=f"user{number % KEYS:06d}", value=value)
            for number, value in enumerate(values(records))
        )


def tables(records: int) -> Iterator[pa.Table]:
    """Yield rows of a key, a text, a number, an amount, a moment and a flag."""
    rng, texts = np.random.default_rng(1), values(records)
    for start in range(0, records, 100_000):
        count = min(100_000, records - start)
        moments = np.arange(start, start + count) * 1_234_567 + 1_700_000_000_000_000
        yield pa.table(
            {
                "key": [f"user{number % KEYS:06d}" for number in range(start, start + count)],
                "text": [next(texts) for _ in range(count)],
                "number": np.arange(start, start + count),
                "amount": rng.integers(0, 10**7, count) / 100,
                "moment": pa.array(moments, pa.timestamp("us", "UTC")),
                "flag": rng.integers(0, 2, count) == 1,
            }
        )


def spark_works(spark: SparkSession, path: Path, target: Path, format: str) -> Callable[[], None]:
    """Return what lets Spark alone write key and value as Parquet."""

    def work() -> None:
        if format == "text":
            frame = spark.read.text(str(path))
            frame = frame.select(sql.regexp_extract("value", REGEX, 1).alias("key"), "value")
        elif format == "rows":
            whole = sql.to_json(sql.struct("*"))
            frame = spark.read.parquet(str(path)).select("key", whole.alias("value"))
        else:
            frame = spark.read.schema(SCHEMA).option("header", True).format(format).load(str(path))
        frame.write.mode("overwrite").parquet(str(target / "parquet"))

    return work


def ingest_works(spark: SparkSession, path: Path, target: Path, format: str) -> Callable[[], None]:
    """Return what ingests the same records."""
    columns = {"text": {"key_regex": REGEX}, "rows": {"key": "key"}}
    kind = "parquet" if format == "rows" else format
    source = Source((str(path),), kind, **columns.get(format, {"key": "key", "value": "value"}))

    def work() -> None:
        shutil.rmtree(target / "log", ignore_errors=True)
        ingest(spark, target / "log", source, topic="t", partitions=PARTITIONS)

    return work


def measure(records: int = RECORDS) -> None:
    spark = spark_session("local[2]", app_name="kminilog-bench", config=CONFIG)
    print(f"\ningest of {records} records, {PARTITIONS} partitions, against Spark's own Parquet")
    print(f"  {'':14}{'Spark alone':>13}{'ingest':>10}")
    for format in FORMATS:
        with tempfile.TemporaryDirectory() as directory:
            path, target = Path(directory, f"source.{format}"), Path(directory, "target")
            target.mkdir()
            make_source(path, format, records)
            works = [make(spark, path, target, format) for make in (spark_works, ingest_works)]
            taken = map(by_clock, rounds_of_each(works, ROUNDS, clock=wall_and_cpu))
        for kind, theirs, ours in zip(("", "cpu"), *taken, strict=True):
            times = f"{statistics.median(theirs):11.2f} s{statistics.median(ours):8.2f} s"
            told = f"{ratio(ours, theirs):8.2f} x {'the cpu of' if kind else 'as long as'} Spark"
            print(f"  {'' if kind else format:8}{kind:6}{times}{told}", flush=True)
    spark.stop()


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:]))
