"""A log that was cut is, byte for byte, one that never had the messages after the cut.

What logs have lost at their ends is on record, and a crash leaves no record that is wrong.
"""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.errors import CorruptLogError, LogClosedError, LogDirError
from kminilog.format.dialect import DIALECTS, DOCUMENTED, Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.changes import CHANGES_FILE, begin_counting
from kminilog.storage.checkpoint import CHECKPOINT_FILE, read_checkpoint
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.manifests import Manifest, StagedPartition, committed_path
from kminilog.storage.partition.cuts import (
    CUTS_FILE,
    Cut,
    Reason,
    cuts_of_job,
    read_cuts,
    recorded_cut,
    truncate_log,
)
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import plan_recovery
from kminilog.storage.partition.retention import delete_expired
from kminilog.storage.topics import Topic
from tests.support.damage import files_of, flip_byte, message_positions
from tests.support.invariants import check_log
from tests.support.properties.strategies import expected_log, key_values

ORDERS = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=100, index_interval_bytes=30)
COUNT = 20


class CrashError(Exception):
    """The process ends here."""


def open_log(
    directory: Path, dialect: Dialect, settings: TopicSettings = SETTINGS, base_offset: int = 0
) -> PartitionLog:
    return PartitionLog.open(directory, ORDERS, dialect, settings, base_offset=base_offset)


def numbered(*numbers: int) -> list[tuple[bytes | None, bytes | None]]:
    return [(None, b"%d" % n) for n in numbers]


# ---- the files


@pytest.mark.parametrize("offset", range(13))
def test_truncate_to_each_offset_leaves_the_files_of_a_shorter_log(tmp_path, dialect, offset):
    log = open_log(tmp_path / "cut", dialect)
    log.append(numbered(*range(12)))
    assert len(log.segments()) >= 3
    truncate_log(log, offset)
    check_log(log)
    assert log.log_end_offset == offset
    shorter = open_log(tmp_path / "short", dialect)
    shorter.append(numbered(*range(offset)))
    assert files_of(log.directory) == files_of(shorter.directory)
    for either in (log, shorter):
        either.append(numbered(*range(50, 60)))
        check_log(either)
    assert files_of(log.directory) == files_of(shorter.directory)


@pytest.mark.usefixtures("without_fsync")
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS.keys())
@given(data=st.data())
def test_truncate_with_reopenings_leaves_the_files_of_a_shorter_log(
    tmp_path_factory, dialect, data
):
    messages = data.draw(st.lists(key_values(dialect), min_size=1, max_size=25))
    offset = data.draw(st.integers(0, len(messages)))
    more = data.draw(st.lists(key_values(dialect), max_size=10))
    settings = TopicSettings(segment_bytes=512, index_interval_bytes=60)
    directory = tmp_path_factory.mktemp("log")
    log = open_log(directory, dialect, settings)
    log.append(messages)
    if data.draw(st.booleans()):
        log = open_log(directory, dialect, settings)
    truncate_log(log, offset)
    if data.draw(st.booleans()):
        log = open_log(directory, dialect, settings)
    log.append(more)
    check_log(log)
    model = expected_log(dialect, settings)
    for message in messages[:offset] + more:
        model.append(*message)
    assert files_of(directory) == model.files()


