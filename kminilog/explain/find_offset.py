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
from kminilog.explain.document import Ask, ByteRange, Document, Field, Picture, Table, Value
from kminilog.explain.field_layout import index_fields, message_fields
from kminilog.explain.recorded_search import HeaderRead, Probe, Trace
from kminilog.explain.recording import Recording, ask, question_with_enough_choices
from kminilog.explain.search_pictures import entries_picture, names_picture, walk_picture
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, IndexEntry, encode_entry
from kminilog.format.message import CRC_END, SIZE_END
from kminilog.format.names import segment_name
from kminilog.storage.files import open_regular
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.segment.lookup import ENTRIES, NAMES, segment_slot
from kminilog.storage.segment.search import Found
from kminilog.storage.segment.segment import Segment
from kminilog.text import count, numbered, shown_in

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


# ---- the names


def record_names(recording: Recording, search: Search) -> None:
    """Add the steps from all segments to the one that may hold the offset."""
    offset, dialect = search.offset, search.reader.dialect
    names = [one.base_offset for one in search.reader.segments()]
    rule = "below" if dialect.named_by_previous else "not above"
    recording.step(
        f"Where is offset {offset} of {search.reader.topic_partition}? The partition has "
        f"{count(len(names), 'segment')}. In the {dialect.name} dialect, the search wants the "
        f"greatest name {rule} {offset}. If there is none, it wants the first name. The names are "
        "sorted, so a binary search works.",
        values={"offset": offset, "low": 0, "high": len(names)},
        tables=[_names_table(names, None)],
        picture=names_picture(names, range(len(names)), range(len(names)), None),
    )
    low, high = 0, len(names)
    for probe in search.trace.probes(NAMES):
        goes_right = probe.value < offset or (
            probe.value == offset and not dialect.named_by_previous
        )
        before = range(low, high)
        low, high = (probe.slot + 1, high) if goes_right else (low, probe.slot)
        recording.spend(probes=1)
        recording.step(
            f"Slot {probe.slot} is {probe.value}: {compared(probe, offset)}. The search goes on to "
            f"the {'right' if goes_right else 'left'} of it.",
            values={"offset": offset, "low": low, "high": high},
            tables=[_names_table(names, probe.slot)],
            picture=names_picture(names, range(low, high), before, probe.slot),
        )
    _record_segment(recording, search, names, rule)


def _record_segment(recording: Recording, search: Search, names: Sequence[int], rule: str) -> None:
    segment, offset = search.segment, search.offset
    slot = names.index(segment.base_offset)
    wrong = {
        segment_name(names[0]): "That is the first segment. But a later one has a name that "
        "is low enough, too."
    }
    wrong[segment_name(names[-1])] = "That is the last segment, which gets the new messages."
    if slot + 1 < len(names):
        wrong[segment_name(names[slot + 1])] = (
            "That is the next greater name. A name says where a segment begins, so this segment "
            "begins after the offset."
        )
    question = ask(
        f"In which segment does the search look for offset {offset}?",
        segment.name,
        f"It has the greatest name {rule} {offset}. If there is no such name, it is the first "
        "segment.",
        wrong,
    )
    recording.step(
        f"The search chooses segment {segment.name}: its .index and its .log. Only the walk "
        "through the .log shows if the message is there.",
        ask=question_with_enough_choices(question),
        values={"offset": offset, "segment": segment.name},
        tables=[_names_table(names, slot)],
        picture=names_picture(names, range(slot, slot + 1), range(len(names)), slot),
    )


def _names_table(names: Sequence[int], slot: int | None) -> Table:
    rows = [(number, segment_name(name)) for number, name in enumerate(names)]
    return window("Names of the segments", ("slot", "name"), rows, slot)


# ---- the index entries


_SHOWN_ENTRIES = 64
_WHOLE_FILE = "That reads the file from its beginning, and does not use the index."
_IN_ENTRY = "That is the position in the entry."
_NOT_THERE = "The message of this entry is not there."
_PROBED = ("entry", "relative offset", "position", "then")


def record_entries(recording: Recording, search: Search) -> None:
    """Add the steps from all index entries to the byte where the walk begins."""
    segment = search.segment
    entries = segment.index.entries()
    relative = search.offset - segment.base_offset
    taken, _ = segment.index.nearest_entry(search.offset)
    name = segment.index.path.name
    _show_index(recording, name, entries, taken)
    values: dict[str, Value] = {
        "offset": search.offset,
        "segment": segment.name,
        "relative offset": relative,
    }
    every = range(len(entries))
    wanted = f"The search wants the greatest entry that is not above {relative}."
    recording.step(
        f"The index has {count(len(entries), 'entry')} of {ENTRY_SIZE_BYTES} bytes. It is sparse, "
        "so not every message has an entry. Its offsets are relative to the number in the file "
        f"name: {search.offset} - {segment.base_offset} = {relative}. "
        f"{wanted if entries else 'Here the search has none to choose from.'}",
        values=values,
        tables=[_entries_table(entries, None, taken)],
        picture=_entries_picture(segment, entries, every, every, None),
    )
    _record_probes(recording, search, values)
    _record_entry(recording, search, segment, values)


