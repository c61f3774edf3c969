"""The one writer of a log dir: what it opens, recovers, marks and closes."""

import os
import shutil
from pathlib import Path

import pytest

from kminilog.errors import (
    CorruptLogError,
    LogClosedError,
    LogDirError,
    LogDirLockedError,
    TopicBeingDeletedError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.changes import change_count
from kminilog.storage.checkpoint import CHECKPOINT_FILE, read_checkpoint
from kminilog.storage.files import append_to
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import (
    CLEAN_SHUTDOWN_FILE,
    LogDirWriter,
    log_end_offsets,
    next_recovery,
)
from kminilog.storage.partition.cuts import read_cuts
from kminilog.storage.segment.scan import PLAIN, SegmentScan
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from kminilog.verification.report import verify_storage
from tests.support.damage import files_of

ORDERS_0 = TopicPartition("orders", 0)
ORDERS_1 = TopicPartition("orders", 1)


def crash(log_dir: Path) -> None:
    (log_dir / CLEAN_SHUTDOWN_FILE).unlink()


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_files_of_a_log_dir_are_not_executable_and_follow_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        with LogDirWriter.open(tmp_path / "new", create=True) as writer:
            writer.create_topic(Topic("t", settings=TopicSettings(segment_bytes=100)))
            writer.log(TopicPartition("t", 0)).append((None, b"value %d" % n) for n in range(9))
    finally:
        os.umask(before)
    files = [path for path in (tmp_path / "new").rglob("*") if path.is_file()]
    assert len(files) > 8
    assert {path.name: path.stat().st_mode & 0o777 for path in files} == {
        path.name: 0o666 & ~umask for path in files
    }


def test_partition_that_is_created_bare_is_an_empty_log(tmp_path, dialect):
    """As a process leaves it that dies before it has published the segment."""
    bare = TopicPartition("orders", 1)
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 2, dialect), bare=[bare])
    assert [len(os.listdir(tmp_path / f"orders-{n}")) for n in range(2)] == [2, 0]
    reader = LogDir(tmp_path).reader(bare)
    assert (reader.log_start_offset, reader.log_end_offset, reader.read(0, 100)) == (0, 0, [])
    assert verify_storage(LogDir(tmp_path)).verdict == "ok"
    with LogDirWriter.open(tmp_path) as writer:
        assert writer.log(bare).append([(None, b"value")]) == range(1)


def test_create_topic_that_exists_is_refused_and_untouched(log_dir):
    with LogDirWriter.open(log_dir) as writer, pytest.raises(TopicExistsError):
        writer.create_topic(Topic("orders", 9))
    assert LogDir(log_dir).topic("orders").partitions == 2


def test_second_writer_is_refused_while_the_first_is_there(log_dir):
    with LogDirWriter.open(log_dir):
        with pytest.raises(LogDirLockedError, match=f"process {os.getpid()} is writing"):
            LogDirWriter.open(log_dir)
        assert LogDir(log_dir).reader(ORDERS_0).read(0, 1)
    LogDirWriter.open(log_dir).close()


def test_close_leaves_the_clean_shutdown_marker(log_dir):
    assert (log_dir / CLEAN_SHUTDOWN_FILE).exists()
    writer = LogDirWriter.open(log_dir)
    assert (log_dir / CLEAN_SHUTDOWN_FILE).exists()
    writer.log(ORDERS_0)
    assert not (log_dir / CLEAN_SHUTDOWN_FILE).exists()
    writer.close()
    assert (log_dir / CLEAN_SHUTDOWN_FILE).exists()


def test_flush_and_close_put_recovery_points_on_record(log_dir):
    assert read_checkpoint(log_dir) == {ORDERS_0: 5, ORDERS_1: 0}
    with LogDirWriter.open(log_dir) as writer:
        writer.log(ORDERS_0).append([(None, b"v")])
        assert read_checkpoint(log_dir) == {ORDERS_0: 5, ORDERS_1: 0}
        writer.flush()
        assert read_checkpoint(log_dir) == {ORDERS_0: 6, ORDERS_1: 0}


def test_open_after_a_crash_recovers_every_partition(log_dir):
    crash(log_dir)
    (log_dir / CHECKPOINT_FILE).unlink()
    last = sorted((log_dir / "orders-0").glob("*.log"))[-1]
    with open(last, "ab") as file:
        file.write(b"torn")
    with LogDirWriter.open(log_dir) as writer:
        assert len(writer.warnings) == 1
        assert "torn-tail" in writer.warnings[0]
        assert writer.log(ORDERS_0).append([(None, b"v")]) == range(5, 6)
    assert (log_dir / CLEAN_SHUTDOWN_FILE).exists()


