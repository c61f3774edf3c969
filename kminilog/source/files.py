"""Which files a source is made of, in source order: arguments as given, then path.

An argument is a file, a directory or a glob; `file:///` may stand in front of its absolute path. A
directory stands for all files below it. As in Spark and Hadoop, names that begin with '.' or '_'
are left out unless an argument spells them out. The directory of a table is refused, because its
own log says which of its files count. So is a URL. Driver and executors must see the files under
the same paths, and nobody may change them while they are read. This module does not know what is in
the files.
"""

import glob
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import unquote

from kminilog.job_errors import SourceError

BY_DATAFRAME = (
    "read it with Spark, and give the DataFrame to `ingest` and `verify` in Python "
    "(docs/spark.md, Any DataFrame)"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_TABLES = {"_delta_log": "Delta Lake", ".hoodie": "Hudi"}
_ICEBERG = "metadata"  # with a *.metadata.json


class SourceFile(NamedTuple):
    """One file: its place in source order, its absolute path and its size.

    `directory` is the directory whose name led to it; None if a file was named. `changed_ns` is
    when it was changed last, `inode` its number in the filesystem.
    """

    rank: int
    path: str
    size_bytes: int
    directory: str | None
    changed_ns: int = 0
    inode: int = 0


def list_files(paths: Sequence[str]) -> list[SourceFile]:
    """Return the files of a source in source order; a file's rank is its place in the list.

    Opens each file once. Raises SourceError if there is no argument, or if one names no file.
    Raises it also for a file that cannot be opened or is not a regular file, and for a file that
    two arguments name.
    """
    files: list[SourceFile] = []
    given_by: dict[str, str] = {}
    for argument in paths:
        for path, directory in _expand(argument):
            identity = os.path.realpath(path)
            if identity in given_by:
                reason = f"{argument} names a file that {given_by[identity]} names already"
                raise SourceError(path, reason=reason)
            given_by[identity] = argument
            files.append(SourceFile(len(files), path, *_looked_at(path, directory)))
    if not files:
        raise SourceError("(none)", reason="name at least one file, directory or glob")
    return files


def is_unchanged(file: SourceFile) -> bool:
    """Return whether a file has the size, the time of the last change and the inode of its listing.

    >>> is_unchanged(SourceFile(0, "/is/gone", 1, None))
    False
    """
    try:
        status = os.stat(file.path)
    except OSError:
        return False
    stamp = status.st_size, status.st_mtime_ns, status.st_ino
    return stamp == (file.size_bytes, file.changed_ns, file.inode)


def check_unchanged(files: Sequence[SourceFile]) -> None:
    """Raise SourceError for a file that has changed since it was listed; one `stat` for each."""
    for file in files:
        if not is_unchanged(file):
            raise changed(file.path)


def changed(path: str) -> SourceError:
    """Return the error for a file that changes while it is read."""
    return SourceError(path, reason="it was changed while it was read; read a copy of it")


def files_outside(files: Sequence[SourceFile], paths: Sequence[str]) -> list[SourceFile]:
    """Return the files that none of some arguments covers, as a file, a directory or a glob.

    `paths` are absolute. Globs are expanded again, so they cover the files that exist now. Links
    count as the files and directories that they lead to.
    """
    given = [name for path in paths for name in (path, *glob.glob(path, recursive=True))]
    names = {*given, *map(os.path.realpath, given)}
    return [file for file in files if names.isdisjoint(_with_parents(file.path))]


def _with_parents(path: str) -> list[str]:
    both = (path, os.path.realpath(path))
    return [name for one in both for name in (one, *map(str, PurePath(one).parents))]


def _expand(argument: str) -> list[tuple[str, str | None]]:
    """The files of one argument by path, each with the directory that was named."""
    given = path_of(argument)
    names = [given] if os.path.exists(given) else _glob(given)
    found: dict[str, str | None] = {}
    for name in map(os.path.abspath, names):
        if os.path.isdir(name) or name != os.path.abspath(given):  # not a file that is spelled out
            _refuse_tables_around(name)
        if os.path.isdir(name):
            found.update((path, name) for path in _walk(name))
        else:
            found.setdefault(name)
    if not found:
        reason = "the directory holds no files" if names else "no such file or directory"
        raise SourceError(argument, reason=reason)
    return sorted(found.items(), key=lambda item: os.fsencode(item[0]))


def path_of(argument: str) -> str:
    """Return an argument as a path: itself, or that of a URL `file:///...`.

    Raises SourceError for any other URL.

    >>> path_of("a b.txt"), path_of("file:///a%20b.txt")
    ('a b.txt', '/a b.txt')
    """
    scheme = _SCHEME.match(argument)
    if not scheme or os.path.exists(argument):
        return argument
    if argument.startswith(("file:///", "file://localhost/")):
        return unquote(argument.removeprefix("file://").removeprefix("localhost"))
    raise SourceError(argument, reason=f"is no path of this machine; {BY_DATAFRAME}")


def _glob(pattern: str) -> list[str]:
    spelled_out = set(pattern.split(os.sep))
    return [
        name
        for name in glob.glob(pattern, recursive=True)
        if not any(_is_hidden(part) for part in set(name.split(os.sep)) - spelled_out)
    ]


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _walk(directory: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise SourceError(str(error.filename), reason=str(error.strerror))

    for parent, directories, names in os.walk(directory, onerror=refuse):
        _refuse_table(parent, directories)
        directories[:] = [name for name in directories if not _is_hidden(name)]
        yield from (os.path.join(parent, name) for name in names if not _is_hidden(name))


def _refuse_tables_around(path: str) -> None:
    """Raise SourceError if a file or a directory stands in the directory of a table."""
    for parent in map(str, PurePath(path).parents):
        marks = (*_TABLES, _ICEBERG)
        _refuse_table(parent, [name for name in marks if os.path.isdir(os.path.join(parent, name))])


def _refuse_table(parent: str, directories: Sequence[str]) -> None:
    found = [table for mark, table in _TABLES.items() if mark in directories]
    snapshots = os.path.join(glob.escape(parent), _ICEBERG, "*.metadata.json")
    if _ICEBERG in directories and glob.glob(snapshots):
        found.append("Iceberg")
    if found:
        reason = f"it is a table of {found[0]}, whose log says which files count; {BY_DATAFRAME}"
        raise SourceError(parent, reason=reason)


def _looked_at(path: str, directory: str | None) -> tuple[int, str | None, int, int]:
    """Return what a SourceFile says of a file behind its path. Opens it once."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise SourceError(path, reason="is not a regular file")
        with open(path, "rb"):
            pass
    except OSError as error:
        raise SourceError(path, reason=str(error.strerror)) from None
    return status.st_size, directory, status.st_mtime_ns, status.st_ino
