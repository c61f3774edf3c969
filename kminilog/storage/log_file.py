"""One `.log` file: read its messages one after the other, or find the next one after damage.

Messages stand back to back. `scan_file` follows them from one to the next. `find_message` tries
every position, so it finds a message after damage. `whole_messages` does both for messages of
whatever format. None of them knows which offset comes next.
All read up to the file's length at the start of the call, in windows: memory stays at one window,
or at one message if that is larger. Source: Kafka: FileMessageSet.
"""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from kminilog.format.dialect import Dialect
from kminilog.format.message import (
    BATCH_MAGIC,
    CRC_END,
    KEY_START,
    Message,
    NeedMoreBytes,
    Outcome,
    decode,
    decode_any,
    possible_beginnings,
)
from kminilog.storage.files import open_regular

SCAN_WINDOW_BYTES = 1 << 20
Decode = Callable[[bytes, int], Outcome]
_ONE_MESSAGE_BYTES = 1 << 13
_FIRST_WINDOW_BYTES = 1 << 14  # after damage, the next message is usually near


def scan_file(
    dialect: Dialect, path: Path, position: int = 0, window_bytes: int = SCAN_WINDOW_BYTES
) -> Iterator[tuple[int, Outcome]]:
    """Yield position and outcome of each message; stop after the first that is no `Message`.

    `NeedMoreBytes` means that the file ends inside a message. O(bytes). Raises FileNotFoundError.
    """
    return _scan(partial(decode, dialect), path, position, window_bytes)


def _scan(
    decode: Decode, path: Path, position: int, window_bytes: int
) -> Iterator[tuple[int, Outcome]]:
    descriptor = open_regular(path)
    try:
        end = os.fstat(descriptor).st_size
        window, window_start = b"", position
        while position < end:
            outcome = decode(window, position - window_start)
            while isinstance(outcome, NeedMoreBytes) and outcome.needed_bytes <= end - position:
                wanted_bytes = min(max(outcome.needed_bytes, window_bytes), end - position)
                window, window_start = os.pread(descriptor, wanted_bytes, position), position
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
    _, outcome = next(scan_file(dialect, path, position, _ONE_MESSAGE_BYTES), (position, None))
    return outcome if isinstance(outcome, Message) else None


def whole_messages(
    path: Path, position: int = 0, minimum_offset: int = -(1 << 63)
) -> Iterator[tuple[int, Message]]:
    """Yield the whole messages at or after `position`, of whatever format, with their positions.

    It skips the damage between them, and messages with offsets below `minimum_offset`. What
    `decode_any` calls whole may have been acknowledged. O(bytes).
    """
    while True:
        for at, outcome in _scan(decode_any, path, position, _FIRST_WINDOW_BYTES):
            position = at
            if not isinstance(outcome, Message):
                break
            if outcome.offset >= minimum_offset:
                yield at, outcome
            position += outcome.length_bytes
        found = find_message(decode_any, path, position, minimum_offset)
        if found is None:
            return
        position, _ = found


def find_message(
    decode: Decode, path: Path, position: int = 0, minimum_offset: int = 0
) -> tuple[int, Message] | None:
    """Return the first message at or after `position`, and its position; None if there is none.

    `decode` says what a message is. Its offset must be at least `minimum_offset`. Every byte is a
    possible start: a regular expression scans O(bytes), and each match costs one crc.
    """
    descriptor = open_regular(path)
    try:
        end = os.fstat(descriptor).st_size
        start, window_bytes = position, _FIRST_WINDOW_BYTES
        while start < end:
            window = os.pread(descriptor, window_bytes + KEY_START - 1, start)
            for beginning in possible_beginnings(window):
                offset = int.from_bytes(window[beginning : beginning + 8], "big", signed=True)
                if offset < minimum_offset and window[beginning + CRC_END] != BATCH_MAGIC:
                    continue  # a batch begins with the offset of its first record
                at = start + beginning
                outcome = decode(window, beginning)
                if isinstance(outcome, NeedMoreBytes) and outcome.needed_bytes <= end - at:
                    outcome = decode(os.pread(descriptor, outcome.needed_bytes, at), 0)
                if isinstance(outcome, Message) and outcome.offset >= minimum_offset:
                    return at, outcome
            start += window_bytes
            window_bytes = min(4 * window_bytes, SCAN_WINDOW_BYTES)
    finally:
        os.close(descriptor)
    return None
