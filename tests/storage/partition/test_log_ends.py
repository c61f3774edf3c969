"""What a log has lost at its start and its end, as a reader learns it from what is on record."""

from pathlib import Path

import pytest

from kminilog.errors import CorruptLogError
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage import checkpoint
from kminilog.storage.checkpoint import lower_checkpoint, read_checkpoint, record_log_starts
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.cuts import truncate_log
from kminilog.storage.partition.log_ends import Loss, RecordedEnds
from kminilog.storage.partition.retention import delete_oldest
from kminilog.storage.topics import Topic
from tests.support.damage import flip_byte
from tests.support.storage.losses import (
    AT_END,
    AT_START,
    Lose,
    all_segments,
    first_segment,
    last_segment,
)

ORDERS = TopicPartition("orders", 0)
COUNT = 20


@pytest.fixture
def log_dir(tmp_path: Path, dialect: Dialect) -> LogDir:
    settings = TopicSettings(segment_bytes=200, index_interval_bytes=60)
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 2, dialect, settings))
        for partition in (0, 1):
            log = writer.log(TopicPartition("orders", partition))
            log.append((b"k", b"value %2d" % n) for n in range(COUNT))
    return LogDir(tmp_path)


def losses(log_dir: LogDir) -> list[Loss]:
    return RecordedEnds().losses(log_dir.reader(ORDERS))


def test_log_that_is_whole_has_lost_nothing(log_dir):
    assert losses(log_dir) == []


@pytest.mark.parametrize("lose", AT_START)
def test_log_without_its_beginning_has_lost_it(log_dir, lose: Lose):
    lose(log_dir.path / "orders-0")
    start = log_dir.reader(ORDERS).log_start_offset
    assert losses(log_dir) == [Loss(ORDERS, range(start), is_start=True)]
    said = f"orders-0: offsets 0 to {start - 1} are gone; retention has not deleted them"
    assert str(*losses(log_dir)) == said


@pytest.mark.parametrize("lose", AT_END)
def test_log_without_its_end_has_lost_it(log_dir, lose: Lose):
    lose(log_dir.path / "orders-0")
    end = log_dir.reader(ORDERS).log_end_offset
    (loss,) = losses(log_dir)
    assert (end < COUNT, loss) == (True, Loss(ORDERS, range(end, COUNT), is_start=False))
    assert "on the disk, the log ends before" in str(loss)


def test_log_without_both_has_lost_both(log_dir):
    first_segment(log_dir.path / "orders-0")
    last_segment(log_dir.path / "orders-0")
    assert [loss.is_start for loss in losses(log_dir)] == [True, False]


def test_end_that_is_gone_after_retention_begins_at_the_log_start(log_dir):
    with LogDirWriter.open(log_dir.path) as writer:
        log = writer.log(ORDERS)
        delete_oldest(log, log.segments()[:1], 0)
        start = log.log_start_offset
    all_segments(log_dir.path / "orders-0")
    assert losses(log_dir) == [Loss(ORDERS, range(start, COUNT), is_start=False)]


def test_retention_and_cuts_are_no_loss(log_dir):
    with LogDirWriter.open(log_dir.path) as writer:
        log = writer.log(ORDERS)
        delete_oldest(log, log.segments()[:1], 0)
        assert losses(log_dir) == []
        truncate_log(log, 15)
        assert losses(log_dir) == []
    assert losses(log_dir) == []


def test_damage_is_no_loss_because_who_reads_it_gets_the_error(log_dir):
    log = max((log_dir.path / "orders-0").glob("*.log"))
    flip_byte(log, log.stat().st_size - 1, mask=1)
    assert losses(log_dir) == []
    with pytest.raises(CorruptLogError):
        log_dir.reader(ORDERS).read(log_dir.reader(ORDERS).log_end_offset, 1)


def test_nothing_on_record_is_no_loss(log_dir):
    for name in (checkpoint.CHECKPOINT_FILE, checkpoint.LOG_START_FILE):
        (log_dir.path / name).unlink()
    first_segment(log_dir.path / "orders-0")
    assert losses(log_dir) == []


def test_what_a_writer_changes_meanwhile_is_no_loss(log_dir):
    """Retention records the log start first, and a cut the recovery point: so it is read again."""
    known, reader = RecordedEnds(), log_dir.reader(ORDERS)
    assert known.losses(reader) == []
    first_segment(log_dir.path / "orders-0")
    last_segment(log_dir.path / "orders-0")
    after = log_dir.reader(ORDERS)
    record_log_starts(log_dir.path, {ORDERS: after.log_start_offset})
    lower_checkpoint(log_dir.path, {ORDERS: after.log_end_offset})
    assert known.losses(after) == []


def test_files_on_record_are_read_once_for_all_partitions(log_dir, monkeypatch):
    read = []
    monkeypatch.setattr(
        "kminilog.storage.partition.log_ends.read_checkpoint",
        lambda path, name: read.append(name) or read_checkpoint(path, name),
    )
    known = RecordedEnds()
    for partition in (0, 1):
        assert known.losses(log_dir.reader(TopicPartition("orders", partition))) == []
    assert len(read) == 2
