"""Damage in a `.log`: where batches go on after it, its wrong byte, whether it is only reserved.

Zeros at the end of the file are no damage: a broker with `log.preallocate` makes its last segment
as large as it may become; and after a power failure some file systems show a file that was about to
grow so. Everything is read from a descriptor, in windows. Source: ours; Kafka's readers stop.
"""

import os
import re

from kminilog.broker_files.crc32c import crc32c
from kminilog.broker_files.entries import CorruptBatch, RecordBatch, decode_batch
from kminilog.broker_files.record import CorruptRecord
from kminilog.broker_files.record_batch import CRC_AT, CRC_END
from kminilog.format.any_format import MAGIC_AT
from kminilog.format.flipped_bit import CRC32C, MAX_BYTES, WrongByte, wrong_byte_of
from kminilog.format.message import KEY_START, SIZE_END, NeedMoreBytes, checksum

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


def wrong_byte_in(data: bytes) -> WrongByte | None:
    """Return the likely wrong byte of a message or batch, all of it; None if none is likely.

    The magic must be right: it says where the crc stands. O(bytes).

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> wrong_byte_in(encode(KAFKA, 5, b"key", b"an order").replace(b"key", b"kex"))
    WrongByte(at=24, mask=1)
    """
    if len(data) < KEY_START:
        return None
    crc_at = _crc_at(data)
    if crc_at == CRC_AT:
        return wrong_byte_of(data, CRC_AT, crc32c(data[CRC_END:]), _is_sound, CRC32C)
    return wrong_byte_of(data, crc_at, checksum(data), _is_sound)


def _crc_at(data: bytes) -> int:
    return CRC_AT if data[MAGIC_AT] == 2 else SIZE_END


def _is_sound(data: bytes) -> bool:
    batch = decode_batch(data)
    return isinstance(batch, RecordBatch) and not any(
        isinstance(record, CorruptRecord) for record in batch.records()
    )


def explained(descriptor: int, position: int, damage: CorruptBatch) -> CorruptBatch:
    """Return damage; its detail names the wrong byte that explains it, if one does. O(bytes)."""
    if damage.length_bytes > CRC_END + MAX_BYTES:
        return damage
    data = os.pread(descriptor, max(damage.length_bytes, 0), position)
    wrong = wrong_byte_in(data)
    if wrong is None:
        return damage
    return damage._replace(detail=f"{damage.detail}; {wrong.said(data, position, _crc_at(data))}")


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
