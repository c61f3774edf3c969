"""A log dir as a reader sees it: its topics, its partitions, and what belongs to none."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from kminilog.errors import CorruptLogError, LogDirError, UnknownTopicOrPartitionError
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic

ORDERS_0 = TopicPartition("orders", 0)


def test_log_dir_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(LogDirError, match="no such directory"):
        LogDir(tmp_path / "gone")
    with pytest.raises(LogDirError, match="no such directory"):
        LogDirWriter.open(tmp_path / "gone")
    assert not (tmp_path / "gone").exists()


def test_log_dir_that_is_a_file_is_an_error(tmp_path):
    path = tmp_path / "file"
    path.write_text("keep me")
    with pytest.raises(LogDirError, match="a file, not a directory"):
        LogDir(path)
    with pytest.raises(LogDirError, match="a file, not a directory"):
        LogDirWriter.open(path, create=True)
    assert path.read_text() == "keep me"


def test_directory_without_settings_is_no_topic(log_dir):
    os.remove(log_dir / "orders.json")
    reader = LogDir(log_dir)
    assert reader.topics() == []
    with pytest.raises(UnknownTopicOrPartitionError, match="doesn't exist"):
        reader.reader(ORDERS_0)
    with (
        LogDirWriter.open(log_dir) as writer,
        pytest.raises(LogDirError, match="belongs to no topic"),
    ):
        writer.create_topic(Topic("orders"))
    assert (log_dir / "orders-0").exists()


def test_partition_out_of_range_is_refused_with_the_range(log_dir):
    with pytest.raises(UnknownTopicOrPartitionError, match=r"inclusive range of \[0, 1\]"):
        LogDir(log_dir).reader(TopicPartition("orders", 2))


def test_partition_whose_directory_is_gone_names_the_way_out(log_dir):
    shutil.rmtree(log_dir / "orders-0")
    with pytest.raises(LogDirError, match="or let `kminilog topic delete` delete the rest"):
        LogDir(log_dir).reader(ORDERS_0).read(0, 1)
    with (
        LogDirWriter.open(log_dir) as writer,
        pytest.raises(CorruptLogError, match="or `kminilog topic delete orders --yes`"),
    ):
        writer.log(ORDERS_0)


def test_orphans_are_directories_with_messages_of_no_topic(log_dir, monkeypatch):
    reader, others = LogDir(log_dir), ["orders-9", "page-views-3", "gone-0"]
    assert reader.orphans() == []
    for name in others:
        shutil.copytree(log_dir / "orders-0", log_dir / name)
    shutil.copytree(log_dir / "orders-1", log_dir / "empty-0")  # as a crash in create leaves it
    shutil.copytree(log_dir / "orders-0", log_dir / "broken-0")
    (log_dir / "broken.json").write_text("{")
    (log_dir / "file-0").write_text("no directory")
    assert sorted(map(str, reader.orphans())) == sorted(others)
    (log_dir / "orders.json").unlink()
    assert sorted(map(str, reader.orphans())) == sorted([*others, "orders-0"])


def test_orphans_leave_out_a_topic_that_is_created_or_deleted_meanwhile(log_dir, monkeypatch):
    """Its files are there when the topics are read, or the directories, but not both times."""
    settings, reader = (log_dir / "orders.json").read_bytes(), LogDir(log_dir)
    real = os.listdir

    def created(path: Path) -> list[str]:
        (log_dir / "orders.json").write_bytes(settings)
        return real(path)

    (log_dir / "orders.json").unlink()
    monkeypatch.setattr(os, "listdir", created)
    assert reader.orphans() == []

    def deleted(name: str) -> Topic:
        shutil.rmtree(log_dir / "orders-0")
        raise UnknownTopicOrPartitionError(name)

    (log_dir / "orders.json").unlink()
    monkeypatch.setattr(os, "listdir", real)
    monkeypatch.setattr(reader, "topic", deleted)
    assert reader.orphans() == []


def test_orphan_that_cannot_be_read_is_one(log_dir, monkeypatch):
    def refused(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    (log_dir / "orders.json").unlink()
    monkeypatch.setattr(os, "scandir", refused)
    assert [str(one) for one in LogDir(log_dir).orphans()] == ["orders-0", "orders-1"]
