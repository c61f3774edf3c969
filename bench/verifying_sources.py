"""Verification against the source: what it takes beside the ingest, and which engine is faster.

Records have keys of 10 bytes and values of 100; they are those of `ingesting_formats`, and the same
in Parquet. Spark has two cores. All works of a table take turns.

    clean        every record is stored as it was
    one altered  one message has another value and a right CRC
    1 % altered  so has one message in 100
    here         the same job by the local engine, in this process
    cold         the command in a process of its own, once: nothing is loaded yet

The last lines say for which size the local engine, cold, takes as long as Spark for the smallest
source, which is about what its start takes. On more cores Spark is not faster than that. `--engine
auto` takes the local engine up to LOCAL_BYTES of `cli.shared.engines`.
`python -m bench.verifying_sources [RECORDS [MORE_RECORDS]]` shows this part only; the last
table shows what each record costs from RECORDS to MORE_RECORDS.
"""

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bench.checking_labs import command
from bench.ingesting import CONFIG
from bench.ingesting_formats import KEYS, PARTITIONS, REGEX, make_source, values
from bench.timing import Work, ratio, rounds_of_each, seconds_of_each
from kminilog.cli.shared.engines import LOCAL_BYTES
from kminilog.format.message import Message, encode
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import SparkIngest
from kminilog.jobs.spark.runtime.session import spark_session
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.system import SystemClock
from kminilog.verification.account.engine import LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.account.spark import SparkEngine

RECORDS, MORE_RECORDS = 2_000_000, 10_000_000
FEW_RECORDS = (10_000, 100_000, 500_000)
ROUNDS = 3
FORMATS = ("text", "csv", "json", "parquet")
ALTERED = ("one altered", "1 % altered")


class Job:
    """A source, and the log dir with its messages; either engine ingests and verifies it."""

    def __init__(self, directory: Path, format: str, records: int) -> None:
        directory.mkdir(parents=True)
        self.path, self.log_dir = directory / f"source.{format}", directory / "log"
        column = {"key_regex": REGEX} if format == "text" else {"key": "key", "value": "value"}
        self.source = Source((str(self.path),), format, **column)
        self._plan = "runs" if format == "parquet" else "auto"
        if format == "parquet":
            keys = [b"user%06d" % (number % KEYS) for number in range(records)]
            table = pa.table({"key": keys, "value": [value.encode() for value in values(records)]})
            pq.write_table(table, self.path, compression="none")
        else:
            make_source(self.path, format, records)

    def ingest(self, spark: SparkSession | None) -> None:
        """Write the log anew; without a session by the local engine."""
        shutil.rmtree(self.log_dir, ignore_errors=True)
        engine = SparkIngest(spark) if spark else LocalIngest()
        options = {"topic": "t", "partitions": PARTITIONS, "plan": self._plan}
        ingest_with(engine, self.log_dir, self.source, **options)

    def verify(self, spark: SparkSession | None, log_dir: Path, altered_count: int = 0) -> None:
        """Compare a log with the source; it must have so many altered messages."""
        engine = SparkEngine(spark) if spark else LocalEngine()
        log = LogDir(log_dir)
        report = verify_with(engine, SystemClock(), log, ["t"], against=self.source)
        assert (report.verdict == "ok") == (not altered_count), report.to_json()
        assert report.conservation["altered"] == altered_count, report.conservation


def altered_copy(log_dir: Path, copy: Path, every: int) -> Path:
    """Copy a log dir, and give each so many-th message another value, with a right CRC."""
    shutil.copytree(log_dir, copy)
    topic = LogDir(copy).topic("t")
    count = 0
    for topic_partition in topic.all_partitions():
        for segment in LogDir(copy).reader(topic_partition).segments():
            with segment.log_path.open("r+b") as file:
                for position, found in segment.scan():
                    assert isinstance(found, Message)
                    count += 1
                    if count % every == 0:
                        value = (found.value or b"")[:-1] + b"!"
                        file.seek(position)
                        file.write(encode(topic.dialect, found.offset, found.key, value))
    return copy


