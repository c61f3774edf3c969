"""One `.log` of a broker: its batches, one after the other.

It reads up to the file's length at the start of the call, in windows: memory stays at one window,
or at one batch if that is larger. A broker may append or truncate meanwhile: then the last outcome
is `NeedMoreBytes`, as at the end of a file that ends inside a batch. This module does not know
which offset comes next. After damage, `walk_log` goes on with the next batch that is whole, at
whatever byte. Source: Kafka: FileLogInputStream, which stops at the first invalid batch.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kminilog.broker_files.damage import explained, is_zero_from, next_batch
from kminilog.broker_files.entries import BatchOutcome, CorruptBatch, RecordBatch, decode_batch
from kminilog.broker_files.untouched import open_untouched
from kminilog.format.message import NeedMoreBytes

WINDOW_BYTES = 1 << 20
_LOOKS = 10_000  # this takes some ten milliseconds


class DamagedBytes(NamedTuple):
    """Bytes `position` to `end`, exclusive, of a file, that are no batch, and what was met there.

    With `is_padding` they are zeros at the end of the file.
    """

    path: Path
    position: int
    end: int
    outcome: NeedMoreBytes | CorruptBatch
    is_padding: bool = False


def scan_log(
    path: Path, position: int = 0, window_bytes: int = WINDOW_BYTES
) -> Iterator[tuple[int, BatchOutcome]]:
    """Yield position and outcome of each batch; stop after the first that is no `RecordBatch`.

    O(bytes). Raises FileNotFoundError.
    """
    descriptor = open_untouched(path)
    try:
        end = os.fstat(descriptor).st_size
        window, window_start = b"", position
        while position < end:
            outcome = decode_batch(window, position - window_start)
            while isinstance(outcome, NeedMoreBytes) and outcome.needed_bytes <= end - position:
                # The window ends inside this batch: the next window begins where it begins.
                wanted_bytes = min(max(outcome.needed_bytes, window_bytes), end - position)
                window, window_start = os.pread(descriptor, wanted_bytes, position), position
                if len(window) < outcome.needed_bytes:
                    break  # the broker has truncated the file meanwhile
                outcome = decode_batch(window)
            if not isinstance(outcome, RecordBatch):
                yield position, outcome
                return
            yield position, outcome._replace(position=position)
            position += outcome.length_bytes
    finally:
        os.close(descriptor)


def walk_log(path: Path, position: int = 0) -> Iterator[RecordBatch | DamagedBytes]:
    """Yield the batches of a `.log` and the damage between them, from `position` to its end.

    O(bytes). Raises FileNotFoundError.
    """
    start: int | None = position
    while start is not None:
        next_position = None
        for at, outcome in scan_log(path, start):
            if isinstance(outcome, RecordBatch):
                yield outcome
                continue
            if isinstance(outcome, NeedMoreBytes) and _grows(path, at + outcome.needed_bytes):
                next_position = at  # the broker was writing it
                break
            next_position = next_position_after(path, at)
            end = os.stat(path).st_size if next_position is None else next_position
            is_zero = next_position is None and is_padding(path, at)
            yield DamagedBytes(path, at, end, _explained(path, at, outcome), is_zero)
        start = next_position


def _explained(
    path: Path, position: int, outcome: NeedMoreBytes | CorruptBatch
) -> NeedMoreBytes | CorruptBatch:
    """Return what was met at damage; it names the wrong byte that explains it, if one does."""
    if not isinstance(outcome, CorruptBatch):
        return outcome
    descriptor = open_untouched(path)
    try:
        return explained(descriptor, position, outcome)
    finally:
        os.close(descriptor)


def _grows(path: Path, size_bytes: int) -> bool:
    """Tell if a file has so many bytes at a later look: a broker writes a batch in no time."""
    return any(os.stat(path).st_size >= size_bytes for _ in range(_LOOKS))


def is_padding(path: Path, position: int) -> bool:
    """Tell if all bytes from `position` on are zero: reserved space. O(bytes of zeros)."""
    descriptor = open_untouched(path)
    try:
        return is_zero_from(descriptor, position, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def next_position_after(path: Path, position: int) -> int | None:
    """Return where the first whole batch after damage at `position` begins; None without one."""
    descriptor = open_untouched(path)
    try:
        found = next_batch(descriptor, position, os.fstat(descriptor).st_size)
        return found.position if found else None
    finally:
        os.close(descriptor)
