"""What many partitions cost, and what one more job costs; with the goals beside it.

    ingest      by Spark, in a process with a JVM of its own, after an ingest of one file
    df.write    of a quarter of the records, beside an ingest of them
    verify      of an eighth, in one process, against the files that a job has read, and a copy
    topic list  beside a job of an eighth that was killed just after its commit point, and later
    append      of 1,000 records, again and again, in one process

What is compared takes turns, and a ratio is the median of those of each round.
`python -m bench.partitions [RECORDS] [ROUNDS] [APPENDS]` shows this part only.
"""

import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from bench.ingesting import make_source
from bench.timing import ratio, rounds_of_each
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.datasource.door import register
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.jobs.spark.runtime.session import spark_session
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import pending_path
from kminilog.storage.topics import Topic
from kminilog.system import SystemClock
from kminilog.verification.account.engine import LocalEngine
from kminilog.verification.account.job import verify_with
from tests.support.crash.killed_job import ALONE, PUBLISHING, start_ingest
from tests.support.process_memory import peaks

RECORDS = int(os.environ.get("KMINILOG_BENCH_RECORDS", "8000000"))
RECORDS_A_FILE = 250_000
FEW, MANY, MOST = 8, 512, 5_000
ROUNDS = 3
APPENDS = 500
APPENDED_RECORDS = 1_000
COMPARED = 9
ROW = "  {:58}{:>8}{:>9}{:>10}"


def measure(records: int = RECORDS, rounds: int = ROUNDS, appends: int = APPENDS) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory, log_dir = Path(name), Path(name, "log")
        all_of, some, few = (directory / part for part in ("all", "quarter", "eighth"))
        for source, count in ((all_of, records), (some, records // 4), (few, records // 8)):
            source.mkdir()
            make_source(source, count, RECORDS_A_FILE)
        print(f"\n{records} records; Spark has 2 cores")
        print(ROW.format("", "", "ratio", "goal"))
        of_partitions(all_of, log_dir, rounds)
        of_writes(some, log_dir, rounds)
        of_moved_files(few, log_dir, rounds)
        of_pending(few, directory)
        of_appends(directory, appends)


def told(what: str, taken: str, found: float | None = None, goal: float | None = None) -> None:
    compared = ("", "") if found is None else (f"{found:.2f}", f"<= {goal}")
    print(ROW.format(what, taken, *compared).rstrip(), flush=True)


def parquet(path: Path) -> Source:
    return Source((str(path),), "parquet", key="key", value="value")


def of_partitions(source: Path, log_dir: Path, rounds: int) -> None:
    found: dict[int, list[dict[str, float]]] = {count: [] for count in (FEW, MANY, MOST)}
    for _ in range(rounds):
        for count in found:
            words = [sys.executable, "-m", "bench.partitions", "one"]
            run = subprocess.run(
                [*words, str(count), source, log_dir], check=True, stdout=subprocess.PIPE, text=True
            )
            found[count].append(json.loads(run.stdout.splitlines()[-1]))
            set_aside(log_dir)
    for kind, goal in (("seconds", 2.0), ("MiB of JVM", 1.5)):
        of_each = {count: [one[kind] for one in each] for count, each in found.items()}
        for count, each in of_each.items():
            taken = f"{statistics.median(each):.1f}"
            told(f"ingest, {count} partitions, {kind}", taken, ratio(each, of_each[FEW]), goal)


def one(partitions: int, source: Path, log_dir: Path) -> None:
    """Ingest in this process, and print how long it took, and the memory of the JVM."""
    with warm_spark(source, log_dir) as spark, peaks() as found:
        began = time.perf_counter()
        ingest(spark, log_dir / "whole", parquet(source), topic="t", partitions=partitions)
        seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "MiB of JVM": found["jvm"] >> 20}))


@contextmanager
def warm_spark(source: Path, log_dir: Path) -> Iterator[SparkSession]:
    spark = spark_session("local[2]", app_name="kminilog-bench")
    first = parquet(min(source.iterdir()))
    ingest(spark, log_dir / "first", first, topic="t", partitions=FEW)
    yield spark
    spark.stop()


