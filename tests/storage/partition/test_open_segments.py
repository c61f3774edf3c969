"""Files that a reader keeps open: what another writer did to their names is seen at once."""

import errno
import gc
import os
from pathlib import Path

import pytest

from kminilog.errors import LogDirError, OffsetOutOfRangeError
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.changes import CHANGES_FILE
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition import open_segments
from kminilog.storage.partition.cuts import truncate_log
from kminilog.storage.partition.open_segments import OpenSegments
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.retention import delete_expired
from kminilog.storage.topics import Topic

ORDERS_0 = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=300, index_interval_bytes=60)
TOPIC_SIZE = 60


def numbered(start: int, stop: int, text: str = "value") -> list[tuple[None, bytes]]:
    return [(None, b"%s %3d" % (text.encode(), number)) for number in range(start, stop)]


@pytest.fixture
def writer(tmp_path: Path, dialect: Dialect):
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        writer.log(ORDERS_0).append(numbered(0, TOPIC_SIZE))
        yield writer


@pytest.fixture
def reader(writer: LogDirWriter) -> PartitionReader:
    """A reader that has all segments open."""
    reader = LogDir(writer.path).reader(ORDERS_0)
    assert values(reader) == [value for _, value in numbered(0, TOPIC_SIZE)]
    assert len(kept_open(reader)) == len(reader.segments()) > 5
    return reader


def kept_open(reader: PartitionReader) -> OpenSegments:
    return reader._open_log.__self__  # type: ignore[union-attr,return-value]


def values(reader: PartitionReader, start: int = 0, stop: int = TOPIC_SIZE) -> list[bytes | None]:
    found = []
    for offset in range(start, stop):
        located = reader.find(offset)
        segment = located.segment
        message = located.message
        assert message.offset == offset
        assert next(segment.scan(located.position))[1] == message
        found.append(message.value)
    return found


def test_reader_does_not_open_a_file_twice(reader, monkeypatch):
    opened: list[object] = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda *a, **o: (opened.append(a), real(*a, **o))[1])
    reader.find(30)
    assert opened == []


def test_retention_is_seen_at_once(writer, reader):
    log = writer.log(ORDERS_0)
    log.settings = TopicSettings(segment_bytes=300, retention_bytes=600)
    assert delete_expired(log, now_ms=10**15)
    with pytest.raises(OffsetOutOfRangeError):
        reader.find(0)
    assert reader.log_start_offset == log.log_start_offset > 0


def test_messages_that_took_the_place_of_truncated_ones_are_seen_at_once(writer, reader):
    log = writer.log(ORDERS_0)
    truncate_log(log, 20)
    with pytest.raises(OffsetOutOfRangeError):
        reader.find(40)
    log.append(numbered(20, TOPIC_SIZE, "other"))
    wanted = numbered(0, 20) + numbered(20, TOPIC_SIZE, "other")
    assert values(reader) == [value for _, value in wanted]
    assert values(log.reader) == [value for _, value in wanted]


def test_messages_that_took_the_place_of_those_of_a_failed_append_are_seen_at_once(
    writer, reader, monkeypatch
):
    log = writer.log(ORDERS_0)
    with monkeypatch.context() as patched:
        patched.setattr(log, "_is_flush_due", lambda now_ms: 1 / 0)
        patched.setattr(log, "flush", lambda **o: None)
        with pytest.raises(ZeroDivisionError):
            log.append(numbered(TOPIC_SIZE, 90, "never"))
    log.append(numbered(TOPIC_SIZE, 90, "later"))
    wanted = numbered(0, TOPIC_SIZE) + numbered(TOPIC_SIZE, 90, "later")
    assert values(reader, 0, 90) == [value for _, value in wanted]


def test_topic_that_took_the_place_of_a_deleted_one_is_seen_at_once(writer, reader, dialect):
    writer.delete_topic("orders")
    with pytest.raises(LogDirError, match="no such partition directory"):
        reader.find(30)
    writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
    writer.log(ORDERS_0).append(numbered(0, TOPIC_SIZE, "anew!"))
    assert values(reader) == [value for _, value in numbered(0, TOPIC_SIZE, "anew!")]