def _record_probes(recording: Recording, search: Search, values: dict[str, Value]) -> None:
    segment = search.segment
    entries, name = segment.index.entries(), segment.index.path.name
    relative = search.offset - segment.base_offset
    low, high = 0, len(entries)
    probed: list[tuple[Value, ...]] = []
    for probe in search.trace.probes(ENTRIES):
        goes_right = probe.value <= relative
        before = range(low, high)
        low, high = (probe.slot + 1, high) if goes_right else (low, probe.slot)
        side = "right" if goes_right else "left"
        position = entries[probe.slot].position if probe.slot < len(entries) else None
        probed.append((probe.slot, probe.value, position, f"on to the {side}"))
        recording.spend(probes=1)
        add = partial(_add_entries, recording, entries, probe.slot, 1)
        with recording.shown_alone(_of_entry(name, probe.slot), add) as focus:
            recording.step(
                f"Entry {probe.slot} is for {probe.value}: {compared(probe, relative)}. The search "
                f"goes on to the {side} of it.",
                focus=focus,
                values={**values, "low": low, "high": high},
                tables=[Table("Probes", _PROBED, tuple(probed), (len(probed) - 1,))],
                picture=_entries_picture(segment, entries, range(low, high), before, probe.slot),
            )


def _record_entry(
    recording: Recording, search: Search, segment: Segment, values: dict[str, Value]
) -> None:
    entries = segment.index.entries()
    taken, _ = segment.index.nearest_entry(search.offset)
    stands = search.stands
    start = stands[0].position if stands else None
    slot = entries.index(taken) if taken else None
    if taken is None:
        said = f"No entry is low enough, so {_begins(search)}."
    elif start != taken.position:
        said = (
            f"The search takes entry {taken.relative_offset}, {taken.position}. But the message of "
            f"this entry is not there. A search never trusts an index, so {_begins(search)}."
        )
    else:
        said = (
            f"The search takes entry {taken.relative_offset}, {taken.position}. The message with "
            f"offset {segment.base_offset + taken.relative_offset} begins at byte {start} of the "
            "log, and the walk begins there."
        )
    question = None
    if slot is not None and start is not None:
        question = _ask_where_it_begins(entries, slot, start)
    taken_range = range(0) if slot is None else range(slot, slot + 1)
    recording.step(
        said,
        ask=question,
        focus=[] if slot is None else recording.in_view(_of_entry(segment.index.path.name, slot)),
        values={**values, "walk begins at byte": start},
        tables=[_entries_table(entries, slot, taken)],
        picture=_entries_picture(segment, entries, taken_range, taken_range, slot),
    )


def _begins(search: Search) -> str:
    """Return where a walk begins that has no entry to begin at."""
    if search.stands:
        return "the walk begins at byte 0 of the log"
    log_bytes = count(search.segment.file_bytes, "byte")
    return (
        f"the walk would begin at byte 0 of the log. But it has {log_bytes}, so no message is there"
    )


def _ask_where_it_begins(entries: Sequence[IndexEntry], slot: int, start: int) -> Ask | None:
    """Ask at which byte a walk begins; `slot` is that of the entry which the search takes."""
    taken = entries[slot]
    wrong = {
        "0": _WHOLE_FILE,
        str(taken.position): f"{_IN_ENTRY} {_NOT_THERE}",
        str(taken.relative_offset): "That is the relative offset, not the position.",
    }
    if slot + 1 < len(entries):
        wrong[str(entries[slot + 1].position)] = (
            "That is the position in the next entry. It is for a greater offset, and a walk goes "
            "forward only."
        )
    why = _IN_ENTRY if start == taken.position else _NOT_THERE
    question = ask("At which byte of the log does the walk begin?", str(start), why, wrong)
    return question_with_enough_choices(question)


def _entries_picture(
    segment: Segment,
    entries: Sequence[IndexEntry],
    left: range,
    before: range,
    probe: int | None,
) -> Picture | None:
    """Return the bisection of the entries; None if there are none."""
    if not entries:
        return None
    names, log_bytes = (segment.index.path.name, segment.log_path.name), segment.file_bytes
    return entries_picture(*names, entries, log_bytes, left, before, probe)


def _show_index(
    recording: Recording, name: str, entries: Sequence[IndexEntry], taken: IndexEntry | None
) -> None:
    if recording.has_file(name) or not entries:
        return
    slot = entries.index(taken) if taken else 0
    first = first_shown(len(entries), slot, _SHOWN_ENTRIES)
    _add_entries(recording, entries, first, _SHOWN_ENTRIES, name)


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


def _of_entry(name: str, slot: int) -> ByteRange:
    start = slot * ENTRY_SIZE_BYTES
    return ByteRange(name, start, start + ENTRY_SIZE_BYTES)