def of_writes(source: Path, log_dir: Path, rounds: int) -> None:
    """Time `df.write` and an ingest of the same records."""
    with warm_spark(source, log_dir) as spark:
        register(spark)
        frame = spark.read.parquet(str(source))
        with LogDirWriter.open(log_dir, create=True) as writer:
            writer.create_topic(Topic("t", MANY))

        def write() -> None:
            writing = frame.write.format("kminilog").mode("append").option("topic", "t")
            writing.save(str(log_dir))

        def load() -> None:
            ingest(spark, log_dir, parquet(source), topic="t")

        written, loaded = rounds_of_each([write, load], rounds, tidy_up=os.sync)
    told(f"ingest, {MANY} partitions, seconds", f"{statistics.median(loaded):.1f}")
    what, taken = f"df.write of the same, {MANY} partitions, seconds", statistics.median(written)
    told(what, f"{taken:.1f}", ratio(written, loaded), 2.0)
    set_aside(log_dir)


def of_moved_files(source: Path, log_dir: Path, rounds: int) -> None:
    ingest_with(LocalIngest(), log_dir, parquet(source), topic="t", partitions=FEW)
    copy = source.with_name("copy")
    shutil.copytree(source, copy)

    def verify(path: Path) -> None:
        report = verify_with(
            LocalEngine(), SystemClock(), LogDir(log_dir), ["t"], against=parquet(path)
        )
        assert report.exit_code == 0, report.to_text()

    works = partial(verify, source), partial(verify, copy)
    same, moved = rounds_of_each(works, rounds)
    told("verify against the files that were read, seconds", f"{statistics.median(same):.1f}")
    taken = f"{statistics.median(moved):.1f}"
    told("verify against a copy of them, seconds", taken, ratio(moved, same), 1.5)
    set_aside(log_dir)


def of_pending(source: Path, directory: Path) -> None:
    for count in (MOST // 4, MOST):
        log_dir = directory / f"killed-{count}"
        to = ["--topic", "t", "--partitions", count, "--engine", "local"]
        words = [source, "--format", "parquet", "--key", "key", "--value", "value", *to]
        killed = start_ingest(log_dir, "job", directory / f"scratch-{count}", *words)
        assert killed.progress.wait_for(PUBLISHING, 0, 0)
        killed.strike(ALONE, random.Random())
        killed.end()
        assert pending_path(log_dir).exists(), "it was killed too late"
        beside = cpu_seconds(log_dir, "topic", "list")
        LogDirWriter.open(log_dir).close()  # finishes the job
        assert not pending_path(log_dir).exists()
        without = cpu_seconds(log_dir, "topic", "list")
        told(f"topic list, {count} partitions, CPU seconds", f"{without:.2f}")
        told("the same beside a job that was killed", f"{beside:.2f}", beside / without, 2.0)


def cpu_seconds(log_dir: Path, *words: str) -> float:
    """Return the CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "kminilog", "--log-dir", str(log_dir), *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_appends(directory: Path, appends: int) -> None:
    source = directory / "small"
    source.mkdir()
    make_source(source, APPENDED_RECORDS)
    taken = []
    for _ in range(appends + 1):  # the first makes the topic
        began = time.perf_counter()
        ingest_with(LocalIngest(), directory / "log", parquet(source), topic="t", partitions=FEW)
        taken.append(time.perf_counter() - began)
    first, last = (statistics.median(some) for some in (taken[1:][:COMPARED], taken[-COMPARED:]))
    each = f"jobs of {APPENDED_RECORDS} records, {FEW} partitions, milliseconds"
    told(f"first {COMPARED} {each}", f"{first * 1000:.0f}")
    told(f"last {COMPARED} of {appends}", f"{last * 1000:.0f}", last / first, 1.3)


def set_aside(log_dir: Path) -> None:
    """Make room for the next log dir, and delete nothing.

    For some minutes after files were deleted, ext4 takes tens of times as long to create others: it
    passes over each inode that was freed (`recently_deleted` in fs/ext4/ialloc.c).
    """
    log_dir.rename(tempfile.mkdtemp(dir=log_dir.parent))
    os.sync()


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(int(sys.argv[2]), *map(Path, sys.argv[3:]))
    else:
        measure(*map(int, sys.argv[1:]))
