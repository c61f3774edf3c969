"""Read the batches of a `.log` in windows, and find the first one after damage.

This is `broker_files.entries.scan` for a file. A whole batch of format v2 costs a header, a copy of
its bytes and its CRC-32C; anything else takes the slow way, `decode_batch`. Memory is a window, or
a batch that is larger. Source: Kafka: FileLogInputStream.
"""

import os
import re
import struct
from collections.abc import Iterator

from kminilog.broker_files.crc32c import crc32c
from kminilog.broker_files.entries import BatchOutcome, RecordBatch, decode_batch
from kminilog.broker_files.record_batch import (
    CONTROL_BIT,
    CRC_END,
    HEADER_BYTES,
    BatchHeader,
)
from kminilog.format.message import SIZE_END, NeedMoreBytes
from kminilog.format.names import MAX_OFFSET

WINDOW_BYTES = 1 << 18  # so that a window stays in the processor's cache
_PROBE_BYTES = 1 << 16
_HEADER = struct.Struct(">qiibIhiqqqhii")
_NEW = BatchHeader._make
_ZEROS = bytes(WINDOW_BYTES)
# Where a batch may begin: an offset below 2^48, a size from 1 to 2^27, 4 bytes, and a magic.
_MAY_BEGIN = re.compile(rb"(?s)\0(?=\0.{6}(?!\0{4})[\0-\7].{7}[\0-\2])")
_SEEN_BYTES = 17  # from the offset to the magic


def read_batches(
    descriptor: int,
    position: int,
    end: int,
    window_bytes: int = WINDOW_BYTES,
    *,
    with_data: bool = False,
) -> Iterator[BatchOutcome]:
    """Yield what stands from `position` to `end`; stop after the first that is no `RecordBatch`.

    To copy all bytes once more takes as long as their checksums. So a batch of format v2 has its
    `data` only `with_data`, or if it is a control batch.
    """
    window, start = b"", position
    while position < end:
        at = position - start
        if at + HEADER_BYTES <= len(window):
            header = _NEW(_HEADER.unpack_from(window, at))
            size = SIZE_END + header.length
            is_here = header.magic == 2 and HEADER_BYTES <= size <= len(window) - at
            if is_here and crc32c(window[at + CRC_END : at + size]) == header.crc:
                is_wanted = with_data or header.attributes & CONTROL_BIT
                yield RecordBatch(position, header, window[at : at + size] if is_wanted else b"")
                position += size
                continue
        outcome = decode_batch(window, at)
        if isinstance(outcome, NeedMoreBytes) and outcome.needed_bytes <= end - position:
            wanted_bytes = min(max(outcome.needed_bytes, window_bytes), end - position)
            fresh = os.pread(descriptor, wanted_bytes, position)
            if len(fresh) > len(window) - at:
                window, start = fresh, position
                continue
        if not isinstance(outcome, RecordBatch):
            yield outcome
            return
        yield outcome._replace(position=position)
        position += outcome.length_bytes


def whole_batch_at(descriptor: int, position: int, end: int) -> RecordBatch | None:
    """Return the batch that begins at `position`, None if there is none or it is damaged."""
    outcome = next(read_batches(descriptor, position, end, _PROBE_BYTES), None)
    return outcome if isinstance(outcome, RecordBatch) else None


def next_batch(descriptor: int, position: int, end: int, next_offset: int) -> RecordBatch | None:
    """Return the first whole batch after damage at `position`; None if there is none.

    Its offsets are from `next_offset` on, since a value may hold the bytes of a batch, too. O(bytes
    to it).
    """
    start = position + 1
    while start < end:
        window = os.pread(descriptor, WINDOW_BYTES, start)
        for match in _MAY_BEGIN.finditer(window):
            offset = int.from_bytes(window[match.start() : match.start() + 8])
            if next_offset <= offset <= min(next_offset + (1 << 31), MAX_OFFSET):
                found = whole_batch_at(descriptor, start + match.start(), end)
                if found:
                    return found
        if len(window) < WINDOW_BYTES:
            return None
        start += len(window) - _SEEN_BYTES
    return None


def is_zero_from(descriptor: int, position: int, end: int) -> bool:
    """Tell if all bytes from `position` to `end` are zero; False for no bytes. O(zeros)."""
    is_zero = position < end
    while is_zero and position < end:
        window = os.pread(descriptor, min(WINDOW_BYTES, end - position), position)
        is_zero = bool(window) and window == _ZEROS[: len(window)]
        position += len(window)
    return is_zero
