"""What a disk may hold after a power failure: a recorder of changes, and a model of what is lost.

    bytes   are safe since the last fsync of their file; later ones are there, half there, zeros
            (a file system may have recorded the new size first), or not there
    names   are safe since the last fsync of their directory; each later creation, deletion or
            rename has happened or not, whatever happened after it

The recorder looks at the real files before and after each call of the operating system that changes
names or syncs, so it need not know who writes. Two looks differ by what was written, created, moved
and deleted between them. A rename of a file between two directories is safe with its new name; then
the old one may still be there, until its directory is synced, too. Any POSIX file system keeps this
much, most keep more. The model has no bytes that reach the disk before those in front of them in
their file.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import pairwise
from pathlib import Path
from random import Random
from threading import RLock
from typing import Any, NamedTuple

import pytest

from kminilog.storage import durable_files

_CALLS = ("mkdir", "rmdir", "unlink", "rename", "replace", "ftruncate", "fsync")
Tree = dict[str, tuple[bytes | None, int]]  # bytes (None: a directory) and time, by path


class Inode:
    """A file or a directory, whatever its name is. `contents` are those since its last fsync."""

    def __init__(self, *, is_directory: bool) -> None:
        self.is_directory = is_directory
        self.contents = [b""]
        self.modified_ns = 0


class Name(NamedTuple):
    directory: Inode
    text: str


Names = dict[Name, Inode | None]  # None: nothing has this name


class Moment(NamedTuple):
    """What is safe and what is not, and what was promised until then.

    Each of `changes` happens as a whole or not at all; `contents` are what a file may hold.
    """

    root: Inode
    safe: Names
    changes: list[Names]
    contents: dict[Inode, list[bytes]]
    promise: Any

    @property
    def everything(self) -> list[int]:
        """All that was written has reached the disk, or nothing but the process has died."""
        return [1 for _ in self.changes] + [len(found) - 1 for found in self.contents.values()]

    def outcomes(self, chance: Random, mixtures: int) -> Iterator[list[int]]:
        """Yield what happened to each change and each file, by number: nothing or everything, all
        but one of them, and mixtures by chance."""
        everything = self.everything
        sizes, nothing = [last + 1 for last in everything], [0 for _ in everything]
        yield nothing
        yield everything
        for place, size in enumerate(sizes):
            for option in range(size if size > 1 else 0):
                for rest in (nothing, everything):
                    yield [*rest[:place], option, *rest[place + 1 :]]
        for _ in range(mixtures if sum(size > 1 for size in sizes) > 2 else 0):
            yield [chance.randrange(size) for size in sizes]

    def disk(self, options: list[int]) -> Tree:
        """Return what is left then."""
        names = dict(self.safe)
        for change, has_happened in zip(self.changes, options, strict=False):
            if has_happened:
                names |= change
        rest = options[len(self.changes) :]
        left = dict(zip(self.contents, rest, strict=True))
        within: dict[Inode, dict[str, Inode]] = {}
        for (directory, text), inode in names.items():
            if inode:
                within.setdefault(directory, {})[text] = inode

        def below(directory: Inode, path: str) -> Iterator[tuple[str, tuple[bytes | None, int]]]:
            for text, inode in sorted(within.get(directory, {}).items()):
                if inode.is_directory:
                    yield path + text, (None, 0)
                    yield from below(inode, f"{path}{text}/")
                else:
                    yield path + text, (self.contents[inode][left[inode]], inode.modified_ns)

        return dict(below(self.root, ""))


class Recorder:
    """Records what happens below a directory, where all is safe at the beginning."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.moments: list[Moment] = []
        self.promise: Any = None
        self._lock = RLock()
        self._inode = Inode(is_directory=True)
        self._known: dict[int, Inode] = {}  # by number; these are there now
        self._names: Names = {}
        self._safe: Names = {}
        self._changes: list[Names] = []
        self._look()
        for inode in self._known.values():
            self._sync(inode)

    def promised(self, promise: Any) -> None:
        """From now on, this must hold after a power failure."""
        self.promise = promise
        self._step()

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call with a look before and after it."""

        @wraps(call)
        def recorded(*arguments: Any, **named: Any) -> Any:
            with self._lock:  # a job deletes directories in threads
                self._step()
                if call.__name__ == "fsync":
                    self._sync(self._known.get(os.fstat(arguments[0]).st_ino))
                else:
                    call(*arguments, **named)
                self._step()

        return recorded

    def _step(self) -> None:
        self._look()
        names = [*self._safe.values(), *(i for change in self._changes for i in change.values())]
        contents = {i: _remains(i.contents) for i in names if i and not i.is_directory}
        changes = [dict(change) for change in self._changes]
        moment = Moment(self._inode, dict(self._safe), changes, contents, self.promise)
        if moment != (self.moments or [None])[-1]:
            self.moments.append(moment)

    def _look(self) -> None:
        before, self._names = self._names, {}
        known, self._known = self._known, {os.stat(self.root).st_ino: self._inode}
        self._read(self.root, self._inode, known)
        gone: Names = {name: None for name in before if name not in self._names}
        for name, inode in self._names.items():
            if before.get(name) is not inode:
                old = [each for each in gone if before[each] is inode]
                self._changes.append({name: inode, **{each: gone.pop(each) for each in old}})
        self._changes += [{name: None} for name in gone]

    def _read(self, path: Path, directory: Inode, known: dict[int, Inode]) -> None:
        for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
            is_directory, status = entry.is_dir(), entry.stat()
            inode = known.get(status.st_ino) or Inode(is_directory=is_directory)
            self._names[Name(directory, entry.name)] = self._known[status.st_ino] = inode
            if is_directory:
                self._read(path / entry.name, inode, known)
                continue
            data, inode.modified_ns = (path / entry.name).read_bytes(), status.st_mtime_ns
            if data != inode.contents[-1]:
                inode.contents.append(data)

    def _sync(self, inode: Inode | None) -> None:
        """Make the bytes of a file safe, or the names in a directory."""
        if inode is None:  # of a file outside
            return
        inode.contents = inode.contents[-1:]
        for change in self._changes:
            here = [name for name in change if name.directory is inode]
            new_names = [name for name, found in change.items() if found]
            if any(found and found.is_directory for found in change.values()):
                here = [*change] if here else []  # a directory never has two names
            elif not set(new_names) <= set(here):
                here = []  # the old name stays until the new one is safe
            for name in here:
                self._make_safe(name, change)
        self._changes = [change for change in self._changes if change]

    def _make_safe(self, name: Name, change: Names) -> None:
        for earlier in self._changes:
            found = earlier.pop(name, None)
            if earlier is change:
                self._safe[name] = found
                return


def _remains(contents: list[bytes]) -> list[bytes]:
    """Return what a file may hold, the safe bytes first, and last what it would hold."""
    found = [contents[0]]
    for old, new in pairwise(contents):
        pairs = enumerate(zip(old, new, strict=False))
        same = next((n for n, (a, b) in pairs if a != b), min(len(old), len(new)))
        half, zeros = new[: (same + len(new)) // 2], new[:same] + bytes(len(new) - same)
        found += [half, zeros, new]
    found = [*dict.fromkeys(found)]
    return found if found[-1] == contents[-1] else [*found, contents[-1]]


@contextmanager
def recorded(root: Path) -> Iterator[Recorder]:
    """Record what happens below a directory in the `with` block."""
    recorder = Recorder(root)
    with pytest.MonkeyPatch.context() as patch:
        for name in _CALLS:
            patch.setattr(os, name, recorder.around(getattr(os, name)))
        patch.setattr(durable_files, "_syncfs", lambda: None)  # each path is synced on its own
        yield recorder


def lose_power(
    recorder: Recorder,
    scratch: Path,
    check: Callable[[Path, Any], None],
    *,
    most: int | None = None,
    mixtures: int = 3,
) -> int:
    """Make each disk that a power failure may leave, and check it against what was promised then.

    With `most`, only so many of them, by chance; first of all, what is safe at each moment when
    something is promised. Return how many were checked.
    """
    chance, seen = Random(0), set()
    cases = [(m, options) for m in recorder.moments for options in m.outcomes(chance, mixtures)]
    if most is not None:
        chance.shuffle(cases)
        pairs = pairwise([None, *recorder.moments])
        promising = [now for before, now in pairs if before and before.promise is not now.promise]
        cases = [*((moment, next(moment.outcomes(chance, 0))) for moment in promising), *cases]
    for moment, options in cases:
        disk = moment.disk(options)
        content = frozenset((path, data) for path, (data, _) in disk.items())
        if (content, repr(moment.promise)) in seen:
            continue
        if len(seen) == most:
            break
        seen.add((content, repr(moment.promise)))
        shutil.rmtree(scratch, ignore_errors=True)
        _make(scratch, disk)
        try:
            check(scratch, moment.promise)
        except BaseException as error:
            error.add_note(f"promised: {moment.promise}; the disk held: {_shown(disk)}")
            raise
    return len(seen)


def kill(recorder: Recorder, scratch: Path, check: Callable[[Path], None]) -> None:
    """Make what is left if the process dies at each moment, and no power fails; check it."""
    for moment in recorder.moments:
        shutil.rmtree(scratch, ignore_errors=True)
        _make(scratch, moment.disk(moment.everything))
        check(scratch)


def _make(root: Path, disk: Tree) -> None:
    root.mkdir(parents=True)
    for name, (data, modified_ns) in disk.items():
        path = root / name
        if data is None:
            path.mkdir()
        else:
            path.write_bytes(data)
            os.utime(path, ns=(modified_ns, modified_ns))


def _shown(disk: Tree) -> str:
    return ", ".join(
        path + "/" if data is None else f"{path} ({len(data)}, {data.count(0)} zeros)"
        for path, (data, _) in disk.items()
    )
