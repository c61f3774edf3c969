"""Open, read and write files: only regular ones, and so that what is written survives a crash.

Opening a FIFO blocks until somebody opens its other end. A directory can be opened but not read. A
device may do anything. A symbolic link may lead out of the log dir. So this module opens the files:

    to read     a regular file, or a symbolic link to one
    to write    a regular file only: nothing is written through a link

For anything else it raises an OSError that says what stands at the path.

A write gives one of three guarantees, the cheapest first:

    in the page cache    the bytes survive the death of the process
    file fsynced         they survive a power failure
    directory fsynced    the names in it survive one, too

Files that are replaced as a whole, and whole directories, are in `durable_files`: topics, jobs and
checkpoints have them, the log of a partition has none.
Source: ours.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kminilog.errors import NotARegularFileError
from kminilog.settings import INT32_MAX

KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}


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
    """Add this file's name to an OSError of the block, if the error names no file.

    An error of a call on a descriptor, such as `os.write`, names none.
    """
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


def names_in(directory: Path) -> list[str]:
    """Return the names in a directory; [] if it is not there. Raises other OSErrors."""
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []


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
