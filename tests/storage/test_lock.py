"""The lock of a log dir, and waiting for it by a clock that moves only by waiting."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kminilog.clock import ManualClock
from kminilog.errors import LogDirLockedError
from kminilog.storage.lock import LOCK_FILE, LockWait, LogDirLock, is_abandoned
from kminilog.storage.log_dir.writer import LogDirWriter
from tests.support.storage.full_disk import fill


class ClockOfAWait(ManualClock):
    """Notes the pauses, and lets go of a lock when its time has come."""

    def __init__(self, release: Callable[[], None], release_at_ms: int) -> None:
        super().__init__()
        self.pauses: list[int] = []
        self._release = release
        self._release_at_ms = release_at_ms

    def sleep_ms(self, duration_ms: int) -> None:
        super().sleep_ms(duration_ms)
        self.pauses.append(duration_ms)
        if self.now_ms() >= self._release_at_ms:
            self._release()


def test_lock_on_a_full_disk_is_taken_and_names_its_holder_if_it_can(mount):
    disk = mount("size=64k")
    for content, holder in ((b"", "another process"), (b"process 1234567890\n", os.getpid())):
        (disk / LOCK_FILE).write_bytes(content)
        fill(disk)
        lock = LogDirLock(disk)
        with pytest.raises(LogDirLockedError, match=rf"\b{holder} is writing to it|{holder} "):
            LogDirLock(disk)
        lock.release()
        (disk / "filler").unlink()


def test_lock_that_becomes_free_is_taken_after_pauses_that_grow_to_a_second(tmp_path: Path):
    lines: list[str] = []
    clock = ClockOfAWait(LogDirLock(tmp_path).release, release_at_ms=8_000)
    LockWait(20_000, clock, lines.append).take(tmp_path)
    assert clock.pauses == [10, 20, 40, 80, 160, 320, 640] + [1_000] * 7
    holder = f"log dir {tmp_path}: process {os.getpid()} is writing to it; waiting for at most"
    assert lines == [f"{holder} 18.7 s more", f"{holder} 13.7 s more"]
    with pytest.raises(LogDirLockedError):
        LogDirLock(tmp_path)


def test_lock_that_stays_held_is_an_error_at_the_time_out_which_says_how_long_it_took(tmp_path):
    lock = LogDirLock(tmp_path)
    for timeout_ms, waited in ((2_500, ", still after 2.5 s of waiting"), (0, "")):
        clock = ClockOfAWait(lambda: None, release_at_ms=0)
        with pytest.raises(LogDirLockedError) as caught:
            LockWait(timeout_ms, clock, lambda line: None).take(tmp_path)
        assert caught.value.waited_ms == clock.now_ms() == sum(clock.pauses) == timeout_ms
        assert f"process {os.getpid()} is writing to it{waited}; only one" in str(caught.value)
    lock.release()


def test_lock_that_is_free_is_taken_at_once_and_nothing_is_said(tmp_path):
    clock = ManualClock()
    LogDirWriter.open(tmp_path, lock_wait=LockWait(1_000, clock, pytest.fail)).close()
    assert clock.now_ms() == 0


def test_lock_that_cannot_be_written_is_named_and_not_held(tmp_path, monkeypatch):
    def refuse(descriptor: int, size_bytes: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", refuse)
        with pytest.raises(OSError, match=r"'.*/\.lock'"):
            LogDirWriter.open(tmp_path)
    LogDirWriter.open(tmp_path).close()


def test_lock_is_abandoned_if_its_file_is_there_and_nobody_holds_it(tmp_path):
    assert not is_abandoned(tmp_path)
    assert not (tmp_path / LOCK_FILE).exists()
    lock = LogDirLock(tmp_path)
    assert not is_abandoned(tmp_path)
    lock.release()
    for _ in range(2):  # to ask does not take it
        assert is_abandoned(tmp_path)
