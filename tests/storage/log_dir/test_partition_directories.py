"""Directories made and deleted, many at once, by a process that may crash at any step."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kminilog.errors import LogDirError, TopicBeingDeletedError
from kminilog.format.dialect import KAFKA
from kminilog.format.names import TopicPartition
from kminilog.storage import durable_files
from kminilog.storage.checkpoint import CHECKPOINT_FILE, read_checkpoint
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.partition_directories import MAX_AT_ONCE, delete_directories
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic, read_topic

ORDERS_0 = TopicPartition("orders", 0)
ORDERS_1 = TopicPartition("orders", 1)


def test_create_topic_over_empty_leftovers_of_a_crash_takes_them(tmp_path):
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 2))
        os.remove(tmp_path / "orders.json")
        writer.create_topic(Topic("orders", 3, KAFKA))
        assert writer.log(TopicPartition("orders", 2)).append([(None, b"v")]) == range(1)


@pytest.mark.parametrize("number", [0, 10, 99_999])
@pytest.mark.parametrize("length", range(236, 250))
def test_delete_directories_of_a_long_name_finds_what_a_crash_has_left(tmp_path, length, number):
    partition = TopicPartition("n" * length, number)
    directory = tmp_path / str(partition)
    directory.mkdir()
    (directory / "file").write_bytes(b"x")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(shutil, "rmtree", raise_crash)
        with pytest.raises(Crash):
            delete_directories(tmp_path, partition.topic)
    assert not directory.exists()
    assert list(tmp_path.iterdir()) != []
    delete_directories(tmp_path, partition.topic)
    assert list(tmp_path.iterdir()) == []


def raise_crash(*arguments: object) -> None:
    raise Crash


class Crash(BaseException):
    """The process ends here."""


def crash_at(step: int, writer: LogDirWriter, work: Callable[[], object]) -> bool:
    """Work, but crash instead of the call with this number that changes a name; tell if it came
    so far."""
    calls = 0

    def crashing(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            if calls == step:
                raise Crash
            calls += 1
            return real(*arguments, **options)

        return call

    try:
        with pytest.MonkeyPatch.context() as monkeypatch:
            for name in ("mkdir", "rename", "unlink", "rmdir", "replace"):
                monkeypatch.setattr(os, name, crashing(getattr(os, name)))
            work()
    except Crash:
        writer.close(cleanly=False)
        return True
    writer.close()
    return False


def check_marked_or_whole(log_dir: Path, partition: TopicPartition) -> None:
    if not read_topic(log_dir, "orders").is_marked_for_deletion:
        reader = LogDir(log_dir).reader(partition)
        assert reader.log_end_offset == (5 if partition == ORDERS_0 else 0)
        return
    with LogDirWriter.open(log_dir) as writer:
        assert not writer.warnings
        for use in (LogDir(log_dir).reader, writer.reader, writer.log):
            with pytest.raises(
                TopicBeingDeletedError, match="`kminilog topic delete orders --yes`"
            ):
                use(partition)


def test_delete_topic_that_crashes_at_any_step_is_finished_by_the_next(log_dir):
    """Every state in between names the way out, to readers and writers."""
    steps = 0
    for step in range(50):
        copy = log_dir.with_name(f"{log_dir.name}-{step}")
        shutil.copytree(log_dir, copy)
        writer = LogDirWriter.open(copy)
        writer.log(ORDERS_0)
        if not crash_at(step, writer, lambda: writer.delete_topic("orders")):  # noqa: B023
            break
        steps += 1
        is_there = (copy / "orders.json").exists()
        for partition in (0, 1) if is_there else ():
            check_marked_or_whole(copy, TopicPartition("orders", partition))
        with LogDirWriter.open(copy, recover=False) as writer:
            if is_there:
                writer.delete_topic("orders")
            assert not list(copy.glob("orders*"))
            assert "orders" not in (copy / CHECKPOINT_FILE).read_text()
            writer.create_topic(Topic("orders", 2))
    assert steps > 8


def test_create_topic_that_crashes_at_any_step_can_be_created_again(log_dir):
    steps = 0
    for step in range(50):
        copy = log_dir.with_name(f"{log_dir.name}-{step}")
        shutil.copytree(log_dir, copy)
        writer = LogDirWriter.open(copy)
        if not crash_at(step, writer, lambda: writer.create_topic(Topic("new", 3, KAFKA))):  # noqa: B023
            break
        steps += 1
        assert [topic.name for topic in LogDir(copy).topics()] == ["orders"]
        with LogDirWriter.open(copy) as writer:
            assert writer.log(ORDERS_0).log_end_offset == 5
            writer.create_topic(Topic("new", 2))
            assert writer.log(TopicPartition("new", 1)).append([(None, b"v")]) == range(1)
    assert steps == 5


def test_create_topic_with_many_partitions_takes_few_fsyncs(tmp_path, monkeypatch):
    """What must be on the disk before what, is for tests/crash/test_power_failure.py."""
    calls = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: calls.append("a file"))
    monkeypatch.setattr(durable_files, "_syncfs", lambda: lambda descriptor: calls.append("all"))
    with LogDirWriter.open(tmp_path) as writer:
        calls.clear()
        writer.create_topic(Topic("orders", 100))
        assert calls == ["all", *["a file"] * 4]


def test_create_topic_over_a_directory_with_messages_changes_nothing(log_dir):
    os.remove(log_dir / "orders.json")
    (log_dir / "orders-0").rename(log_dir / "orders-2")
    before = {path: path.lstat().st_mtime_ns for path in log_dir.glob("orders*/**")}
    with (
        LogDirWriter.open(log_dir) as writer,
        pytest.raises(LogDirError, match="orders-2 holds files but belongs to no topic"),
    ):
        writer.create_topic(Topic("orders", 3))
    assert {path: path.lstat().st_mtime_ns for path in log_dir.glob("orders*/**")} == before


def test_create_topic_beside_messages_of_a_higher_partition_changes_nothing(log_dir):
    """They would become part of the topic as soon as it has so many partitions."""
    os.remove(log_dir / "orders.json")
    (log_dir / "orders-0").rename(log_dir / "orders-7")
    shutil.rmtree(log_dir / "orders-1")
    with LogDirWriter.open(log_dir) as writer:
        with pytest.raises(LogDirError, match="orders-7 holds files but belongs to no topic"):
            writer.create_topic(Topic("orders", 1))
        assert not list(log_dir.glob("orders-[01]"))
        writer.create_topic(Topic("orders-7", 1))  # its partition is orders-7-0
        (log_dir / "orders-7").rename(log_dir / "away")
        writer.create_topic(Topic("orders", 1))
        (log_dir / "away").rename(log_dir / "orders-7")
        with pytest.raises(LogDirError, match="orders-7 holds files but belongs to no topic"):
            writer.alter_topic("orders", partitions=2)


def test_create_topic_that_is_refused_forgets_no_recovery_point(log_dir):
    os.remove(log_dir / "orders.json")
    with LogDirWriter.open(log_dir) as writer, pytest.raises(LogDirError):
        writer.create_topic(Topic("orders"))
    assert read_checkpoint(log_dir) == {ORDERS_0: 5, ORDERS_1: 0}


def test_create_or_alter_topic_by_more_partitions_than_at_once_changes_nothing(tmp_path):
    too_many = MAX_AT_ONCE + 1
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 1))
        before = sorted(os.listdir(tmp_path))
        with pytest.raises(ValueError, match=r"10,001 new partitions: one command makes at most"):
            writer.create_topic(Topic("new", too_many))
        with pytest.raises(ValueError, match=r"10,001 new partitions: one command makes at most"):
            writer.alter_topic("orders", partitions=1 + too_many)
        assert sorted(os.listdir(tmp_path)) == before
        assert writer.topic("orders").partitions == 1


def test_create_and_delete_topic_tell_how_far_they_are(tmp_path):
    said: list[str] = []
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 1001), progress=said.append)
        writer.delete_topic("orders", progress=said.append)
    assert said == [f"{done:,} of 1,001 partitions" for done in range(50, 1001, 50)] * 2


def test_delete_topic_with_a_link_as_partition_deletes_only_the_link(log_dir, tmp_path):
    elsewhere = tmp_path.with_name(tmp_path.name + "-elsewhere")
    (log_dir / "orders-1").rename(elsewhere)
    (log_dir / "orders-1").symlink_to(elsewhere)
    with LogDirWriter.open(log_dir) as writer:
        writer.delete_topic("orders")
    assert not list(log_dir.glob("orders*"))
    assert list(elsewhere.iterdir())


def test_delete_topic_that_cannot_delete_says_so_and_can_be_done_again(log_dir, monkeypatch):
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with LogDirWriter.open(log_dir) as writer:
        with monkeypatch.context() as patched:
            patched.setattr(shutil, "rmtree", refuse)
            with pytest.raises(PermissionError):
                writer.delete_topic("orders")
        with pytest.raises(TopicBeingDeletedError):
            writer.topic("orders")
        writer.delete_topic("orders")
    assert not list(log_dir.glob("orders*"))
