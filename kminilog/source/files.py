"""Which files a source is made of, in source order: arguments as given, then path.

An argument is a file, a directory or a glob. A directory stands for all files below it. As in Spark
and Hadoop, names that begin with '.' or '_' are left out unless an argument spells them out. Driver
and executors must see the files under the same paths. This module does not know what is in the
files.
"""

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from kminilog.job_errors import SourceError


class SourceFile(NamedTuple):
    """One file: its place in source order, its absolute path and its size.

    `directory` is the directory whose name led to it; None if a file was named.
    """

    rank: int
    path: str
    size_bytes: int
    directory: str | None


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
            files.append(SourceFile(len(files), path, _size(path), directory))
    if not files:
        raise SourceError("(none)", reason="name at least one file, directory or glob")
    return files


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
    names = [argument] if os.path.exists(argument) else _glob(argument)
    found: dict[str, str | None] = {}
    for name in map(os.path.abspath, names):
        if os.path.isdir(name):
            found.update((path, name) for path in _walk(name))
        else:
            found.setdefault(name)
    if not found:
        reason = "the directory holds no files" if names else "no such file or directory"
        raise SourceError(argument, reason=reason)
    return sorted(found.items(), key=lambda item: os.fsencode(item[0]))


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
        directories[:] = [name for name in directories if not _is_hidden(name)]
        yield from (os.path.join(parent, name) for name in names if not _is_hidden(name))


def _size(path: str) -> int:
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise SourceError(path, reason="is not a regular file")
        with open(path, "rb"):
            return status.st_size
    except OSError as error:
        raise SourceError(path, reason=str(error.strerror)) from None
