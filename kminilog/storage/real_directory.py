"""Check that a directory is a real one, not a link, before changing its content. Source: ours."""

import errno
import os
import stat
from pathlib import Path

from kminilog.storage.regular_file import KINDS


def check_real_directory(path: Path) -> None:
    """Raise NotADirectoryError if the path is not a directory itself; a missing path is fine.

    A link to a directory is refused: deletes and renames in it would leave the log dir.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "a file")
        reason = f"{kind}, not a directory of its own; move it away"
        raise NotADirectoryError(errno.ENOTDIR, reason, str(path))
