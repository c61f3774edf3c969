"""How often files of a log dir have gone or been replaced: one number, one system call to read it.

A reader that keeps files open must learn that a name now means another file, or none: retention,
truncation, recovery, deletion and publication change names; an append and a roll only add. Whoever
does one of the former counts it here, after it is done and before the name is used again. The
number is the length of the file `.changes`, which holds nothing: reading it is one `lseek`, and it
can only grow. A log dir that no writer of ours has opened has no such file. Source: ours.
"""

import os
from contextlib import suppress
from pathlib import Path

CHANGES_FILE = ".changes"


def begin_counting(log_dir: Path) -> None:
    """See to it that changes of this log dir are counted from now on."""
    path = log_dir / CHANGES_FILE
    if not path.exists():
        path.touch()


def count_change(log_dir: Path) -> None:
    """Count one change; nothing happens where nobody counts. Only the one writer calls this."""
    path = log_dir / CHANGES_FILE
    with suppress(FileNotFoundError):
        os.truncate(path, os.stat(path).st_size + 1)  # a hole: needs no space, so it cannot fail


def change_count(log_dir: Path) -> int | None:
    """Return how many changes there were; None where nobody counts."""
    try:
        return os.stat(log_dir / CHANGES_FILE).st_size
    except FileNotFoundError:
        return None
