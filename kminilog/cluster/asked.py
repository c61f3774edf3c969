"""What one process asks of the one that has a cluster open: to crash a broker, or to start it.

    broker-1.asked    `crash` or `start`: whoever has the cluster open does it and removes the file

`cluster crash` and `start` write it when `serve` has the cluster open, and then look at the state
of the cluster. Source: ours.
"""

from contextlib import suppress
from pathlib import Path

from kminilog.storage.durable_files import replace_file

CRASH, START = "crash", "start"


def ask(directory: Path, node: int, what: str) -> None:
    """Ask for CRASH or START of a broker."""
    replace_file(_file(directory, node), what.encode())


def take_back(directory: Path, node: int) -> None:
    """Ask no longer."""
    _file(directory, node).unlink(missing_ok=True)


def take_asked(directory: Path, node: int) -> str | None:
    """Return what is asked for a broker, once; None if nothing is. O(1)."""
    with suppress(FileNotFoundError):
        what = _file(directory, node).read_text()
        take_back(directory, node)
        return what
    return None


def _file(directory: Path, node: int) -> Path:
    return directory / f"broker-{node}.asked"
