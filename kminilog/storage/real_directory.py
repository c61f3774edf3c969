"""A directory that may be deleted or renamed into: a real one, no link to one. Source: ours."""

import errno
import os
import stat
from pathlib import Path

from kminilog.storage.regular_file import KINDS


def check_real_directory(path: Path) -> None:
    """Raise NotADirectoryError if this is anything but a directory, or nothing: a link to one, too.

    Who deletes or renames below a directory must know that it is not somewhere else.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "a file")
        reason = f"{kind}, not a directory of its own; move it away"
        raise NotADirectoryError(errno.ENOTDIR, reason, str(path))
