"""Runs, which were written without knowing their offsets: joined, they are one plain log."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns import staged_logs
from kminilog.columns.staged_logs import (
    Run,
    RunsReader,
    RunWriter,
    bytes_by_partition,
    join_logs,
    join_runs,
    seal,
)
from kminilog.errors import CorruptLogError, PublicationError
from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import Manifest, StagedPartition
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.publish.publication import (
    open_staged_log,
    publish,
    staging_path,
    sync_staged,
)
from kminilog.storage.topics import Topic
from kminilog.verification.report import verify_storage
from tests.support.columns.strategies import both_dialects
from tests.support.damage import files_of
from tests.support.properties.expected_layout import KeyValue
from tests.support.properties.strategies import key_values, settings_that_hold

ORDERS_0 = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=300, index_interval_bytes=60)
JOB = "job-1"


class Job:
    """A log dir with one partition, and a job that stages runs and joins them."""

    def __init__(
        self, path: Path, dialect: Dialect, before: list[KeyValue], settings: TopicSettings
    ) -> None:
        self.log_dir, self._topic = path, Topic("orders", 1, dialect, settings)
        self.staging, self.target = staging_path(path, JOB), path / "orders-0"
        self.end = len(before)
        self._attempts = count()
        with LogDirWriter.open(path, create=True) as writer:
            writer.create_topic(self._topic)
            writer.log(ORDERS_0).append(before)

    def open(self, first_offset: int) -> PartitionLog:
        attempt = self.staging / f"attempt-{next(self._attempts)}"
        attempt.mkdir(parents=True)
        topic, target = self._topic, self.target
        return open_staged_log(attempt, topic, 0, target=target, first_offset=first_offset)

    def stage(self, messages: list[KeyValue], first_offset: int = 0) -> StagedPartition:
        log = self.open(first_offset)
        log.append(messages)
        return seal(log, self.staging, first_offset)

    def join(self, runs: list[StagedPartition]) -> StagedPartition:
        return join_logs(self.open(self.end), self.staging, runs)

    def publish(self, staged: StagedPartition) -> None:
        publish(self.log_dir, Manifest(JOB, "orders", [staged], {}))


def values(start: int, stop: int) -> list[KeyValue]:
    return [(None, b"value %d " % number + b"x" * (number % 40)) for number in range(start, stop)]


def a_job(path: Path, dialect: Dialect, before: int = 3) -> tuple[Job, list[StagedPartition]]:
    """A job with two runs, of 20 messages each."""
    job = Job(path, dialect, values(0, before), SETTINGS)
    return job, [job.stage(values(start, start + 20)) for start in (before, before + 20)]


@both_dialects
@given(data=st.data())
def test_join_runs_gives_the_files_of_plain_appends_however_they_are_cut(dialect, data):
    """Into spans and pieces; over runs, some of which have nothing for a partition."""
    lengths = data.draw(st.lists(st.sampled_from([0, 1, 2, 7, 30]), max_size=4))
    total, cut_bytes = sum(lengths), st.sampled_from([1, 200, 1 << 20])
    messages = data.draw(st.lists(key_values(dialect), min_size=total, max_size=total))
    chosen = data.draw(st.lists(st.integers(0, 2), min_size=total, max_size=total))
    settings = data.draw(settings_that_hold(dialect, messages))
    topic, before = Topic("orders", 3, dialect, settings), data.draw(st.sampled_from([0, 1, 2, 9]))
    with (
        TemporaryDirectory() as path,
        patch("os.fsync"),
        patch.object(staged_logs, "_BUFFER_BYTES", data.draw(cut_bytes)),
        patch.object(staged_logs, "_PIECE_BYTES", data.draw(cut_bytes)),
        patch.object(staged_logs, "_OPEN_FILES", 1),
    ):
        staging, runs, row = Path(path), [], 0
        for number, length in enumerate(lengths):
            writer = RunWriter(staging / f"run-{number}", topic)
            for start in range(row, row + length, 3):
                batch = slice(start, min(start + 3, row + length))
                columns = (pa.array(c, pa.binary()) for c in zip(*messages[batch], strict=True))
                writer.write(np.array(chosen[batch], np.int32), *columns)
            row += length
            runs.append(writer.close(staging))
        assert [run.count for run in runs] == lengths
        filled = sorted(set(chosen))
        assert np.flatnonzero(bytes_by_partition(staging, runs, 3)).tolist() == filled
        for partition in filled:
            wanted = [m for m, p in zip(messages, chosen, strict=True) if p == partition]
            plain = staged_log(staging / "plain", topic, partition, before)
            plain.append(wanted)
            once = seal(plain, staging, before)
            log = staged_log(staging / "joined", topic, partition, before)
            joined = join_runs(log, staging, RunsReader(staging, runs, filled))
            assert joined == replace(once, directory=joined.directory)
            assert files_of(staging / joined.directory) == files_of(staging / once.directory)


def staged_log(directory: Path, topic: Topic, partition: int, first_offset: int) -> PartitionLog:
    """A log in a directory, of a partition whose one segment has so many messages."""
    directory.mkdir(exist_ok=True)
    target = directory / f"target-{partition}"
    log = PartitionLog.open(target, ORDERS_0, topic.dialect, TopicSettings())
    log.append((None, b"") for _ in range(first_offset))
    return open_staged_log(directory, topic, partition, target=target, first_offset=first_offset)


def a_run(path: Path, dialect: Dialect) -> tuple[Path, Run]:
    """The directory of a job with one run, and the messages file of that."""
    topic = Topic("orders", 2, dialect, SETTINGS)
    writer = RunWriter(path / "run", topic)
    column = pa.array([b"value %d" % n for n in range(40)], pa.binary())
    writer.write(np.arange(40, dtype=np.int32) % 2, pa.nulls(40, pa.binary()), column)
    return path / "run" / "messages", writer.close(path)


def join_one(path: Path, dialect: Dialect, run: Run) -> StagedPartition:
    topic = Topic("orders", 2, dialect, SETTINGS)
    reader = RunsReader(path, [run], [1])
    return join_runs(staged_log(path / "joined", topic, 1, 0), path, reader)


@pytest.mark.parametrize("position", [0, 4 * 20 + 11])
def test_join_runs_refuses_a_run_with_other_lengths_than_its_messages_have(
    tmp_path, dialect, position
):
    """A changed length in the file, or a changed size in a message."""
    messages, run = a_run(tmp_path, dialect)
    data = bytearray(messages.read_bytes())
    data[len(data) // 2 + position] ^= 1
    messages.write_bytes(data)
    with pytest.raises(PublicationError, match="holds bytes that are no messages, or others than"):
        join_one(tmp_path, dialect, run)


def test_runs_that_are_not_what_their_tasks_wrote_are_refused(tmp_path, dialect):
    messages, run = a_run(tmp_path, dialect)
    with pytest.raises(PublicationError, match="run holds 40 messages, not 41"):
        bytes_by_partition(tmp_path, [replace(run, count=41)], 2)
    os.truncate(messages, run.bytes - 1)
    told = f"holds {run.bytes - 1} bytes of messages, not {run.bytes}; all who write for a job"
    with pytest.raises(PublicationError, match=told):
        bytes_by_partition(tmp_path, [run], 2)
    with pytest.raises(PublicationError, match="bytes of messages, not"):
        join_one(tmp_path, dialect, run)


def test_a_run_of_many_partitions_is_two_files(tmp_path, dialect):
    topic = Topic("orders", 500, dialect, SETTINGS)
    writer = RunWriter(tmp_path / "run", topic)
    column = pa.array([b"v"] * 500, pa.binary())
    writer.write(np.arange(500, dtype=np.int32), column, column)
    writer.close(tmp_path)
    assert sorted(os.listdir(tmp_path / "run")) == ["messages", "spans.npy"]


@both_dialects
@given(data=st.data())
def test_join_logs_gives_the_files_of_plain_appends(dialect, data):
    counts = st.lists(st.sampled_from([0, 1, 1, 2, 3, 15, 40]), max_size=4)
    lengths = [data.draw(st.integers(0, 6)), *data.draw(counts)]
    total = sum(lengths)
    messages = data.draw(st.lists(key_values(dialect), min_size=total, max_size=total))
    settings = data.draw(settings_that_hold(dialect, messages))
    ends = [sum(lengths[: number + 1]) for number in range(len(lengths))]
    before, parts = messages[: ends[0]], pairwise(ends)
    with TemporaryDirectory() as path, patch("os.fsync"):
        plain = PartitionLog.open(Path(path, "orders-0"), ORDERS_0, dialect, settings)
        plain.append(before)
        plain.roll()  # a job begins a new segment, if it can
        plain.append(messages[ends[0] :])
        job = Job(Path(path, "log"), dialect, before, settings)
        runs = [job.stage(messages[start:stop]) for start, stop in parts]
        joined = job.join(runs)
        once = job.stage(messages[ends[0] :], first_offset=ends[0])
        assert joined == replace(once, directory=joined.directory)
        job.publish(joined)
        assert files_of(job.target) == files_of(plain.directory)
        assert verify_storage(LogDir(job.log_dir)).verdict == "ok"


def test_sync_staged_brings_files_and_names_to_the_disk(tmp_path, dialect, monkeypatch):
    job, runs = a_job(tmp_path, dialect)
    synced: dict[Path, object] = {}
    real = os.fsync

    def state(path: Path) -> object:
        return sorted(os.listdir(path)) if path.is_dir() else path.read_bytes()

    def fsync(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        synced[path] = state(path)
        real(descriptor)

    staged = job.join(runs)
    monkeypatch.setattr(os, "fsync", fsync)
    sync_staged(job.staging, [staged])
    joined = job.staging / staged.directory
    assert len(os.listdir(joined)) > 8
    for path in (joined, *joined.iterdir()):
        assert synced[path] == state(path)


def test_join_logs_leaves_the_partition_alone_until_it_is_published(tmp_path, dialect):
    job, runs = a_job(tmp_path, dialect, before=1)
    files = files_of(job.target)
    job.join(runs)
    assert files_of(job.target) == files
    LogDirWriter.open(tmp_path).close()
    assert not job.staging.exists()
    assert files_of(job.target) == files


@pytest.mark.parametrize("before", [1, 3])
def test_two_attempts_at_once_join_the_same_runs(tmp_path, dialect, before):
    """Spark may run a task twice; and one of the attempts may have died."""
    job, runs = a_job(tmp_path, dialect, before)
    staged = files_of(job.staging)
    with pytest.raises(PublicationError):
        job.join([*runs, replace(runs[0], bytes=99)])
    with ThreadPoolExecutor() as pool:
        one, other = pool.map(job.join, [runs, runs])
    assert one == replace(other, directory=one.directory)
    assert files_of(job.staging / one.directory) == files_of(job.staging / other.directory)
    assert staged.items() <= files_of(job.staging).items()
    job.publish(one)
    reader = LogDir(tmp_path).reader(ORDERS_0)
    found = [(m.offset, m.value) for m in reader.read(0, 10**9)]
    assert found == [(n, value) for n, (_, value) in enumerate(values(0, before + 40))]


def test_join_logs_refuses_a_run_with_other_bytes_than_its_task_wrote(tmp_path, dialect):
    job, runs = a_job(tmp_path, dialect)
    log = min((job.staging / runs[0].directory).glob("*.log"))
    log.write_bytes(log.read_bytes() + b"more")
    with pytest.raises(PublicationError, match=r"job-1.*bytes of messages, not"):
        job.join(runs)


def test_join_logs_refuses_a_run_with_another_number_of_messages(tmp_path, dialect):
    job, (run, _) = a_job(tmp_path, dialect)
    with pytest.raises(PublicationError, match="holds 20 messages, not 21"):
        job.join([replace(run, next_offset=21)])


@pytest.mark.parametrize("cut", [1, 12, 20])
def test_join_logs_refuses_a_run_that_ends_inside_a_message(tmp_path, dialect, cut):
    job, (run, _) = a_job(tmp_path, dialect)
    log = max((job.staging / run.directory).glob("*.log"))
    os.truncate(log, log.stat().st_size - cut)
    with pytest.raises(CorruptLogError, match=r"unfinished message.*not published"):
        job.join([replace(run, bytes=run.bytes - cut)])


def test_join_logs_refuses_a_size_that_no_message_can_have(tmp_path, dialect):
    job, runs = a_job(tmp_path, dialect)
    log = min((job.staging / runs[1].directory).glob("*.log"))
    data = bytearray(log.read_bytes())
    data[8:12] = b"\xff" * 4
    log.write_bytes(data)
    with pytest.raises(CorruptLogError, match="size -1"):
        job.join(runs)


def test_join_logs_gives_its_offset_to_a_message_larger_than_a_window(tmp_path):
    settings = TopicSettings(segment_bytes=8 << 20, max_message_bytes=6 << 20)
    job = Job(tmp_path, KAFKA, values(0, 7), settings)
    wanted = [b"small", bytes(5 << 20), b"small"]
    joined = job.join([job.stage([(None, value) for value in wanted])])
    (path,) = (job.staging / joined.directory).glob("*.log")
    assert path.name == "00000000000000000007.log"
    assert path.read_bytes() == b"".join(
        encode(KAFKA, offset, None, value) for offset, value in enumerate(wanted, start=7)
    )
