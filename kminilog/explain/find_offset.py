"""`step find-offset`: one search for one message, from the names of files to its bytes.

    names     each probe of the bisection of names, and which slots are left
    entries   the same in the `.index`, with the bytes of each entry that is shown
    walk      each message where the walk stood, and what it read there

The reader's `find` runs once, with a recorder (recorded_search.py); nothing is searched again for
show. Of a large index only the entries around the one that was taken are shown, of a long walk only
its end. Source: S1 5.3, whose example is offset 368776.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from kminilog.errors import OffsetOutOfRangeError
from kminilog.explain.document import ByteRange, Document, Field, Picture, Table, Value
from kminilog.explain.field_layout import index_fields, message_fields
from kminilog.explain.recorded_search import HeaderRead, Trace
from kminilog.explain.recording import Recording
from kminilog.explain.script import Script
from kminilog.explain.search_pictures import entries_picture, names_picture, walk_picture
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, IndexEntry, encode_entry
from kminilog.format.message import CRC_END, SIZE_END
from kminilog.format.names import segment_name
from kminilog.storage.files import open_regular
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.segment.lookup import ENTRIES, NAMES, segment_slot
from kminilog.storage.segment.search import Found
from kminilog.storage.segment.segment import Segment
from kminilog.text import shown_in

STEPS = (
    *("The names", "A name is compared", "The segment"),
    *("The index", "An entry is compared", "Where the walk begins"),
    *("A message is passed", "Many messages are passed", "A message that is not whole"),
    *("Found", "Not found"),
)
_SHOWN_ROWS = 9
_SHOWN_ENTRIES = 64
_SHOWN_LOG_BYTES = 1 << 12
_SHOWN_AT_EACH_END = 3  # of a long walk


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


def document(reader: PartitionReader, offset: int) -> Document:
    """Return the step-through of a search; an offset that the log does not hold has one, too.

    Raises what `PartitionReader.find` raises for damage, and ValueError for a partition without
    segments.
    """
    return of_search(tried(reader, offset))


def of_search(search: Search) -> Document:
    """Return the step-through of a search that has run."""
    partition = search.reader.topic_partition
    if not search.reader.segments():
        raise ValueError(f"{partition} has no segment, so there is nothing to search")
    told = Script(
        __file__,
        "find-offset",
        STEPS,
        offset=search.offset,
        partition=partition,
        dialect=search.reader.dialect,
        base_offset=search.segment.base_offset,
        log_bytes=search.segment.file_bytes,
    )
    _tell_names(told, search)
    _tell_entries(told, search)
    _tell_walk(told, search)
    return told.document()


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


# ---- the names


def _tell_names(told: Script, search: Search) -> None:
    """Tell the steps from all segments to the one that may hold the offset."""
    offset, dialect = search.offset, search.reader.dialect
    names = [one.base_offset for one in search.reader.segments()]
    rows = [(number, segment_name(name)) for number, name in enumerate(names)]
    every = range(len(names))

    def table(slot: int | None) -> Table:
        return window("Names of the segments", ("slot", "name"), rows, slot)

    told.tell(
        "The names",
        values={"offset": offset, "low": 0, "high": len(names)},
        tables=[table(None)],
        picture=names_picture(names, every, every, None),
        segments=len(names),
    )
    low, high = 0, len(names)
    for probe in search.trace.probes(NAMES):
        goes_right = probe.value < offset or (
            probe.value == offset and not dialect.named_by_previous
        )
        before = range(low, high)
        low, high = (probe.slot + 1, high) if goes_right else (low, probe.slot)
        told.recording.spend(probes=1)
        told.tell(
            "A name is compared",
            values={"offset": offset, "low": low, "high": high},
            tables=[table(probe.slot)],
            picture=names_picture(names, range(low, high), before, probe.slot),
            probe=probe,
            sign=_sign(probe.value, offset),
            goes_right=goes_right,
        )
    slot = names.index(search.segment.base_offset)
    told.tell(
        "The segment",
        values={"offset": offset, "segment": search.segment.name},
        tables=[table(slot)],
        picture=names_picture(names, range(slot, slot + 1), every, slot),
        segment=search.segment.name,
        first=names[0],
        last=names[-1],
        following=names[slot + 1] if slot + 1 < len(names) else None,
    )


def _sign(value: int, wanted: int) -> str:
    return "<" if value < wanted else ">" if value > wanted else "="


# ---- the index entries


def _tell_entries(told: Script, search: Search) -> None:
    """Tell the steps from all index entries to the byte where the walk begins."""
    recording, segment = told.recording, search.segment
    entries, name = segment.index.entries(), segment.index.path.name
    taken, _ = segment.index.nearest_entry(search.offset)
    taken_slot = entries.index(taken) if taken else None
    relative = search.offset - segment.base_offset
    if entries and not recording.has_file(name):
        first = first_shown(len(entries), taken_slot or 0, _SHOWN_ENTRIES)
        _add_entries(recording, entries, first, _SHOWN_ENTRIES, name)
    columns = ("entry", "relative offset", "position")
    rows = [(number, *entry) for number, entry in enumerate(entries)]
    values: dict[str, Value] = {
        "offset": search.offset,
        "segment": segment.name,
        "relative offset": relative,
    }

    def drawn(left: range, before: range, slot: int | None) -> Picture | None:
        files = name, segment.log_path.name
        log_bytes = segment.file_bytes
        return entries_picture(*files, entries, log_bytes, left, before, slot) if entries else None

    def of_entry(slot: int) -> ByteRange:
        return ByteRange(name, slot * ENTRY_SIZE_BYTES, (slot + 1) * ENTRY_SIZE_BYTES)

    every = range(len(entries))
    table = window("Index entries", columns, rows, taken_slot)
    told.tell(
        "The index",
        values=values,
        tables=[table._replace(marked=())],
        picture=drawn(every, every, None),
        entries=len(entries),
        entry_bytes=ENTRY_SIZE_BYTES,
        relative=relative,
    )

    low, high = 0, len(entries)
    probed: list[tuple[Value, ...]] = []
    for probe in search.trace.probes(ENTRIES):
        goes_right = probe.value <= relative
        before = range(low, high)
        low, high = (probe.slot + 1, high) if goes_right else (low, probe.slot)
        position = entries[probe.slot].position if probe.slot < len(entries) else None
        side = "right" if goes_right else "left"
        probed.append((probe.slot, probe.value, position, f"on to the {side}"))
        probes_columns = ("entry", "relative offset", "position", "then")
        recording.spend(probes=1)
        add = partial(_add_entries, recording, entries, probe.slot, 1)
        with recording.shown_alone(of_entry(probe.slot), add) as focus:
            told.tell(
                "An entry is compared",
                focus=focus,
                values={**values, "low": low, "high": high},
                tables=[Table("Probes", probes_columns, tuple(probed), (len(probed) - 1,))],
                picture=drawn(range(low, high), before, probe.slot),
                probe=probe,
                number=len(probed),
                left=before,
                sign=_sign(probe.value, relative),
                relative=relative,
                goes_right=goes_right,
            )

    stands = search.stands
    start = stands[0].position if stands else None
    left, following = range(0), None
    if taken_slot is not None:
        left = range(taken_slot, taken_slot + 1)
        following = entries[taken_slot + 1] if taken_slot + 1 < len(entries) else None
    told.tell(
        "Where the walk begins",
        asks=taken is not None and start is not None,
        focus=[] if taken_slot is None else recording.in_view(of_entry(taken_slot)),
        values={**values, "walk begins at byte": start},
        tables=[table],
        picture=drawn(left, left, taken_slot),
        taken=taken,
        following=following,
        start=start,
    )


def _add_entries(
    recording: Recording, entries: Sequence[IndexEntry], first: int, entry_count: int, name: str
) -> None:
    """Add the bytes of some entries under a name."""
    data = b"".join(encode_entry(entry) for entry in entries[first : first + entry_count])
    start = first * ENTRY_SIZE_BYTES
    fields = [
        field._replace(start=field.start + start, end=field.end + start)
        for field in index_fields(name, data)
    ]
    size_bytes = len(entries) * ENTRY_SIZE_BYTES
    recording.file(name, data, fields, start=start, size_bytes=size_bytes)


# ---- the walk


def _tell_walk(told: Script, search: Search) -> None:
    """Tell the steps from where the walk begins to the message, or to the end."""
    recording, reader = told.recording, search.reader
    segment, stands = search.segment, search.stands
    _show_log(recording, search, segment, stands)
    name = segment.log_path.name
    spans: list[tuple[int, int, int]] = []
    for stand in stands:
        offset, size, *_ = stand.fields
        end = min(stand.position + SIZE_END + size, segment.file_bytes)  # it may be torn
        spans.append((stand.position, end, offset))

    def drawn(now: int | None) -> Picture | None:
        return walk_picture(name, spans, now, segment.file_bytes) if spans else None

    passed = spans[:-1] if search.found else spans
    left_out = len(passed) - 2 * _SHOWN_AT_EACH_END
    for number, (start, end, offset) in enumerate(passed):
        recording.spend(reads=1, bytes=end - start)
        if left_out > 1 and _SHOWN_AT_EACH_END <= number < len(passed) - _SHOWN_AT_EACH_END:
            if number == _SHOWN_AT_EACH_END:
                told.tell(
                    "Many messages are passed",
                    values={"byte": start, "offset there": offset},
                    picture=drawn(number),
                    left_out=left_out,
                )
            continue
        size = stands[number].fields[1]
        is_whole = start + SIZE_END + size <= segment.file_bytes
        add = partial(_add_log, recording, segment, [stands[number]], CRC_END)
        with recording.shown_alone(ByteRange(name, start, start + CRC_END), add) as focus:
            told.tell(
                "A message is passed" if is_whole else "A message that is not whole",
                focus=focus,
                values={"byte": start, "offset there": offset, "size": size},
                picture=drawn(number),
                start=start,
                there=offset,
                size=size,
                message_bytes=SIZE_END + size,
            )

    values: dict[str, Value] = {
        "topic": reader.topic_partition.topic,
        "partition": reader.topic_partition.partition,
        "offset": search.offset,
    }
    if search.found is None:
        held = range(reader.log_start_offset, reader.log_end_offset)
        told.tell(
            "Not found",
            values={**values, "segment": None, "log start": held.start, "log end": held.stop},
            picture=drawn(None),
            held=held,
        )
        return
    located = search.found
    message, start = located.message, located.position
    recording.spend(reads=1, bytes=message.length_bytes)
    told.tell(
        "Found",
        focus=recording.in_view(ByteRange(name, start, start + message.length_bytes)),
        values={
            **values,
            "segment": segment.name,
            "position": start,
            "scanned messages": located.scanned_messages,
            "scanned bytes": located.scanned_bytes,
        },
        picture=drawn(len(stands) - 1),
        located=located,
        key=shown_in(message.key, 70),
        value=shown_in(message.value, 70),
    )


def _show_log(
    recording: Recording, search: Search, segment: Segment, stands: Sequence[HeaderRead]
) -> None:
    """Show the log from where the walk began; of a long walk, only its end."""
    name = segment.log_path.name
    if recording.has_file(name) or not stands:
        return
    last = stands[-1]
    end = last.position + SIZE_END + last.fields[1]
    first = next(s for s in stands if s is last or end - s.position <= _SHOWN_LOG_BYTES)
    bytes_count = min(end - first.position, _SHOWN_LOG_BYTES)
    _add_log(recording, segment, stands[stands.index(first) :], bytes_count, name)


def _add_log(
    recording: Recording,
    segment: Segment,
    stands: Sequence[HeaderRead],
    bytes_count: int,
    name: str,
) -> None:
    """Add bytes of the log, from the first of some messages on, under a name."""
    first = stands[0]
    with open(segment.log_path, "rb", opener=open_regular) as file:
        size_bytes = file.seek(0, 2)
        file.seek(first.position)
        data = file.read(bytes_count)
    fields: list[Field] = []
    for stand in stands:
        at = stand.position - first.position
        part = data[at : at + SIZE_END + stand.fields[1]]
        fields += message_fields(name, segment.dialect, stand.position, part)
    recording.file(name, data, fields, start=first.position, size_bytes=size_bytes)
