"""What a reader sees of a partition when a job comes in the middle of a look.

tests/storage/publish/test_publication.py stops a job at every step.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kminilog.cli.shared.topic_files import describe_partition
from kminilog.columns.staged_logs import seal
from kminilog.errors import LogDirError
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.names import TopicPartition, segment_name
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import (
    MANIFEST_DIR,
    Manifest,
    committed_manifests,
    pending_path,
    read_manifest,
)
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.publish import visibility
from kminilog.storage.publish.publication import open_staged_log, publish, staging_path
from kminilog.storage.publish.visibility import VisibleFiles
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from tests.support.unreadable import CAUSES, without_privileges

ORDERS_0 = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=100)


def numbered(start: int, stop: int) -> list[tuple[None, bytes]]:
    return [(None, b"value %d" % number) for number in range(start, stop)]


def stage(log_dir: Path, dialect: Dialect, job_id: str, start: int, stop: int) -> Manifest:
    staging = staging_path(log_dir, job_id)
    staging.mkdir(parents=True, exist_ok=True)
    log = open_staged_log(
        staging,
        Topic("orders", 1, dialect, SETTINGS),
        0,
        target=log_dir / "orders-0",
        first_offset=start,
    )
    log.append(numbered(start, stop))
    return Manifest(job_id, "orders", [seal(log, staging, start)], {})


def offsets(reader: PartitionReader) -> list[int]:
    found: list[int] = []
    while batch := reader.read(reader.log_start_offset + len(found), 1 << 20):
        found += [message.offset for message in batch]
    return found


@pytest.fixture
def log_dir(tmp_path: Path, dialect: Dialect) -> Path:
    with LogDirWriter.open(tmp_path / "log", create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        writer.log(ORDERS_0).append(numbered(0, 6))
    return tmp_path / "log"


def in_the_middle_of_a_listing(
    monkeypatch: pytest.MonkeyPatch,
    event: Callable[[], object],
    names: Callable[[list[str]], list[str]],
) -> None:
    """The next listing of orders-0 takes so long that the event comes; it returns these names of
    those that are there then: listing a directory is not atomic."""
    real = os.listdir

    def listdir(path: Any) -> list[str]:
        if Path(path).name != "orders-0":
            return real(path)
        monkeypatch.setattr(os, "listdir", real)
        event()
        return names(real(path))

    monkeypatch.setattr(os, "listdir", listdir)


def test_job_that_comes_and_is_finished_during_a_listing_is_seen_whole(
    log_dir, dialect, monkeypatch
):
    """The files that come first are listed, the others are not, and no job is pending any more."""
    manifest = stage(log_dir, dialect, "job-1", 6, 30)
    reader = LogDir(log_dir).reader(ORDERS_0)
    in_the_middle_of_a_listing(
        monkeypatch, lambda: publish(log_dir, manifest), lambda names: sorted(names)[:-6]
    )
    firsts = [segment.first_offset for segment in reader.segments()]
    fresh = LogDir(log_dir).reader(ORDERS_0)
    assert firsts == [segment.first_offset for segment in fresh.segments()]
    assert offsets(reader) == list(range(30))


def crash_before_commit(log_dir: Path, manifest: Manifest) -> None:
    """Publish a job whose files are all in place, but whose manifest is not renamed."""
    real = os.replace

    def replace(source: Any, target: Any) -> None:
        if str(source) == str(pending_path(log_dir)):
            raise KeyboardInterrupt
        real(source, target)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            publish(log_dir, manifest)


def test_job_that_comes_during_a_listing_and_stays_pending_is_not_seen(
    log_dir, dialect, monkeypatch
):
    manifest = stage(log_dir, dialect, "job-1", 6, 30)
    reader = LogDir(log_dir).reader(ORDERS_0)
    in_the_middle_of_a_listing(
        monkeypatch, lambda: crash_before_commit(log_dir, manifest), lambda names: names
    )
    assert all(segment.first_offset < 6 for segment in reader.segments())
    assert reader.log_end_offset == 6
    assert offsets(reader) == list(range(6))


@pytest.mark.parametrize("before", [0, 1])
def test_job_that_comes_between_look_and_read_is_not_seen_in_a_file_that_it_replaced(
    tmp_path, dialect, before
):
    """An empty segment is replaced by the job's, and where the names collide one with a message."""
    log_dir = tmp_path / "log"
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        writer.log(ORDERS_0).append(numbered(0, before))
    manifest = stage(log_dir, dialect, "job-1", before, 30)
    readers = [LogDir(log_dir).reader(ORDERS_0) for _ in range(4)]
    assert {len(reader.segments()) for reader in readers} == {1}
    crash_before_commit(log_dir, manifest)
    assert readers[0].read(0, 1 << 20) == LogDir(log_dir).reader(ORDERS_0).read(0, 1 << 20)
    assert readers[1].log_end_offset == before
    assert not readers[2].read(before, 1 << 20)
    with pytest.raises(Exception, match="offset 1 is out of range"):
        readers[3].find(1)
    LogDirWriter.open(log_dir).close()
    for reader in readers:
        assert offsets(reader) == list(range(30))


