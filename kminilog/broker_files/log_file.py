"""One `.log` of a broker: its batches, one after the other.

It reads up to the file's length at the start of the call, in windows: memory stays at one window,
or at one batch if that is larger. A broker may append or truncate meanwhile: then the last outcome
is `NeedMoreBytes`, as at the end of a file that ends inside a batch. This module does not know
which offset comes next. Source: Kafka: FileLogInputStream.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from kminilog.broker_files.entries import BatchOutcome, RecordBatch, decode_batch
from kminilog.broker_files.untouched import open_untouched
from kminilog.format.message import NeedMoreBytes

WINDOW_BYTES = 1 << 20


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
