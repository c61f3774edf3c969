"""Directories that cannot be listed, for several causes. Imports nothing of kminilog."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


def put_file(path: Path) -> None:
    path.write_bytes(b"")


def put_loop(path: Path) -> None:
    path.symlink_to(path)


def forbid(path: Path) -> None:
    path.mkdir(mode=0)


CAUSES: dict[str, Callable[[Path], None]] = {
    "a file": put_file,
    "a loop of links": put_loop,
    "forbidden": forbid,
}


@contextmanager
def directory_for_all() -> Iterator[Path]:
    """A directory that everybody may enter; pytest's own ones are for their owner only."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield Path(directory)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Modes of files do not bind root; here they do."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
