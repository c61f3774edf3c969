"""The search for one message, in three steps, as functions of plain values.

    names      [0  368769  737337]           bisect: the segment that holds the offset
    entries    [(3, 497)  (6, 1407)]         bisect: the nearest message that the index knows
    messages   1407  1500  1686  ...         walk: one after the other, until the offset is there

Every search for an offset uses these functions: `find`, `read`, `consume` and all others. They open
no files: the caller passes names, entries and bytes.

A *tracer* may watch a search, as `find --explain` does. A search is `bisect` on a sequence; a walk
reads offset, size and crc with a function. A tracer may wrap either, and the same code runs on the
wrapper. The default, `UNTRACED`, wraps nothing, so an unwatched search costs nothing extra.
Source: S1 5.3; Kafka: Log.read, OffsetIndex.lookup, FileMessageSet.searchFor. Differs: Kafka's walk
checks no checksum.
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Protocol
from zlib import crc32

from kminilog.format.dialect import Dialect
from kminilog.format.message import CRC_END, MIN_SIZE, SIZE_END

NAMES, ENTRIES = "names", "entries"  # what a tracer calls the first two searches

_OFFSET_SIZE_CRC = struct.Struct(">qiI")

ReadFrame = Callable[[bytes, int], tuple[int, ...]]
"""`(data, position)` -> offset, size and crc of the message that begins there."""


class Tracer(Protocol):
    def begin(self) -> None: ...  # a search begins, or begins again: forget the one before
    def watch(self, search: str, sequence: Sequence[int]) -> Sequence[int]: ...
    def watch_reads(self, read: ReadFrame, start: int) -> ReadFrame: ...


class Untraced:
    """Records nothing: `watch` and `watch_reads` return their argument."""

    def begin(self) -> None:
        pass

    def watch(self, search: str, sequence: Sequence[int]) -> Sequence[int]:
        return sequence

    def watch_reads(self, read: ReadFrame, start: int) -> ReadFrame:
        return read


UNTRACED = Untraced()


def segment_slot(
    dialect: Dialect, base_offsets: Sequence[int], offset: int, tracer: Tracer = UNTRACED
) -> int:
    """Return the slot, in ascending `base_offsets`, of the segment that may hold `offset`.

    It has the greatest name below `offset` (documented), or not above it (kafka). If all names are
    too great, it is slot 0. Only the walk tells if the segment really holds the offset. O(log n),
    by binary search (S1 5.3.1).

    >>> from kminilog.format.dialect import DOCUMENTED, KAFKA
    >>> names = [0, 368769, 737337]
    >>> [segment_slot(DOCUMENTED, names, o) for o in (0, 368769, 368770, 368776, 737338)]
    [0, 0, 1, 1, 2]
    >>> [segment_slot(KAFKA, names, o) for o in (0, 368768, 368769, 737337)]
    [0, 0, 1, 2]
    """
    names = tracer.watch(NAMES, base_offsets)
    slot = (bisect_left if dialect.named_by_previous else bisect_right)(names, offset) - 1
    return slot if slot > 0 else 0


def entry_slot(
    relative_offsets: Sequence[int], relative_offset: int, tracer: Tracer = UNTRACED
) -> int:
    """Return the slot of the greatest entry not above `relative_offset`; -1 if there is none.

    O(log n), by binary search (S1 5.3.2).

    >>> [entry_slot([1, 3, 6], o) for o in (0, 1, 5, 7)]
    [-1, 0, 1, 2]
    """
    return bisect_right(tracer.watch(ENTRIES, relative_offsets), relative_offset) - 1


def walk(
    data: bytes,
    position: int,
    next_offset: int,
    offset: int,
    *,
    start: int = 0,
    tracer: Tracer = UNTRACED,
) -> tuple[int, int]:
    """Follow messages up to the one with `offset`; return the position and offset reached.

    `data` are the bytes of a `.log` from `start` on; only the tracer needs `start`. Positions count
    from the beginning of `data`. The message with `next_offset` is expected at `position`. The walk
    passes a whole message if it has the expected offset and a right checksum. The checksum is
    needed because a damaged size field leads into the middle of a value, whose bytes may look like
    a message. The walk stops in front of the message with `offset` or a greater one, or earlier in
    front of anything else: damage, another offset, a message of which `data` has only a part. The
    caller decodes what stands there to learn which. The walk looks at no field after the checksum,
    so it may pass what `decode` refuses, such as another magic. O(bytes), for the checksums.

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> data = b"".join(encode(KAFKA, offset, None, b"hi") for offset in (5, 6, 7))
    >>> walk(data, 0, 5, 7), walk(data, 0, 5, 9), walk(data, 0, 4, 7)
    ((56, 7), (84, 8), (0, 4))
    """
    read = tracer.watch_reads(_OFFSET_SIZE_CRC.unpack_from, start)
    view = memoryview(data)
    try:
        while True:
            found_offset, size, crc = read(data, position)
            if found_offset != next_offset or found_offset >= offset or size < MIN_SIZE:
                break
            end = position + SIZE_END + size
            if end > len(view) or crc32(view[position + CRC_END : end]) != crc:
                break
            position, next_offset = end, next_offset + 1
    except struct.error:
        pass  # fewer bytes than these fields have
    return position, next_offset
