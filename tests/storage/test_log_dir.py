import errno
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kminilog.errors import (
    CorruptLogError,
    InvalidTopicError,
    LogClosedError,
    LogDirError,
    LogDirLockedError,
    TopicBeingDeletedError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.changes import change_count
from kminilog.storage.checkpoint import (
    CHECKPOINT_FILE,
    parse_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from kminilog.storage.log_dir import LogDir
from kminilog.storage.log_dir_writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.partition_directories import MAX_AT_ONCE, delete_directories
from kminilog.storage.topics import Topic, new_topic_id, read_topic
from kminilog.verification.report import verify_storage
from tests.support.damage import files_of

ORDERS_0 = TopicPartition("orders", 0)
ORDERS_1 = TopicPartition("orders", 1)


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """A log dir with a topic of two partitions, five messages in the first, closed cleanly."""
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 2, KAFKA, TopicSettings(segment_bytes=100)))
        writer.log(ORDERS_0).append((b"k", b"value %d" % n) for n in range(5))
    return tmp_path


def crash(log_dir: Path) -> None:
    (log_dir / CLEAN_SHUTDOWN_FILE).unlink()


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


def test_create_topic_is_read_back_with_its_settings(log_dir):
    assert LogDir(log_dir).topic("orders") == Topic(
        "orders", 2, KAFKA, TopicSettings(segment_bytes=100)
    )
    assert json.loads((log_dir / "orders.json").read_text()) == {
        "topic": "orders",
        "partitions": 2,
        "dialect": "kafka",
        "config": {"segment.bytes": 100},
    }


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


@pytest.mark.parametrize("partitions", [0, -1, 100_001])
def test_topic_with_a_number_of_partitions_out_of_bounds_is_refused(partitions):
    with pytest.raises(ValueError, match=str(partitions)):
        Topic("orders", partitions)


def test_topic_with_an_illegal_name_is_refused():
    with pytest.raises(InvalidTopicError):
        Topic("a/b")


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


def test_create_topic_over_empty_leftovers_of_a_crash_takes_them(tmp_path):
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 2))
        os.remove(tmp_path / "orders.json")
        writer.create_topic(Topic("orders", 3, KAFKA))
        assert writer.log(TopicPartition("orders", 2)).append([(None, b"v")]) == range(1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"topic": "x", "partitions": 1, "dialect": "kafka", "config": {}}',
        '{"topic": "orders", "partitions": 2.5, "dialect": "kafka", "config": {}}',
        '{"topic": "orders", "partitions": true, "dialect": "kafka", "config": {}}',
        '{"topic": "orders", "partitions": 2, "dialect": ["kafka"], "config": {}}',
        '{"topic": "orders", "partitions": 2, "dialect": "old", "config": {}}',
        '{"topic": "orders", "partitions": 2, "dialect": "kafka", "config": []}',
        '{"topic": "orders", "partitions": 2, "dialect": "kafka", "config": null}',
        '{"topic": "orders", "partitions": 2, "partitions": 3, "dialect": "kafka", "config": {}}',
        '{"topic": "orders", "topic_id": 5, "partitions": 2, "dialect": "kafka", "config": {}}',
        '{"topic": "orders", "topic_id": "..", "partitions": 2, "dialect": "kafka", "config": {}}',
        '{"topic": "orders", "partitions": 2, "dialect": "kafka", "config": {}, '
        '"marked_for_deletion": 1}',
        pytest.param("[" * 100_000, id="too deep"),
    ],
)
def test_settings_file_that_is_broken_is_named(log_dir, text):
    (log_dir / "orders.json").write_text(text)
    with pytest.raises(LogDirError, match=r"orders\.json holds no topic settings"):
        LogDir(log_dir).topic("orders")


def test_partition_out_of_range_is_refused_with_the_range(log_dir):
    with pytest.raises(UnknownTopicOrPartitionError, match=r"inclusive range of \[0, 1\]"):
        LogDir(log_dir).reader(TopicPartition("orders", 2))


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


