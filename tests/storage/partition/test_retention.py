"""Retention: what goes, what stays, and what a reader and a crash make of it."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.errors import OffsetOutOfRangeError
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.retention import delete_expired, expired_segments, unlink_marked
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from kminilog.verification.report import verify_storage
from tests.support.crash.power_failure import kill, recorded
from tests.support.damage import files_of
from tests.support.invariants import check_log

ORDERS_0 = TopicPartition("orders", 0)
NOW_MS = 1_700_000_000_123
HOUR_MS = 3_600_000


def log_of_three(directory: Path, dialect: Dialect, **settings: int) -> PartitionLog:
    """A log of three segments with two messages of 100 bytes each, last written an hour ago."""
    topic_settings = TopicSettings(segment_bytes=200, **{"retention_ms": -1, **settings})
    log = PartitionLog.open(directory, ORDERS_0, dialect, topic_settings)
    value_bytes = 100 - 12 - dialect.overhead_bytes
    for number in range(6):
        log.append([(None, b"%0*d" % (value_bytes, number))])
    for segment in log.segments():
        set_age(segment, HOUR_MS)
    assert [segment.file_bytes for segment in log.segments()] == [200, 200, 200]
    return log


def set_age(segment: Segment, age_ms: int) -> None:
    time_ns = (NOW_MS - age_ms) * 1_000_000
    os.utime(segment.log_path, ns=(time_ns, time_ns))


def first_offsets(log: PartitionReader) -> list[int]:
    return [segment.first_offset for segment in log.segments()]


# ---- by age


@pytest.mark.parametrize(("retention_ms", "deleted"), [(HOUR_MS, 0), (HOUR_MS - 1, 3)])
def test_delete_expired_by_age_takes_only_what_is_strictly_older(
    tmp_path, dialect, retention_ms, deleted
):
    log = log_of_three(tmp_path, dialect, retention_ms=retention_ms)
    assert len(delete_expired(log, NOW_MS)) == deleted
    check_log(log)


def test_delete_expired_by_age_stops_at_the_first_segment_that_stays(tmp_path, dialect):
    log = log_of_three(tmp_path, dialect, retention_ms=HOUR_MS - 1)
    set_age(log.segments()[1], 0)
    assert len(delete_expired(log, NOW_MS)) == 1
    assert first_offsets(log) == [2, 4]
    check_log(log)


def test_delete_expired_of_everything_begins_an_empty_segment_at_the_log_end(tmp_path, dialect):
    log = log_of_three(tmp_path, dialect, retention_ms=1)
    assert len(delete_expired(log, NOW_MS)) == 3
    assert first_offsets(log) == [6]
    assert log.log_start_offset == log.log_end_offset == 6
    name = {DOCUMENTED: 5, KAFKA: 6}[dialect]
    (left,) = (n for n in files_of(tmp_path) if n.endswith(".log"))
    assert left == f"{name:020d}.log"
    assert log.append([(None, b"goes on")]) == range(6, 7)
    check_log(log)


def test_delete_expired_never_takes_an_empty_last_segment(tmp_path, dialect):
    log = log_of_three(tmp_path, dialect, retention_ms=1)
    log.roll()
    set_age(log.segments()[-1], HOUR_MS)
    assert len(delete_expired(log, NOW_MS)) == 3
    assert delete_expired(log, NOW_MS) == []
    assert first_offsets(log) == [6]
    check_log(log)


def test_delete_expired_leaves_a_first_documented_segment_with_one_message(tmp_path):
    """It cannot be followed by another: that would be named 0 too."""
    settings = TopicSettings(retention_ms=1, retention_bytes=0)
    log = PartitionLog.open(tmp_path, ORDERS_0, DOCUMENTED, settings)
    log.append([(None, b"the only one")])
    set_age(log.segments()[0], HOUR_MS)
    assert delete_expired(log, NOW_MS) == []
    assert log.reader.read(0, 1)[0].value == b"the only one"
    log.append([(None, b"a second one")])
    set_age(log.segments()[0], HOUR_MS)
    assert len(delete_expired(log, NOW_MS)) == 1
    assert log.log_start_offset == log.log_end_offset == 2
    check_log(log)


def test_delete_expired_without_limits_deletes_nothing(tmp_path, dialect):
    log = log_of_three(tmp_path, dialect, retention_ms=-1, retention_bytes=-1)
    before = files_of(tmp_path)
    assert delete_expired(log, 2**62) == []
    assert files_of(tmp_path) == before


# ---- by size


@pytest.mark.parametrize(
    ("retention_bytes", "deleted"),
    [(0, 3), (1, 2), (200, 2), (201, 1), (400, 1), (401, 0), (600, 0), (10**6, 0)],
)
def test_delete_expired_by_size_takes_a_segment_only_if_all_of_it_is_too_much(
    tmp_path, dialect, retention_bytes, deleted
):
    log = log_of_three(tmp_path, dialect, retention_bytes=retention_bytes)
    assert len(delete_expired(log, NOW_MS)) == deleted
    check_log(log)


@given(
    data=st.data(),
    retention_bytes=st.integers(-1, 700),
    retention_ms=st.sampled_from([-1, 0, 999, 1000]),
)
def test_expired_segments_is_the_longer_prefix_of_those_too_old_and_those_too_much(
    tmp_path_factory, data, retention_bytes, retention_ms
):
    """Against the rules of Kafka's two clean-ups, run one after the other on plain lists."""
    directory = tmp_path_factory.mktemp("orders")
    settings = TopicSettings(retention_ms=retention_ms, retention_bytes=retention_bytes)
    log = PartitionLog.open(directory, ORDERS_0, KAFKA, TopicSettings())
    for size in data.draw(st.lists(st.integers(0, 120), min_size=1, max_size=6)):
        log.append([(None, bytes(size))])
        log.roll()
    ages_ms = []
    for segment in log.segments():
        ages_ms.append(data.draw(st.sampled_from([0, 999, 1000, 1001])))
        set_age(segment, ages_ms[-1])
    sizes = [segment.file_bytes for segment in log.segments()]
    gone = 0
    while retention_ms >= 0 and gone < len(sizes) and ages_ms[gone] > retention_ms:
        gone += 1
    excess_bytes = sum(sizes[gone:]) - retention_bytes
    while retention_bytes >= 0 and gone < len(sizes) and excess_bytes - sizes[gone] >= 0:
        excess_bytes -= sizes[gone]
        gone += 1
    assert expired_segments(log.segments(), settings, NOW_MS) == log.segments()[:gone]


