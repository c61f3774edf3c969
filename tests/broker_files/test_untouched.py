"""Reading that nothing shows."""

import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from kminilog.broker_files.untouched import (
    DirectoryEntry,
    entries_of,
    open_untouched,
    read_untouched,
)

OLD_NS = 10**18


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.log"
    path.write_bytes(b"12345")
    for one in (path, tmp_path):
        os.utime(one, ns=(OLD_NS, one.stat().st_mtime_ns))
    return path


def test_reading_takes_no_more_memory_than_the_file(file: Path) -> None:
    tracemalloc.start()
    try:
        assert read_untouched(file) == b"12345"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_reading_leaves_the_time_of_access(file: Path) -> None:
    """Which an ordinary read would set anew, because it is older than the last change."""
    assert read_untouched(file, 3) == b"123"
    assert list(entries_of(file.parent)) == [DirectoryEntry("a.log", False, 5)]
    assert file.stat().st_atime_ns == file.parent.stat().st_atime_ns == OLD_NS


def test_who_is_not_the_owner_reads_all_the_same(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux grants O_NOATIME to the owner and to root only."""
    opened, refused = os.open, []

    def open_as_another(path: Any, flags: int, *mode: int) -> int:
        if flags & os.O_NOATIME:
            refused.append(path)
            raise PermissionError(1, "Operation not permitted", path)
        return opened(path, flags, *mode)

    monkeypatch.setattr(os, "open", open_as_another)
    descriptor = open_untouched(file)
    assert os.pread(descriptor, 9, 0) == b"12345"
    os.close(descriptor)
    assert [entry.name for entry in entries_of(file.parent)] == ["a.log"]
    assert refused == [file, file.parent]


def test_what_vanishes_meanwhile_is_left_out(file: Path) -> None:
    (file.parent / "gone").symlink_to(file.parent / "nowhere")
    assert [entry.name for entry in entries_of(file.parent)] == ["a.log"]
