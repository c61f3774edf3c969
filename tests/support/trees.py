"""A tree of files as a value: what is compared to show that nothing was touched."""

import os
from pathlib import Path

Tree = dict[str, tuple[object, ...]]


def tree_of(directory: Path, *, without: tuple[str, ...] = ()) -> Tree:
    """Return names, kinds, bytes and modification times below a directory; links are not followed.

    `without` are names whose files do not count.
    """
    found: Tree = {}
    for path in sorted(directory.rglob("*")):
        if path.name in without:
            continue
        status = os.lstat(path)
        is_file = path.is_file() and not path.is_symlink()
        content = path.read_bytes() if is_file else os.readlink(path) if path.is_symlink() else b""
        modified = status.st_mtime_ns if is_file else None
        found[str(path.relative_to(directory))] = (status.st_mode, content, modified)
    return found
