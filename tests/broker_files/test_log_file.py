"""The batches of one `.log` of a broker."""

import os
from pathlib import Path

import pytest

from kminilog.broker_files.entries import CorruptBatch, RecordBatch
from kminilog.broker_files.log_file import DamagedBytes, scan_log, walk_log
from kminilog.format.dialect import KAFKA
from kminilog.format.message import NeedMoreBytes, encode

MESSAGES = [encode(KAFKA, offset, None, b"v" * (7 * offset)) for offset in range(20)]
STARTS = [sum(map(len, MESSAGES[:place])) for place in range(20)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.log"
    path.write_bytes(b"".join(MESSAGES))
    return path


@pytest.mark.parametrize("window_bytes", [1, 12, 100, 1 << 20])
def test_scan_whatever_the_window_gives_each_batch_at_its_place(
    log: Path, window_bytes: int
) -> None:
    found = list(scan_log(log, window_bytes=window_bytes))
    assert [position for position, _ in found] == STARTS
    assert [batch.position for _, batch in found if isinstance(batch, RecordBatch)] == STARTS


def test_scan_from_a_position_begins_there(log: Path) -> None:
    position, batch = next(scan_log(log, STARTS[7]))
    assert (position, isinstance(batch, RecordBatch) and batch.last_offset) == (STARTS[7], 7)


@pytest.mark.parametrize("window_bytes", [1, 100, 1 << 20])
def test_scan_of_a_torn_tail_ends_with_the_need_for_more(log: Path, window_bytes: int) -> None:
    log.write_bytes(log.read_bytes()[:-1])
    *whole, (position, last) = scan_log(log, window_bytes=window_bytes)
    assert len(whole) == 19
    assert (position, last) == (STARTS[19], NeedMoreBytes(len(MESSAGES[19])))


def test_scan_ends_at_damage(log: Path) -> None:
    damaged = bytearray(log.read_bytes())
    damaged[STARTS[3] - 1] ^= 1
    log.write_bytes(damaged)
    *whole, (position, last) = scan_log(log)
    assert (len(whole), position, type(last)) == (2, STARTS[2], CorruptBatch)
    assert next(scan_log(log, STARTS[3]))[0] == STARTS[3]


def test_scan_of_an_empty_file_gives_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.log").touch()
    assert list(scan_log(tmp_path / "a.log")) == []


def test_walk_goes_on_after_damage(log: Path) -> None:
    damaged = bytearray(log.read_bytes())
    damaged[STARTS[3] - 1] ^= 1  # the last byte of 2
    damaged[STARTS[5] + 8 : STARTS[5] + 12] = bytes(4)  # the size of 5
    log.write_bytes(damaged[:-1])
    walked = list(walk_log(log))
    offsets = [each.last_offset for each in walked if isinstance(each, RecordBatch)]
    assert offsets == [offset for offset in range(19) if offset not in (2, 5)]
    damage = [(each.position, each.end) for each in walked if isinstance(each, DamagedBytes)]
    size = len(damaged) - 1
    assert damage == [(STARTS[2], STARTS[3]), (STARTS[5], STARTS[6]), (STARTS[19], size)]


def test_walk_tells_reserved_space_from_damage(log: Path) -> None:
    whole = log.read_bytes()
    for rest, is_padding in ((bytes(100), True), (bytes(5), True), (bytes(99) + b"x", False)):
        log.write_bytes(whole + rest)
        *_, damage = walk_log(log)
        assert isinstance(damage, DamagedBytes)
        assert (damage.position, damage.is_padding) == (len(whole), is_padding)


def test_walk_looks_again_at_a_batch_that_is_being_written(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, status = log.read_bytes(), os.stat
    log.write_bytes(whole[:-1])

    def finished_meanwhile(path: Path) -> os.stat_result:
        log.write_bytes(whole)
        return status(path)

    monkeypatch.setattr(os, "stat", finished_meanwhile)
    walked = list(walk_log(log))
    assert len(walked) == 20
    assert all(isinstance(each, RecordBatch) for each in walked)
