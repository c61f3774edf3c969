"""A reserve of disk space in a log dir: even what frees a full disk needs some space first.

    .reserve    128 KiB of text; nothing but its size matters

Before retention deletes a segment, it puts the new start of the log on record; a topic is marked
before its files are deleted. Each such record replaces a small file, and for a moment the new file
needs space beside the old one. On a full disk it takes the space of the reserve for that moment,
so the order stays: record, then delete. Messages never get it. Source: ours; ext4 keeps such space
for root.
"""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

RESERVE_FILE = ".reserve"
_TEXT = b"Space for the small files of kminilog on a full disk.\n"
_BYTES = 1 << 17  # the recovery points of some 7,000 partitions
_IS_FULL = (errno.ENOSPC, errno.EDQUOT)
_WAY_OUT = (
    "the disk is full, and the reserve of the log dir is gone or too small: remove other files of "
    "this disk by hand, such as *.deleted and *.cut in the log dir; then `kminilog retain`"
)

Value = TypeVar("Value")


def keep_reserve(directory: Path) -> None:
    """Fill up the reserve of a log dir, as far as the disk has space. O(1)."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):  # what can be kept is kept
        descriptor = os.open(directory / RESERVE_FILE, flags | os.O_NONBLOCK, 0o666)
        try:
            missing = max(_BYTES - os.fstat(descriptor).st_size, 0)
            os.write(descriptor, (_TEXT * (_BYTES // len(_TEXT) + 1))[:missing])
        finally:
            os.close(descriptor)


def with_reserve(directory: Path, write: Callable[[], Value]) -> Value:
    """Return what `write` returns, which writes files in a directory, and may be called twice.

    If the disk is full, it is called again with the space of the reserve that is in this directory
    or in the one around it. Raises what `write` raises; the error of a disk that is too full all
    the same says what to do.
    """
    try:
        return write()
    except OSError as error:
        around = next(filter(_has_reserve, (directory, directory.parent)), None)
        if error.errno not in _IS_FULL or not around:
            raise
    (around / RESERVE_FILE).unlink()
    try:
        return write()
    except OSError as error:
        if error.errno in _IS_FULL:
            error.strerror = f"{error.strerror}; {_WAY_OUT}"
        raise
    finally:
        keep_reserve(around)


def _has_reserve(directory: Path) -> bool:
    path = directory / RESERVE_FILE
    if not path.is_file():
        return False
    with open(path, "rb") as file:  # another file of this name is not ours to delete
        return _TEXT.startswith(file.read(len(_TEXT)))
