"""Writes that the operating system refuses, for real: the log is as it was before the call."""

import errno
import os
from itertools import count

import pytest

from kminilog.errors import LogClosedError, WriteFailedError
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.topics import Topic
from tests.support.damage import files_of
from tests.support.invariants import check_log
from tests.support.processes import finish, start

ORDERS_0 = TopicPartition("orders", 0)


@pytest.mark.processes
def test_append_with_a_limit_on_file_sizes_restores_the_log_wherever_it_fails(tmp_path, dialect):
    with start("crash.limited_process", tmp_path, dialect.name) as process:
        failed, succeeded = map(int, finish(process).split())
    assert failed > 200
    assert succeeded == 1


def append_until_it_fails(log: PartitionLog, batch: list[tuple[bytes | None, bytes]]) -> None:
    """Append the batch again and again; the call that fails must leave everything as it was."""
    error = None
    while not error:
        before, end = files_of(log.directory), log.log_end_offset
        try:
            log.append(batch)
        except WriteFailedError as caught:
            error = caught
    assert "No space left on device" in str(error)
    assert error.restored
    assert files_of(log.directory) == before
    assert log.log_end_offset == end
    check_log(log)


@pytest.mark.parametrize("is_lasting", [False, True])
def test_append_that_cannot_be_flushed_is_undone_on_the_disk_or_in_doubt(
    tmp_path, dialect, monkeypatch, is_lasting
):
    calls = count()

    def fail(descriptor: int) -> None:
        if is_lasting or next(calls) == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    settings = TopicSettings(flush_messages=2)
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 1, dialect, settings))
        log = writer.log(ORDERS_0)
        log.append([(None, b"one")])
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            with pytest.raises(WriteFailedError, match="Input/output error") as caught:
                log.append([(None, b"two"), (None, b"three")])
        assert caught.value.path == str(log.segments()[0].log_path)
        assert caught.value.restored is not is_lasting
        assert caught.value.in_doubt == (range(1, 3) if is_lasting else range(0))
        if is_lasting:
            with pytest.raises(LogClosedError, match="an earlier write failed"):
                log.append([(None, b"four")])
    assert (tmp_path / CLEAN_SHUTDOWN_FILE).exists() is not is_lasting
    with LogDirWriter.open(tmp_path) as writer:
        assert writer.log(ORDERS_0).append([(None, b"four")]) == range(1, 2)
        assert writer.warnings == []


def test_append_on_full_disk_restores_the_log(mount, dialect):
    disk = mount("size=256k")
    (disk / "filler").write_bytes(bytes(64 * 1024))
    settings = TopicSettings(segment_bytes=30_000, index_interval_bytes=1000)
    log = PartitionLog.open(disk / "orders-0", ORDERS_0, dialect, settings)
    batch = [(None, b"%d" % n * 900) for n in range(20)]
    append_until_it_fails(log, batch)
    (disk / "filler").unlink()
    end = log.log_end_offset
    assert log.append(batch) == range(end, end + len(batch))
    check_log(log)
    again = PartitionLog.open(disk / "orders-0", ORDERS_0, dialect, settings)
    assert again.log_end_offset == log.log_end_offset


def test_roll_that_cannot_make_the_files_of_a_new_segment_restores_the_log(mount, dialect):
    disk = mount("size=1m,nr_inodes=6")
    log = PartitionLog.open(disk / "orders-0", ORDERS_0, dialect, TopicSettings())
    log.append([(None, b"one"), (None, b"two")])
    (disk / "filler").touch()
    before = files_of(log.directory)
    with pytest.raises(WriteFailedError, match="as it was before"):
        log.roll()
    assert files_of(log.directory) == before
    assert log.append([(None, b"three")]) == range(2, 3)
    (disk / "filler").unlink()
    assert log.roll()
    assert log.append([(None, b"four")]) == range(3, 4)
    check_log(log)


def test_append_that_is_interrupted_restores_the_log(tmp_path, dialect, monkeypatch):
    """Ctrl-C: what was not written must not count as written when the log is closed."""

    def interrupt(descriptor: int, data: bytes) -> int:
        raise KeyboardInterrupt

    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 1, dialect))
        log = writer.log(ORDERS_0)
        log.append([(None, b"one")])
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", interrupt)
            with pytest.raises(KeyboardInterrupt):
                log.append([(None, b"two"), (None, b"three")])
        assert log.log_end_offset == 1
        check_log(log)
    with LogDirWriter.open(tmp_path) as writer:
        assert writer.log(ORDERS_0).append([(None, b"four")]) == range(1, 2)
        assert writer.warnings == []


def test_append_that_cannot_make_the_files_of_a_new_segment_restores_the_log(mount, dialect):
    disk = mount("size=1m,nr_inodes=16")
    (disk / "filler").touch()
    (disk / "filler2").touch()
    settings = TopicSettings(segment_bytes=200, index_interval_bytes=50)
    log = PartitionLog.open(disk / "orders-0", ORDERS_0, dialect, settings)
    append_until_it_fails(log, [(b"key", b"%d" % n * 70) for n in range(2)])
    (disk / "filler").unlink()
    (disk / "filler2").unlink()
    end = log.log_end_offset
    assert log.append([(b"key", b"1" * 70)] * 2) == range(end, end + 2)
    check_log(log)