def test_open_after_a_crash_keeps_damaged_partitions_closed_and_the_others_open(log_dir):
    crash(log_dir)
    (log_dir / CHECKPOINT_FILE).unlink()
    first = sorted((log_dir / "orders-0").glob("*.log"))[0]
    data = bytearray(first.read_bytes())
    data[20] ^= 1
    first.write_bytes(data)
    for _ in range(2):  # the damage is found again: no marker was left
        with LogDirWriter.open(log_dir) as writer:
            with pytest.raises(CorruptLogError, match=str(first)):
                writer.log(ORDERS_0)
            writer.log(TopicPartition("orders", 1)).append([(None, b"v")])
    assert bytes(data) == first.read_bytes()
    assert not (log_dir / CLEAN_SHUTDOWN_FILE).exists()


def test_open_after_a_clean_shutdown_trusts_what_is_below_the_recovery_point(log_dir):
    """Verification finds damage there. Without a recovery point all segments are looked at."""
    first = sorted((log_dir / "orders-0").glob("*.log"))[0]
    os.truncate(first, first.stat().st_size - 1)
    with LogDirWriter.open(log_dir) as writer:
        assert writer.log(ORDERS_0).log_end_offset == 5
    (log_dir / CHECKPOINT_FILE).unlink()
    with LogDirWriter.open(log_dir) as writer, pytest.raises(CorruptLogError):
        writer.log(ORDERS_0)
    assert not (log_dir / CLEAN_SHUTDOWN_FILE).exists()


def test_open_with_a_partition_directory_gone_is_refused_for_that_partition(log_dir):
    shutil.rmtree(log_dir / "orders-0")
    with LogDirWriter.open(log_dir) as writer:
        with pytest.raises(CorruptLogError, match="the directory is gone"):
            writer.log(ORDERS_0)
        assert writer.log(TopicPartition("orders", 1)).log_end_offset == 0


def test_recover_by_hand_leaves_a_clean_log_dir_clean(log_dir):
    index = sorted((log_dir / "orders-0").glob("*.index"))[0]
    index.write_bytes(b"rubbish!")
    with LogDirWriter.open(log_dir, recover=False) as writer:
        plan = writer.recovery_plan(ORDERS_0)
        assert [segment.index.path for segment, _ in plan.rebuilt_indexes] == [index]
        writer.recover(plan)
    assert index.read_bytes() == b""
    assert (log_dir / CLEAN_SHUTDOWN_FILE).exists()


def test_open_without_recovery_leaves_a_crashed_log_dir_unclean(log_dir):
    crash(log_dir)
    LogDirWriter.open(log_dir, recover=False).close()
    assert not (log_dir / CLEAN_SHUTDOWN_FILE).exists()


def test_alter_topic_adds_partitions_and_changes_settings(log_dir):
    with LogDirWriter.open(log_dir) as writer:
        writer.log(ORDERS_0)
        writer.alter_topic("orders", partitions=3, settings=TopicSettings(segment_bytes=500))
        assert writer.log(ORDERS_0).settings.segment_bytes == 500
        assert writer.log(TopicPartition("orders", 2)).log_end_offset == 0
        with pytest.raises(ValueError, match="none can be taken away"):
            writer.alter_topic("orders", partitions=2)
    assert LogDir(log_dir).topic("orders").partitions == 3
    assert LogDir(log_dir).reader(ORDERS_0).log_end_offset == 5


def test_delete_topic_first_marks_it_so_that_readers_know(log_dir):
    """The mark counts as a change: readers that poll the counter look at the settings again."""
    seen: list[str] = []
    before = change_count(log_dir)

    def look(step: str) -> None:
        with pytest.raises(TopicBeingDeletedError) as caught:
            LogDir(log_dir).topic_id("orders")
        seen.append(str(caught.value))
        assert not LogDir(log_dir).topics()
        assert not LogDir(log_dir).orphans()
        assert change_count(log_dir) > before

    with LogDirWriter.open(log_dir) as writer:
        writer.alter_topic("orders", partitions=60)
        with pytest.raises(ZeroDivisionError):
            writer.delete_topic("orders", progress=lambda step: (look(step), 1 / 0))
        for use in (writer.topic, lambda _: writer.log(ORDERS_0), writer.alter_topic):
            with pytest.raises(TopicBeingDeletedError):
                use("orders")
        with pytest.raises(TopicBeingDeletedError):
            writer.create_topic(Topic("orders"))
        writer.delete_topic("orders")
    assert seen == [
        "Topic orders is being deleted; after a crash, "
        "`kminilog topic delete orders --yes` deletes the rest"
    ]


