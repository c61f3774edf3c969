"""What a job costs with many partitions, and what one more job costs; with the goals beside it.

The records are those of `ingesting`, in files of 250,000. Each ingest runs in a process of its own,
with a JVM of its own: so the memory of one has nothing of another. An ingest of one file comes
first, and does not count. The numbers of partitions take turns, and a ratio is the median of those
of each round. Then small jobs are appended to a topic of 8 partitions, by the local engine.
`python -m tests.bench.partitions [RECORDS] [ROUNDS] [APPENDS]` shows this part only;
KMINILOG_BENCH_RECORDS is the number of records, too.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.jobs.spark.runtime.session import spark_session
from tests.bench.ingesting import make_source
from tests.bench.timing import ratio
from tests.process_memory import peaks

RECORDS = int(os.environ.get("KMINILOG_BENCH_RECORDS", "8000000"))
RECORDS_A_FILE = 250_000
PARTITIONS = (8, 512, 5_000)
ROUNDS = 3
APPENDS = 500
APPENDED_RECORDS = 1_000
COMPARED = 9
ROW = "  {:>10}{:>9}{:>8}{:>8}{:>10}{:>8}{:>8}"
SECONDS_GOAL, MEMORY_GOAL, APPEND_GOAL = 2.0, 1.5, 1.3


def measure(records: int = RECORDS, rounds: int = ROUNDS, appends: int = APPENDS) -> None:
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, "source")
        source.mkdir()
        make_source(source, records, RECORDS_A_FILE)
        of_partitions(source, Path(directory, "log"), records, rounds)
        shutil.rmtree(source)
        of_appends(Path(directory), appends)


def of_partitions(source: Path, log_dir: Path, records: int, rounds: int) -> None:
    print(f"\ningest of {records} records, 2 cores, plan auto")
    print(
        f"  {'partitions':>10}{'seconds':>9}{'of 8':>8}{'goal':>7}{'JVM':>10}{'of 8':>8}{'goal':>7}"
    )
    seconds: dict[int, list[float]] = {count: [] for count in PARTITIONS}
    memory: dict[int, list[float]] = {count: [] for count in PARTITIONS}
    for _ in range(rounds):
        for count in PARTITIONS:
            words = [
                sys.executable,
                "-m",
                "tests.bench.partitions",
                "one",
                str(count),
                str(source),
                str(log_dir),
            ]
            told = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
            found = json.loads(told.splitlines()[-1])
            seconds[count].append(found["seconds"])
            memory[count].append(found["jvm"])
            shutil.rmtree(log_dir)
            os.sync()  # what another job has written is on the disk then
    for count in PARTITIONS:
        slower, larger = (ratio(one[count], one[PARTITIONS[0]]) for one in (seconds, memory))
        taken, held = (statistics.median(one[count]) for one in (seconds, memory))
        of_8 = f"{slower:.2f}", f"<= {SECONDS_GOAL}", f"{int(held) >> 20} MiB", f"{larger:.2f}"
        print(ROW.format(count, f"{taken:.2f}", *of_8, f"<= {MEMORY_GOAL}"), flush=True)


def one(partitions: int, source: Path, log_dir: Path) -> None:
    """Ingest in this process, and print how long it took, and the memory of the JVM."""
    spark = spark_session("local[2]", app_name="kminilog-bench")
    read = Source((str(source),), "parquet", key="key", value="value")
    first = Source((str(min(source.iterdir())),), "parquet", key="key", value="value")
    ingest(spark, log_dir / "first", first, topic="t", partitions=8)
    with peaks() as found:
        began = time.perf_counter()
        ingest(spark, log_dir / "whole", read, topic="t", partitions=partitions)
        seconds = time.perf_counter() - began
    spark.stop()
    print(json.dumps({"seconds": seconds, "jvm": found["jvm"]}))


def of_appends(directory: Path, appends: int) -> None:
    source = directory / "small"
    source.mkdir()
    make_source(source, APPENDED_RECORDS)
    read = Source((str(source),), "parquet", key="key", value="value")
    taken = []
    for _ in range(appends + 1):  # the first makes the topic
        began = time.perf_counter()
        ingest_with(LocalIngest(), directory / "appended", read, topic="t", partitions=8)
        taken.append(time.perf_counter() - began)
    first, last = (statistics.median(some) for some in (taken[1:][:COMPARED], taken[-COMPARED:]))
    print(f"\n{appends} jobs of {APPENDED_RECORDS} records after each other, 8 partitions")
    print(f"  the last {COMPARED} take {last / first:.2f} x the first {COMPARED}, "
          f"{first * 1000:.0f} ms; goal: <= {APPEND_GOAL}")  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(int(sys.argv[2]), *map(Path, sys.argv[3:]))
    else:
        measure(*map(int, sys.argv[1:]))
