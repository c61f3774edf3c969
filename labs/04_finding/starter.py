"""Lab 4, finding an offset: your answers. README.md says what to do."""

from collections.abc import Sequence

from kminilog.format.dialect import Dialect
from kminilog.format.message import Message
from kminilog.storage.partition.reader import SegmentAfter
from kminilog.storage.segment.lookup import Tracer, UNTRACED
from kminilog.storage.segment.search import Found
from kminilog.storage.segment.segment import Segment


# 4.1  Which segment holds an offset?
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
    raise NotImplementedError


# 4.2  Where a segment begins
def first_offset(self, base_offset: int) -> int:
    """Return the offset of the first message of the segment named `base_offset`.

    >>> DOCUMENTED.first_offset(368769), KAFKA.first_offset(368769)
    (368770, 368769)
    >>> DOCUMENTED.first_offset(0)
    0
    """
    raise NotImplementedError


# 4.3  Where a segment ends
def end_offset(self) -> int:
    """Return one past the offset of the last message before any fault.

    An unfinished message, damage and a wrong offset are faults; a search tells which it is.
    Reads from the last index entry on, or the whole segment if that entry is wrong.
    """
    raise NotImplementedError


# 4.4  Fetch across segments
def messages_from(
    segment: Segment, located: Found, max_bytes: int, segment_after: SegmentAfter
) -> list[Message]:
    """Return a located message and those that follow it, within `max_bytes`.

    `located` has the first message and its position in `segment`. Returns at least one message,
    whatever its size, or none if the file was deleted meanwhile. Ends also in front of a compressed
    message.
    """
    raise NotImplementedError


# 4.5  Count the probes
SEGMENT = ...
NAME_PROBES = ...
ENTRY_PROBES = ...
MOST_PROBES = ...
WALK_START = ...
POSITION = ...


# 4.8  An offset that is not where it belongs
DIAGNOSIS = ...


# 4.9  Inputs that expose a wrong segment
EXPOSE_SEGMENT = ...