def test_delete_topic_leaves_nothing_of_it(log_dir):
    with LogDirWriter.open(log_dir) as writer:
        writer.log(ORDERS_0)
        writer.create_topic(Topic("other"))
        writer.delete_topic("orders")
        with pytest.raises(UnknownTopicOrPartitionError):
            writer.log(ORDERS_0)
    assert [topic.name for topic in LogDir(log_dir).topics()] == ["other"]
    assert not list(log_dir.glob("orders*"))
    assert "orders" not in (log_dir / CHECKPOINT_FILE).read_text()


def test_partition_without_its_empty_segment_is_sound(tmp_path):
    """A power failure after `create_topic` may leave any of the two names away."""
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 4, KAFKA))
    names = [f"{0:020}.index", f"{0:020}.log"]
    assert all(sorted(os.listdir(tmp_path / f"orders-{n}")) == names for n in range(4))
    for number, gone in ((1, names), (2, names[:1]), (3, names[1:])):
        for name in gone:
            (tmp_path / f"orders-{number}" / name).unlink()
    reader = LogDir(tmp_path).reader(TopicPartition("orders", 1))
    assert (reader.log_start_offset, reader.log_end_offset, reader.read(0, 1)) == (0, 0, [])
    crash(tmp_path)
    with LogDirWriter.open(tmp_path) as writer:
        for topic_partition in writer.topic("orders").all_partitions():
            assert writer.log(topic_partition).append([(None, b"v")]) == range(1)
    assert all(sorted(os.listdir(tmp_path / f"orders-{n}")) == names for n in range(4))


def test_open_after_a_crash_syncs_only_what_may_not_be_on_the_disk(log_dir, monkeypatch):
    """Partitions that are on the disk up to their end cost no fsync, be they many or few."""
    counts = []
    for partitions in (2, 6):
        with LogDirWriter.open(log_dir) as writer:
            writer.alter_topic("orders", partitions=partitions)
            for topic_partition in writer.topic("orders").all_partitions():
                writer.log(topic_partition).append([(None, b"v")])
        crash(log_dir)
        synced: list[int] = []
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", synced.append)
            LogDirWriter.open(log_dir).close(cleanly=False)
        counts.append(len(synced))
    assert counts[0] == counts[1]


def test_next_recovery_beside_a_writer_takes_what_is_half_there_for_no_damage(log_dir):
    crash(log_dir)
    log = max((log_dir / "orders-0").glob("*.log"))
    coming = b"".join(encode(KAFKA, n, None, b"v") for n in (5, 6))
    log.write_bytes(log.read_bytes() + coming[:7])
    rest = [coming[7:]]

    def scan(segment: Segment) -> SegmentScan:
        found = PLAIN.scan_segment(segment)
        if found.reason:
            append_to(log, rest.pop())
        return found

    (log_dir / CHECKPOINT_FILE).unlink()
    reader = LogDir(log_dir).reader(ORDERS_0)
    plan = next_recovery(LogDir(log_dir), reader, PLAIN._replace(scan_segment=scan))
    assert (plan.damage, plan.cut, plan.log_end_offset, rest) == (None, None, 7, [])


@pytest.mark.parametrize("is_after_crash", [False, True])
def test_log_that_ends_with_the_greatest_offset_is_refused_and_the_others_are_not(
    log_dir, is_after_crash
):
    """A recovery point after it would be one that no reader takes, and cost all the others."""
    points = read_checkpoint(log_dir)
    for path in (log_dir / "orders-1").iterdir():
        path.unlink()
    log = log_dir / "orders-1" / f"{2**63 - 2:020d}.log"
    log.write_bytes(b"".join(encode(KAFKA, 2**63 - 2 + n, None, b"v") for n in range(2)))
    if is_after_crash:
        crash(log_dir)
    with LogDirWriter.open(log_dir) as writer:
        for _ in range(2):
            with pytest.raises(CorruptLogError, match=r"offset 9223372036854775807, after which"):
                writer.log(ORDERS_1)
        with pytest.raises(CorruptLogError, match=r"offset 9223372036854775807, after which"):
            log_end_offsets(writer, writer.topic("orders"), [1])
        writer.log(ORDERS_0).append([(None, b"v")])
    assert read_checkpoint(log_dir) == {**points, ORDERS_0: 6}
    assert not (log_dir / f"{CHECKPOINT_FILE}.broken").exists()


