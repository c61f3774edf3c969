"""Files that are replaced as a whole, directories, and many paths at once: all survive a crash.

Topics, jobs and checkpoints have such files. The log of a partition needs only `files`.
Source: ours.
"""

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from kminilog.format.names import suffixed
from kminilog.storage.files import KINDS, naming, open_regular, sync
from kminilog.storage.reserve import with_reserve

_MANY_PATHS = 32  # an fsync for each of these takes longer than one for all that has changed


def check_real_directory(path: Path) -> None:
    """Raise NotADirectoryError if the path is not a directory itself; a missing path is fine.

    A link to a directory is refused: deletes and renames in it would leave the log dir.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "a file")
        reason = f"{kind}, not a directory of its own; move it away"
        raise NotADirectoryError(errno.ENOTDIR, reason, str(path))


def make_directory(path: Path) -> None:
    """Create a directory, unless it is there, and those around it; their names survive a power
    failure. Raises OSError; FileExistsError if a file has the name."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync(each.parent)


def sync_all(paths: Collection[Path]) -> None:
    """Fsync many files and directories of one file system. Raises OSError, as `sync` does.

    Linux brings all that has changed in a file system to the disk in one call: for many paths, that
    is many times faster than a call for each. A file system of a user's program (FUSE) may hold
    more back than after an fsync.
    """
    if len(paths) < _MANY_PATHS or not (sync_file_system := _syncfs()):
        for path in paths:
            sync(path)
        return
    directory = next(iter(paths)).parent
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        if sync_file_system(descriptor):
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error), str(directory))
    finally:
        os.close(descriptor)


@cache
def _syncfs() -> Callable[[int], int] | None:
    """Return the system's call that syncs a file system, if it has one; 0 is success."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


def replace_file(
    path: Path, data: bytes, *, temporary: Path | None = None, mode: int | None = None
) -> None:
    """Write a file atomically: a reader sees all of the old bytes or all of the new ones.

    See `replacing`. On a full disk it takes the reserve of the log dir for a moment.
    """

    def replace() -> None:
        with replacing(path, temporary=temporary, mode=mode) as file:
            file.write(data)

    with_reserve(path.parent, replace)


@contextmanager
def replacing(
    path: Path, *, temporary: Path | None = None, mode: int | None = None
) -> Iterator[BinaryIO]:
    """Yield a file to write; at the end of the block it takes the place of the one that is there.

    `temporary` is a name on the same file system, `<name>.tmp` by default; `mode` are the
    permissions if they are not those of any new file. After the block, the new bytes survive a
    power failure. A crash may leave the temporary file. Raises OSError, which names a file; then,
    and after any error in the block, nothing is left.
    """
    temporary = temporary or path.with_name(suffixed(path.name, ".tmp"))
    try:
        with naming(temporary), open(temporary, "wb", opener=open_regular) as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            yield file
        sync(temporary)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            if stat.S_ISREG(os.lstat(temporary).st_mode):  # anything else is somebody's
                os.unlink(temporary)
        raise
    sync(path.parent)