@pytest.mark.parametrize(
    ("look", "seen"),
    [
        (lambda reader: len(reader.read(0, 1 << 20)), 1),
        (lambda reader: reader.log_end_offset, 1),
        (lambda reader: describe_partition(reader)["segments"][0]["message_count"], 1),
        (lambda reader: describe_partition(reader)["log_end_offset"], 1),
    ],
    ids=["read", "log_end_offset", "segments-described", "end-described"],
)
def test_job_that_comes_while_a_segment_is_read_is_not_seen(tmp_path, monkeypatch, look, seen):
    log_dir = tmp_path / "log"
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("orders", 1, DOCUMENTED, SETTINGS))
        writer.log(ORDERS_0).append(numbered(0, 1))
    manifest = stage(log_dir, DOCUMENTED, "job-1", 1, 30)
    reader = LogDir(log_dir).reader(ORDERS_0)
    assert reader.find(0)
    real = Segment.scan

    def scan(segment: Segment, *arguments: int) -> Any:
        monkeypatch.setattr(Segment, "scan", real)
        crash_before_commit(log_dir, manifest)
        return segment.scan(*arguments)

    monkeypatch.setattr(Segment, "scan", scan)
    assert look(reader) == seen
    assert pending_path(log_dir).exists()


def test_log_of_a_writer_that_met_an_error_finishes_the_job_first(log_dir, dialect):
    """A writer that goes on after an error in `publish` must not append below the job's offsets."""
    with LogDirWriter.open(log_dir) as writer:
        crash_before_commit(log_dir, stage(log_dir, dialect, "job-1", 6, 30))
        assert writer.log(ORDERS_0).append([(None, b"after")]) == range(30, 31)
    assert offsets(LogDir(log_dir).reader(ORDERS_0)) == list(range(31))


def test_publish_of_a_second_job_finishes_the_first(log_dir, dialect):
    with LogDirWriter.open(log_dir):
        crash_before_commit(log_dir, stage(log_dir, dialect, "job-1", 6, 30))
        publish(log_dir, stage(log_dir, dialect, "job-2", 30, 40))
    assert [manifest.job_id for manifest in committed_manifests(log_dir)] == ["job-1", "job-2"]
    assert offsets(LogDir(log_dir).reader(ORDERS_0)) == list(range(40))


def test_reader_never_takes_a_broken_pending_job_for_one_that_it_has_seen(log_dir):
    reader = LogDir(log_dir).reader(ORDERS_0)
    pending_path(log_dir).parent.mkdir(exist_ok=True)
    pending_path(log_dir).write_bytes(b"{")
    for _ in range(2):
        with pytest.raises(LogDirError, match=r"\.pending holds no manifest"):
            reader.segments()


