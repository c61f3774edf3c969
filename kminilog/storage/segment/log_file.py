"""One `.log` file: read its messages one after the other.

Messages stand back to back. Each says its length, so `scan_file` follows them from one to the next,
and ends at damage. It does not know which offset comes next.
It reads up to the file's length at the start of the call, in windows: memory stays at one window,
or at one message if that is larger. Source: Kafka: FileMessageSet.
"""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from kminilog.format.dialect import Dialect
from kminilog.format.message import Message, NeedMoreBytes, Outcome, decode
from kminilog.storage.files import open_regular

SCAN_WINDOW_BYTES = 1 << 20
ONE_MESSAGE_BYTES = 1 << 13  # room for one message of a usual size, where only one is needed
Decode = Callable[[bytes, int], Outcome]


def scan_file(
    dialect: Dialect, path: Path, position: int = 0, window_bytes: int = SCAN_WINDOW_BYTES
) -> Iterator[tuple[int, Outcome]]:
    """Yield position and outcome of each message; stop after the first that is no `Message`.

    `NeedMoreBytes` means that the file ends inside a message. O(bytes). Raises FileNotFoundError.
    """
    return scan_by(partial(decode, dialect), path, position, window_bytes)


def scan_by(
    decode: Decode, path: Path, position: int, window_bytes: int
) -> Iterator[tuple[int, Outcome]]:
    """Do what `scan_file` does with any function that decodes."""
    descriptor = open_regular(path)
    try:
        end = os.fstat(descriptor).st_size
        window_start = position
        window = os.pread(descriptor, min(window_bytes, max(end - position, 0)), position)
        while position < end:
            outcome = decode(window, position - window_start)
            while isinstance(outcome, NeedMoreBytes) and outcome.needed_bytes <= end - position:
                # The window ends inside this message: the next window begins where it begins.
                wanted_bytes = min(max(outcome.needed_bytes, window_bytes), end - position)
                window_start = position
                window = os.pread(descriptor, wanted_bytes, position)
                if len(window) < outcome.needed_bytes:
                    break  # a recovery has truncated the file meanwhile
                outcome = decode(window, 0)
            yield position, outcome
            if not isinstance(outcome, Message):
                return
            position += outcome.length_bytes
    finally:
        os.close(descriptor)


def message_at(dialect: Dialect, path: Path, position: int) -> Message | None:
    """Return the whole message that begins at a position; None if there is none. O(size)."""
    _, outcome = next(scan_file(dialect, path, position, ONE_MESSAGE_BYTES), (position, None))
    return outcome if isinstance(outcome, Message) else None
