"""Where the batches of a `.log` go on after damage, and whether bytes are only reserved.

Zeros at the end of the file are no damage: a broker with `log.preallocate` makes its last segment
as large as it may become; and after a power failure some file systems show a file that was about to
grow so. Everything is read from a descriptor, in windows. Source: ours; Kafka's readers stop.
"""

import os
import re

from kminilog.broker_files.entries import RecordBatch, decode_batch
from kminilog.format.message import NeedMoreBytes

_WINDOW_BYTES = 1 << 18  # so that a window stays in the processor's cache
_PROBE_BYTES = 1 << 16
_ZEROS = bytes(_WINDOW_BYTES)
# Where a batch may begin: an offset below 2^48, a size from 1 to 2^27, 4 bytes, and a magic.
_MAY_BEGIN = re.compile(rb"(?s)\0(?=\0.{6}(?!\0{4})[\0-\7].{7}[\0-\2])")
_SEEN_BYTES = 17  # from the offset to the magic
ALL_OFFSETS = range(1 << 48)


def batch_at(descriptor: int, position: int, end: int) -> RecordBatch | None:
    """Return the batch that begins at `position`, None if there is none or it is damaged."""
    outcome = decode_batch(os.pread(descriptor, min(_PROBE_BYTES, end - position), position))
    if isinstance(outcome, NeedMoreBytes) and outcome.needed_bytes <= end - position:
        outcome = decode_batch(os.pread(descriptor, outcome.needed_bytes, position))
    return outcome._replace(position=position) if isinstance(outcome, RecordBatch) else None


def next_batch(
    descriptor: int, position: int, end: int, offsets: range = ALL_OFFSETS
) -> RecordBatch | None:
    """Return the first whole batch after damage at `position`; None if there is none.

    Its offset is one of `offsets`, since a value may hold the bytes of a batch, too. O(bytes to
    it).
    """
    start = position + 1
    while start < end:
        window = os.pread(descriptor, min(_WINDOW_BYTES, end - start), start)
        is_zero = window == _ZEROS[: len(window)]  # often very many, and quick to tell
        for match in () if is_zero else _MAY_BEGIN.finditer(window):
            at = match.start()
            if int.from_bytes(window[at : at + 8]) in offsets:
                outcome = decode_batch(window, at)
                if isinstance(outcome, RecordBatch):
                    return outcome._replace(position=start + at)
                if isinstance(outcome, NeedMoreBytes):
                    found = batch_at(descriptor, start + at, end)
                    if found:
                        return found
        if len(window) < _WINDOW_BYTES:
            return None
        start += len(window) - _SEEN_BYTES
    return None


def is_zero_from(descriptor: int, position: int, end: int) -> bool:
    """Tell if all bytes from `position` to `end` are zero. O(zeros)."""
    while position < end:
        window = os.pread(descriptor, min(_WINDOW_BYTES, end - position), position)
        if not window:
            return True
        if window != _ZEROS[: len(window)]:
            return False
        position += len(window)
    return True
