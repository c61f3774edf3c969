"""Opening what must be a regular file, so that nothing else of that name holds anybody up.

To open a FIFO waits for its other end, a directory opens and cannot be read, a device does what it
likes; and a symbolic link may lead out of the log dir. So every file of a log dir is opened here:

    to read     a regular file, or a symbolic link to one
    to write    a regular file of that very name: what a link leads to is never changed

What is something else is an OSError that names the file and says what it is. Source: ours.
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

    Never waits. Raises NotARegularFileError, and OSError as the operating system does:
    FileNotFoundError only if nothing has this name, for a link to nothing is no regular file.
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
    """Return size and times of a regular file, or of the one that a link leads to.

    Raises as `open_regular`.
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
    """Return the bytes of a regular file; raises as `open_regular`, and EFBIG beyond a limit."""
    with open(path, "rb", opener=open_regular) as file:
        if os.fstat(file.fileno()).st_size > limit_bytes:
            raise OSError(errno.EFBIG, f"larger than {limit_bytes} bytes; move it away", str(path))
        return file.read()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have an OSError from inside the block name this file, if it names none: so does one that the
    operating system raises for a descriptor."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def truncate(path: Path, size_bytes: int) -> None:
    """Cut or extend a regular file; raises as `open_regular`."""
    descriptor = open_regular(path, os.O_WRONLY)
    try:
        with naming(path):
            os.ftruncate(descriptor, size_bytes)
    finally:
        os.close(descriptor)


def touch(path: Path) -> None:
    """Make an empty file if there is none of this name; raises as `open_regular`."""
    os.close(open_regular(path, os.O_WRONLY | os.O_CREAT))


def _refuse_what_is_no_file(path: Path | str, *, follow: bool) -> None:
    """Raise the better error, if the one of the operating system is because of what it is."""
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