def test_forced_recovery_is_seen_at_once(tmp_path, dialect):
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        writer.log(ORDERS_0).append(numbered(0, TOPIC_SIZE))
    reader = LogDir(tmp_path).reader(ORDERS_0)
    assert values(reader)
    damaged = reader.segments()[2]
    data = bytearray(damaged.log_path.read_bytes())
    data[-1] ^= 1
    damaged.log_path.write_bytes(data)
    with LogDirWriter.open(tmp_path, recover=False) as again:
        again.recover(again.recovery_plan(ORDERS_0), force=True)
        log = again.log(ORDERS_0)
        start = log.log_end_offset
        assert start < TOPIC_SIZE
        log.append(numbered(start, TOPIC_SIZE, "other"))
    wanted = numbered(0, start) + numbered(start, TOPIC_SIZE, "other")
    assert values(reader) == [value for _, value in wanted]


def test_files_are_not_kept_open_where_nobody_counts_changes(writer, reader):
    (writer.path / CHANGES_FILE).unlink()
    foreign = LogDir(writer.path).reader(ORDERS_0)
    assert values(foreign)
    assert len(kept_open(foreign)) <= 1
    log = writer.log(ORDERS_0)
    truncate_log(log, 20)
    log.append(numbered(20, TOPIC_SIZE, "other"))
    assert values(foreign, 20) == [value for _, value in numbered(20, TOPIC_SIZE, "other")]


def test_no_more_files_than_the_share_are_kept_and_those_used_last_stay(writer, monkeypatch):
    segments = LogDir(writer.path).reader(ORDERS_0).segments()
    monkeypatch.setattr(open_segments, "share_of_process", lambda: len(open_segments._KEPT) + 3)
    opened = OpenSegments(writer.path)
    share = len(open_segments._KEPT) + 3
    monkeypatch.setattr(open_segments, "share_of_process", lambda: share)
    for segment in segments:
        opened.descriptor(segments[0])
        assert os.pread(opened.descriptor(segment), 8, 0) == segment.log_path.read_bytes()[:8]
        assert len(opened) <= 3
    assert segments[0] in opened._descriptors
    opened.close()
    assert len(opened) == 0


def open_files() -> int:
    return len(os.listdir("/dev/fd"))


def test_readers_of_many_partitions_keep_no_more_than_the_share_together(tmp_path, monkeypatch):
    partitions = 40
    monkeypatch.setattr(open_segments, "_KEPT", set())
    monkeypatch.setattr(open_segments, "share_of_process", lambda: 5)
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("t", partitions))
        for partition in writer.topic("t").all_partitions():
            writer.log(partition).append([(None, b"%d" % partition.partition)])
    before, log_dir = open_files(), LogDir(tmp_path)
    readers = list(log_dir.readers(log_dir.topic("t")))
    for _ in range(2):
        found = [reader.read(0, 99)[0].value for reader in readers]
        assert found == [b"%d" % number for number in range(partitions)]
        assert open_files() - before <= 2 * 5
    del readers
    assert set() == open_segments._KEPT
    assert open_files() == before


def test_reader_that_may_open_no_more_files_closes_its_own(writer, reader, monkeypatch):
    segments, refused = reader.segments(), []
    kept_open(reader).close()
    reader.find(0)
    real = os.open

    def open_file(*arguments, **options):
        if not refused and str(arguments[0]).endswith(".log"):
            refused.append(arguments)
            raise OSError(errno.EMFILE, "too many open files")
        return real(*arguments, **options)

    monkeypatch.setattr(os, "open", open_file)
    assert reader.find(TOPIC_SIZE - 1)[0] is segments[-1]
    assert refused


def test_files_of_a_reader_that_is_gone_are_closed(writer):
    gc.collect()  # what other tests have left must not be closed meanwhile
    before = len(os.listdir("/proc/self/fd"))
    reader = LogDir(writer.path).reader(ORDERS_0)
    values(reader)
    assert len(os.listdir("/proc/self/fd")) > before + 5
    del reader
    assert len(os.listdir("/proc/self/fd")) == before
