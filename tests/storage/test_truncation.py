"""A log that was cut is, byte for byte, one that never had the messages after the cut."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.errors import CorruptLogError, LogClosedError
from kminilog.format.dialect import DIALECTS, DOCUMENTED, Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.cuts import truncate_log
from kminilog.storage.partition_log import PartitionLog
from kminilog.storage.partition_reader import PartitionReader
from kminilog.storage.recovery import plan_recovery
from kminilog.storage.retention import delete_expired
from tests.support.damage import flip_byte
from tests.support.properties.strategies import expected_log, key_values

ORDERS = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=100, index_interval_bytes=30)


def open_log(
    directory: Path, dialect: Dialect, settings: TopicSettings = SETTINGS, base_offset: int = 0
) -> PartitionLog:
    return PartitionLog.open(directory, ORDERS, dialect, settings, base_offset=base_offset)


def files_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def numbered(*numbers: int) -> list[tuple[bytes | None, bytes | None]]:
    return [(None, b"%d" % n) for n in numbers]


@pytest.mark.parametrize("offset", range(13))
def test_truncate_to_each_offset_leaves_the_files_of_a_shorter_log(tmp_path, dialect, offset):
    log = open_log(tmp_path / "cut", dialect)
    log.append(numbered(*range(12)))
    assert len(log.segments()) >= 3
    truncate_log(log, offset)
    log.check()
    assert log.log_end_offset == offset
    shorter = open_log(tmp_path / "short", dialect)
    shorter.append(numbered(*range(offset)))
    assert files_of(log.directory) == files_of(shorter.directory)
    for either in (log, shorter):
        either.append(numbered(*range(50, 60)))
        either.check()
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
    log.check()
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
    log.check()


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
    log.check()


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
    log.check()


class CrashError(Exception):
    """The process ends here."""


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