def test_reader_believes_no_pending_job_that_begins_below_offset_0(log_dir, dialect):
    """It would hide the whole partition."""
    crash_before_commit(log_dir, stage(log_dir, dialect, "job-1", 6, 30))
    document = json.loads(pending_path(log_dir).read_bytes())
    document["partitions"][0]["first_offset"] = -1
    pending_path(log_dir).write_text(json.dumps(document))
    reader = LogDir(log_dir).reader(ORDERS_0)
    for _ in range(2):
        with pytest.raises(LogDirError, match=r"\.pending holds no manifest \(first offset -1 is"):
            reader.segments()


@pytest.mark.parametrize("cause", CAUSES)
def test_reader_that_cannot_tell_if_a_job_is_pending_says_so(dialect, cause, tmp_path):
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        writer.log(ORDERS_0).append(numbered(0, 6))
    reader = LogDir(tmp_path).reader(ORDERS_0)
    assert offsets(reader) == list(range(6))
    CAUSES[cause](tmp_path / MANIFEST_DIR)
    with without_privileges():
        for again in (reader, LogDir(tmp_path).reader(ORDERS_0)):
            with pytest.raises(OSError, match=r"\.manifests"):
                offsets(again)


def test_reader_of_another_partition_is_not_capped(log_dir, dialect):
    with LogDirWriter.open(log_dir) as writer:
        writer.create_topic(Topic("others", 1, dialect, SETTINGS))
        writer.log(TopicPartition("others", 0)).append(numbered(0, 50))
    crash_before_commit(log_dir, stage(log_dir, dialect, "job-1", 6, 30))
    assert len(offsets(LogDir(log_dir).reader(TopicPartition("others", 0)))) == 50


def test_readers_of_one_log_dir_read_the_pending_manifest_once(log_dir, dialect, monkeypatch):
    crash_before_commit(log_dir, stage(log_dir, dialect, "job-1", 6, 30))
    read: list[Path] = []
    monkeypatch.setattr(
        visibility, "read_manifest", lambda path: (read.append(path), read_manifest(path))[1]
    )
    for _ in range(3):
        assert offsets(LogDir(log_dir).reader(ORDERS_0)) == list(range(6))
    assert read == [pending_path(log_dir)]


def test_visible_files_without_a_pending_job_cost_one_call(log_dir, dialect, monkeypatch):
    visible = VisibleFiles(log_dir / "orders-0", ORDERS_0, dialect)
    visible.segments()
    calls: list[str] = []
    for name in ("stat", "lstat", "access", "listdir", "open"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *a, _n=name, _r=real, **o: (calls.append(_n), _r(*a, **o))[1]
        )
    assert not visible.has_changed()
    assert calls == ["lstat"]


def test_names_of_a_pending_job_are_hidden_and_replaced_ones_are_not(tmp_path, dialect):
    log_dir = tmp_path / "log"
    with LogDirWriter.open(log_dir, create=True) as writer:
        base_offset = dialect.base_offset_for(7)
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS), base_offset=base_offset)
    crash_before_commit(log_dir, stage(log_dir, dialect, "job-1", 7, 30))
    (log_dir / "orders-0" / "notes.txt").touch()
    name = segment_name(base_offset)
    assert LogDir(log_dir).reader(ORDERS_0).file_names() == [
        f"{name}.index",
        f"{name}.log",
        "notes.txt",
    ]


def test_log_at_offset_0_needs_no_copies_of_what_a_pending_job_replaces(tmp_path, dialect):
    log_dir = tmp_path / "log"
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
    crash_before_commit(log_dir, stage(log_dir, dialect, "job-1", 0, 30))
    reader = LogDir(log_dir).reader(ORDERS_0)
    assert reader.file_names() == []
    assert (reader.log_start_offset, reader.log_end_offset, reader.read(0, 100)) == (0, 0, [])
    LogDirWriter.open(log_dir).close()
    assert offsets(reader) == list(range(30))