def test_forced_cut_before_the_greatest_offset_leaves_a_record_that_can_be_read(log_dir):
    for path in (log_dir / "orders-1").iterdir():
        path.unlink()
    first, last = (encode(KAFKA, 2**63 - n, None, b"v") for n in (3, 1))
    log = log_dir / "orders-1" / f"{2**63 - 3:020d}.log"
    log.write_bytes(first + b"damage" + last)
    with LogDirWriter.open(log_dir, recover=False) as writer:
        writer.recover(writer.recovery_plan(ORDERS_1), force=True)
    (cut,) = read_cuts(log_dir)
    assert (cut.first_offset, cut.next_offset, cut.is_done) == (2**63 - 2, 2**63 - 1, True)
    with LogDirWriter.open(log_dir) as writer:
        assert writer.log(ORDERS_1).append([(None, b"v")]) == range(2**63 - 2, 2**63 - 1)


def test_create_topic_with_a_base_offset_starts_the_log_there(tmp_path):
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 1, DOCUMENTED), base_offset=368_769)
        assert writer.log(ORDERS_0).append([(None, b"v")]) == range(368_770, 368_771)


def test_open_log_after_a_clean_shutdown_leaves_deleted_files_to_retention(log_dir):
    deleted = log_dir / "orders-0" / "00000000000000000000.log.deleted"
    deleted.write_bytes(b"waiting")
    with LogDirWriter.open(log_dir) as writer:
        writer.log(ORDERS_0)
    assert deleted.exists()
    crash(log_dir)
    LogDirWriter.open(log_dir).close()
    assert not deleted.exists()


def test_recover_by_hand_below_the_recovery_point_warns_once(log_dir):
    last = sorted((log_dir / "orders-0").glob("*.log"))[-1]
    os.truncate(last, last.stat().st_size - 1)
    with LogDirWriter.open(log_dir, recover=False) as writer:
        plan = writer.recovery_plan(ORDERS_0)
        assert len(plan.warnings) == 1
        writer.recover(plan)
    with LogDirWriter.open(log_dir) as writer:
        writer.log(ORDERS_0)
        assert writer.warnings == []


def test_close_not_cleanly_is_like_a_crash(log_dir):
    writer = LogDirWriter.open(log_dir)
    log = writer.log(ORDERS_0)
    log.append([(b"k", b"one more")])
    writer.close(cleanly=False)
    assert not (log_dir / CLEAN_SHUTDOWN_FILE).exists()
    assert read_checkpoint(log_dir) == {ORDERS_0: 5, ORDERS_1: 0}
    with pytest.raises(LogClosedError):
        log.append([(b"k", b"too late")])
    with LogDirWriter.open(log_dir) as successor:
        assert successor.log(ORDERS_0).log_end_offset == 6


def test_writer_that_is_closed_opens_no_log_and_changes_no_topic(tmp_path):
    writer = LogDirWriter.open(tmp_path)
    writer.create_topic(Topic("orders", 1, KAFKA, TopicSettings()))
    writer.close()
    before = files_of(tmp_path)
    for change in (
        lambda: writer.log(TopicPartition("orders", 0)),
        lambda: writer.create_topic(Topic("views", 1, KAFKA, TopicSettings())),
        lambda: writer.alter_topic("orders", partitions=2),
        lambda: writer.delete_topic("orders"),
    ):
        with pytest.raises(LogClosedError, match="it is closed"):
            change()
    assert files_of(tmp_path) == before
    writer.close()  # a second time


def test_open_does_not_make_a_directory_of_an_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LogDirError, match="no path of a POSIX file system"):
        LogDirWriter.open("s3a://bucket/log", create=True)
    assert not list(tmp_path.iterdir())
    (tmp_path / "s3a:" / "bucket").mkdir(parents=True)
    LogDirWriter.open("s3a:/bucket", create=True).close()
