"""Runs that were written without knowing their offsets: what becomes of them."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.bulk.renumbering import renumber
from kminilog.bulk.staged_logs import join_runs, seal
from kminilog.errors import CorruptLogError
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.job_errors import PublicationError
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir import LogDir
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.publish.manifests import Manifest, StagedPartition
from kminilog.storage.publish.publication import (
    open_staged_log,
    publish,
    staging_path,
)
from kminilog.storage.segment_scan import check_segment
from kminilog.storage.topics import Topic
from kminilog.verification.report import verify_storage

ORDERS_0 = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=300, index_interval_bytes=60)
JOB = "job-1"


def values(start: int, stop: int) -> list[tuple[None, bytes]]:
    return [(None, b"value %d " % number + b"x" * (number % 40)) for number in range(start, stop)]


def make_log_dir(path: Path, dialect: Dialect, before: int, base_offset: int = 0) -> Path:
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS), base_offset=base_offset)
        writer.log(ORDERS_0).append(values(0, before))
    return path


def stage_runs(
    log_dir: Path, dialect: Dialect, start: int, counts: list[int]
) -> list[StagedPartition]:
    """Write a run of each size, with numbered values that go on from `start`."""
    staging, runs = staging_path(log_dir, JOB), []
    for number, count in enumerate(counts):
        attempt = staging / f"attempt-{number}"
        attempt.mkdir(parents=True)
        log = open_staged_log(
            attempt, ORDERS_0, dialect, SETTINGS, target=log_dir / "orders-0", first_offset=0
        )
        log.append(values(start, start + count))
        runs.append(seal(log, staging, 0))
        start += count
    return runs


def join(log_dir: Path, dialect: Dialect, runs: list[StagedPartition], first_offset: int):
    return join_runs(
        staging_path(log_dir, JOB),
        ORDERS_0,
        dialect,
        SETTINGS,
        runs,
        target=log_dir / "orders-0",
        first_offset=first_offset,
    )


def test_join_brings_the_names_to_the_disk(tmp_path, dialect, monkeypatch):
    log_dir = make_log_dir(tmp_path / "log", dialect, before=0)
    runs = stage_runs(log_dir, dialect, 0, [5, 5])
    happened: list[tuple[str, Path]] = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        happened.append(("fsync", Path(os.readlink(f"/proc/self/fd/{descriptor}"))))
        real_fsync(descriptor)

    def replace(source: str, target: str) -> None:
        happened.append(("replace", Path(target).parent))
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    joined = staging_path(log_dir, JOB) / join(log_dir, dialect, runs, 0).directory
    in_joined = [what for what, where in happened if where == joined]
    assert "replace" in in_joined
    assert in_joined[-1] == "fsync"


def contents(log_dir: Path) -> list[tuple[int, bytes | None]]:
    reader = LogDir(log_dir).reader(ORDERS_0)
    return [(m.offset, m.value) for m in reader.read(reader.log_start_offset, 10**9)]


@given(
    dialect=st.sampled_from(list(DIALECTS.values())),
    before=st.integers(0, 12),
    counts=st.lists(st.sampled_from([1, 1, 2, 3, 15, 40]), min_size=1, max_size=5),
)
def test_join_runs_gives_a_log_that_goes_on_in_order(tmp_path_factory, dialect, before, counts):
    log_dir = make_log_dir(tmp_path_factory.mktemp("log"), dialect, before)
    runs = stage_runs(log_dir, dialect, before, counts)
    staged = join(log_dir, dialect, runs, before)
    end = before + sum(counts)
    assert (staged.first_offset, staged.next_offset) == (before, end)
    publish(log_dir, Manifest(JOB, "orders", [staged], {}))
    written = [value for _, value in values(0, end)]
    assert contents(log_dir) == list(enumerate(written))
    assert verify_storage(LogDir(log_dir)).verdict == "ok"
    for segment in LogDir(log_dir).reader(ORDERS_0).segments():
        check_segment(segment)  # index entries by the one rule; a writer would mend them
    with LogDirWriter.open(log_dir) as writer:
        log = writer.log(ORDERS_0)
        log.check()
        assert log.append([(None, b"after")]) == range(end, end + 1)
        log.check()


@pytest.mark.parametrize("counts", [[1], [1, 1], [1, 1, 1], [1, 30], [30, 30]])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_join_runs_begins_a_new_segment_for_each_unless_the_name_is_taken(
    tmp_path, dialect, before, counts
):
    log_dir = make_log_dir(tmp_path / "log", dialect, before)
    runs = stage_runs(log_dir, dialect, before, counts)
    publish(log_dir, Manifest(JOB, "orders", [join(log_dir, dialect, runs, before)], {}))
    firsts = {before + sum(counts[:number]) for number in range(len(counts))}
    reader = LogDir(log_dir).reader(ORDERS_0)
    segments = {segment.first_offset for segment in reader.segments()}
    for segment in reader.segments():
        check_segment(segment)
    assert firsts - segments == ({1} & firsts if dialect == DOCUMENTED else set())
    assert 2 in segments or not (dialect == DOCUMENTED and 1 in firsts and before + sum(counts) > 2)


def test_join_runs_into_an_empty_topic_makes_the_files_of_plain_appends(tmp_path, dialect):
    appended = make_log_dir(tmp_path / "appended", dialect, 40)
    joined = make_log_dir(tmp_path / "joined", dialect, 0)
    staged = join(joined, dialect, stage_runs(joined, dialect, 0, [40]), 0)
    publish(joined, Manifest(JOB, "orders", [staged], {}))
    files = [
        {path.name: path.read_bytes() for path in (log_dir / "orders-0").iterdir()}
        for log_dir in (appended, joined)
    ]
    assert len(files[0]) > 4
    assert files[0] == files[1]


def test_join_runs_leaves_the_partition_alone_until_it_is_published(tmp_path, dialect):
    log_dir = make_log_dir(tmp_path / "log", dialect, 1)
    files = {path: path.read_bytes() for path in (log_dir / "orders-0").iterdir()}
    join(log_dir, dialect, stage_runs(log_dir, dialect, 1, [5, 5]), 1)
    assert {path: path.read_bytes() for path in (log_dir / "orders-0").iterdir()} == files
    LogDirWriter.open(log_dir).close()
    assert not staging_path(log_dir, JOB).exists()
    assert len(contents(log_dir)) == 1


def test_join_runs_refuses_a_run_with_other_bytes_than_its_task_wrote(tmp_path, dialect):
    log_dir = make_log_dir(tmp_path / "log", dialect, 3)
    runs = stage_runs(log_dir, dialect, 3, [10])
    (log,) = (staging_path(log_dir, JOB) / runs[0].directory).glob("*00.log")
    log.write_bytes(log.read_bytes() + b"more")
    with pytest.raises(PublicationError, match="bytes of messages, not"):
        join(log_dir, dialect, runs, 3)


@pytest.mark.parametrize("cut", [1, 12, 20])
def test_renumber_of_a_file_that_ends_in_a_message_is_refused(tmp_path, dialect, cut):
    log_dir = make_log_dir(tmp_path / "log", dialect, 3)
    (run,) = stage_runs(log_dir, dialect, 3, [5])
    source = staging_path(log_dir, JOB) / run.directory
    log = max(source.glob("*.log"))
    os.truncate(log, log.stat().st_size - cut)
    with pytest.raises(CorruptLogError, match=r"unfinished message.*not published"):
        renumber(source, dialect, SETTINGS, 3, tmp_path / "target")


def test_renumber_of_a_size_that_none_can_have_is_refused(tmp_path, dialect):
    log_dir = make_log_dir(tmp_path / "log", dialect, 3)
    (run,) = stage_runs(log_dir, dialect, 3, [5])
    source = staging_path(log_dir, JOB) / run.directory
    log = min(source.glob("*.log"))
    data = bytearray(log.read_bytes())
    data[8:12] = b"\xff" * 4
    log.write_bytes(data)
    with pytest.raises(CorruptLogError, match="size -1"):
        renumber(source, dialect, SETTINGS, 3, tmp_path / "target")


def test_renumber_keeps_the_modification_times(tmp_path, dialect):
    log_dir = make_log_dir(tmp_path / "log", dialect, 1)
    (run,) = stage_runs(log_dir, dialect, 1, [20])
    source = staging_path(log_dir, JOB) / run.directory
    for path in source.iterdir():
        os.utime(path, ns=(10**18, 10**18))
    target = tmp_path / "target"
    assert renumber(source, dialect, SETTINGS, 1, target, before=log_dir / "orders-0") == 21
    assert {path.stat().st_mtime_ns for path in target.glob("*.log")} == {10**18}


def test_renumber_of_a_message_larger_than_a_window_gives_it_its_offset(tmp_path):
    settings = TopicSettings(segment_bytes=8 << 20, max_message_bytes=4 << 20)
    log = open_staged_log(
        tmp_path / "run", ORDERS_0, KAFKA, settings, target=tmp_path, first_offset=0
    )
    log.append([(None, b"small"), (None, bytes(3 << 20)), (None, b"small")])
    log.close()
    target = tmp_path / "orders-0"
    assert renumber(log.directory, KAFKA, settings, 7, target) == 10
    (path,) = target.glob("*.log")
    wanted = [b"small", bytes(3 << 20), b"small"]
    assert path.name == "00000000000000000007.log"
    assert path.read_bytes() == b"".join(
        encode(KAFKA, offset, None, value) for offset, value in enumerate(wanted, start=7)
    )


def test_renumber_twice_with_another_offset_moves_the_messages_again(tmp_path, dialect):
    """Offsets are put in, not added to, so what is left of an earlier attempt does not matter."""
    log_dir = make_log_dir(tmp_path / "log", dialect, 3)
    (run,) = stage_runs(log_dir, dialect, 3, [20])
    source = staging_path(log_dir, JOB) / run.directory
    shutil.copytree(source, tmp_path / "again")
    renumber(source, dialect, SETTINGS, 100, tmp_path / "first")
    renumber(tmp_path / "first", dialect, SETTINGS, 7, tmp_path / "second")
    renumber(tmp_path / "again", dialect, SETTINGS, 7, tmp_path / "at-once")
    files = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("second", "at-once")
    ]
    assert files[0] == files[1]
