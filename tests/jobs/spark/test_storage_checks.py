"""The storage checks in Spark tasks find what the ones in one process find, fast or plain."""

import os
import shutil
from pathlib import Path

import pytest

from kminilog.clock import ManualClock
from kminilog.columns.staged_logs import seal
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.settings import TopicSettings
from kminilog.storage.checkpoint import write_checkpoint
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import Manifest
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.publish.publication import open_staged_log, publish, staging_path
from kminilog.storage.topics import Topic
from kminilog.verification.account.engine import LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.account.spark import SparkEngine
from kminilog.verification.account.storage_checks import check_partitions
from kminilog.verification.coverage import NO_SOURCE
from kminilog.verification.fast_segment_checks import check_segment
from kminilog.verification.records import read_small_files
from kminilog.verification.report import Report
from kminilog.verification.segment_checks import check_segment as check_plainly
from tests.support.damage import cut_to, fix_crc, flip_byte, message_positions

SETTINGS = TopicSettings(segment_bytes=2000, index_interval_bytes=200)
PARTITIONS = 8
COUNT = 150


@pytest.fixture
def log_dir(tmp_path: Path, dialect: Dialect) -> LogDir:
    """A topic that one job wrote, keys where they belong."""
    path = tmp_path / "log"
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders", PARTITIONS, dialect, SETTINGS))
        staged = [stage(writer, dialect, partition) for partition in range(PARTITIONS)]
        facts = {"count": PARTITIONS * COUNT, "partitioner": "default-2.4"}
        facts["partitions"] = PARTITIONS
        publish(path, Manifest("job-1", "orders", staged, facts))
    return LogDir(path)


def stage(writer: LogDirWriter, dialect: Dialect, partition: int):
    staging = staging_path(writer.path, "job-1")
    staging.mkdir(parents=True, exist_ok=True)
    log = open_staged_log(staging, Topic("orders", PARTITIONS, dialect, SETTINGS), partition)
    keys = (b"k%d" % n for n in range(10**6))
    here = (key for key in keys if murmur2_partition(key, PARTITIONS) == partition)
    log.append((next(here), b"value %d" % n) for n in range(COUNT))
    return seal(log, staging, 0)


def damage(log_dir: LogDir) -> None:
    """A different thing in each partition but the first."""
    logs = [sorted((log_dir.path / f"orders-{p}").glob("*.log")) for p in range(PARTITIONS)]
    for path in (logs[1][1], logs[2][1]):
        end = message_positions(path.read_bytes())[4]
        flip_byte(path, end - 1, mask=1)  # a value
        if path == logs[2][1]:
            fix_crc(path, message_positions(path.read_bytes())[3])
    flip_byte(logs[3][0], 23, mask=4)  # a key
    fix_crc(logs[3][0], 0)
    logs[4][-1].with_suffix(".index").unlink()
    logs[4][-1].unlink()
    cut_to(logs[5][-1], logs[5][-1].stat().st_size - 1)
    logs[5][0].with_suffix(".index").unlink()
    logs[5][1].with_suffix(".index").write_bytes(b"")  # in Kafka's dialect, only a note
    logs[6][0].with_suffix(".index").unlink()
    logs[6][0].unlink()
    shutil.rmtree(logs[7][0].parent)
    write_checkpoint(log_dir.path, {TopicPartition("orders", 0): COUNT + 1})


def test_directory_that_the_driver_cannot_list_for_a_moment_is_unchecked(
    spark, log_dir, monkeypatch
):
    segments, failures = PartitionReader.segments, [OSError(24, "Too many open files")]

    def fail_once(reader):
        if failures:
            raise failures.pop()
        return segments(reader)

    monkeypatch.setattr(PartitionReader, "segments", fail_once)
    summaries = check_partitions(
        SparkEngine(spark), log_dir, [log_dir.topic("orders")], read_small_files(log_dir.path)
    )
    first, *others = (summary.unchecked for summary in summaries)
    assert first == ["Too many open files"]
    assert others == [[]] * (PARTITIONS - 1)


@pytest.mark.parametrize("is_full", [False, True])
def test_segment_that_cannot_be_read_hides_no_finding_of_its_partition(spark, log_dir, is_full):
    damaged, unreadable, *_ = sorted((log_dir.path / "orders-1").glob("*.log"))
    flip_byte(damaged, damaged.stat().st_size - 1, mask=1)
    unreadable.unlink()
    os.mkfifo(unreadable)
    how = [log_dir.topic("orders")], read_small_files(log_dir.path)
    options = {"strict_index": False, "is_full": is_full}
    in_tasks = list(check_partitions(SparkEngine(spark), log_dir, *how, **options))
    assert in_tasks == list(check_partitions(LocalEngine(), log_dir, *how, **options))
    found = in_tasks[1]
    assert [one.kind for one in found.findings] == ["bad-crc"]
    assert found.unchecked == [f"{unreadable}: a FIFO, not a regular file; move it away"]
    assert ["SHA-256" in why for why in found.unjudged] == [False] + [True] * is_full


def test_checks_in_tasks_find_what_those_in_one_process_find(spark, log_dir, dialect):
    topic = log_dir.topic("orders")

    def found(report) -> tuple[object, ...]:
        tally = report.tally
        return (
            report.partitions,
            tally.counts(),
            tally.findings(),
            report.checked,
            report.unchecked,
        )

    for expected in (
        set(),
        {"bad-crc", "altered", "wrong-partition", "manifest-mismatch", "torn-tail", "index-sparse"}
        | {"lost-end", "lost-start", "lost-partition"},
    ):
        if expected:
            damage(log_dir)
        for full in (False, True):
            plain, fast = (
                verify_with(LocalEngine(check), ManualClock(), log_dir, [], full=full)
                for check in (check_plainly, check_segment)
            )
            in_tasks = Report(plain.scope)
            records = read_small_files(log_dir.path)
            summaries = check_partitions(
                SparkEngine(spark), log_dir, [topic], records, is_full=full
            )
            in_tasks.add_topic(topic, summaries)
            in_tasks.unchecked.append(NO_SOURCE)
            assert found(in_tasks) == found(fast) == found(plain)
            assert ("digests" in in_tasks.checked) == full
            assert {kind.value for kind in plain.tally.counts()} == expected
            assert plain.tally.total() == len(expected) + (bool(expected) and not dialect.is_kafkas)
