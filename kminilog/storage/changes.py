"""How often files of a log dir have gone or been replaced: one number, one system call to read it.

A reader that keeps files open must learn that a name now means another file, or none: retention,
truncation, recovery, deletion and publication change names; an append and a roll only add. Whoever
does one of the former counts it here, after it is done and before the name is used again. The
number is the length of the file `.changes`, which holds nothing: reading it is one `lseek`, and it
can only grow. A log dir that no writer of ours has opened has no such file. Source: ours.
"""

from contextlib import suppress
from pathlib import Path

from kminilog.storage.regular_file import regular_status, touch, truncate

CHANGES_FILE = ".changes"


def begin_counting(log_dir: Path) -> None:
    """See to it that changes of this log dir are counted from now on."""
    touch(log_dir / CHANGES_FILE)


def count_change(log_dir: Path) -> None:
    """Count one change; nothing happens where nobody counts. Only the one writer calls this."""
    path = log_dir / CHANGES_FILE
    with suppress(FileNotFoundError):
        # A hole: needs no space, so it cannot fail for want of it.
        truncate(path, regular_status(path).st_size + 1)


def change_count(log_dir: Path) -> int | None:
    """Return how many changes there were; None where nobody counts."""
    try:
        return regular_status(log_dir / CHANGES_FILE).st_size
    except FileNotFoundError:
        return None