# ---- how


def test_delete_expired_renames_and_unlink_marked_unlinks_after_the_delay(tmp_path, dialect):
    log = log_of_three(tmp_path, dialect, retention_bytes=400, file_delete_delay_ms=500)
    before = files_of(tmp_path)
    (segment,) = delete_expired(log, NOW_MS)
    gone = {segment.log_path.name, segment.index.path.name}
    renamed = {name + ".deleted" if name in gone else name: before[name] for name in before}
    assert files_of(tmp_path) == renamed
    assert unlink_marked(tmp_path, log.settings, NOW_MS + 499) == []
    assert files_of(tmp_path) == renamed
    removed = unlink_marked(tmp_path, log.settings, NOW_MS + 500)
    assert {path.name for path in removed} == {name + ".deleted" for name in gone}
    assert files_of(tmp_path) == {name: before[name] for name in before if name not in gone}


def test_read_in_a_segment_that_is_deleted_meanwhile_finishes_or_is_out_of_range(tmp_path, dialect):
    log = log_of_three(tmp_path, dialect, retention_bytes=200, file_delete_delay_ms=0)
    reader = PartitionReader(tmp_path, ORDERS_0, dialect, log.settings)
    reading = reader.segments()[0].scan()
    assert next(reading)[1].offset == 0
    delete_expired(log, NOW_MS)
    unlink_marked(tmp_path, log.settings, NOW_MS)
    assert next(reading)[1].offset == 1
    with pytest.raises(OffsetOutOfRangeError) as caught:
        reader.read(1, 10**6)
    assert (caught.value.log_start_offset, caught.value.log_end_offset) == (4, 6)
    assert [message.offset for message in reader.read(4, 10**6)] == [4, 5]


def test_delete_expired_preserves_the_age_of_what_stays_over_a_reopening(tmp_path, dialect):
    log = log_of_three(tmp_path, dialect, retention_ms=HOUR_MS)
    log.close()
    log = PartitionLog.open(tmp_path, ORDERS_0, dialect, log.settings)
    assert delete_expired(log, NOW_MS) == []
    assert len(delete_expired(log, NOW_MS + 1)) == 3


@pytest.mark.parametrize("renamed", [["log"], ["log", "index"]], ids=["log only", "both"])
def test_open_after_a_crash_between_the_renames_finishes_the_deletion(tmp_path, dialect, renamed):
    settings = TopicSettings(segment_bytes=200)
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 1, dialect, settings))
        log = writer.log(ORDERS_0)
        log.append((None, b"%075d" % number) for number in range(6))
        first = log.segments()[0]
        start_offset = log.segments()[1].first_offset
    (tmp_path / CLEAN_SHUTDOWN_FILE).unlink()
    for suffix in renamed:
        path = first.log_path.with_suffix(f".{suffix}")
        path.rename(path.with_name(path.name + ".deleted"))
    with LogDirWriter.open(tmp_path) as writer:
        log = writer.log(ORDERS_0)
        assert (log.log_start_offset, log.log_end_offset) == (start_offset, 6)
        check_log(log)
    assert not [name for name in files_of(tmp_path / "orders-0") if name.startswith(first.name)]


def test_delete_expired_that_is_killed_at_any_step_leaves_a_sound_log(tmp_path, dialect):
    log_dir = tmp_path / "log"
    settings = TopicSettings(segment_bytes=200, retention_bytes=250, file_delete_delay_ms=0)
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, settings))
        writer.log(ORDERS_0).append((None, b"%075d" % number) for number in range(9))
    with recorded(log_dir) as recorder, LogDirWriter.open(log_dir) as writer:
        log = writer.log(ORDERS_0)
        assert len(delete_expired(log, NOW_MS)) > 1
        assert unlink_marked(log.directory, settings, NOW_MS)

    def check(left: Path) -> None:
        report = verify_storage(LogDir(left))
        assert report.verdict == "ok", report.to_text()
        with LogDirWriter.open(left) as writer:
            assert writer.log(ORDERS_0).log_end_offset == 9
            check_log(writer.log(ORDERS_0))

    kill(recorder, tmp_path / "left", check)
