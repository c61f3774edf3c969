"""Read the batches of a `.log` in windows, as fast as their checksums allow.

This is `broker_files.entries.scan` for a file. A whole batch of format v2 costs a header, a copy of
its bytes and its CRC-32C; anything else takes the slow way, `decode_batch`. Memory is a window, or
a batch that is larger. Source: Kafka: FileLogInputStream.
"""

import os
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

WINDOW_BYTES = 1 << 18  # so that a window stays in the processor's cache
_HEADER = struct.Struct(">qiibIhiqqqhii")
_NEW = BatchHeader._make


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
