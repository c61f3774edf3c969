"""A counter of removed and replaced files of a log dir, which readers poll.

A reader that keeps files open must notice when a name now belongs to another file, or to none.
Retention, truncation, recovery, deletion and publication change what a name means; an append or a
roll only adds names. The writer counts each such change after it, before it uses the name again.
The counter is the length of the file `.changes`, a hole without data: it only grows, and one
`lseek` reads it. A log dir that no writer of kminilog has opened has no counter. Source: ours.
"""

from contextlib import suppress
from pathlib import Path

from kminilog.storage.files import regular_status, touch, truncate

CHANGES_FILE = ".changes"


def begin_counting(log_dir: Path) -> None:
    """Create the counter, if the log dir has none."""
    touch(log_dir / CHANGES_FILE)


def count_change(log_dir: Path) -> None:
    """Count one change; do nothing without a counter. Only the one writer may call this."""
    path = log_dir / CHANGES_FILE
    with suppress(FileNotFoundError):
        # A hole takes no space on the disk, so a full disk does not matter.
        truncate(path, regular_status(path).st_size + 1)


def change_count(log_dir: Path) -> int | None:
    """Return how many changes were counted; None if the log dir has no counter."""
    try:
        return regular_status(log_dir / CHANGES_FILE).st_size
    except FileNotFoundError:
        return None
