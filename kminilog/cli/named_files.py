"""Files that a command is given by name: what is wrong with one, and what to do.

    dump orders-0             a directory; name a file in it, like orders-0/00000000000000000000.log
    dump 0.log                no such file; `kminilog ls` lists the segments
    verify --report reports   a directory; name a file in it

All of it is said before any work is done. Source: ours.
"""

import os
from pathlib import Path

import click

from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX, segment_name

_LIKE = segment_name(0) + LOG_SUFFIX


class SegmentFile(click.ParamType[str]):
    """The `.log` or `.index` of a segment, which is there."""

    name = "file"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name as it is; a usage error if it is no such file."""
        path = Path(value)
        if os.path.isdir(value):
            first = min(path.glob(f"*{LOG_SUFFIX}"), default=path / _LIKE)
            self.fail(f"{value} is a directory; name a file in it, like {first}", param, ctx)
        if not value or not os.path.lexists(value):
            remedy = "name a .log or .index; `kminilog ls` lists the segments"
            self.fail(f"{value!r} does not exist; {remedy}", param, ctx)
        if path.suffix not in (LOG_SUFFIX, INDEX_SUFFIX):
            reason = f"is neither a {LOG_SUFFIX} nor an {INDEX_SUFFIX} file"
            self.fail(f"{value} {reason}; name the file of a segment, like {_LIKE}", param, ctx)
        return value