@pytest.mark.parametrize(
    "text", ["", "1\n0\n", "0\n2\norders 0 5\n", "0\nx\n", "0\n1\norders 0\n", "0\n1\norders 0 x\n"]
)
def test_checkpoint_that_is_not_sound_is_no_checkpoint(log_dir, text):
    (log_dir / CHECKPOINT_FILE).write_text(text)
    assert read_checkpoint(log_dir) == {}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "its first line is not 0, the version"),
        (b"zzz", "its first line is not 0, the version"),
        (b"\xff\xfe", "its first line is not 0, the version"),
        (b"0\n", "its second line is not the number of lines that follow"),
        (b"0\nx\n", "its second line is not the number of lines that follow"),
        (b"0\n2\norders 0 5\n", "its second line is not the number of lines that follow"),
        (b"0\n1\norders 0\n", "'orders 0' is no topic, partition and offset"),
        (b"0\n1\norders 0 \xff\n", r"'orders 0 \\xff' is no topic, partition and offset"),
        (b"0\n1\norders 00 5\n", "'orders 00 5' is no topic, partition and offset"),
        (b"0\n1\norders 0 -5\n", "'orders 0 -5' is no topic, partition and offset"),
        (b"0\n1\norders 0 %d\n" % 2**63, "9223372036854775808 is outside of 0 to"),
    ],
)
def test_checkpoint_that_is_broken_is_kept_and_named(log_dir, data, reason):
    """For nothing else tells that a log has lost its end."""
    (log_dir / CHECKPOINT_FILE).write_bytes(data)
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}"):
        parse_checkpoint(data)
    with LogDirWriter.open(log_dir) as writer:
        (told,) = writer.warnings
        writer.log(ORDERS_0).append([(None, b"v")])
    assert f"{CHECKPOINT_FILE} holds no recovery points ({reason}" in told
    assert f"lost at their ends until now; it is kept as {CHECKPOINT_FILE}.broken, and a" in told
    assert (log_dir / f"{CHECKPOINT_FILE}.broken").read_bytes() == data
    assert read_checkpoint(log_dir) == {ORDERS_0: 6}
    with LogDirWriter.open(log_dir) as writer:
        assert writer.warnings == []


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


def test_topic_keeps_its_id_and_each_new_one_counts_as_a_change_for_readers(tmp_path):
    topic_id = new_topic_id(Random(1))
    with LogDirWriter.open(tmp_path) as writer:
        before = change_count(tmp_path)
        writer.create_topic(Topic("orders", topic_id=topic_id))
        assert change_count(tmp_path) == before + 1
        writer.alter_topic("orders", partitions=2, settings=TopicSettings(segment_bytes=100))
    assert LogDir(tmp_path).topic_id("orders") == topic_id
    assert json.loads((tmp_path / "orders.json").read_text())["topic_id"] == topic_id


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


def test_partition_whose_directory_is_gone_names_the_way_out(log_dir):
    shutil.rmtree(log_dir / "orders-0")
    with pytest.raises(LogDirError, match="or let `kminilog topic delete` delete the rest"):
        LogDir(log_dir).reader(ORDERS_0).read(0, 1)
    with (
        LogDirWriter.open(log_dir) as writer,
        pytest.raises(CorruptLogError, match="or `kminilog topic delete orders --yes`"),
    ):
        writer.log(ORDERS_0)


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


def test_create_topic_is_on_the_disk_before_its_settings_are_with_few_fsyncs(tmp_path, monkeypatch):
    """What a power failure leaves: names that were there at the last fsync of their directory."""
    calls = []

    def recording(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*arguments: Any, **options: Any) -> Any:
            is_descriptor = isinstance(arguments[0], int)
            path = os.readlink(f"/dev/fd/{arguments[0]}") if is_descriptor else str(arguments[-1])
            calls.append((name, Path(path).name))
            return real(*arguments, **options)

        return call

    with LogDirWriter.open(tmp_path) as writer, monkeypatch.context() as patched:
        for name in ("mkdir", "fsync", "replace"):
            patched.setattr(os, name, recording(name))
        writer.create_topic(Topic("orders", 100))
    assert calls == [
        *(("mkdir", f"orders-{number}") for number in range(100)),
        ("fsync", tmp_path.name),
        ("fsync", "log-start-offset-checkpoint.tmp"),
        ("replace", "log-start-offset-checkpoint"),
        ("fsync", tmp_path.name),
        ("fsync", "orders.json.tmp"),
        ("replace", "orders.json"),
        ("fsync", tmp_path.name),
    ]


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


def test_checkpoints_under_two_names_do_not_touch_each_other(log_dir):
    write_checkpoint(log_dir, {ORDERS_0: 3}, "another-checkpoint")
    assert read_checkpoint(log_dir, "another-checkpoint") == {ORDERS_0: 3}
    assert read_checkpoint(log_dir) == {ORDERS_0: 5, ORDERS_1: 0}


def test_lock_that_cannot_be_written_is_named_and_not_held(tmp_path, monkeypatch):
    def refuse(descriptor: int, size_bytes: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", refuse)
        with pytest.raises(OSError, match=r"'.*/\.lock'"):
            LogDirWriter.open(tmp_path)
    LogDirWriter.open(tmp_path).close()


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
