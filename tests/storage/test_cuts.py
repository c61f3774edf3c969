"""What logs have lost at their ends is on record, and a crash leaves no record that is wrong."""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from kminilog.errors import LogDirError
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.changes import CHANGES_FILE, begin_counting
from kminilog.storage.checkpoint import CHECKPOINT_FILE, read_checkpoint
from kminilog.storage.cuts import (
    CUTS_FILE,
    Cut,
    Reason,
    cuts_of_job,
    read_cuts,
    recorded_cut,
    truncate_log,
)
from kminilog.storage.log_dir_writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.partition_log import PartitionLog
from kminilog.storage.publish.manifests import Manifest, StagedPartition, committed_path
from kminilog.storage.topics import Topic
from tests.support.damage import flip_byte, message_positions

ORDERS = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=200)
COUNT = 20


@pytest.fixture
def log_dir(tmp_path: Path, dialect: Dialect) -> Path:
    """A topic of one partition with messages in several segments, closed cleanly."""
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, SETTINGS))
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


class PowerFailureError(Exception):
    pass


@pytest.mark.parametrize("come_to", [COUNT, 17, 12])
def test_cut_that_a_crash_interrupts_is_on_record_as_far_as_it_came(log_dir, come_to):
    writer = LogDirWriter.open(log_dir)
    log = writer.log(ORDERS)
    with (
        suppress(PowerFailureError),
        recorded_cut(log_dir, ORDERS, range(12, COUNT), Reason.TRUNCATION),
    ):
        if come_to < COUNT:
            (log_dir / CHANGES_FILE).unlink()  # so that this cut has no record of its own
            truncate_log(log, come_to)
            begin_counting(log_dir)
        raise PowerFailureError
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
        patch.setattr("kminilog.storage.cuts.lower_checkpoint", fail)
        with pytest.raises(PowerFailureError):
            writer.log(ORDERS)
    writer.close(cleanly=False)
    assert read_checkpoint(log_dir) == {ORDERS: COUNT}
    with LogDirWriter.open(log_dir) as writer:
        writer.log(ORDERS)
    assert read_cuts(log_dir) == [cut(end, COUNT, Reason.LOST)]


def fail(*arguments: object) -> None:
    raise PowerFailureError


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
