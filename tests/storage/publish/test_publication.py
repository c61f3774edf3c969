"""Publication of staged files, above all the promise: after a crash all of a job, or nothing."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kminilog.cli.shared.topic_files import describe_topic
from kminilog.columns.staged_logs import seal
from kminilog.errors import LogDirError, OffsetOutOfRangeError, PublicationError
from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import (
    MANIFEST_DIR,
    Manifest,
    committed_manifests,
    is_under_way,
    quarantine_path,
)
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.publish.publication import (
    finish_or_sweep,
    open_staged_log,
    publish,
    staging_path,
)
from kminilog.storage.publish.visibility import STAGING_DIR
from kminilog.storage.topics import Topic
from kminilog.verification.report import verify_storage
from tests.support.invariants import check_log
from tests.support.trees import tree_of

JOB = "job-1"
SETTINGS = TopicSettings(segment_bytes=150)
# Partition 0 cannot get a second segment in the documented dialect, partition 2 has no message.
BEFORE = {0: 1, 1: 5, 2: 0}
ADDED = {0: 7, 1: 4, 2: 6}


class Crash(BaseException):
    """The process ends here: nothing in the code under test may catch it."""


def messages(partition: int, start: int, stop: int) -> list[tuple[bytes, bytes]]:
    return [(b"k%d" % partition, b"value %d" % number) for number in range(start, stop)]


def expected(partition: int, *, is_published: bool) -> list[bytes | None]:
    count = BEFORE[partition] + (ADDED[partition] if is_published else 0)
    return [value for _, value in messages(partition, 0, count)]


def open_readers(log_dir: Path) -> list[PartitionReader]:
    return [LogDir(log_dir).reader(TopicPartition("orders", partition)) for partition in BEFORE]


def values_in(log_dir: Path, partition: int) -> list[bytes | None]:
    return values_of(LogDir(log_dir).reader(TopicPartition("orders", partition)))


def values_of(reader: PartitionReader) -> list[bytes | None]:
    found: list[bytes | None] = []
    while batch := reader.read(reader.log_start_offset + len(found), 1 << 20):
        found += [message.value for message in batch]
    return found


def stage(log_dir: Path, dialect: Dialect) -> Manifest:
    """Stage what a job would: two attempts, of which one does not count, in its own directories."""
    staging = staging_path(log_dir, JOB)
    staged = []
    for partition, count in ADDED.items():
        for attempt in (f"lost-{partition}", f"won-{partition}"):
            (staging / attempt).mkdir(parents=True)
            log = open_staged_log(
                staging / attempt,
                Topic("orders", 9, dialect, SETTINGS),
                partition,
                target=log_dir / f"orders-{partition}",
                first_offset=BEFORE[partition],
            )
            before = BEFORE[partition]
            log.append(messages(partition, before, before + count))
            result = seal(log, staging, before)
        staged.append(result)
    return Manifest(JOB, "orders", staged, {"partitioner": "default-2.4"})


@pytest.fixture
def log_dir(tmp_path: Path, dialect: Dialect) -> Path:
    path = tmp_path / "log"
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders", len(BEFORE), dialect, SETTINGS))
        for partition, count in BEFORE.items():
            writer.log(TopicPartition("orders", partition)).append(messages(partition, 0, count))
    return path


def check_sound_and_writable(log_dir: Path, *, is_published: bool) -> None:
    for partition in BEFORE:
        assert values_in(log_dir, partition) == expected(partition, is_published=is_published)
    with LogDirWriter.open(log_dir) as writer:
        for topic_partition in writer.topic("orders").all_partitions():
            log = writer.log(topic_partition)
            check_log(log)
            end = len(expected(topic_partition.partition, is_published=is_published))
            assert log.append([(None, b"after")]) == range(end, end + 1)
            check_log(log)
    assert not (log_dir / STAGING_DIR).exists()
    names = [path.name for path in (log_dir / MANIFEST_DIR).glob("*")]
    assert names == ([f"{JOB}.json"] if is_published else [])


def test_publish_puts_all_of_a_job_behind_what_was_there(log_dir, dialect):
    manifest = stage(log_dir, dialect)
    publish(log_dir, manifest)
    assert committed_manifests(log_dir) == [manifest]
    assert is_under_way(log_dir, JOB)
    check_sound_and_writable(log_dir, is_published=True)


def test_staged_job_without_a_manifest_is_swept(log_dir, dialect):
    stage(log_dir, dialect)
    assert not is_under_way(log_dir, JOB)
    LogDirWriter.open(log_dir).close()
    check_sound_and_writable(log_dir, is_published=False)


class CrashAt:
    """Stands in front of calls to the operating system, and crashes instead of the n-th of them."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.calls: list[str] = []

    def wrap(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        real: Callable[..., Any] = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            if len(self.calls) == self.step:
                raise Crash
            self.calls.append(name)
            return real(*arguments, **options)

        monkeypatch.setattr(owner, name, call)


def publish_until(step: int, log_dir: Path, manifest: Manifest) -> list[str]:
    """Publish, but crash instead of the call to the operating system with this number.

    Return the names of the calls before it.
    """
    crash = CrashAt(step)
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in ("mkdir", "replace", "fsync", "rename", "unlink", "rmdir"):
            crash.wrap(monkeypatch, os, name)
        crash.wrap(monkeypatch, Path, "write_bytes")
        with contextlib.suppress(Crash):
            publish(log_dir, manifest)
    return crash.calls


def steps_until_commit(log_dir: Path, manifest: Manifest) -> int:
    """Return how many calls to the operating system come before the commit point, in a copy."""
    copy = log_dir.with_name("counted")
    shutil.copytree(log_dir, copy)
    calls = []
    with pytest.MonkeyPatch.context() as monkeypatch:
        real = os.replace

        def replace(source: Any, target: Any) -> None:
            if str(target).endswith(".pending"):
                raise Crash
            real(source, target)

        monkeypatch.setattr(os, "replace", replace)
        calls = publish_until(10**6, copy, manifest)
    return len(calls)


def check_readers_see(
    log_dir: Path, *, is_published: bool, older: list[PartitionReader] | None = None
) -> None:
    """Readers of all kinds see all of the job or nothing: new ones, and those that looked before;
    and verification finds a valid log."""
    for partition in BEFORE:
        wanted = expected(partition, is_published=is_published)
        readers = [LogDir(log_dir).reader(TopicPartition("orders", partition))]
        readers += older[partition : partition + 1] if older else []
        for reader in readers:
            assert values_of(reader) == wanted
            assert reader.log_end_offset == len(wanted)
            with pytest.raises(OffsetOutOfRangeError):
                reader.find(len(wanted))
            for offset, value in enumerate(wanted):
                located = reader.find(offset)
                assert next(located.segment.scan(located.position))[1].value == value
    report = verify_storage(LogDir(log_dir), allow=["wrong-partition"])  # keys are made up
    assert report.verdict == "ok"
    wanted_count = sum(len(expected(p, is_published=is_published)) for p in BEFORE)
    assert sum(partition["message_count"] for partition in report.partitions) == wanted_count
    described = describe_topic(LogDir(log_dir), LogDir(log_dir).topic("orders"))
    ends = {p["partition"]: p["log_end_offset"] for p in described["partitions"]}
    assert ends == {p: len(expected(p, is_published=is_published)) for p in BEFORE}


@pytest.mark.usefixtures("without_fsync")
def test_publish_that_crashes_at_any_step_is_all_or_nothing(tmp_path, log_dir, dialect):
    manifest = stage(log_dir, dialect)
    seen, visible = [], []
    for step in range(200):
        copy = tmp_path / f"crashed-{step}"
        shutil.copytree(log_dir, copy)
        older = [reader for reader in open_readers(copy) if values_of(reader) is not None]
        calls = publish_until(step, copy, manifest)
        is_visible = bool(committed_manifests(copy))
        check_readers_see(copy, is_published=is_visible, older=older)
        LogDirWriter.open(copy).close()
        is_published = bool(committed_manifests(copy))
        check_readers_see(copy, is_published=is_published, older=older)
        assert is_visible <= is_published
        visible.append(is_visible)
        seen.append(is_published)
        check_sound_and_writable(copy, is_published=is_published)
        if len(calls) < step:
            break
    else:
        pytest.fail("publish makes more calls than this test expected")
    commit = seen.index(True)
    assert seen == [False] * commit + [True] * (len(seen) - commit), "one commit point"
    assert visible.index(True) - commit > 2 * len(BEFORE), "readers see nothing for many steps"
    # Nothing in partition directories before it: two renames for each of many files after it.
    assert commit > 3
    assert len(seen) - commit > 2 * len(BEFORE)


@pytest.mark.parametrize("second_step", range(0, 12, 3))
def test_finish_that_crashes_too_is_finished_by_the_next(log_dir, dialect, second_step):
    manifest = stage(log_dir, dialect)
    publish_until(steps_until_commit(log_dir, manifest) + 2, log_dir, manifest)
    pending = list((log_dir / MANIFEST_DIR).glob("*.pending"))
    assert pending, "the first crash was meant to come after the commit point"
    with pytest.MonkeyPatch.context() as monkeypatch:
        CrashAt(second_step).wrap(monkeypatch, os, "replace")
        try:
            assert finish_or_sweep(log_dir) == [JOB]
        except Crash:
            assert list((log_dir / MANIFEST_DIR).glob("*.pending")) == pending
    LogDirWriter.open(log_dir).close()
    check_sound_and_writable(log_dir, is_published=True)


def test_publish_syncs_every_directory_on_the_way_before_the_manifest_counts(
    log_dir, dialect, monkeypatch
):
    manifest = stage(log_dir, dialect)
    synced: set[Path] = set()
    synced_before_commit: set[Path] = set()
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        synced.add(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        real_fsync(descriptor)

    def replace(source: Any, target: Any) -> None:
        if str(target).endswith(".pending"):
            synced_before_commit.update(synced)
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    publish(log_dir, manifest)
    staging = staging_path(log_dir, JOB)
    on_the_way = {log_dir, log_dir / STAGING_DIR, staging}
    on_the_way |= {(staging / staged.directory).parent for staged in manifest.partitions}
    assert on_the_way <= synced_before_commit
    assert {log_dir / f"orders-{partition}" for partition in ADDED} <= synced


def test_publish_keeps_the_modification_times(log_dir, dialect):
    manifest = stage(log_dir, dialect)
    staging = staging_path(log_dir, JOB)
    for staged in manifest.partitions:
        for path in (staging / staged.directory).iterdir():
            os.utime(path, ns=(10**18, 10**18))
    publish(log_dir, manifest)
    times = [path.stat().st_mtime_ns for path in (log_dir / "orders-2").iterdir()]
    assert times
    assert set(times) == {10**18}


def test_publish_begins_a_new_segment_where_messages_are(log_dir, dialect):
    before = (log_dir / "orders-1" / "00000000000000000000.log").read_bytes()
    publish(log_dir, stage(log_dir, dialect))
    name = {"documented": "00000000000000000004", "kafka": "00000000000000000005"}[dialect.name]
    assert (log_dir / "orders-1" / f"{name}.log").stat().st_size > 0
    assert (log_dir / "orders-1" / "00000000000000000000.log").read_bytes() == before


def test_publish_behind_one_message_continues_segment_0_where_the_names_collide(log_dir, dialect):
    first = (log_dir / "orders-0" / "00000000000000000000.log").read_bytes()
    publish(log_dir, stage(log_dir, dialect))
    published = (log_dir / "orders-0" / "00000000000000000000.log").read_bytes()
    assert published.startswith(first)
    assert (published == first) == (dialect == KAFKA)
    assert (log_dir / "orders-0" / "00000000000000000001.log").exists() == (dialect == KAFKA)


def test_publish_into_an_empty_topic_makes_the_files_of_plain_appends(tmp_path, dialect):
    wanted = messages(0, 0, 20)
    with LogDirWriter.open(tmp_path / "appended", create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        writer.log(TopicPartition("orders", 0)).append(wanted)
    log_dir = tmp_path / "published"
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        staging = staging_path(log_dir, JOB)
        staging.mkdir(parents=True, exist_ok=True)
        log = open_staged_log(staging, Topic("orders", 9, dialect, SETTINGS), 0)
        for message in wanted:
            log.append([message])
        publish(log_dir, Manifest(JOB, "orders", [seal(log, staging, 0)], {}))
    files = {
        path: {file.name: file.read_bytes() for file in (tmp_path / path / "orders-0").iterdir()}
        for path in ("appended", "published")
    }
    assert len(files["appended"]) > 4
    assert files["published"] == files["appended"]


def test_publish_of_files_that_are_not_in_this_log_dir_is_refused(log_dir, dialect):
    manifest = stage(log_dir, dialect)
    shutil.rmtree(staging_path(log_dir, JOB) / "won-1")
    with pytest.raises(PublicationError, match="0 bytes of messages, not"):
        publish(log_dir, manifest)
    assert not is_under_way(log_dir, JOB)
    LogDirWriter.open(log_dir).close()
    check_sound_and_writable(log_dir, is_published=False)


def test_seal_tells_bytes_and_digest_of_the_log_files(log_dir, dialect):
    manifest = stage(log_dir, dialect)
    (staged,) = (staged for staged in manifest.partitions if staged.partition == 2)
    assert (staged.first_offset, staged.next_offset, staged.count) == (0, 6, 6)
    logs = sorted((staging_path(log_dir, JOB) / staged.directory).glob("*.log"))
    data = b"".join(path.read_bytes() for path in logs)
    assert len(logs) > 1
    assert staged.bytes == len(data)
    assert staged.digest == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("job_id", ["", ".hidden", "..", "a/b", "a b", "ü", "x" * 101, "a\n"])
def test_job_id_that_is_no_file_name_is_refused(tmp_path, job_id):
    with pytest.raises(PublicationError, match="illegal job id"):
        staging_path(tmp_path, job_id)


def test_committed_manifests_are_those_of_the_topic_and_go_with_it(log_dir, dialect):
    manifest = stage(log_dir, dialect)
    publish(log_dir, manifest)
    assert committed_manifests(log_dir, "orders") == [manifest]
    assert committed_manifests(log_dir, "others") == []
    with LogDirWriter.open(log_dir) as writer:
        writer.delete_topic("orders")
    assert committed_manifests(log_dir) == []


def test_create_topic_forgets_manifests_of_one_whose_files_were_deleted_by_hand(log_dir, dialect):
    publish(log_dir, stage(log_dir, dialect))
    (log_dir / MANIFEST_DIR / "broken.json").write_text("{")
    for path in log_dir.glob("orders*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with LogDirWriter.open(log_dir) as writer:
        writer.create_topic(Topic("orders", 2, dialect))
        (warning,) = writer.warnings
    assert "broken.json holds no manifest" in warning
    assert "it stays, because it may be of another topic than orders" in warning
    assert [path.name for path in (log_dir / MANIFEST_DIR).iterdir()] == ["broken.json"]


def test_delete_topic_finds_manifests_by_what_is_in_them_whatever_their_names(log_dir, dialect):
    publish(log_dir, stage(log_dir, dialect))
    manifests = log_dir / MANIFEST_DIR
    facts = json.loads((manifests / f"{JOB}.json").read_text())
    (manifests / f"{JOB}.json").rename(manifests / "renamed.json")
    (manifests / "other-id.json").write_text(json.dumps({**facts, "job_id": "no-such-file"}))
    (manifests / "others.json").write_text(json.dumps({**facts, "topic": "others"}))
    (manifests / "broken.json").write_text("{")
    for job_id in ("renamed", "other-id", "no-such-file", JOB, "others"):
        quarantine_path(log_dir, job_id).parent.mkdir(exist_ok=True)
        quarantine_path(log_dir, job_id).write_text("{}")
    with LogDirWriter.open(log_dir) as writer:
        writer.delete_topic("orders")
        (line,) = writer.warnings
    assert "broken.json holds no manifest" in line
    assert "it stays, because it may be of another topic than orders" in line
    assert not list(log_dir.glob("orders*"))
    assert {path.name for path in manifests.iterdir()} == {"broken.json", "others.json"}
    assert [path.name for path in quarantine_path(log_dir, "x").parent.iterdir()] == [
        "others.jsonl"
    ]


@pytest.mark.parametrize("job_id", ["../../precious", "/etc/precious", "a/b", ".."])
def test_delete_topic_with_a_path_as_job_id_touches_nothing_outside(log_dir, dialect, job_id):
    publish(log_dir, stage(log_dir, dialect))
    path = log_dir / MANIFEST_DIR / f"{JOB}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "job_id": job_id}))
    for name in ("precious.json", "precious.jsonl"):
        (log_dir.parent / name).write_text("mine")
    before = tree_of(log_dir.parent)
    with LogDirWriter.open(log_dir) as writer:
        writer.delete_topic("orders")
        assert "holds no manifest" in writer.warnings[0]
    for name in ("precious.json", "precious.jsonl"):
        assert tree_of(log_dir.parent)[name] == before[name]
    assert not list(log_dir.glob("orders*"))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"partitions": [{}]}', pytest.param("[" * 100_000, id="too deep")]
)
def test_manifest_that_is_broken_is_named(log_dir, text):
    (log_dir / MANIFEST_DIR).mkdir()
    (log_dir / MANIFEST_DIR / "bad.json").write_text(text)
    with pytest.raises(LogDirError, match=r"bad\.json holds no manifest"):
        committed_manifests(log_dir)


def test_manifest_is_readable_json_with_its_facts(log_dir, dialect):
    publish(log_dir, stage(log_dir, dialect))
    facts = json.loads((log_dir / MANIFEST_DIR / f"{JOB}.json").read_text())
    assert facts["topic"] == "orders"
    assert facts["facts"] == {"partitioner": "default-2.4"}
    assert [staged["next_offset"] for staged in facts["partitions"]] == [8, 9, 6]


def test_log_of_a_late_task_does_not_make_the_staging_of_an_ended_job_again(tmp_path, dialect):
    gone = staging_path(tmp_path, JOB) / "attempt"
    with pytest.raises(FileNotFoundError):
        open_staged_log(gone, Topic("t", 1, dialect), 0)
    assert list(tmp_path.iterdir()) == []
