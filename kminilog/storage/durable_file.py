"""Atomic writes, and writes that survive a power failure: all other files are written with these.

Three guarantees, cheapest first. In the page cache: the bytes survive the death of the process.
File fsynced: they survive a power failure. Directory fsynced: the names in it survive one, too.
"""

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from kminilog.format.names import with_suffix
from kminilog.storage.regular_file import naming, open_regular


def append_to(path: Path, data: bytes | memoryview) -> None:
    """Append data to an existing file, in the page cache: no fsync.

    Raises OSError, which names the file; it may then end with part of the data.
    """
    descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND)
    try:
        rest = memoryview(data)
        with naming(path):
            while rest:  # the operating system may write less than it was given
                rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


def sync(path: Path) -> None:
    """Fsync a file or a directory: its bytes, or its names, survive a power failure. OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with naming(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_file(source: Path, directory: Path) -> None:
    """Copy a file with its times into a directory: no fsync. OSError, which names a file."""
    with naming(directory / source.name):
        shutil.copy2(source, directory)


def replace_file(
    path: Path, data: bytes, *, temporary: Path | None = None, mode: int | None = None
) -> None:
    """Write a file atomically: a reader sees all of the old bytes or all of the new ones.

    `temporary` is a name in the same directory, `<name>.tmp` by default; `mode` are the permissions
    if they are not those of any new file. Once it returns, the new bytes survive a power failure. A
    crash may leave the temporary file. Raises OSError, which names a file; then nothing is left.
    """
    temporary = temporary or path.with_name(with_suffix(path.name, ".tmp"))
    try:
        with naming(temporary), open(temporary, "wb", opener=open_regular) as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
        sync(temporary)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            if stat.S_ISREG(os.lstat(temporary).st_mode):  # anything else is somebody's
                os.unlink(temporary)
        raise
    sync(path.parent)