def test_truncate_at_or_behind_the_end_changes_nothing(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    log.append(numbered(*range(5)))
    before = files_of(tmp_path)
    truncate_log(log, 5)
    truncate_log(log, 99)
    assert (files_of(tmp_path), log.log_end_offset) == (before, 5)


def test_truncate_at_the_end_takes_an_empty_last_segment_away(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    log.append(numbered(*range(5)))
    before = files_of(tmp_path)
    assert log.roll()
    truncate_log(log, 5)
    assert files_of(tmp_path) == before
    assert list(log.append(numbered(5))) == [5]
    check_log(log)


def test_truncate_below_the_first_message_is_refused(tmp_path, dialect):
    log = open_log(tmp_path, dialect, base_offset=dialect.base_offset_for(40))
    log.append(numbered(1, 2))
    with pytest.raises(ValueError, match="nothing below 40"):
        truncate_log(log, 39)
    truncate_log(log, 40)
    assert list(log.append(numbered(3))) == [40]


def test_truncate_first_documented_segment_to_one_message_waits_to_roll(tmp_path):
    log = open_log(tmp_path, DOCUMENTED, TopicSettings(segment_bytes=60))
    log.append(numbered(*range(4)))
    truncate_log(log, 1)
    log.append([(None, b"%030d" % 1)])
    assert [segment.base_offset for segment in log.segments()] == [0]
    check_log(log)


def test_truncate_keeps_the_modification_time(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    log.append(numbered(*range(12)))
    for segment in log.segments():
        os.utime(segment.log_path, (1000, 1000))
    truncate_log(log, log.segments()[1].first_offset + 1)
    assert [segment.log_path.stat().st_mtime for segment in log.segments()] == [1000, 1000]


def test_truncate_to_nothing_forgets_when_the_segment_began(tmp_path, dialect):
    settings = TopicSettings(segment_ms=1000)
    log = open_log(tmp_path, dialect, settings)
    log.append(numbered(1, 2), now_ms=0)
    truncate_log(log, 0)
    log.append(numbered(1, 2), now_ms=5000)
    log.append(numbered(3), now_ms=6000)
    assert len(log.segments()) == 1


def test_truncate_lowers_the_recovery_point(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    log.append(numbered(*range(5)))
    log.flush()
    truncate_log(log, 3)
    assert log.recovery_point == 3


def test_truncate_closed_log_is_refused(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    log.append(numbered(*range(5)))
    log.close()
    with pytest.raises(LogClosedError):
        truncate_log(log, 3)


def test_truncate_with_damage_in_the_way_changes_nothing(tmp_path, dialect):
    log = open_log(tmp_path, dialect)
    log.append(numbered(*range(12)))
    flip_byte(log.segments()[1].log_path, 14, mask=1)
    before = files_of(tmp_path)
    with pytest.raises(CorruptLogError):
        truncate_log(log, log.segments()[1].first_offset + 1)
    assert files_of(tmp_path) == before


def test_truncate_after_retention_works_on_what_is_left(tmp_path, dialect):
    settings = TopicSettings(segment_bytes=100, index_interval_bytes=30, retention_bytes=150)
    log = open_log(tmp_path, dialect, settings)
    log.append(numbered(*range(12)))
    assert delete_expired(log, 0)
    start = log.log_start_offset
    truncate_log(log, start)
    assert list(log.append(numbered(1))) == [start]
    check_log(log)


def test_truncate_that_crashes_at_any_step_leaves_a_sound_log(tmp_path, dialect, monkeypatch):
    """Each call that changes a file may be the last one: the log then ends at or after the cut."""
    calls = [(os, "ftruncate"), (Path, "unlink")]
    originals = [getattr(owner, name) for owner, name in calls]
    ends = []
    for last_step in range(100):
        log = open_log(tmp_path / str(last_step), dialect)
        log.append(numbered(*range(12)))
        steps = 0

        def counted(original, last_step=last_step):
            def call(*args, **kwargs):
                nonlocal steps
                if steps == last_step:
                    raise CrashError
                steps += 1
                return original(*args, **kwargs)

            return call

        with monkeypatch.context() as patch:
            for (owner, name), original in zip(calls, originals, strict=True):
                patch.setattr(owner, name, counted(original))
            with suppress(CrashError):
                truncate_log(log, 5)
        plan = plan_recovery(PartitionReader(log.directory, ORDERS, dialect, SETTINGS))
        assert not plan.damage
        assert not plan.cut
        ends.append(plan.log_end_offset)
        if steps < last_step:
            break
    assert ends[0] == 12
    assert ends[-1] == 5
    assert ends == sorted(ends, reverse=True)
    assert len(set(ends)) > 2


# ---- the record


@pytest.fixture
def log_dir(tmp_path: Path, dialect: Dialect) -> Path:
    """A topic of one partition with messages in several segments, closed cleanly."""
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, TopicSettings(segment_bytes=200)))
        writer.log(ORDERS).append((b"k", b"value %2d" % n) for n in range(COUNT))
    return tmp_path


def lose_last_segment(log_dir: Path) -> int:
    """Delete it, and return where the log ends now."""
    with LogDirWriter.open(log_dir) as writer:
        last = writer.log(ORDERS).segments()[-1]
        assert last.first_offset > 0
    last.log_path.unlink()
    last.index.path.unlink()
    return last.first_offset


def commit_job(log_dir: Path, job: str, first_offset: int, next_offset: int) -> None:
    staged = StagedPartition(0, "orders-0", first_offset, next_offset, 0, "")
    path = committed_path(log_dir, job)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(asdict(Manifest(job, "orders", [staged], {}))))


def cut(first_offset: int, next_offset: int, reason: Reason, *jobs: str) -> Cut:
    return Cut("orders", 0, first_offset, next_offset, reason, list(jobs), is_done=True)


def test_loss_is_on_record_before_its_offsets_are_given_out_again(log_dir):
    commit_job(log_dir, "early", 0, 3)
    commit_job(log_dir, "late", 3, COUNT)
    end = lose_last_segment(log_dir)
    for _ in range(2):  # the second time there is nothing new
        writer = LogDirWriter.open(log_dir)
        writer.log(ORDERS)
        assert read_cuts(log_dir) == [cut(end, COUNT, Reason.LOST, "late")]
        assert read_checkpoint(log_dir) == {ORDERS: end}
        writer.close(cleanly=False)


def test_loss_after_a_clean_shutdown_lowers_the_recovery_point_on_record(log_dir):
    """Or the next recovery would take messages that were never flushed for sound."""
    end = lose_last_segment(log_dir)
    writer = LogDirWriter.open(log_dir)
    writer.log(ORDERS).append([(b"k", b"new")])
    writer.close(cleanly=False)
    assert read_checkpoint(log_dir) == {ORDERS: end}


def test_all_that_is_lost_is_on_record(log_dir):
    shutil.rmtree(log_dir / "orders-0")
    (log_dir / "orders-0").mkdir()
    with LogDirWriter.open(log_dir) as writer:
        assert writer.log(ORDERS).append([(b"k", b"new")]) == range(1)
    assert read_cuts(log_dir) == [cut(0, COUNT, Reason.LOST)]


def test_torn_tail_that_was_never_on_the_disk_is_no_loss(log_dir):
    writer = LogDirWriter.open(log_dir)
    writer.log(ORDERS).append([(b"k", b"torn")])
    last = writer.log(ORDERS).segments()[-1].log_path
    writer.close(cleanly=False)
    os.truncate(last, last.stat().st_size - 1)
    with LogDirWriter.open(log_dir) as successor:
        assert successor.log(ORDERS).log_end_offset == COUNT
    assert not (log_dir / CUTS_FILE).exists()


@pytest.mark.parametrize("is_on_disk", [True, False])
def test_forced_recovery_is_on_record_with_whole_messages_that_go(log_dir, is_on_disk):
    if not is_on_disk:
        (log_dir / CHECKPOINT_FILE).unlink()
    first = min((log_dir / "orders-0").glob("*.log"))
    flip_byte(first, message_positions(first.read_bytes())[2] - 1, mask=1)
    with LogDirWriter.open(log_dir, recover=False) as writer:
        writer.recover(writer.recovery_plan(ORDERS), force=True)
    assert read_cuts(log_dir) == [cut(1, COUNT, Reason.RECOVERY)]


def test_recovery_that_is_not_forced_puts_nothing_on_record(log_dir):
    first = min((log_dir / "orders-0").glob("*.log"))
    flip_byte(first, message_positions(first.read_bytes())[2] - 1, mask=1)
    (log_dir / CLEAN_SHUTDOWN_FILE).unlink()
    LogDirWriter.open(log_dir).close()
    assert not (log_dir / CUTS_FILE).exists()
    assert read_checkpoint(log_dir) == {ORDERS: COUNT}


def test_truncation_is_on_record_with_the_jobs_that_it_shortens(log_dir):
    commit_job(log_dir, "load", 0, COUNT)
    with LogDirWriter.open(log_dir) as writer:
        log = writer.log(ORDERS)
        truncate_log(log, 12)
        assert read_checkpoint(log_dir) == {ORDERS: 12}
        truncate_log(log, 12)  # nothing to cut
        log.append([(b"k", b"v")] * 3)
        truncate_log(log, 7)
    assert read_cuts(log_dir) == [
        cut(12, COUNT, Reason.TRUNCATION, "load"),
        cut(7, 15, Reason.TRUNCATION, "load"),
    ]


def test_cuts_of_a_job_are_what_each_took_of_it():
    staged = StagedPartition(0, "orders-0", 3, 12, 0, "")
    job = Manifest("load", "orders", [staged], {})
    cuts = [
        cut(12, COUNT, Reason.LOST, "later"),
        cut(9, COUNT, Reason.RECOVERY, "load", "later"),
        cut(5, 30, Reason.TRUNCATION, "load", "again"),  # from 9 on they were of another job
        cut(7, 30, Reason.LOST, "load"),
        replace(cut(4, 9, Reason.LOST, "load"), is_done=False),
        replace(cut(3, 9, Reason.LOST, "load"), partition=1),
        replace(cut(3, 9, Reason.LOST, "load"), topic="other"),
        cut(0, 30, Reason.LOST, "load"),  # and what stood in front of it
    ]
    found = [(c.first_offset, c.next_offset, c.reason) for c in cuts_of_job(job, staged, cuts)]
    assert found == [(9, 12, Reason.RECOVERY), (5, 9, Reason.TRUNCATION), (3, 5, Reason.LOST)]


def test_truncation_outside_of_a_log_dir_leaves_no_record(tmp_path, dialect):
    log = PartitionLog.open(tmp_path / "orders-0", ORDERS, dialect, SETTINGS)
    log.append([(b"k", b"v")] * 5)
    truncate_log(log, 2)
    assert os.listdir(tmp_path) == ["orders-0"]


@pytest.mark.parametrize("come_to", [COUNT, 17, 12])
def test_cut_that_a_crash_interrupts_is_on_record_as_far_as_it_came(log_dir, come_to):
    writer = LogDirWriter.open(log_dir)
    log = writer.log(ORDERS)
    with (
        suppress(CrashError),
        recorded_cut(log_dir, ORDERS, range(12, COUNT), Reason.TRUNCATION),
    ):
        if come_to < COUNT:
            (log_dir / CHANGES_FILE).unlink()  # so that this cut has no record of its own
            truncate_log(log, come_to)
            begin_counting(log_dir)
        raise CrashError
    writer.close(cleanly=False)
    assert [found.is_done for found in read_cuts(log_dir)] == [False]
    with LogDirWriter.open(log_dir) as successor:
        assert successor.log(ORDERS).log_end_offset == come_to
        left = [cut(come_to, COUNT, Reason.TRUNCATION)] if come_to < COUNT else []
        assert read_cuts(log_dir) == left
        successor.log(ORDERS).append([(b"k", b"v")])
    assert read_cuts(log_dir) == left


def test_loss_that_a_crash_interrupts_while_it_is_put_on_record_is_there_once(log_dir, monkeypatch):
    end = lose_last_segment(log_dir)
    writer = LogDirWriter.open(log_dir)
    with monkeypatch.context() as patch:
        patch.setattr("kminilog.storage.partition.cuts.lower_checkpoint", fail)
        with pytest.raises(CrashError):
            writer.log(ORDERS)
    writer.close(cleanly=False)
    assert read_checkpoint(log_dir) == {ORDERS: COUNT}
    with LogDirWriter.open(log_dir) as writer:
        writer.log(ORDERS)
    assert read_cuts(log_dir) == [cut(end, COUNT, Reason.LOST)]


def fail(*arguments: object) -> None:
    raise CrashError


def test_deleted_topic_has_no_record_and_one_of_its_name_starts_clean(log_dir, dialect):
    lose_last_segment(log_dir)
    writer = LogDirWriter.open(log_dir)
    writer.log(ORDERS)
    writer.create_topic(Topic("other", 1, dialect))
    writer.log(TopicPartition("other", 0)).append([(b"k", b"v")] * 4)
    truncate_log(writer.log(TopicPartition("other", 0)), 1)
    writer.delete_topic("orders")
    assert [found.topic for found in read_cuts(log_dir)] == ["other"]
    writer.create_topic(Topic("orders", 1, dialect))
    writer.close(cleanly=False)
    with LogDirWriter.open(log_dir) as writer:
        assert writer.warnings == []
    assert [found.topic for found in read_cuts(log_dir)] == ["other"]


def test_topic_that_was_deleted_by_hand_starts_clean(log_dir, dialect):
    lose_last_segment(log_dir)
    with LogDirWriter.open(log_dir) as writer:
        writer.log(ORDERS)
    shutil.rmtree(log_dir / "orders-0")
    (log_dir / "orders.json").unlink()
    with LogDirWriter.open(log_dir) as writer:
        writer.create_topic(Topic("orders", 1, dialect))
        writer.log(ORDERS)
        assert (writer.warnings, read_cuts(log_dir)) == ([], [])


@pytest.mark.parametrize(
    "document",
    [
        b"\xff",
        b"[]",
        b'{"cuts": 1}',
        b'{"cuts": [{}]}',
        json.dumps({"cuts": [{**cut(1, 2, Reason.LOST).__dict__, "first_offset": "1"}]}).encode(),
        json.dumps({"cuts": [{**cut(1, 2, Reason.LOST).__dict__, "reason": "luck"}]}).encode(),
        json.dumps({"cuts": [{**cut(1, 2, Reason.LOST).__dict__, "jobs": [1]}]}).encode(),
        json.dumps({"cuts": [{**cut(1, 2, Reason.LOST).__dict__, "is_done": 1}]}).encode(),
    ],
)
def test_record_that_is_none_is_one_error_and_kept(log_dir, document):
    (log_dir / CUTS_FILE).write_bytes(document)
    with pytest.raises(LogDirError, match=r"\.cuts"):
        LogDirWriter.open(log_dir)
    assert (log_dir / CUTS_FILE).read_bytes() == document
