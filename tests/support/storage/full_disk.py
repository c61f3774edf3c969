"""A disk that is full to the last byte."""

from contextlib import suppress
from pathlib import Path


def fill(disk: Path) -> None:
    """Write a file that takes all the space that is left."""
    with suppress(OSError), open(disk / "filler", "ab", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))
