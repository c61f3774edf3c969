"""How the cost of an ingest grows: with its records, and with the partitions of the topic.

What a job costs beside its records drops out of a difference: the marginal time of a record from 1
to 10 million is that of the second job less that of the first, by the records between them. Sources
are those of `ingesting`, in files of 250,000 records; each job is run once before it counts. Beside
that: the most memory that a Python worker and the JVM, driver and executor in one, ever held.
`python -m bench.scaling [RECORDS...]` shows this part only.
"""

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from pyspark.sql import SparkSession

from bench.ingesting import CONFIG, make_source
from bench.timing import ratio, rounds_of_each
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.jobs.spark.runtime.session import spark_session
from tests.support.process_memory import peaks

RECORDS = (1_000_000, 10_000_000, 30_000_000)
PARTITIONS = (1, 4, 16, 64)
PLANS = ("sorted", "runs")
ROUNDS = 3
RECORDS_A_FILE = 250_000


class Ingest:
    """A job of the first files of a source; keeps the most memory that it took."""

    def __init__(
        self, spark: SparkSession, files: Sequence[Path], log_dir: Path, plan: str, partitions: int
    ) -> None:
        self._spark = spark
        self._source = Source(tuple(map(str, files)), "parquet", key="key", value="value")
        self._log_dir = log_dir
        self._options = {"topic": "t", "plan": plan, "partitions": partitions}
        self.peak = dict.fromkeys(("worker", "jvm"), 0)

    def __call__(self) -> None:
        with peaks() as found:
            ingest(self._spark, self._log_dir, self._source, **self._options)
        self.peak = {kind: max(peak, found.get(kind, 0)) for kind, peak in self.peak.items()}


def measure(records: Sequence[int] = RECORDS, partitions: Sequence[int] = PARTITIONS) -> None:
    spark = spark_session("local[2]", app_name="kminilog-bench", config=CONFIG)
    with tempfile.TemporaryDirectory() as directory:
        source, log_dir = Path(directory, "source"), Path(directory, "log")
        source.mkdir()
        make_source(source, max(records), RECORDS_A_FILE)
        files = sorted(source.iterdir())
        of_records(spark, files, log_dir, records)
        of_partitions(spark, files[: 2_000_000 // RECORDS_A_FILE], log_dir, partitions)
    spark.stop()


def of_records(
    spark: SparkSession, files: Sequence[Path], log_dir: Path, records: Sequence[int]
) -> None:
    print("\ningest of so many records, 8 partitions")
    print(f"  {'':8}{'records':>10}{'seconds':>9}{'us a record more':>18}{'worker':>10}{'JVM':>10}")
    for plan in PLANS:
        jobs = [
            Ingest(spark, files[: count // RECORDS_A_FILE], log_dir, plan, 8) for count in records
        ]
        times = rounds_of_each(jobs, ROUNDS, tidy_up=lambda: _empty(log_dir))
        marginal = [
            [(more - less) / (larger - smaller) for less, more in zip(*pair, strict=True)]
            for pair, (smaller, larger) in zip(pairwise(times), pairwise(records), strict=True)
        ]
        for job, taken, count, costs in zip(jobs, times, records, [None, *marginal], strict=True):
            told = f"{statistics.median(costs) * 1e6:.2f}" if costs else ""
            worker, jvm = (f"{job.peak[kind] >> 20} MiB" for kind in ("worker", "jvm"))
            print(f"  {plan:8}{count:10}{statistics.median(taken):9.2f}{told:>18}"
                  f"{worker:>10}{jvm:>10}", flush=True)  # fmt: skip
        if len(marginal) > 1:
            growth = ratio(marginal[-1], marginal[0])
            print(f"  {plan:8}the last cost of a record more is {growth:.2f} x the first")


def of_partitions(
    spark: SparkSession, files: Sequence[Path], log_dir: Path, partitions: Sequence[int]
) -> None:
    print(f"\ningest of {len(files) * RECORDS_A_FILE} records into so many partitions, seconds")
    print("  partitions" + "".join(f"{count:>8}" for count in partitions))
    for plan in PLANS:
        jobs = [Ingest(spark, files, log_dir, plan, count) for count in partitions]
        times = rounds_of_each(jobs, ROUNDS, tidy_up=lambda: _empty(log_dir))
        medians = map(statistics.median, times)
        print(f"  {plan:10}" + "".join(f"{seconds:8.2f}" for seconds in medians), flush=True)


def _empty(log_dir: Path) -> None:
    """Begin anew; what other jobs have written is on the disk then."""
    shutil.rmtree(log_dir, ignore_errors=True)
    os.sync()


if __name__ == "__main__":
    measure(tuple(map(int, sys.argv[1:])) or RECORDS)
