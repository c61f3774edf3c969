"""Open, read and write files: only regular ones, and so that what is written survives a crash.

Opening a FIFO blocks until somebody opens its other end. A directory can be opened but not read. A
device may do anything. A symbolic link may lead out of the log dir. So this module opens the files:

    to read     a regular file, or a symbolic link to one
    to write    a regular file only: the target of a link never changes

For anything else it raises an OSError that says what stands at the path.

A write gives one of three guarantees, the cheapest first:

    in the page cache    the bytes survive the death of the process
    file fsynced         they survive a power failure
    directory fsynced    the names in it survive one, too

The log of a partition needs neither `check_real_directory` nor `replace_file`: topics, jobs and
checkpoints do.
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

from kminilog.errors import NotARegularFileError
from kminilog.format.names import with_suffix
from kminilog.settings import INT32_MAX
from kminilog.storage.reserve import with_reserve

KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}


_MANY_PATHS = 32  # an fsync for each of these takes longer than one for all that has changed


def open_regular(path: Path | str, flags: int = os.O_RDONLY) -> int:
    """Return a descriptor of a regular file; `open(..., opener=open_regular)` makes a file object.

    Never blocks. Raises NotARegularFileError, also for a link to nothing; FileNotFoundError only if
    nothing has this name; other OSErrors as the operating system does.
    """
    is_written = flags & os.O_ACCMODE != os.O_RDONLY
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | (os.O_NOFOLLOW if is_written else 0)
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError:
        _refuse_what_is_no_file(path, follow=not is_written)
        raise
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    raise _refusal(path, mode)


def regular_status(path: Path) -> os.stat_result:
    """Return the status (size, times) of a regular file, or of the one that a link leads to.

    Raises as `open_regular` does.
    """
    try:
        status = os.stat(path)
    except OSError:
        _refuse_what_is_no_file(path, follow=True)
        raise
    if stat.S_ISREG(status.st_mode):
        return status
    raise _refusal(path, status.st_mode)


def read_regular(path: Path | str, limit_bytes: int = INT32_MAX) -> bytes:
    """Return the bytes of a regular file. Raises as `open_regular`; OSError above the limit."""
    with open(path, "rb", opener=open_regular) as file:
        if os.fstat(file.fileno()).st_size > limit_bytes:
            raise OSError(errno.EFBIG, f"larger than {limit_bytes} bytes; move it away", str(path))
        return file.read()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add this file's name to an OSError from the block that names no file: errors of calls on a
    descriptor do not."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def truncate(path: Path, size_bytes: int) -> None:
    """Set the length of a regular file, without fsync; raises as `open_regular`."""
    descriptor = open_regular(path, os.O_WRONLY)
    try:
        with naming(path):
            os.ftruncate(descriptor, size_bytes)
    finally:
        os.close(descriptor)


def touch(path: Path) -> None:
    """Create an empty file, unless a regular file exists already. Raises as `open_regular`."""
    os.close(open_regular(path, os.O_WRONLY | os.O_CREAT))


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


def names_in(directory: Path) -> list[str]:
    """Return the names in a directory; [] if it is not there. Raises other OSErrors."""
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []


def make_directory(path: Path) -> None:
    """Create a directory, unless it is there, and those around it; their names survive a power
    failure. Raises OSError; FileExistsError if a file has the name."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync(each.parent)


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
    temporary = temporary or path.with_name(with_suffix(path.name, ".tmp"))
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


def _refuse_what_is_no_file(path: Path | str, *, follow: bool) -> None:
    """Raise NotARegularFileError if the path is no regular file; it says more than an OSError."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode) and follow:
            mode = os.stat(path).st_mode
    except OSError as error:
        if os.path.islink(path):
            what = f"a symbolic link that leads nowhere ({error.strerror})"
            raise NotARegularFileError(str(path), what=what) from None
        return
    if not stat.S_ISREG(mode):
        raise _refusal(path, mode) from None


def _refusal(path: Path | str, mode: int) -> NotARegularFileError:
    return NotARegularFileError(str(path), what=KINDS.get(stat.S_IFMT(mode), "a special file"))
