"""Files that a command is given by name: what is wrong with one, and what to do.

    dump orders-0             a directory; name a file in it, like orders-0/00000000000000000000.log
    dump 0.log                no such file; `kminilog ls` lists the segments
    demo --input fifo         a FIFO, where the work would wait for a writer; name a regular file

Files to be written: output_files.py. All of it is said before any work is done. Only a stream may
be a FIFO. Source: ours.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import click

from kminilog.cli.shared.interrupts import interruptible_wait
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX, parse_segment_file, segment_name

_LIKE = segment_name(0) + LOG_SUFFIX


class DirectoryName(click.ParamType[Path]):
    """The name of a directory, which may be made later. An empty one would be the present one."""

    name = "directory"

    def convert(
        self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return the path; a usage error for an empty name."""
        if not str(value):
            self.fail("the name is empty; name a directory, . for the current one", param, ctx)
        return Path(value)


class InputFile(click.ParamType[Path]):
    """A file that is there, to be read."""

    name = "file"

    def convert(
        self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return the path; a usage error if nothing, a directory, or a FIFO has this name."""
        _refuse_missing(self, value, param, ctx)
        refuse_fifo(self, value, param, ctx)
        if reason := named_too(Path(value), param, ctx, is_input=True):
            self.fail(f"{value}: {reason}", param, ctx)
        return Path(value)


class InputStream(click.File):
    """A file or FIFO that is there, opened to be read as bytes; `-` is stdin.

    Opening a FIFO waits for a writer, until a signal asks to end.
    """

    def __init__(self) -> None:
        super().__init__("rb")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the open file; a usage error if there is none, or if it cannot be opened."""
        if isinstance(value, str) and value != "-":
            _refuse_missing(self, value, param, ctx)
        with interruptible_wait():
            return super().convert(value, param, ctx)


class SegmentFile(click.ParamType[str]):
    """The `.log` or `.index` of a segment, which is there."""

    name = "file"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name as it is; a usage error if it is no such file."""
        path = Path(value)
        if os.path.isdir(value):
            first = _segment_below(path)
            like = f", like {first}" if first else "; `kminilog ls` lists the segments"
            self.fail(f"{value} is a directory; name a file in it{like}", param, ctx)
        if not value or not os.path.lexists(value):
            remedy = "name a .log or .index; `kminilog ls` lists the segments"
            self.fail(f"{value!r} does not exist; {remedy}", param, ctx)
        if path.suffix not in (LOG_SUFFIX, INDEX_SUFFIX):
            reason = f"is neither a {LOG_SUFFIX} nor an {INDEX_SUFFIX} file"
            self.fail(f"{value} {reason}; name the file of a segment, like {_LIKE}", param, ctx)
        return value


def _refuse_missing(
    kind: click.ParamType[Any],
    value: str | Path,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> None:
    if os.path.isdir(value):
        kind.fail(f"{value} is a directory; name a file in it", param, ctx)
    if not os.path.lexists(value):
        kind.fail(f"{str(value)!r} does not exist; name a file that does", param, ctx)


def refuse_fifo(
    kind: click.ParamType[Any],
    value: str | Path,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> None:
    """Fail with a usage error if a FIFO has this name."""
    try:
        is_fifo = stat.S_ISFIFO(os.stat(value).st_mode)
    except OSError:
        return  # who opens it says why it cannot
    if is_fifo:
        kind.fail(f"{value} is a FIFO; name a regular file", param, ctx)


def is_device(path: Path) -> bool:
    """Tell if a path leads to a device, such as /dev/null, which keeps nothing."""
    with suppress(OSError):
        return stat.S_ISCHR(os.stat(path).st_mode)
    return False


class _Named(NamedTuple):
    """A file that an option names; with `endings`, a directory for such files."""

    option: str
    path: Path
    endings: tuple[str, ...]
    is_input: bool


def named_too(
    path: Path,
    param: click.Parameter | None,
    ctx: click.Context | None,
    *,
    endings: tuple[str, ...] = (),
    is_input: bool = False,
) -> str:
    """Return why another option of the command may write, or need, the same file; else nothing.

    Click converts options in the order in which they are typed, then arguments: each is compared
    with those before it. Two may read one file.
    """
    if ctx is None or param is None or is_device(path):
        return ""
    own = _Named(param.opts[0], Path(os.path.realpath(path)), endings, is_input)
    named: list[_Named] = ctx.meta.setdefault(__name__, [])
    for other in named:
        if other.option == own.option or (other.is_input and is_input):
            continue
        if own.path == other.path or _is_in(own, other) or _is_in(other, own):
            does = "reads" if other.is_input else "writes"
            return f"{other.option} {does} this file, too; name another one"
    named.append(own)
    return ""


def _is_in(file: _Named, directory: _Named) -> bool:
    return directory.path in file.path.parents and file.path.suffix in directory.endings


def _segment_below(directory: Path) -> Path | None:
    """Return the first `.log` of a partition's directory, or of a log dir; None without one."""
    for pattern in (f"*{LOG_SUFFIX}", f"*/*{LOG_SUFFIX}"):
        logs = [path for path in directory.glob(pattern) if parse_segment_file(path.name)]
        if found := min(filter(Path.is_file, logs), default=None):
            return found
    return None
