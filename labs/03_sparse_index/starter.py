"""Lab 3, the sparse index: your answers. README.md says what to do."""

from collections.abc import Sequence

from kminilog.format.index_entry import IndexEntry
from kminilog.storage.segment.lookup import Tracer, UNTRACED


# 3.1  One entry: relative, and within 31 bits
def entry_for(offset: int, position: int, base_offset: int) -> IndexEntry:
    """Return the entry of the message with this offset, which begins at `position`. O(1).

    `base_offset` is the segment's. Raises ValueError for a number that is no int32, or is negative.

    >>> entry_for(368772, 497, 368769)
    IndexEntry(relative_offset=3, position=497)
    """
    raise NotImplementedError


# 3.2  When an entry is due
def is_due(position: int, last_indexed_position: int, interval_bytes: int) -> bool:
    """Tell if the message that begins at `position` gets an entry.

    `last_indexed_position` is the position of the segment's last entry, 0 without entries. So the
    first message of a segment never gets an entry. Append and recovery call this for each message.

    >>> is_due(4096, 0, 4096), is_due(4097, 0, 4096), is_due(0, 0, 0)
    (False, True, False)
    """
    raise NotImplementedError


# 3.3  The greatest entry not above an offset
def entry_slot(
    relative_offsets: Sequence[int], relative_offset: int, tracer: Tracer = UNTRACED
) -> int:
    """Return the slot of the greatest entry not above `relative_offset`; -1 if there is none.

    O(log n), by binary search (S1 5.3.2).

    >>> [entry_slot([1, 3, 6], o) for o in (0, 1, 5, 7)]
    [-1, 0, 1, 2]
    """
    raise NotImplementedError


# 3.4  Scan on to the message
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
    raise NotImplementedError


# 3.5  Read the bytes of an index
ENTRY_RELATIVE = ...
ENTRY_OFFSET = ...
WALK_START = ...
PASSED_MESSAGES = ...


# 3.8  Which entry leads astray?
DIAGNOSIS = ...


# 3.9  Inputs that expose a wrong entry
EXPOSE_ENTRY = ...
