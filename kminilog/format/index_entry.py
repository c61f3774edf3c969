"""The bytes of an .index file: fixed 8-byte entries, ascending, big-endian.

    byte  0                 4             8
          +-----------------+-------------+
          | relative_offset | position    |   2 x int32
          +-----------------+-------------+

    relative_offset   the message's offset minus the number in the file name
    position          byte in the .log file where that message begins

Invariants
    I1  the length is a multiple of ENTRY_SIZE_BYTES
    I2  relative_offset is 0 or more, and strictly ascends
    I3  position is above 0 (the first message never gets an entry), and strictly ascends

The index is sparse: few messages have an entry, and the rule `is_due` says which. This module opens
no file; storage/segment/offset_index.py does. Source: S1 5.2; Kafka: OffsetIndex, LogSegment.
Differs: no memory map, no pre-allocation, and the rule looks at each message, not at each appended
set (docs/differences.md).
"""

import struct
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from kminilog.errors import CorruptBytesError
from kminilog.settings import INT32_MAX

_ENTRY = struct.Struct(">ii")
ENTRY_SIZE_BYTES = _ENTRY.size


class IndexEntry(NamedTuple):
    relative_offset: int
    position: int


def entry_for(offset: int, position: int, base_offset: int) -> IndexEntry:
    """Return the entry of the message with this offset, which begins at `position`. O(1).

    `base_offset` is the segment's. Raises ValueError for a number that is no int32, or is negative.

    >>> entry_for(368772, 497, 368769)
    IndexEntry(relative_offset=3, position=497)
    """
    entry = IndexEntry(offset - base_offset, position)
    if not (0 <= entry.relative_offset <= INT32_MAX and 0 <= position <= INT32_MAX):
        raise ValueError(
            f"no index entry for offset {offset} at byte {position} of segment {base_offset}: "
            f"relative offset and position must be 0 to {INT32_MAX}"
        )
    return entry


def encode_entry(entry: IndexEntry) -> bytes:
    """Return the 8 bytes of one entry. O(1).

    The example is the documents': the third message after 368769 begins at byte 497.

    >>> encode_entry(IndexEntry(relative_offset=3, position=497)).hex(" ", 4)
    '00000003 000001f1'
    """
    return _ENTRY.pack(*entry)


def decode_entry(data: bytes, position: int = 0) -> IndexEntry:
    """Return the entry in the 8 bytes from `position` on; checks neither I2 nor I3. O(1).

    >>> decode_entry(bytes.fromhex("00000003 000001f1"))
    IndexEntry(relative_offset=3, position=497)
    """
    return IndexEntry(*_ENTRY.unpack_from(data, position))


def decode_entries(data: bytes) -> list[IndexEntry]:
    """Return all entries of a whole index file; an empty file has none. O(entries).

    Raises CorruptBytesError if I1, I2 or I3 does not hold.

    >>> decode_entries(bytes.fromhex("00000003 000001f1"))
    [IndexEntry(relative_offset=3, position=497)]
    >>> decode_entries(bytes(9))
    Traceback (most recent call last):
    ...
    kminilog.errors.CorruptBytesError: torn index entry at byte 8
    """
    torn_bytes = len(data) % ENTRY_SIZE_BYTES
    if torn_bytes:
        raise CorruptBytesError("torn index entry", position=len(data) - torn_bytes)
    entries = [IndexEntry(*fields) for fields in _ENTRY.iter_unpack(data)]
    before_all = IndexEntry(-1, 0)  # so the first one must hold I2 (from 0 on) and I3 (above 0)
    for slot, (lower, upper) in enumerate(pairwise([before_all, *entries])):
        if not (lower.relative_offset < upper.relative_offset and lower.position < upper.position):
            raise CorruptBytesError("index does not ascend", position=slot * ENTRY_SIZE_BYTES)
    return entries


def is_due(position: int, last_indexed_position: int, interval_bytes: int) -> bool:
    """Tell if the message that begins at `position` gets an entry.

    `last_indexed_position` is the position of the segment's last entry, 0 without entries. So the
    first message of a segment never gets an entry. Append and recovery call this for each message.

    >>> is_due(4096, 0, 4096), is_due(4097, 0, 4096), is_due(0, 0, 0)
    (False, True, False)
    """
    return position - last_indexed_position > interval_bytes


def due_entries(
    messages: Iterable[tuple[int, int]],
    base_offset: int,
    interval_bytes: int,
    last_indexed_position: int = 0,
) -> Iterator[IndexEntry]:
    """Yield the entries that messages get by the rule `is_due`: this rebuilds an index.

    `messages` are pairs of offset and position, ascending; `base_offset` is the segment's.

    >>> [tuple(entry) for entry in due_entries([(7, 0), (8, 40), (9, 80)], 7, 50)]
    [(2, 80)]
    """
    for offset, position in messages:
        if is_due(position, last_indexed_position, interval_bytes):
            yield entry_for(offset, position, base_offset)
            last_indexed_position = position