def _entries_table(
    entries: Sequence[IndexEntry], probed: int | None, taken: IndexEntry | None
) -> Table:
    rows = [(number, *entry) for number, entry in enumerate(entries)]
    columns = ("entry", "relative offset", "position")
    if probed is None and taken:
        table = window("Index entries", columns, rows, entries.index(taken))
        return table._replace(marked=())
    return window("Index entries", columns, rows, probed)


# ---- the walk


_SHOWN_LOG_BYTES = 1 << 12
_SHOWN_AT_EACH_END = 3


def record_walk(recording: Recording, search: Search) -> None:
    """Add the steps from where the walk begins to the message, or to the end."""
    segment, stands = search.segment, search.stands
    _show_log(recording, search, segment, stands)
    name = segment.log_path.name
    passed = stands[:-1] if search.found else stands
    left_out = len(passed) - 2 * _SHOWN_AT_EACH_END
    drawn = partial(_walk_picture, search, segment)
    for number, stand in enumerate(passed):
        offset = stand.fields[0]
        recording.spend(reads=1, bytes=_end(stand, segment) - stand.position)
        if left_out > 1 and _SHOWN_AT_EACH_END <= number < len(passed) - _SHOWN_AT_EACH_END:
            if number == _SHOWN_AT_EACH_END:
                recording.step(
                    f"In this way the walk passes {left_out} more messages. Of each it reads "
                    "offset, size and CRC.",
                    values={"byte": stand.position, "offset there": offset},
                    picture=drawn(number),
                )
            continue
        header = ByteRange(name, stand.position, stand.position + CRC_END)
        add = partial(_add_log, recording, segment, [stand], CRC_END)
        with recording.shown_alone(header, add) as focus:
            recording.step(
                _said_of_stand(search, segment, stand),
                focus=focus,
                values={"byte": stand.position, "offset there": offset, "size": stand.fields[1]},
                picture=drawn(number),
            )
    _record_result(recording, search, segment)


def _end(stand: HeaderRead, segment: Segment) -> int:
    """Return where the message ends at which a walk stood; a torn one, with the file."""
    return min(stand.position + SIZE_END + stand.fields[1], segment.file_bytes)


def _said_of_stand(search: Search, segment: Segment, stand: HeaderRead) -> str:
    """Return what a walk learns of a message that is not the one it looks for."""
    offset, size, *_ = stand.fields
    rest_bytes = segment.file_bytes - stand.position
    if SIZE_END + size > rest_bytes:
        return (
            f"At byte {stand.position} a message with offset {offset} begins. By its size it has "
            f"{SIZE_END + size} bytes, but only {rest_bytes} are there. It is not whole, so the "
            "log ends before it."
        )
    said = f"The message at byte {stand.position} has offset {offset}, not {search.offset}. "
    if offset > search.offset:
        return f"{said}Offsets only rise, so the walk ends here."
    return f"{said}Its size is {size}, so the walk goes on {SIZE_END + size} bytes later."


def _walk_picture(search: Search, segment: Segment, now: int | None) -> Picture | None:
    """Return the walk as it stands at one of its messages."""
    spans = [(stand.position, _end(stand, segment), stand.fields[0]) for stand in search.stands]
    if not spans:
        return None
    return walk_picture(segment.log_path.name, spans, now, segment.file_bytes)


def _record_result(recording: Recording, search: Search, segment: Segment) -> None:
    reader = search.reader
    values: dict[str, Value] = {
        "topic": reader.topic_partition.topic,
        "partition": reader.topic_partition.partition,
        "offset": search.offset,
    }
    if search.found is None:
        start, end = reader.log_start_offset, reader.log_end_offset
        said = f"is not in the log, which holds {numbered(range(start, end), 'offset')}"
        if start <= search.offset < end:
            said = "is in a gap of the log: no message has it"
        recording.step(
            f"Offset {search.offset} {said}. A search never returns another message instead.",
            values={**values, "segment": None, "log start": start, "log end": end},
            picture=_walk_picture(search, segment, None),
        )
        return
    located = search.found
    message, position = located.message, located.position
    recording.spend(reads=1, bytes=message.length_bytes)
    recording.step(
        f"Found: offset {message.offset} begins at byte {position}. The walk read "
        f"{count(located.scanned_messages, 'message')}, {count(located.scanned_bytes, 'byte')} in "
        "all. The key "
        f"is {shown_in(message.key, 70)}, its value {shown_in(message.value, 70)}.",
        focus=recording.in_view(
            ByteRange(segment.log_path.name, position, position + message.length_bytes)
        ),
        values={
            **values,
            "segment": segment.name,
            "position": position,
            "scanned messages": located.scanned_messages,
            "scanned bytes": located.scanned_bytes,
        },
        picture=_walk_picture(search, segment, len(search.stands) - 1),
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


# ---- the whole search


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
    recording = Recording(
        "find-offset", f"How a search finds offset {search.offset} of {partition}"
    )
    record_names(recording, search)
    record_entries(recording, search)
    record_walk(recording, search)
    return recording.document()
