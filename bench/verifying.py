"""Checking all that is stored of a topic: one process, and Spark on two cores.

    loop        `verification.segment_checks`, message by message, on a part of it
    one process `verification.fast_segment_checks`, as `kminilog verify` uses it
    two         the same in two processes that are there already, a partition at a time: what this
                machine can gain by a second core
    spark       the same in Spark tasks, in a warm session: it has checked a small topic so often
                that Java's compiler has little left to do. In a new session the compiler shares
                the two cores with the tasks during the first checks

Messages have keys of 5 to 16 bytes and values of 50 to 150; a segment has 256 MB. Manifests with
fingerprints are compared too. The works take turns. `python -m bench.verifying [GIGABYTES]`
shows this part only.
"""

import random
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from bench.timing import ratio, rounds_of_each, seconds
from kminilog.columns.staged_logs import seal
from kminilog.columns.writing import ColumnWriter
from kminilog.jobs.spark.runtime.session import spark_session
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import Manifest
from kminilog.storage.publish.publication import open_staged_log, publish, staging_path
from kminilog.storage.topics import Topic
from kminilog.verification.account.spark import verify
from kminilog.verification.fast_segment_checks import check_segment
from kminilog.verification.partition_checks import check_partition
from kminilog.verification.records import read_small_files
from kminilog.verification.report import verify_storage

GIGABYTES = (0.5, 1.0, 4.0)
PARTITIONS, ROUNDS, ROWS = 8, 5, 100_000
FEW_ROWS = 5_000  # in each partition, for the loop
WARMING_CHECKS = 60
SEGMENT_BYTES = 256 << 20
JOB = "load"


def write_topic(log_dir: Path, blocks: int, rows: int = ROWS) -> None:
    """Write a job of so many blocks of messages a partition, with its manifest."""
    rng = random.Random(1)
    keys = pa.array([rng.randbytes(rng.randint(5, 16)) for _ in range(rows)])
    values = pa.array([rng.randbytes(rng.randint(50, 150)) for _ in range(rows)])
    topic = Topic("orders", PARTITIONS, settings=TopicSettings(segment_bytes=SEGMENT_BYTES))
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(topic)
        staging = staging_path(log_dir, JOB)
        staged = []
        for topic_partition in topic.all_partitions():
            staging.mkdir(parents=True, exist_ok=True)
            log = open_staged_log(staging, topic, topic_partition.partition)
            columns = ColumnWriter(log)
            for _ in range(blocks):
                columns.append(keys, values)
            columns.flush()
            staged.append(seal(columns.reopen(), staging, 0))
        count = sum(partition.count for partition in staged)
        publish(log_dir, Manifest(JOB, topic.name, staged, {"count": count}))


def in_one_process(log_dir: Path) -> None:
    assert verify_storage(LogDir(log_dir), check_segment=check_segment).verdict == "ok"


def in_spark(spark: SparkSession, log_dir: Path) -> None:
    assert verify(spark, LogDir(log_dir), []).verdict == "ok"


def message_by_message(log_dir: Path) -> None:
    assert verify_storage(LogDir(log_dir)).verdict == "ok"


def size_bytes(log_dir: Path) -> int:
    return sum(path.stat().st_size for path in log_dir.rglob("*.log"))


def in_processes(pool: ProcessPoolExecutor, log_dir: Path) -> None:
    assert not any(pool.map(findings_of, [log_dir] * PARTITIONS, range(PARTITIONS)))


def findings_of(log_dir: Path, partition: int) -> int:
    topic = LogDir(log_dir).topic("orders")
    jobs = read_small_files(log_dir).partitions_of(topic)[partition]
    reader = LogDir(log_dir).reader(topic.partition(partition))
    return len(check_partition(reader, jobs, check_segment=check_segment).findings)


def compare(spark: SparkSession, pool: ProcessPoolExecutor, log_dir: Path) -> None:
    one, *others = rounds_of_each(
        [
            lambda: in_one_process(log_dir),
            lambda: in_processes(pool, log_dir),
            lambda: in_spark(spark, log_dir),
        ],
        ROUNDS,
    )
    stored = size_bytes(log_dir)
    told = f"  {stored / 1e9:6.2f} GB"
    for name, times in zip(("one process", "two", "spark"), (one, *others), strict=True):
        median = statistics.median(times)
        told += f"   {name}{median:7.2f} s{stored / median / 1e6:6.0f} MB/s"
        if times is not one:
            told += f"{ratio(one, times):6.2f} x"
    print(told, flush=True)


def measure(*gigabytes: float) -> None:
    spark = spark_session("local[2]", app_name="kminilog-bench")
    with tempfile.TemporaryDirectory() as directory:
        small = Path(directory, "small")
        write_topic(small, 1, FEW_ROWS)
        loop = seconds(lambda: message_by_message(small)) / size_bytes(small)
        for _ in range(WARMING_CHECKS):
            in_spark(spark, small)
    print(f"\nverification, {PARTITIONS} partitions; message by message {1 / loop / 1e6:.0f} MB/s")
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for wanted in gigabytes or GIGABYTES:
            with tempfile.TemporaryDirectory() as directory:
                write_topic(Path(directory), max(1, round(wanted * 1e9 / PARTITIONS / ROWS / 136)))
                compare(spark, pool, Path(directory))
    spark.stop()


if __name__ == "__main__":
    measure(*map(float, sys.argv[1:]))
