"""Writes that are whole, and writes that survive: the few calls that the other files are made with.

Three promises, in the order of their price: handed to the operating system (a killed process loses
nothing), fsynced (the file's bytes survive a power failure), directory fsynced (so do its names).
"""

import os
from pathlib import Path

from kminilog.storage.regular_file import naming, open_regular


def append_to(path: Path, data: bytes) -> None:
    """Hand data to the operating system, to go behind the end of a file that exists.

    Raises OSError, which names the file; part of the data may then have been written.
    """
    descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND)
    try:
        rest = memoryview(data)
        with naming(path):
            while rest:  # the operating system may take it in pieces
                rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


def sync(path: Path) -> None:
    """Bring a file's bytes, or a directory's names, to the disk; an OSError names which."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with naming(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Put a file with these bytes at `path`: whoever looks sees all of the old or all of the new.

    Once it returns the new bytes survive a power failure. A crash may leave `<name>.tmp` behind.
    Raises OSError, which names a file.
    """
    temporary = path.with_name(path.name + ".tmp")
    with naming(temporary), open(temporary, "wb", opener=open_regular) as file:
        file.write(data)
    sync(temporary)
    os.replace(temporary, path)
    sync(path.parent)
