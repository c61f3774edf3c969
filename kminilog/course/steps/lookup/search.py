"""One search for an offset that has run, and what the recorder saw of it.

    names.py     each probe of the bisection of names, and which slots are left
    entries.py   the same in the `.index`, with the bytes of each entry that is shown
    walk.py      each message where the walk stood, and what it read there

The reader's `find` runs once, with a recorder (trace.py); nothing is searched again for show.
Source: S1 5.3.
"""

from collections.abc import Sequence
from contextlib import suppress

from kminilog.course.steps.document import Table, Value
from kminilog.course.steps.recorded_search import HeaderRead, Probe, Trace
from kminilog.errors import OffsetOutOfRangeError
from kminilog.storage.lookup import segment_slot
from kminilog.storage.partition_reader import Found, PartitionReader
from kminilog.storage.segment import Segment

_SHOWN_ROWS = 9


class Search:
    """One search in a partition: what it found, and what the recorder saw."""

    def __init__(self, reader: PartitionReader, offset: int) -> None:
        self.reader = reader
        self.offset = offset
        self.trace = Trace()
        self.found: Found | None = None

    def run(self) -> Found:
        """Search, and return what `PartitionReader.find` returns; it raises the same errors."""
        self.found = self.reader.find(self.offset, self.trace)
        return self.found

    @property
    def segment(self) -> Segment:
        """The segment that the names led to."""
        if self.found:
            return self.found.segment
        segments = self.reader.segments()
        bases = [segment.base_offset for segment in segments]
        return segments[segment_slot(self.reader.dialect, bases, self.offset)]

    @property
    def stands(self) -> list[HeaderRead]:
        """Where the walk stood, in order.

        A header is read again if the bytes at hand ended inside its message. If an index entry was
        false, the walk began again at byte 0; what it had read before does not count.
        """
        stands: dict[int, HeaderRead] = {}
        for read in self.trace.header_reads:
            if any(read.position < position for position in stands):
                stands.clear()
            stands[read.position] = read
        return list(stands.values())


def tried(reader: PartitionReader, offset: int) -> Search:
    """Return a search that has run; its `found` is None if the log does not hold the offset.

    Raises what `PartitionReader.find` raises for damage.
    """
    search = Search(reader, offset)
    with suppress(OffsetOutOfRangeError):
        search.run()
    return search


def window(
    title: str, columns: tuple[str, ...], rows: Sequence[tuple[Value, ...]], slot: int | None
) -> Table:
    """Return the rows around a slot as a table; the slot's row is marked.

    >>> window("Names", ("slot", "name"), [(0, "a"), (1, "b")], 1).marked
    (1,)
    """
    first = first_shown(len(rows), slot or 0, _SHOWN_ROWS)
    part = rows[first : first + _SHOWN_ROWS]
    if len(part) < len(rows):
        title += f", {len(part)} of {len(rows)}"
    marked = () if slot is None or slot >= len(rows) else (slot - first,)
    return Table(title, columns, tuple(part), marked)


def first_shown(count_of_all: int, slot: int, shown_count: int) -> int:
    """Return the first of `shown_count` elements around a slot.

    >>> first_shown(100, 50, 10), first_shown(100, 99, 10), first_shown(3, 1, 10)
    (45, 90, 0)
    """
    return max(0, min(slot - shown_count // 2, count_of_all - shown_count))


def compared(probe: Probe, wanted: int) -> str:
    """Return how a probed value compares, as `7 < 9`."""
    sign = "<" if probe.value < wanted else ">" if probe.value > wanted else "="
    return f"{probe.value} {sign} {wanted}"
