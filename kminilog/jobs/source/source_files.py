"""Which files a source is made of, in source order: arguments as given, then path.

An argument is a file, a directory or a glob; `file:///` may stand in front of its absolute path. A
directory stands for all files below it. As in Spark and Hadoop, names that begin with '.' or '_'
are left out unless an argument spells them out. The directory of a table is refused, because its
own log says which of its files count. So is a URL. Driver and executors must see the files under
the same paths, and nobody may change them while they are read. This module does not know what is in
the files.
"""

import fnmatch
import glob
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import unquote

from kminilog.errors import SourceChangedError, SourceError

BY_DATAFRAME = (
    "read it with Spark, and give the DataFrame to `ingest` and `verify` in Python "
    "(docs/spark.md, Any DataFrame)"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|file:/", re.IGNORECASE)
_LOCAL = re.compile(r"file:(//(localhost)?(?=/)|(?=/(?!/)))", re.IGNORECASE)
_TABLES = {
    "_delta_log": "Delta Lake",
    ".hoodie": "Hudi",
    "_spark_metadata": "Spark Structured Streaming",
}
_ICEBERG = "metadata"  # with a *.metadata.json


MESSAGE_BYTES = 30
"""About how many bytes of a log a message has beside its record, with its share of an index."""


class SourceFile(NamedTuple):
    """One file: its place in source order, its absolute path and its size.

    `directory` is the directory whose name led to it; None if a file was named. `changed_ns` is
    when it was changed last, `inode` its number in the filesystem. `status_ns` is when anything of
    it was changed last, also the time of its last change; nobody can set it.
    """

    rank: int
    path: str
    size_bytes: int
    directory: str | None
    changed_ns: int = 0
    inode: int = 0
    status_ns: int = 0


def list_files(paths: Sequence[str]) -> list[SourceFile]:
    """Return the files of a source in source order; a file's rank is its place in the list.

    Opens each file once. Raises SourceError if there is no argument, or if one names no file.
    Raises it also for a file that cannot be opened or is not a regular file, for a directory that
    cannot be read, and for a file that has two names here, by a link or by two arguments.
    """
    files: list[SourceFile] = []
    known: dict[tuple[int, int], str] = {}
    for argument in paths:
        for path, directory in _expand(argument):
            status = _status(path)
            identity = status.st_dev, status.st_ino
            if identity in known:
                reason = f"{argument} names a file that is there already, as {known[identity]}"
                raise SourceError(path, reason=reason)
            known[identity] = path
            times = status.st_mtime_ns, status.st_ino, status.st_ctime_ns
            files.append(SourceFile(len(files), path, status.st_size, directory, *times))
    if not files:
        raise SourceError("(none)", reason="name at least one file, directory or glob")
    return files


def is_unchanged(file: SourceFile) -> bool:
    """Tell if a file has the size, the time of the last change and the inode of its listing.

    >>> is_unchanged(SourceFile(0, "/is/gone", 1, None))
    False
    """
    try:
        status = os.stat(file.path)
    except OSError:
        return False
    stamp = status.st_size, status.st_mtime_ns, status.st_ino
    return stamp == (file.size_bytes, file.changed_ns, file.inode)


def changed(path: str) -> SourceError:
    """Return the error for a file that changes while it is read."""
    return SourceChangedError(path, reason="it was changed while it was read; read a copy of it")


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
    names = [given] if os.path.exists(given) else list(_matches("", given.split(os.sep)))
    found: dict[str, str | None] = {}
    for name in map(os.path.abspath, names):
        if os.path.isdir(name) or name != os.path.abspath(given):  # not a file that is spelled out
            _refuse_tables_around(name)
        if os.path.isdir(name):
            for path in _walk(name):
                found.setdefault(path, name)
        else:
            found.setdefault(name, None)
    if not found:
        reason = "the directory holds no files" if names else "no such file or directory"
        raise SourceError(argument, reason=reason)
    return sorted(found.items(), key=lambda item: os.fsencode(item[0]))


def path_of(argument: str) -> str:
    """Return an argument as a path: itself, or that of a URL `file:///...`.

    Raises SourceError for any other URL, and for an empty argument.

    >>> path_of("a b.txt"), path_of("file:///a%20b.txt")
    ('a b.txt', '/a b.txt')
    """
    if not argument:
        raise SourceError("''", reason="the name is empty; name a file, a directory or a pattern")
    if not _SCHEME.match(argument) or os.path.exists(argument):
        return argument
    if local := _LOCAL.match(argument):
        return unquote(argument[local.end() :])
    raise SourceError(argument, reason=f"is no path of this machine; {BY_DATAFRAME}")


def _matches(directory: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield the files and directories that the parts of a pattern name, in a directory.

    `**` is any number of directories. A hidden name must be spelled: by a part that begins with
    neither * nor ?.
    """
    part, rest = (parts[0], parts[1:]) if parts else ("", [])
    here = os.path.join(directory, part)
    if not parts:
        yield directory
    elif part == "**":
        yield from _matches(directory, rest)
        for name in _names(directory) if rest else []:
            path = os.path.join(directory, name)
            if not _is_hidden(name) and os.path.isdir(path) and not os.path.islink(path):
                yield from _matches(path, parts)
    elif glob.has_magic(part):
        for name in _names(directory):
            is_spelled = not _is_hidden(name) or part[0] not in "*?"
            if is_spelled and fnmatch.fnmatchcase(name, part):
                path = os.path.join(directory, name)
                if not rest or os.path.isdir(path):
                    yield from _matches(path, rest)
    elif not part or _is_there(here):
        yield from _matches(here or os.sep, rest)


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory or os.curdir))
    except OSError as error:
        raise SourceError(directory, reason=str(error.strerror)) from None


def _is_there(path: str) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise SourceError(path, reason=str(error.strerror)) from None
    return True


def _is_hidden(name: str) -> bool:
    """Tell if a name is left out. `_a=1` is a folder of a table, as in Spark.

    >>> [_is_hidden(name) for name in (".a", "_a", "_a=1", ".a=1", "a")]
    [True, True, False, True, False]
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _walk(directory: str, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the files below a directory, links to directories followed."""
    real = os.path.realpath(directory)
    if real in above:  # a link to a directory around it, whose files come anyway
        return
    names = _names(directory)
    folders = {name for name in names if os.path.isdir(os.path.join(directory, name))}
    _refuse_table(directory, folders)
    for name in names:
        path = os.path.join(directory, name)
        if name in folders and not _is_hidden(name):
            yield from _walk(path, (*above, real))
        elif not _is_hidden(name):
            yield path


def _refuse_tables_around(path: str) -> None:
    """Raise SourceError if a file or a directory stands in the directory of a table."""
    for parent in map(str, PurePath(path).parents):
        marks = (*_TABLES, _ICEBERG)
        _refuse_table(parent, [name for name in marks if os.path.isdir(os.path.join(parent, name))])


def _refuse_table(parent: str, directories: Collection[str]) -> None:
    found = [table for mark, table in _TABLES.items() if mark in directories]
    snapshots = os.path.join(glob.escape(parent), _ICEBERG, "*.metadata.json")
    if _ICEBERG in directories and glob.glob(snapshots):
        found.append("Iceberg")
    if found:
        reason = f"it is a table of {found[0]}, whose log says which files count; {BY_DATAFRAME}"
        raise SourceError(parent, reason=reason)


def _status(path: str) -> os.stat_result:
    """Return the status of a regular file that can be opened."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise SourceError(path, reason="is not a regular file")
        with open(path, "rb"):
            return status
    except OSError as error:
        raise SourceError(path, reason=str(error.strerror)) from None
