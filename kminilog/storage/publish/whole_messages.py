"""All of a staged `.log`, in windows of whole messages.

    file      [m0 m1 m2 m3 m4 m5 m6 m7]
    windows   [m0 m1 m2 m]
                       [m3 m4 m5 m]      each begins where the one before was used up to
                                [m6 m7]

For jobs that look at everything that their tasks wrote before it is published. A file that does not
end where a message ends is broken here. What is done with the messages is the caller's business,
and may change them in place. Source: ours.
"""

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path

from kminilog.errors import CorruptLogError
from kminilog.format.names import LOG_SUFFIX, parse_segment_file, segment_name
from kminilog.storage.offset_index import OffsetIndex
from kminilog.storage.regular_file import open_regular

WINDOW_BYTES = 1 << 20

Use = Callable[[memoryview, int, Sequence[int]], int]


def use_whole_messages(directory: Path, base_offset: int, use: Use) -> int:
    """Hand the messages of one segment to `use`, from the first to the last; return their bytes.

    O(file). `use` gets the bytes of a window, its position in the file, and places in it at which
    messages probably begin, by the index; it returns how many bytes the whole messages in front
    take. Raises CorruptLogError where it raises ValueError, and for a file that ends inside a
    message.
    """
    path = directory / (segment_name(base_offset) + LOG_SUFFIX)
    index = OffsetIndex(directory, base_offset)
    index.load()
    indexed = [entry.position for entry in index.entries()]
    buffer = memoryview(bytearray(WINDOW_BYTES))
    with open(path, "rb", buffering=0, opener=open_regular) as file:
        position, end = 0, os.fstat(file.fileno()).st_size
        while position < end:
            data = buffer[: os.preadv(file.fileno(), [buffer], position)]
            inside = indexed[
                bisect_right(indexed, position) : bisect_left(indexed, position + len(data))
            ]
            try:
                used = use(data, position, [at - position for at in inside])
            except ValueError as error:
                raise _broken(path, position, str(error)) from None
            if not used:  # a message larger than the window, or part of one
                if position + len(data) >= end:
                    raise _broken(path, position, "an unfinished message")
                buffer = memoryview(bytearray(2 * len(buffer)))
            position += used
    return position


def base_offsets_in(directory: Path) -> list[int]:
    """Return the numbers that name the `.log` files in a directory, ascending."""
    parsed = filter(None, map(parse_segment_file, os.listdir(directory)))
    return sorted(base_offset for base_offset, suffix in parsed if suffix == LOG_SUFFIX)


def _broken(path: Path, position: int, reason: str) -> CorruptLogError:
    remedy = "the job is not published; run it again"
    return CorruptLogError(str(path), position=position, reason=reason, remedy=remedy)
