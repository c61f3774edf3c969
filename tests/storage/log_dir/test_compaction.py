"""Compaction: fewer segments and manifests, the same messages, at each moment and after each crash.

tests/crash/test_killed_compaction.py kills processes.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kminilog.clock import ManualClock
from kminilog.columns.segment_scan import FAST
from kminilog.columns.staged_logs import seal
from kminilog.errors import LogDirError
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir import compaction
from kminilog.storage.log_dir.compaction import compact, plan_compaction, runs_to_join
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import (
    MANIFEST_DIR,
    Manifest,
    committed_manifest,
    committed_manifests,
    is_committed,
    joined_paths,
    manifest_paths,
    pending_path,
)
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.publish.publication import open_staged_log, publish, staging_path
from kminilog.storage.segment.scan import PLAIN
from kminilog.storage.topics import Topic
from kminilog.verification.account.engine import LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.partition_checks import check_partition
from kminilog.verification.records import read_small_files
from kminilog.verification.report import verify_storage
from kminilog.verification.segment_checks import check_segment
from kminilog.verification.summaries import SegmentSummary
from tests.support.damage import flip_byte
from tests.support.invariants import check_log
from tests.support.trees import tree_of

SETTINGS = TopicSettings(segment_bytes=1500, index_interval_bytes=100)
JOBS = 7
PARTITIONS = 2


def run_job(writer: LogDirWriter, topic: Topic, job_id: str, count: int) -> None:
    """Append so many messages to each partition, as one job."""
    staging = staging_path(writer.path, job_id)
    staging.mkdir(parents=True)
    staged = []
    for place in topic.all_partitions():
        start = writer.log(place).log_end_offset
        writer.release(place)
        target = writer.directory(place)
        log = open_staged_log(staging, topic, place.partition, target=target, first_offset=start)
        log.append((b"k", b"%d" % number) for number in range(start, start + count))
        staged.append(seal(log, staging, start))
    facts = {"count": count * PARTITIONS, "partitions": PARTITIONS}
    publish(writer.path, Manifest(job_id, topic.name, staged, facts), writer.ends)


@pytest.fixture
def topic(dialect: Dialect) -> Topic:
    return Topic("orders", PARTITIONS, dialect, SETTINGS)


@pytest.fixture
def log_dir(tmp_path: Path, topic: Topic) -> Path:
    """A topic of two partitions, to which small jobs and a producer have written."""
    path = tmp_path / "log"
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(topic)
        for number in range(JOBS):
            run_job(writer, topic, f"job-{number}", 5 + number % 2)
        for place in topic.all_partitions():
            log = writer.log(place)
            end = log.log_end_offset
            log.append((b"p", b"%d" % number) for number in range(end, end + 3))
    return path


def values_of(reader: PartitionReader) -> list[bytes | None]:
    found: list[bytes | None] = []
    while batch := reader.read(reader.log_start_offset + len(found), 300):
        found += [message.value for message in batch]
    return found


def readers_of(log_dir: Path) -> list[PartitionReader]:
    return [LogDir(log_dir).reader(TopicPartition("orders", n)) for n in range(PARTITIONS)]


def content_of(log_dir: Path) -> list[list[bytes | None]]:
    return [values_of(reader) for reader in readers_of(log_dir)]


def compacted(log_dir: Path, **options: Any) -> compaction.Compaction:
    with LogDirWriter.open(log_dir) as writer:
        return compact(writer, writer.topic("orders"), "compact-1", **options)


def segment_counts(log_dir: Path) -> list[int]:
    return [len(reader.segments()) for reader in readers_of(log_dir)]


def files_in(log_dir: Path) -> dict[str, bytes]:
    """The files of partitions and jobs."""
    paths = (path for pattern in ("*-*/*", ".manifests/*") for path in log_dir.glob(pattern))
    return {str(path.relative_to(log_dir)): path.read_bytes() for path in paths}


def assert_is_whole(log_dir: Path, content: list[list[bytes | None]]) -> None:
    assert content_of(log_dir) == content
    report = verify_with(LocalEngine(), ManualClock(), LogDir(log_dir), [], full=True)
    assert (report.verdict, report.tally.findings()) == ("ok", [])
    told = [one for one in report.unchecked if one.what in ("jobs", "digests", "log-ends")]
    assert told == []


# ---- the rule


@pytest.mark.parametrize(
    ("sizes", "most_bytes", "runs"),
    [
        ([], 10, []),
        ([5], 10, []),
        ([5, 5], 10, [(0, 2)]),
        ([5, 5], 9, []),
        ([5, 4], 10, []),  # the result would not be twice as large as the 5
        ([5, 4, 1], 10, [(0, 3)]),
        ([1, 1, 9, 1, 1], 100, [(0, 2), (3, 5)]),
        ([1, 1, 9, 1, 1, 8], 100, [(0, 6)]),
        ([1, 0, 1], 10, []),
        ([4, 4, 4, 4, 4], 8, [(0, 2), (2, 4)]),
    ],
)
def test_runs_to_join_fit_and_are_twice_as_large_as_their_largest(sizes, most_bytes, runs):
    assert [(run.start, run.stop) for run in runs_to_join(sizes, most_bytes)] == runs


def test_message_is_copied_only_each_time_its_segment_doubles():
    """Segments of one message, joined after each tenth: as a stream does it."""
    sizes, copied = list[int](), 0
    for number in range(1, 1001):
        sizes.append(1)
        if number % 10 == 0:
            for run in reversed(runs_to_join(sizes, 10**6)):
                copied += sum(sizes[run.start : run.stop])
                sizes[run.start : run.stop] = [sum(sizes[run.start : run.stop])]
    assert len(sizes) < 20
    assert copied < 1000 * 10


# ---- segments


@pytest.mark.parametrize("scanner", [PLAIN, FAST], ids=["plain", "fast"])
def test_compact_keeps_messages_offsets_and_what_is_verified(log_dir, topic, scanner):
    content, before = content_of(log_dir), segment_counts(log_dir)
    planned = plan_compaction(LogDir(log_dir), topic)
    done = compacted(log_dir, scanner=scanner)
    assert [one.to_json() for one in done.joined] == [one.to_json() for one in planned.joined]
    assert (done.manifest_count, done.warnings) == (JOBS, [])
    assert planned.manifest_count == JOBS
    now = segment_counts(log_dir)
    gone = sum(len(one.segments) - 1 for one in done.joined)
    assert (sum(now), now < before) == (sum(before) - gone, True)
    assert_is_whole(log_dir, content)
    for reader in readers_of(log_dir):
        assert all(one.file_bytes <= SETTINGS.segment_bytes for one in reader.segments())
    with LogDirWriter.open(log_dir) as writer:
        for place, values in zip(topic.all_partitions(), content, strict=True):
            log = writer.log(place)
            check_log(log)
            assert log.append([(None, b"next")]) == range(len(values), len(values) + 1)
    assert not list((log_dir / ".staging").glob("*"))


def test_compact_again_changes_nothing(log_dir):
    compacted(log_dir)
    files = files_in(log_dir)
    done = compacted(log_dir)
    assert (done.joined, done.manifest_count, done.warnings) == ([], 0, [])
    assert files_in(log_dir) == files


def test_dry_run_changes_nothing(log_dir, topic):
    files = tree_of(log_dir)
    assert plan_compaction(LogDir(log_dir), topic).joined
    assert tree_of(log_dir) == files


def test_joined_segment_has_the_time_of_its_last_one(log_dir, topic):
    (first, *_) = plan_compaction(LogDir(log_dir), topic).joined
    for number, segment in enumerate(first.segments):
        os.utime(segment.log_path, (10**9 + number, 10**9 + number))
    compacted(log_dir)
    assert first.segments[0].log_path.stat().st_mtime == 10**9 + len(first.segments) - 1


def test_segment_that_is_damaged_stays_as_it_is(log_dir, topic):
    first = plan_compaction(LogDir(log_dir), topic).joined[0].segments[0].log_path
    flip_byte(first, 13, mask=1)
    damaged = first.read_bytes()
    found = verify_storage(LogDir(log_dir)).tally.findings()
    done = compacted(log_dir)
    (warning,) = done.warnings
    assert warning.startswith(f"{first}: left as it is: bad-crc")
    assert first.read_bytes() == damaged
    assert done.joined
    assert verify_storage(LogDir(log_dir)).tally.findings() == found


def test_compact_where_no_job_was_brings_the_name_of_its_manifest_to_the_disk(
    tmp_path, topic, monkeypatch
):
    synced, real = list[tuple[str, bool]](), os.fsync

    def fsync(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        synced.append((path.name, (path / MANIFEST_DIR).exists()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with LogDirWriter.open(tmp_path / "produced", create=True) as writer:
        writer.create_topic(replace(topic, settings=TopicSettings(segment_bytes=100)))
        writer.log(TopicPartition("orders", 0)).append((None, b"value") for _ in range(20))
        writer.alter_topic("orders", settings=SETTINGS)
        assert compact(writer, writer.topic("orders"), "compact-1").joined
    assert synced.index(("produced", True)) < synced.index((MANIFEST_DIR, False))


def test_compact_without_room_on_the_disk_changes_nothing(log_dir, monkeypatch):
    files = files_in(log_dir)
    usage = shutil.disk_usage(log_dir)._replace(free=100)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(LogDirError, match="bytes, but only 100 are free"):
        compacted(log_dir)
    assert files_in(log_dir) == files


# ---- crashes, and readers meanwhile


class Crash(BaseException):
    """The process ends here: nothing in the code under test may catch it."""


@contextmanager
def crash_at(step: int, before_each: Callable[[], object]) -> Iterator[None]:
    """Crash instead of the call to the operating system with this number, and all after it."""
    count = 0

    def wrap(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            if count >= step:
                raise Crash
            count += 1
            found = real(*arguments, **options)
            before_each()
            return found

        monkeypatch.setattr(owner, name, call)

    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in ("mkdir", "replace", "unlink", "rmdir", "utime"):
            wrap(monkeypatch, os, name)
        with suppress(Crash):
            yield


def compact_until(step: int, log_dir: Path, meanwhile: Callable[[], object]) -> bool:
    """Compact, and crash at this step; tell if it came to an end before."""
    writer = LogDirWriter.open(log_dir)
    is_done = False
    with crash_at(step, meanwhile):
        compact(writer, writer.topic("orders"), "compact-1")
        is_done = True
    writer.close(cleanly=False)
    return is_done


def test_compact_that_crashes_anywhere_is_done_or_nothing_and_readers_see_all(tmp_path, log_dir):
    content, before = content_of(log_dir), segment_counts(log_dir)
    outcomes, step, is_done = set[bool](), 0, False
    while not is_done:
        copy = tmp_path / str(step)
        shutil.copytree(log_dir, copy)
        is_done = compact_until(step, copy, lambda: None)
        assert_is_whole(copy, content)  # as a reader finds it, before any writer comes
        is_committed = pending_path(copy).exists() or segment_counts(copy) != before
        LogDirWriter.open(copy).close()
        assert_is_whole(copy, content)
        assert (segment_counts(copy) != before) == is_committed
        assert not list((copy / ".staging").glob("*"))
        compacted(copy)
        assert_is_whole(copy, content)
        outcomes.add(is_committed)
        shutil.rmtree(copy)
        step += 1
    assert outcomes == {False, True}
    assert step > 20


def test_readers_that_are_open_see_each_message_once_at_each_moment(log_dir):
    content, older = content_of(log_dir), readers_of(log_dir)
    halfway = readers_of(log_dir)
    for reader, values in zip(halfway, content, strict=True):
        reader.read(len(values) // 2, 1)
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        assert content_of(log_dir) == content
        assert [values_of(reader) for reader in older] == content
        reader, values = halfway[looks % 2], content[looks % 2]
        offset = looks % len(values)
        assert [m.value for m in reader.read(offset, 1)] == values[offset : offset + 1]
        assert reader.log_end_offset == len(values)

    assert compact_until(10**6, log_dir, look)
    assert looks > 20


def test_reader_that_holds_the_first_segment_open_finds_what_was_joined_to_it(log_dir):
    """It opens the old one after the commit point, and lists when the joined one is in place."""
    reader, values = readers_of(log_dir)[0], content_of(log_dir)[0]
    first = reader.segments()[0].log_path
    size, events = first.stat().st_size, list[str]()

    def look() -> None:
        if pending_path(log_dir).exists() and not events:
            assert reader.find(0).position == 0
            events.append("open")
        if first.stat().st_size != size and len(events) == 1:
            assert reader.log_end_offset == len(values)
            for offset, value in enumerate(values):
                assert reader.find(offset).message.value == value
            events.append("joined")

    assert compact_until(10**6, log_dir, look)
    assert events == ["open", "joined"]


def checked_while(log_dir: Path, moment: int, event: Callable[[], object]) -> int:
    """Check partition 0, and return how many segments were checked.

    The event comes when so many are checked; before the next one, or if negative after the last.
    """
    reader, calls = readers_of(log_dir)[0], 0
    count = len(values_of(readers_of(log_dir)[0]))

    def check(*arguments: Any, **options: Any) -> SegmentSummary:
        nonlocal calls
        if calls == moment:
            event()
        summary, calls = check_segment(*arguments, **options), calls + 1
        if calls == -moment:
            event()
        return summary

    (jobs, _) = read_small_files(log_dir).partitions_of(LogDir(log_dir).topic("orders"))
    checked = check_partition(reader, jobs, check_segment=check, is_full=True)
    assert (checked.findings, checked.unchecked, checked.unjudged) == ([], [], [])
    assert checked.message_count == count
    assert checked.segment_count == segment_counts(log_dir)[0]
    return calls


@pytest.mark.parametrize("moment", [*range(6), None])
def test_partition_that_is_compacted_while_it_is_checked_is_checked_again(log_dir, moment):
    """None is the moment when all its segments are checked."""
    before = segment_counts(log_dir)[0]
    moment = -before if moment is None else moment
    assert checked_while(log_dir, moment, lambda: compacted(log_dir)) >= before


def leave_pending(log_dir: Path) -> None:
    """A compaction that crashed right after its commit point."""
    real = os.replace

    def replace(source: Any, target: Any) -> None:
        if "compact-1" in str(source):
            raise Crash
        real(source, target)

    writer = LogDirWriter.open(log_dir)
    with pytest.MonkeyPatch.context() as monkeypatch, suppress(Crash):
        monkeypatch.setattr(os, "replace", replace)
        compact(writer, writer.topic("orders"), "compact-1")
    writer.close(cleanly=False)
    assert pending_path(log_dir).exists()


@pytest.mark.parametrize("moment", range(2))
def test_partition_whose_joined_segments_are_moved_while_it_is_checked_is_whole(log_dir, moment):
    leave_pending(log_dir)
    checked_while(log_dir, moment, lambda: LogDirWriter.open(log_dir).close())


def test_pending_compaction_shows_joined_segments_in_staging(log_dir):
    content, before = content_of(log_dir), segment_counts(log_dir)
    leave_pending(log_dir)
    reader = readers_of(log_dir)[0]
    assert ".staging" in str(reader.segments()[0].log_path)
    assert segment_counts(log_dir) < before
    LogDirWriter.open(log_dir).close()
    assert [values_of(reader), content_of(log_dir)[1]] == content
    assert ".staging" not in str(reader.segments()[0].log_path)


@pytest.mark.parametrize("change", ["bytes", "directory", "base_offsets"])
def test_pending_compaction_that_was_changed_is_refused_and_nothing_is_deleted(log_dir, change):
    leave_pending(log_dir)
    document = json.loads(pending_path(log_dir).read_bytes())
    one = document["joins"][0]
    values = {"bytes": one["bytes"] + 1, "directory": "x/orders-7", "base_offsets": [0]}
    one[change] = values[change]
    pending_path(log_dir).write_text(json.dumps(document))
    logs = {path: path.read_bytes() for path in log_dir.rglob("*.log")}
    with pytest.raises(LogDirError, match="cannot be finished"):
        LogDirWriter.open(log_dir)
    assert {path: path.read_bytes() for path in log_dir.rglob("*.log")} == logs


# ---- manifests


def test_joined_manifests_are_those_of_their_jobs(log_dir):
    before = committed_manifests(log_dir)
    texts = {path.stem: path.read_text() for path in manifest_paths(log_dir)}
    compacted(log_dir)
    assert manifest_paths(log_dir) == []
    (joined,) = joined_paths(log_dir)
    ids, topic, *lines = joined.read_text().splitlines()
    assert topic == '"orders"'
    assert dict(zip(json.loads(ids), map(json.loads, lines), strict=True)) == texts
    assert committed_manifests(log_dir) == before
    for manifest in before:
        assert is_committed(log_dir, manifest.job_id)
        assert committed_manifest(log_dir, manifest.job_id) == manifest
    assert not is_committed(log_dir, "job")
    with pytest.raises(FileNotFoundError):
        committed_manifest(log_dir, "job")


def test_next_jobs_follow_joined_ones_and_join_them_once_they_are_as_many(log_dir, topic):
    content = content_of(log_dir)
    compacted(log_dir)
    with LogDirWriter.open(log_dir) as writer:
        run_job(writer, topic, "later-1", 5)
        run_job(writer, topic, "later-2", 5)
    content = content_of(log_dir)
    assert compacted(log_dir).manifest_count == 2
    assert len(joined_paths(log_dir)) == 2  # two manifests are less than seven
    assert_is_whole(log_dir, content)
    with LogDirWriter.open(log_dir) as writer:
        for number in range(JOBS):
            run_job(writer, topic, f"last-{number}", 5)
    content = content_of(log_dir)
    compacted(log_dir)
    assert len(joined_paths(log_dir)) == 1
    assert_is_whole(log_dir, content)


@pytest.mark.parametrize("fault", ["changed", "gone", "first line", "no text"])
def test_joined_manifests_that_were_changed_are_found(log_dir, fault):
    compacted(log_dir)
    (joined,) = joined_paths(log_dir)
    ids, topic, *lines = joined.read_text().splitlines()
    if fault == "changed":
        lines[3] = lines[3].replace('\\"count\\": ', '\\"count\\": 1')
    elif fault == "gone":
        named = json.loads(ids)
        ids = json.dumps(named[:3] + named[4:])
        del lines[3]
    elif fault == "first line":
        ids = json.dumps([*json.loads(ids), "one-more"])
    else:
        lines[3] = "7"
    joined.write_text("\n".join([ids, topic, *lines, ""]))
    report = verify_storage(LogDir(log_dir))
    if fault in ("changed", "gone"):
        assert [found.kind for found in report.tally.findings()] == ["manifest-mismatch"]
    else:
        (unread,) = [one for one in report.unchecked if one.asked]
        assert (report.verdict, unread.what, unread.where) == ("partial", "jobs", joined.name)


def test_deleted_topic_takes_its_joined_manifests_with_it(log_dir):
    with LogDirWriter.open(log_dir) as writer:
        others = Topic("others", PARTITIONS, DOCUMENTED, SETTINGS)
        writer.create_topic(others)
        for number in range(3):
            run_job(writer, others, f"other-{number}", 2)
        compact(writer, others, "compact-others")
    compacted(log_dir)
    assert len(joined_paths(log_dir)) == 2
    with LogDirWriter.open(log_dir) as writer:
        writer.delete_topic("orders")
    assert {one.topic for one in committed_manifests(log_dir)} == {"others"}
    assert len(os.listdir(log_dir / MANIFEST_DIR)) == 1
