"""Files that are replaced as a whole, directories, and many paths synced at once."""

import ctypes
import errno
import os
import sys
from pathlib import Path

import pytest

from kminilog.errors import NotARegularFileError
from kminilog.storage import durable_files
from kminilog.storage.durable_files import check_real_directory, replace_file, sync_all


def test_replace_file_writes_through_no_link(tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"theirs")
    (tmp_path / "file").symlink_to(target)
    replace_file(tmp_path / "file", b"ours")
    assert (tmp_path / "file").read_bytes() == b"ours"
    (tmp_path / "file.tmp").symlink_to(target)
    with pytest.raises(NotARegularFileError, match=r"file\.tmp: a symbolic link"):
        replace_file(tmp_path / "file", b"more")
    assert target.read_bytes() == b"theirs"


def test_check_real_directory_takes_a_directory_or_nothing(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").touch()
    check_real_directory(tmp_path / "real")
    check_real_directory(tmp_path / "nothing")
    for name, what in (("link", "a symbolic link"), ("file", "a file")):
        with pytest.raises(NotADirectoryError, match=f"{what}, not a directory of its own"):
            check_real_directory(tmp_path / name)


@pytest.fixture
def synced(monkeypatch) -> list[Path]:
    """The paths that are fsynced."""
    found: list[Path] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        found.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def many_files(directory: Path) -> list[Path]:
    paths = [directory / str(number) for number in range(100)]
    for path in paths:
        path.touch()
    return paths


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux syncs one file system")
def test_sync_all_of_many_files_is_one_call(tmp_path, synced):
    sync_all(many_files(tmp_path))
    assert synced == []
    sync_all(many_files(tmp_path)[:3])
    assert synced == [tmp_path / str(number) for number in range(3)]


def test_sync_all_without_such_a_call_syncs_each_file(tmp_path, synced, monkeypatch):
    monkeypatch.setattr(durable_files, "_syncfs", lambda: None)
    sync_all(many_files(tmp_path))
    assert synced == many_files(tmp_path)


def test_sync_all_that_fails_raises_the_error_of_the_system(tmp_path, monkeypatch):
    def fail(descriptor: int) -> int:
        ctypes.set_errno(errno.EIO)
        return -1

    monkeypatch.setattr(durable_files, "_syncfs", lambda: fail)
    with pytest.raises(OSError, match="Input/output error") as caught:
        sync_all(many_files(tmp_path))
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, str(tmp_path))
