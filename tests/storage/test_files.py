"""What stands in the place of a file: opened if it is one, named if not, and never waited for."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from kminilog.errors import KMiniLogError, NotARegularFileError
from kminilog.storage.files import (
    append_to,
    open_regular,
    read_regular,
    regular_status,
    touch,
    truncate,
)
from kminilog.storage.lock import LogDirLock


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket must be short
        server.bind(path.name)
        os.chdir(here)


def make_link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


OTHERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "directory": (Path.mkdir, "a directory"),
    "fifo": (os.mkfifo, "a FIFO"),
    "socket": (make_socket, "a socket"),
    "device": (make_link_to_a_device, "a device|a symbolic link"),
    "dangling": (lambda path: path.symlink_to("nothing"), "a symbolic link"),
    "loop": (lambda path: path.symlink_to(path.name), "a symbolic link"),
}
CALLS: dict[str, Callable[[Path], object]] = {
    "open_regular": open_regular,
    "read_regular": read_regular,
    "regular_status": regular_status,
    "truncate": lambda path: truncate(path, 0),
    "touch": touch,
    "append_to": lambda path: append_to(path, b"data"),
    "lock": lambda path: LogDirLock(path.parent),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_every_call_with_something_else_than_a_file_names_it(tmp_path, kind):
    make, what = OTHERS[kind]
    path = tmp_path / ".lock"
    make(path)
    for name, call in CALLS.items():
        with pytest.raises(NotARegularFileError, match=rf"{path}: ({what}).*; move it away") as e:
            pytest.fail(f"{name} returned {call(path)}")
        assert isinstance(e.value, (OSError, KMiniLogError))
    assert not (tmp_path / "nothing").exists()


def test_link_to_a_file_is_read_but_never_written(tmp_path):
    target, path = tmp_path / "target", tmp_path / ".lock"
    target.write_bytes(b"theirs")
    path.symlink_to(target)
    assert read_regular(path) == b"theirs"
    assert regular_status(path).st_size == 6
    for call in (CALLS["truncate"], CALLS["touch"], CALLS["append_to"], CALLS["lock"]):
        with pytest.raises(NotARegularFileError, match="a symbolic link"):
            call(path)
    assert target.read_bytes() == b"theirs"


def test_file_that_is_missing_or_not_allowed_is_told_as_such(tmp_path):
    for call in (open_regular, read_regular, regular_status):
        with pytest.raises(FileNotFoundError):
            call(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        truncate(tmp_path / "nothing", 0)


def test_read_regular_beyond_its_limit_is_refused_unread(tmp_path):
    touch(tmp_path / "large")
    truncate(tmp_path / "large", 1 << 40)  # a hole
    with pytest.raises(OSError, match="larger than 1000 bytes"):
        read_regular(tmp_path / "large", 1000)
