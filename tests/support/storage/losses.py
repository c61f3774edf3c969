"""What a log may lose while nobody looks, and what is said of it then."""

from collections.abc import Callable
from pathlib import Path

from tests.support.damage import cut_to, message_positions

Lose = Callable[[Path], None]


def first_segment(partition: Path) -> None:
    """Remove both files of the first segment."""
    for file in sorted(partition.iterdir())[:2]:
        file.unlink()


def last_segment(partition: Path) -> None:
    """Remove both files of the last segment."""
    for file in sorted(partition.iterdir())[-2:]:
        file.unlink()


def last_message(partition: Path) -> None:
    """Cut off the last message, exactly."""
    log = max(partition.glob("*.log"))
    cut_to(log, message_positions(log.read_bytes())[-2])


def last_byte(partition: Path) -> None:
    """Cut off the end of the last message."""
    log = max(partition.glob("*.log"))
    cut_to(log, log.stat().st_size - 1)


def all_segments(partition: Path) -> None:
    """Remove all files."""
    for file in partition.iterdir():
        file.unlink()


AT_START: list[Lose] = [first_segment]
AT_END: list[Lose] = [last_segment, last_message, last_byte, all_segments]
