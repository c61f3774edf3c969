"""Power failures at each step of all that writes: what was promised is there, and all goes on.

The model of tests/support/crash/power_failure.py says what may be left. Each test says what each
step has promised: messages by partition and offset, from the moment at which a flush, a commit or a
command has returned.
"""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kminilog.clock import ManualClock
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.consumer.errors import UnknownGroupError
from kminilog.consumer.group_file import read_group
from kminilog.errors import WriteFailedError
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.ingest.runs import Staged
from kminilog.jobs.source.description import Source
from kminilog.settings import TopicSettings
from kminilog.storage.checkpoint import (
    CHECKPOINT_FILE,
    LOG_START_FILE,
    read_checkpoint,
    record_log_starts,
)
from kminilog.storage.files import sync
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.manifests import last_jobs, quarantine_path
from kminilog.storage.partition.cuts import read_cuts, truncate_log
from kminilog.storage.partition.retention import delete_expired, unlink_marked
from kminilog.storage.topics import Topic, read_topic
from kminilog.verification.report import verify_storage
from tests.support.cli.command_line import CommandLine
from tests.support.cluster.clusters import SETTINGS as OF_CLUSTER
from tests.support.cluster.clusters import (
    open_cluster,
    produce,
    replicate_until_quiet,
    values_on,
)
from tests.support.crash.power_failure import Recorder, kill, lose_power, recorded
from tests.support.damage import files_of, flip_byte, restore

ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
SETTINGS = TopicSettings(segment_bytes=160, index_interval_bytes=60)
NOW_MS = 1_700_000_000_000
Content = dict[int, bytes | None]
Log = dict[TopicPartition, Content]


def values(start: int, stop: int, text: str = "value") -> Content:
    """Return the values of numbered messages, by offset."""
    return {offset: b"%s %02d" % (text.encode(), offset) for offset in range(start, stop)}


def messages(start: int, stop: int, text: str = "value") -> list[tuple[bytes | None, bytes | None]]:
    return [(b"k", value) for value in values(start, stop, text).values()]


ALL = values(0, 100)


def found_in(log_dir: Path, topic_partition: TopicPartition) -> Content:
    """Return the values of all messages that readers see, by offset."""
    reader = LogDir(log_dir).reader(topic_partition)
    found, offset = Content(), reader.log_start_offset
    while batch := reader.read(offset, 1 << 20):
        found |= {message.offset: message.value for message in batch}
        offset = batch[-1].offset + 1
    return found


def goes_on(log_dir: Path, promise: Log, *, written: Content = ALL) -> None:
    """Open the log dir as the next writer does: nothing promised is missing, nothing else is there
    than was `written`, each partition takes messages, and all is valid.

    If the last writer has closed it, the ends of the logs are on record, or jobs are that tell
    them: else nobody would notice their loss.
    """
    if (log_dir / CLEAN_SHUTDOWN_FILE).exists() and not last_jobs(log_dir):
        points = read_checkpoint(log_dir)
        for place in promise:
            assert points.get(place, 0) == LogDir(log_dir).reader(place).log_end_offset
    with LogDirWriter.open(log_dir) as writer:
        for place, kept in promise.items():
            found = found_in(log_dir, place)
            assert kept.items() <= found.items() <= written.items(), (kept, found)
        for place in (place for topic in writer.topics() for place in topic.all_partitions()):
            end = max(found_in(log_dir, place), default=-1) + 1
            assert writer.log(place).append([(None, b"next")]).start >= end
    report = verify_storage(LogDir(log_dir))
    assert report.verdict == "ok", report.to_text()


@pytest.fixture
def log_dir(tmp_path: Path, dialect: Dialect) -> Path:
    """A log dir with some segments of one partition."""
    path = tmp_path / "log"
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        writer.log(ORDERS_0).append(messages(0, 7))
    return path


