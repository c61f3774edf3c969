"""Files that a command writes where the user says: reports, pages, tables.

    whole or not at all    written beside its place under a name of its own, then renamed: a failed
                           write leaves the old file, and nothing else
    never in a log dir     neither a file of one nor a new one, by the real path: a segment would be
                           lost, `x.json` would be a topic
    through a link         the link stays, the file that it leads to is replaced; another hard link
                           keeps the old bytes
    a device               is written to, not replaced
    where stdout goes      is refused: a file that is replaced would lose what was printed
    named by two options   is refused: one would replace the other, or what it is made of

Every option that names such a file has the type `OutputFile`, or `OutputDirectory` for several, and
every such file is written by `write_output`, or by `write_page`. Source: ours.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import click

from kminilog.cli.shared.named_files import DirectoryName, is_device, named_too, refuse_fifo
from kminilog.cli.shared.output import warn
from kminilog.errors import LogDirError
from kminilog.pages import grouped, is_too_long
from kminilog.storage.durable_files import replace_file
from kminilog.storage.files import regular_status
from kminilog.storage.log_dir.log_dir import log_dir_around


class OutputFile(click.ParamType[Path]):
    """A file to be written, in a directory that is there; a file of that name is replaced.

    If there are `endings`, its name must have one of them.
    """

    name = "file"

    def __init__(self, *endings: str) -> None:
        self._endings = endings

    def convert(
        self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return the path; a usage error if no file can have this name, or none should."""
        if str(value) in ("", "-"):
            what = "- is stdout, which has its own output" if value else "the name is empty"
            self.fail(f"{what}; name a file", param, ctx)
        if os.path.isdir(value):
            self.fail(f"{value} is a directory; name a file in it", param, ctx)
        directory = Path(value).absolute().parent
        if not directory.is_dir():
            self.fail(f"{value}: there is no directory {directory}; make it first", param, ctx)
        refuse_fifo(self, value, param, ctx)
        if reason := _why_not(Path(value)) or named_too(Path(value), param, ctx):
            self.fail(f"{value}: {reason}", param, ctx)
        if self._endings and Path(value).suffix.lower() not in self._endings:
            self.fail(f"{value}: its name must end in {' or '.join(self._endings)}", param, ctx)
        return Path(value)


class OutputDirectory(DirectoryName):
    """A directory for several such files, which is made if it is not there.

    The names of these files have the `endings`.
    """

    def __init__(self, *endings: str) -> None:
        self._endings = endings

    def convert(
        self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return the path; a usage error if it is that of a file, or in a log dir."""
        path = super().convert(value, param, ctx)
        if path.exists() and not path.is_dir():
            self.fail(f"{value} is a file; name a directory", param, ctx)
        if reason := _why_not(path / "page") or named_too(path, param, ctx, endings=self._endings):
            self.fail(f"{value}: {reason}", param, ctx)
        return path


def write_output(path: Path, data: bytes) -> None:
    """Replace a file by these bytes, all of them or none; once it returns, they are on the disk.

    A file that was there keeps its permissions. Raises OSError with the name of the file, also for
    what is neither a file nor a device, and LogDirError for a place in a log dir. A kill may leave
    a file `.<digits>.tmp` beside it.
    """
    target = Path(os.path.realpath(path))
    if reason := _why_not(target):
        raise LogDirError(str(path), reason=reason)
    mode = None
    with suppress(FileNotFoundError):
        mode = None if is_device(target) else stat.S_IMODE(regular_status(target).st_mode)
    try:
        if is_device(target):
            with open(target, "wb") as device:
                device.write(data)
        else:
            # A name that nobody has: the directory is the user's.
            temporary = target.with_name(f".{uuid4().hex}.tmp")
            replace_file(target, data, temporary=temporary, mode=mode)
    except OSError as error:  # the error of a full disk names no file, others the temporary one
        raise OSError(error.errno, error.strerror, str(path)) from None


def write_page(path: Path, page: str) -> None:
    """Write a page as `write_output` does, then say on stderr if it is too long."""
    write_output(path, page.encode())
    if is_too_long(page):
        size = grouped(len(page.encode()))
        warn(f"{path}: a long page, {size} bytes; name fewer topics for a shorter one")


def _why_not(path: Path) -> str:
    """Return why nothing is written to a path, which may be a link; empty if it may be."""
    target = Path(os.path.realpath(path))
    if around := log_dir_around(target):
        return f"it is in the log dir {around}; name a file elsewhere"
    for stream, descriptor in (("stdout", 1), ("stderr", 2)):
        with suppress(OSError):  # the file is new, or the descriptor is closed
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode) and os.path.samestat(found, target.stat()):
                return f"{stream} goes to this file; name another one"
    return ""
