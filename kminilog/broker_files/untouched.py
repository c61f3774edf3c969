"""Read files and directories so that nothing shows it: no lock, no marker, no time of access.

A broker may be writing them meanwhile. A program that only looks must leave nothing behind, not
even the time at which it looked: `O_NOATIME`, which the operating system grants to the owner of a
file and to root. For others the file system decides, as for every reader. Source: open(2).
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kminilog.settings import INT32_MAX
from kminilog.storage.files import open_regular

_NO_ACCESS_TIME = getattr(os, "O_NOATIME", 0)  # only Linux has it


class DirectoryEntry(NamedTuple):
    """What stands in a directory under a name; the size of a file, 0 for anything else."""

    name: str
    is_directory: bool
    size_bytes: int


def open_untouched(path: Path | str, flags: int = os.O_RDONLY) -> int:
    """Return a descriptor of a regular file, to read it; raises as `open_regular` does."""
    try:
        return open_regular(path, flags | _NO_ACCESS_TIME)
    except PermissionError:
        return open_regular(path, flags)


def read_untouched(path: Path, limit_bytes: int = INT32_MAX) -> bytes:
    """Return the first bytes of a regular file, all of them up to the limit. Raises OSError."""
    with open(path, "rb", opener=open_untouched) as file:
        size_bytes = os.fstat(file.fileno()).st_size  # Python allocates as much as it is asked for
        return file.read(min(size_bytes, limit_bytes))


def entries_of(directory: Path) -> Iterator[DirectoryEntry]:
    """Yield what stands in a directory, in no order; what vanishes meanwhile is left out. OSError.

    O(names), with a call of the operating system for each.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        descriptor = os.open(directory, flags | _NO_ACCESS_TIME)
    except PermissionError:
        descriptor = os.open(directory, flags)
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                try:
                    is_directory = entry.is_dir()
                    size_bytes = 0 if is_directory else entry.stat().st_size
                except OSError:
                    continue
                yield DirectoryEntry(entry.name, is_directory, size_bytes)
    finally:
        os.close(descriptor)