@pytest.fixture(params=["some", pytest.param("all", marks=pytest.mark.soak)])
def lose(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Makes what a power failure may leave, and checks it: some disks of hundreds, or all."""

    def lose_and_check(
        recorder: Recorder, check: Callable[[Path, Any], None] = goes_on, some: int | None = 40
    ) -> None:
        most = some if request.param == "some" else None
        assert lose_power(recorder, tmp_path / "disk", check, most=most) > 15

    return lose_and_check


# ---- the model


Disk = tuple[tuple[str, bytes | None], ...]


def outcomes_of(recorder: Recorder) -> set[Disk]:
    moment = recorder.moments[-1]
    disks = map(moment.disk, moment.outcomes(Random(0), 50))
    return {tuple((name, data) for name, (data, _) in disk.items()) for disk in disks}


def test_power_failure_leaves_of_a_new_file_its_name_or_not_and_its_bytes_or_not(tmp_path):
    with recorded(tmp_path) as recorder:
        (tmp_path / "a").write_bytes(b"data")
        recorder.promised("nothing")
        any_bytes = {(("a", left),) for left in (b"", b"da", bytes(4), b"data")}
        assert outcomes_of(recorder) == {(), *any_bytes}
        sync(tmp_path)
        assert outcomes_of(recorder) == any_bytes
        sync(tmp_path / "a")
        assert outcomes_of(recorder) == {(("a", b"data"),)}


def test_power_failure_takes_names_in_any_order_and_half_of_a_move(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / "one" / name).touch()
    with recorded(tmp_path) as recorder:
        (tmp_path / "one" / "one").unlink()
        (tmp_path / "one" / "two").rename(tmp_path / "two" / "two")
        assert files_in(outcomes_of(recorder)) == {
            ("two/two",),
            ("one/two",),
            ("one/one", "two/two"),
            ("one/one", "one/two"),
        }
        sync(tmp_path / "two")
        assert ("one/two", "two/two") in files_in(outcomes_of(recorder))
        sync(tmp_path / "one")
        assert files_in(outcomes_of(recorder)) == {("two/two",)}


def files_in(outcomes: set[Disk]) -> set[tuple[str, ...]]:
    return {tuple(name for name, data in disk if data is not None) for disk in outcomes}


# ---- the log


def test_append_keeps_what_was_flushed_and_no_more_than_a_prefix_of_the_rest(log_dir, lose):
    with recorded(log_dir) as recorder:
        recorder.promised({ORDERS_0: values(0, 7)})
        with LogDirWriter.open(log_dir) as writer:
            log = writer.log(ORDERS_0)
            log.append(messages(7, 14))
            log.flush()
            recorder.promised({ORDERS_0: values(0, 14)})
            log.append(messages(14, 15))
            log.roll()
            log.append(messages(15, 17))
            writer.flush()
            recorder.promised({ORDERS_0: values(0, 17)})
            log.append(messages(17, 20))
        recorder.promised({ORDERS_0: values(0, 20)})
    lose(recorder)


def test_recovery_of_a_killed_writers_log_brings_all_of_it_to_the_disk(log_dir, lose):
    with recorded(log_dir) as recorder:
        recorder.promised({ORDERS_0: values(0, 7)})
        writer = LogDirWriter.open(log_dir)
        writer.log(ORDERS_0).append(messages(7, 14))
        writer.close(cleanly=False)
        with LogDirWriter.open(log_dir):
            recorder.promised({ORDERS_0: values(0, 14)})
    lose(recorder)


def test_recovery_of_a_torn_tail_and_lost_indexes_can_be_repeated(log_dir, lose):
    writer = LogDirWriter.open(log_dir)
    writer.log(ORDERS_0).append(messages(7, 14))
    writer.close(cleanly=False)
    *_, last = sorted((log_dir / "orders-0").glob("*.log"))
    last.write_bytes(last.read_bytes() + b"torn" * 20)
    for index in (log_dir / "orders-0").glob("*.index"):
        index.unlink()
    with recorded(log_dir) as recorder:
        recorder.promised({ORDERS_0: values(0, 14)})
        LogDirWriter.open(log_dir).close()
        recorder.promised({ORDERS_0: values(0, 14)})
    lose(recorder)


def test_recover_with_force_loses_no_message_even_if_it_is_interrupted(log_dir, lose):
    with LogDirWriter.open(log_dir) as writer:
        writer.log(ORDERS_0).append(messages(7, 17))
    *_, damaged, _, _ = sorted((log_dir / "orders-0").glob("*.log"))
    flip_byte(damaged, 40, mask=1)

    def bytes_in(directory: Path) -> bytes:
        return b"".join(path.read_bytes() for path in directory.iterdir())

    whole = [value for value in values(0, 17).values() if value in bytes_in(log_dir / "orders-0")]

    def check(disk: Path, promise: Log | None) -> None:
        for _ in range(2):
            assert [value for value in whole if value not in bytes_in(disk / "orders-0")] == []
            with LogDirWriter.open(disk) as writer:
                writer.recover(writer.recovery_plan(ORDERS_0), force=True)
        with LogDirWriter.open(disk) as writer:
            end = writer.log(ORDERS_0).log_end_offset
            writer.log(ORDERS_0).append([(None, b"next")])
        (cut,) = read_cuts(disk)
        assert (cut.first_offset, cut.next_offset, cut.is_done) == (end, 17, True)

    with recorded(log_dir) as recorder:
        assert CommandLine(log_dir)("recover", "orders-0", "--force").code == 0
        recorder.promised({ORDERS_0: {}})
    lose(recorder, check)


def test_truncate_log_that_has_returned_is_not_undone(log_dir, lose):
    kept, others = values(0, 2), values(0, 2) | values(2, 5, "other")
    with recorded(log_dir) as recorder:
        recorder.promised((kept, values(0, 17)))
        with LogDirWriter.open(log_dir) as writer:
            log = writer.log(ORDERS_0)
            log.append(messages(7, 17))
            truncate_log(log, 2)
            recorder.promised((kept, kept))
            recorder.promised((kept, others))
            log.append(messages(2, 5, "other"))
            log.flush()
            recorder.promised((others, others))

    def is_sound(left: Path) -> None:
        ahead = ["orphan-file", "index-past-end"]  # an index goes after its log
        report = verify_storage(LogDir(left), allow=ahead)
        assert report.verdict == "ok", report.to_text()

    kill(recorder, log_dir.parent / "left", is_sound)

    def check(disk: Path, promise: tuple[Content, Content]) -> None:
        kept, written = promise
        goes_on(disk, {ORDERS_0: kept}, written=written)
        assert all(cut.is_done for cut in read_cuts(disk))

    lose(recorder, check)


def test_retain_leaves_no_gap_and_deletes_nothing_before_the_rest_is_safe(log_dir, lose):
    with LogDirWriter.open(log_dir) as writer:
        writer.alter_topic("orders", settings=replace(SETTINGS, retention_bytes=250))
        writer.log(ORDERS_0).append(messages(7, 17))
    with recorded(log_dir) as recorder:
        recorder.promised({ORDERS_0: values(14, 17)})
        with LogDirWriter.open(log_dir) as writer:
            log = writer.log(ORDERS_0)
            log.append(messages(17, 20))
            delete_expired(log, NOW_MS)
            assert log.log_start_offset > 5
            recorder.promised({ORDERS_0: values(14, 20)})
            unlink_marked(log.directory, log.settings, NOW_MS + log.settings.file_delete_delay_ms)

    def check(disk: Path, promise: Log) -> None:
        with LogDirWriter.open(disk):
            found = found_in(disk, ORDERS_0)
        assert max(found) == 19 or min(found) == 0
        goes_on(disk, promise)

    lose(recorder, check)


def test_retain_of_all_messages_keeps_the_end(log_dir, lose):
    with LogDirWriter.open(log_dir) as writer:
        writer.alter_topic("orders", settings=replace(SETTINGS, retention_bytes=0))
    with recorded(log_dir) as recorder:
        recorder.promised({ORDERS_0: {}})
        CommandLine(log_dir).ok("retain")
        recorder.promised({ORDERS_0: {}})

    def check(disk: Path, promise: Log) -> None:
        goes_on(disk, promise)
        assert LogDir(disk).reader(ORDERS_0).log_end_offset == 8

    lose(recorder, check)


def test_append_that_fails_is_undone_for_good(log_dir, lose, monkeypatch):
    write, calls = os.write, count()

    def fail(descriptor: int, data: bytes) -> int:
        if next(calls) == 5:  # in a third new segment
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data)

    with recorded(log_dir) as recorder:
        recorder.promised(values(0, 20))
        with LogDirWriter.open(log_dir) as writer:
            monkeypatch.setattr(os, "write", fail)
            with pytest.raises(WriteFailedError, match="as it was before"):
                writer.log(ORDERS_0).append(messages(7, 20))
            recorder.promised(values(0, 7))
    lose(recorder, lambda disk, most: goes_on(disk, {ORDERS_0: values(0, 7)}, written=most))


def test_flush_brings_segments_to_the_disk_that_another_program_wrote(log_dir, lose):
    with LogDirWriter.open(log_dir) as writer:
        writer.log(ORDERS_0).append(messages(7, 17))
    (log_dir / CLEAN_SHUTDOWN_FILE).unlink()
    (log_dir / CHECKPOINT_FILE).unlink()
    files = files_of(log_dir / "orders-0")
    for name in files:
        (log_dir / "orders-0" / name).unlink()
    with recorded(log_dir) as recorder:
        restore(log_dir / "orders-0", files)
        recorder.moments.clear()
        with LogDirWriter.open(log_dir) as writer:
            recorder.promised({ORDERS_0: values(0, 17)})

    def check(disk: Path, promise: Log | None) -> None:
        if promise:
            goes_on(disk, promise)

    lose(recorder, check)


# ---- topics


def test_a_new_log_dir_with_its_topic_and_messages(tmp_path, dialect, lose):
    root = tmp_path / "root"
    root.mkdir()
    with (
        recorded(root) as recorder,
        LogDirWriter.open(root / "new" / "log", create=True) as writer,
    ):
        writer.create_topic(Topic("orders", 2, dialect, SETTINGS), base_offset=5)
        recorder.promised({ORDERS_1: {}})
        first = writer.log(ORDERS_1).log_end_offset
        writer.log(ORDERS_1).append(messages(first, 8))
        writer.log(ORDERS_1).flush()
        recorder.promised({ORDERS_1: values(first, 8)})

    def check(disk: Path, promise: Log | None) -> None:
        if promise:
            goes_on(disk / "new" / "log", promise)
            found = LogDir(disk / "new" / "log").reader(ORDERS_0)
            assert found.log_start_offset == dialect.first_offset(5)
        else:
            with LogDirWriter.open(disk / "new" / "log", create=True) as writer:
                if not writer.topics():
                    writer.create_topic(Topic("orders", 2, dialect, SETTINGS), base_offset=5)

    lose(recorder, check)


def test_alter_topic_that_is_repeated_after_a_crash(log_dir, lose):
    record_log_starts(log_dir, {ORDERS_1: 0, TopicPartition("orders", 2): 0})  # as it had done
    with recorded(log_dir) as recorder:
        recorder.promised({ORDERS_0: values(0, 7)})
        CommandLine(log_dir)("topic", "alter", "orders", "--partitions", 3)
        recorder.promised({ORDERS_0: values(0, 7), TopicPartition("orders", 2): {}})
    lose(recorder, some=None)


def ingest(log_dir: Path, source: Path, job: str, offsets: range, *, rejected: int = 0) -> None:
    """Ingest lines of text, and some that are too large."""
    lines = [*values(offsets.start, offsets.stop).values(), *[b"x" * 1000] * rejected]
    source.write_bytes(b"".join(line + b"\n" for line in lines if line))
    # Not in workers of a session that other tests have left: the recorder sees this process alone.
    words = ["--engine", "local", "--job-id", job, "--max-rejected", rejected]
    words += ["--config", "segment.bytes=160", "--config", "index.interval.bytes=60"]
    run = CommandLine(log_dir)("ingest", "--topic", "orders", source, *words)
    assert run.code == 0, run


def test_delete_topic_is_for_good_and_so_is_the_topic_that_follows(
    log_dir, tmp_path, dialect, lose
):
    ingest(log_dir, tmp_path / "a.txt", "job-1", range(7, 9), rejected=1)
    with recorded(log_dir) as recorder:
        recorder.promised("old")
        with LogDirWriter.open(log_dir) as writer:
            writer.delete_topic("orders")
            recorder.promised("gone")
        with LogDirWriter.open(log_dir) as writer:
            writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
            writer.log(ORDERS_0).append(messages(0, 2, "other"))
            writer.log(ORDERS_0).flush()
            recorder.promised("new")

    def check(disk: Path, promise: str) -> None:
        if promise == "new":
            goes_on(disk, {ORDERS_0: values(0, 2, "other")}, written=values(0, 2, "other"))
            return
        with LogDirWriter.open(disk) as writer:
            if (disk / "orders.json").exists():
                is_marked = read_topic(disk, "orders").is_marked_for_deletion
                is_old = is_marked or b"value 00" in found_in(disk, ORDERS_0).values()
                assert promise == "old" or not is_old
                writer.delete_topic("orders")
            writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        goes_on(disk, {ORDERS_0: {}}, written={})

    lose(recorder, check)


def test_delete_topic_of_an_earlier_release_leaves_no_directory_behind(log_dir, lose):
    """Without checkpoints, nothing else syncs the log dir meanwhile."""
    (log_dir / CHECKPOINT_FILE).unlink()
    (log_dir / LOG_START_FILE).unlink()
    with recorded(log_dir) as recorder, LogDirWriter.open(log_dir) as writer:
        writer.delete_topic("orders")

    def check(disk: Path, promise: None) -> None:
        assert (disk / "orders.json").exists() or LogDir(disk).orphans() == []

    lose(recorder, check, some=None)


# ---- jobs


@pytest.mark.parametrize("has_topic", [True, False])
def test_ingest_is_all_or_nothing(log_dir, tmp_path, lose, has_topic):
    before = values(0, 7) if has_topic else Content()
    if not has_topic:
        with LogDirWriter.open(log_dir) as writer:
            writer.delete_topic("orders")
    with recorded(log_dir) as recorder:
        recorder.promised(before)
        ingest(log_dir, tmp_path / "a.txt", "job-1", range(len(before), 12), rejected=2)
        recorder.promised(values(0, 12))

    def check(disk: Path, promise: Content) -> None:
        with LogDirWriter.open(disk) as writer:
            found = found_in(disk, ORDERS_0) if writer.topics() else Content()
        assert found in (promise, values(0, 12))
        rejected = quarantine_path(disk, "job-1")
        if found == values(0, 12):
            assert len(rejected.read_text().splitlines()) == 2
            goes_on(disk, {ORDERS_0: found})
        else:
            ingest(disk, tmp_path / "a.txt", "job-1", range(len(before), 12), rejected=2)
            goes_on(disk, {ORDERS_0: values(0, 12)})

    lose(recorder, check)


def test_ingest_after_offset_0_replaces_the_first_segment(tmp_path, dialect, lose):
    log_dir = tmp_path / "log"
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
        writer.log(ORDERS_0).append(messages(0, 1))
    with recorded(log_dir) as recorder:
        recorder.promised(values(0, 1))
        ingest(log_dir, tmp_path / "a.txt", "job-1", range(1, 12))
        recorder.promised(values(0, 12))

    def check(disk: Path, promise: Content) -> None:
        assert found_in(disk, ORDERS_0) in (promise, values(0, 12))
        goes_on(disk, {ORDERS_0: promise})

    lose(recorder, check)


def test_ingest_whose_messages_get_other_offsets_is_all_or_nothing(log_dir, tmp_path, lose):
    class Beside(LocalIngest):
        def stage(self, *arguments: Any) -> Staged:
            staged = super().stage(*arguments)
            with LogDirWriter.open(log_dir) as writer:  # another process
                writer.log(ORDERS_0).append(messages(7, 9))
            recorder.promised(values(0, 9))
            return staged

    source = tmp_path / "a.txt"
    source.write_bytes(b"".join(b"%s\n" % value for value in values(9, 14).values()))
    with recorded(log_dir) as recorder:
        recorder.promised(values(0, 7))
        ingest_with(Beside(), log_dir, Source((str(source),)), topic="orders", job_id="job-1")
        recorder.promised(values(0, 14))

    def check(disk: Path, promise: Content) -> None:
        LogDirWriter.open(disk).close()
        assert len(found_in(disk, ORDERS_0)) in (7, 8, 9, 14)
        goes_on(disk, {ORDERS_0: promise})

    lose(recorder, check)


def test_compact(log_dir, tmp_path, lose):
    for number in range(3):
        ingest(log_dir, tmp_path / "a.txt", f"job-{number}", range(7 + number, 8 + number))
    with LogDirWriter.open(log_dir) as writer:
        writer.alter_topic("orders", settings=replace(SETTINGS, segment_bytes=1000))
    with recorded(log_dir) as recorder:
        recorder.promised({ORDERS_0: values(0, 10)})
        CommandLine(log_dir).ok("compact", "orders")
        recorder.promised({ORDERS_0: values(0, 10)})

    def check(disk: Path, promise: Log) -> None:
        assert found_in(disk, ORDERS_0) == values(0, 10)
        goes_on(disk, promise)

    lose(recorder, check)


# ---- small files


def test_group_keeps_its_offsets_and_does_not_come_back_once_it_is_deleted(log_dir, lose):
    command = CommandLine(log_dir)
    with recorded(log_dir) as recorder:
        for number in (1, 2):
            recorder.promised({1: {None, 1}, 2: {1, 2}}[number])
            command.ok("group", "reset", "readers", "--topic", "orders:0", "--to", number, "--yes")
        recorder.promised({2, None})
        command.ok("group", "delete", "readers", "--yes")
        recorder.promised({None})

    def check(disk: Path, promise: set[int | None]) -> None:
        found = None
        with suppress(UnknownGroupError):
            found = read_group(disk, "readers").committed[ORDERS_0]
        assert found in promise
        CommandLine(disk).ok("group", "reset", "readers", "--topic=orders:0", "--to=3", "--yes")

    lose(recorder, check)


@pytest.mark.parametrize("name", [CHECKPOINT_FILE, LOG_START_FILE])
def test_invalid_checkpoint_is_kept_under_its_other_name(log_dir, lose, name):
    (log_dir / name).write_text("nonsense")
    (log_dir / CLEAN_SHUTDOWN_FILE).unlink()
    with recorded(log_dir) as recorder:
        recorder.promised({ORDERS_0: values(0, 7)})
        with LogDirWriter.open(log_dir) as writer:
            writer.log(ORDERS_0).append(messages(7, 9))

    def check(disk: Path, promise: Log) -> None:
        assert "nonsense" in {path.read_text() for path in disk.glob(f"{name}*")}
        goes_on(disk, promise)

    lose(recorder, check)


def test_memory_of_verdicts_trusts_no_message_that_is_gone(log_dir, lose):
    verify = CommandLine(log_dir).ok
    with recorded(log_dir) as recorder:
        recorder.promised({ORDERS_0: values(0, 7)})
        verify("verify", "--since-last")
        with LogDirWriter.open(log_dir) as writer:
            writer.log(ORDERS_0).append(messages(7, 15))
            verify("verify", "--since-last")
        recorder.promised({ORDERS_0: values(0, 15)})

    def check(disk: Path, promise: Log) -> None:
        goes_on(disk, promise)
        assert CommandLine(disk)("verify", "--since-last").code == 0

    lose(recorder, check)


def test_cluster_keeps_its_state_and_what_its_brokers_have_flushed(tmp_path, dialect, lose):
    root = tmp_path / "root"
    root.mkdir()
    with recorded(root) as recorder:
        cluster = open_cluster(root / "new", brokers=2, replicas=2, dialect=dialect)
        recorder.promised([])
        produce(cluster, b"one", b"two")
        replicate_until_quiet(cluster)
        cluster.close()
        recorder.promised([b"one", b"two"])

    def check(disk: Path, promise: list[bytes] | None) -> None:
        cluster = MiniCluster.open(disk / "new", brokers=2, clock=ManualClock())
        if promise is None and not cluster.metadata().topics:
            cluster.create_topic(Topic("orders", 1, dialect, OF_CLUSTER), 2)
        assert produce(cluster, b"next").first_offset >= len(promise or [])
        replicate_until_quiet(cluster)
        cluster.close()
        for node in (0, 1):
            found = values_on(disk / "new", node)
            assert found == [*[b"one", b"two"][: len(found) - 1], b"next"]
            assert len(found) > len(promise or [])

    lose(recorder, check)