def by_format(spark: SparkSession, directory: Path, records: int) -> None:
    print(f"\nverification of {records} records against their source, {PARTITIONS} partitions")
    print(f"  {'':8}{'ingest':>9}" + "".join(f"{name:>18}" for name in ("clean", *ALTERED)))
    for format in FORMATS:
        job = Job(directory / format, format, records)
        job.ingest(spark)
        one, many = (
            altered_copy(job.log_dir, directory / format / name, every)
            for name, every in zip(ALTERED, (records, 100), strict=True)
        )
        ingested, *verified = rounds_of_each(
            [
                lambda job=job: job.ingest(spark),
                lambda job=job: job.verify(spark, job.log_dir),
                lambda job=job, log_dir=one: job.verify(spark, log_dir, 1),
                lambda job=job, log_dir=many: job.verify(spark, log_dir, records // 100),
            ],
            ROUNDS,
        )
        told = f"  {format:8}{statistics.median(ingested):7.2f} s"
        for times in verified:
            told += f"{statistics.median(times):7.2f} s{ratio(times, ingested):7.2f} x"
        print(told, flush=True)
        shutil.rmtree(directory / format)


def by_engine(spark: SparkSession, directory: Path) -> None:
    """Compare the local engine with Spark, in a session that runs and from a cold start."""
    jobs = [Job(directory / str(count), "text", count) for count in FEW_RECORDS]
    sizes = [job.path.stat().st_size for job in jobs]
    warm = [_warm(spark, job) for job in jobs]
    cold = [_cold(job) for job in jobs]
    print("\nlocal engine and Spark, text, seconds")
    print(f"  {'':18}{'ingest':>16}{'verify':>18}")
    print(f"  {'records':>10}{'MiB':>6}" + f"{'here':>10}{'spark':>8}" * 2)
    for name, rows in (("a session that runs", warm), ("cold", cold)):
        print(f"  {name}")
        for count, size_bytes, taken in zip(FEW_RECORDS, sizes, rows, strict=True):
            ingest_here, ingest_there, verify_here, verify_there = taken
            print(f"  {count:10}{size_bytes / (1 << 20):6.1f}{ingest_here:10.2f}{ingest_there:8.2f}"
                  f"{verify_here:10.2f}{verify_there:8.2f}")  # fmt: skip
    for name, here, there in (("ingest", 0, 1), ("verify", 2, 3)):
        slope, start = np.polyfit(sizes, [row[here] for row in cold], 1)
        size_mib = (cold[0][there] - start) / slope / (1 << 20)
        print(f"  cold {name}: {size_mib:.0f} MiB here take as long as the start of Spark.")
    print(f"  The limit of --engine auto is {LOCAL_BYTES >> 20} MiB.")


def _warm(spark: SparkSession, job: Job) -> list[float]:
    works: list[Work] = [
        *(lambda engine=engine: job.ingest(engine) for engine in (None, spark)),
        *(lambda engine=engine: job.verify(engine, job.log_dir) for engine in (None, spark)),
    ]
    return seconds_of_each(works, ROUNDS)


def _cold(job: Job) -> list[float]:
    """Return what the commands take: ingest here, by Spark, verify here, by Spark."""
    taken = []
    for verb in ("ingest", "verify"):
        for engine in ("local", "spark"):
            log_dir, path = job.path.with_name(engine), str(job.path)
            words = ["ingest", path, "--topic", "t", "--partitions", str(PARTITIONS)]
            if verb == "verify":
                words = ["verify", "t", "--against", path]
            words += ["--key-regex", REGEX, "--engine", engine, "--json"]
            words += ["--master", "local[2]"] if engine == "spark" else []
            module = ["-m", "kminilog", "--log-dir", str(log_dir)]
            work = command(job.path.parent, *module, *words)
            began = time.perf_counter()
            work()
            taken.append(time.perf_counter() - began)
    return taken


def by_records(spark: SparkSession, directory: Path, counts: Sequence[int]) -> None:
    """Say what a record more costs: what a job costs beside its records drops out."""
    print("\ntext of so many records, Spark")
    print(f"  {'':8}{'records':>10}{'seconds':>9}{'us a record more':>18}")
    jobs = [Job(directory / str(count), "text", count) for count in counts]
    works: list[Work] = [
        *(lambda job=job: job.ingest(spark) for job in jobs),
        *(lambda job=job: job.verify(spark, job.log_dir) for job in jobs),
    ]
    times = rounds_of_each(works, ROUNDS + 2)
    for name, rows in (("ingest", times[: len(jobs)]), ("verify", times[len(jobs) :])):
        marginal = [
            [(more - less) / (larger - smaller) for less, more in zip(*pair, strict=True)]
            for pair, (smaller, larger) in zip(pairwise(rows), pairwise(counts), strict=True)
        ]
        for count, taken, costs in zip(counts, rows, [None, *marginal], strict=True):
            told = f"{statistics.median(costs) * 1e6:.2f}" if costs else ""
            print(f"  {name:8}{count:10}{statistics.median(taken):9.2f}{told:>18}".rstrip())
        growth = ratio(marginal[-1], marginal[0])
        print(f"  {name:8}the last cost of a record more is {growth:.2f} x the first", flush=True)


def measure(records: int = RECORDS, more: int = MORE_RECORDS) -> None:
    spark = spark_session("local[2]", app_name="kminilog-bench", config=CONFIG)
    with tempfile.TemporaryDirectory() as directory:
        by_format(spark, Path(directory), records)
        by_engine(spark, Path(directory))
        by_records(spark, Path(directory, "more"), (records // 4, records, more))
    spark.stop()


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:]))
