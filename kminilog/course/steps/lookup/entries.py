"""The second part of a search: the entries of the index, by bisection.

Of a large index only the entries around the one that was taken are shown. Source: S1 5.3.2.
"""

from collections.abc import Sequence
from functools import partial

from kminilog.course.steps.document import Range, Table, Value
from kminilog.course.steps.layout import index_fields
from kminilog.course.steps.lookup.search import Search, compared, first_shown, window
from kminilog.course.steps.recording import Recording, ask, question_with_enough_choices
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, IndexEntry, encode_entry
from kminilog.storage.lookup import ENTRIES
from kminilog.storage.segment import Segment
from kminilog.text import count

_SHOWN_ENTRIES = 64
_WHOLE_FILE = (
    "That reads the whole file. The answer is right, but the search does not use the index."
)
_IN_ENTRY = "The entry holds this position."
_PROBED = ("entry", "relative offset", "position", "then")


def record_entries(recording: Recording, search: Search) -> None:
    """Add the steps from all index entries to the byte where the walk begins."""
    segment = search.segment
    entries = segment.index.entries()
    relative = search.offset - segment.base_offset
    taken = segment.index.lookup(search.offset)
    name = segment.index.path.name
    _show_index(recording, name, entries, taken)
    values: dict[str, Value] = {
        "offset": search.offset,
        "segment": segment.name,
        "relative offset": relative,
    }
    recording.step(
        f"The index has {count(len(entries), 'entry')} of {ENTRY_SIZE_BYTES} bytes: it is sparse, "
        "not every message has one. Its offsets are relative to the number in the name: "
        f"{search.offset} - {segment.base_offset} = {relative}. The search wants the greatest "
        f"entry that is not above {relative}.",
        values=values,
        tables=[_entries_table(entries, None, taken)],
    )
    low, high = 0, len(entries)
    probed: list[tuple[Value, ...]] = []
    for probe in search.trace.probes(ENTRIES):
        goes_right = probe.value <= relative
        low, high = (probe.slot + 1, high) if goes_right else (low, probe.slot)
        side = "right" if goes_right else "left"
        position = entries[probe.slot].position if probe.slot < len(entries) else None
        probed.append((probe.slot, probe.value, position, f"on to the {side}"))
        recording.spend(probes=1)
        add = partial(_add_entries, recording, entries, probe.slot, 1)
        with recording.shown_alone(_of_entry(name, probe.slot), add) as focus:
            recording.step(
                f"Entry {probe.slot} is for {probe.value}: {compared(probe, relative)}. Go on to "
                f"the {side} of it.",
                focus=focus,
                values={**values, "low": low, "high": high},
                tables=[Table("Probes", _PROBED, tuple(probed), (len(probed) - 1,))],
            )
    _record_entry(recording, search, segment, values)


def _record_entry(
    recording: Recording, search: Search, segment: Segment, values: dict[str, Value]
) -> None:
    entries = segment.index.entries()
    taken = segment.index.lookup(search.offset)
    entry = search.found.located.index_entry if search.found else taken
    start = entry.position if entry else 0
    slot = entries.index(taken) if taken else None
    if taken is None:
        said = "No entry is low enough. The walk begins at byte 0 of the log."
    elif entry is None:
        said = (
            f"Entry {taken.relative_offset},{taken.position} is taken, but no message with its "
            "offset stands there. An index is never trusted: the walk begins at byte 0."
        )
    else:
        said = (
            f"Entry {entry.relative_offset},{entry.position}: the message with offset "
            f"{segment.base_offset + entry.relative_offset} begins at byte {entry.position} of the "
            "log. The walk begins there."
        )
    wrong = {"0": _WHOLE_FILE}
    if slot is not None and slot + 1 < len(entries):
        wrong[str(entries[slot + 1].position)] = (
            "That is the next entry, a ceiling. The walk goes forward only, so it would miss the "
            "message."
        )
    if entry:
        wrong[str(entry.relative_offset)] = "That is the relative offset, not the position."
    question = ask("At which byte of the log does the walk begin?", str(start), _IN_ENTRY, wrong)
    recording.step(
        said,
        ask=question_with_enough_choices(question),
        focus=[] if slot is None else recording.in_view(_of_entry(segment.index.path.name, slot)),
        values={**values, "walk begins at byte": start},
        tables=[_entries_table(entries, slot, taken)],
    )


def _show_index(
    recording: Recording, name: str, entries: Sequence[IndexEntry], taken: IndexEntry | None
) -> None:
    if recording.has_file(name) or not entries:
        return
    slot = entries.index(taken) if taken else 0
    first = first_shown(len(entries), slot, _SHOWN_ENTRIES)
    _add_entries(recording, entries, first, _SHOWN_ENTRIES, name)


def _add_entries(
    recording: Recording, entries: Sequence[IndexEntry], first: int, count: int, name: str
) -> None:
    """Add the bytes of some entries under a name."""
    data = b"".join(encode_entry(entry) for entry in entries[first : first + count])
    start = first * ENTRY_SIZE_BYTES
    fields = [
        field._replace(start=field.start + start, end=field.end + start)
        for field in index_fields(name, data)
    ]
    size_bytes = len(entries) * ENTRY_SIZE_BYTES
    recording.file(name, data, fields, start=start, size_bytes=size_bytes)


def _of_entry(name: str, slot: int) -> Range:
    start = slot * ENTRY_SIZE_BYTES
    return Range(name, start, start + ENTRY_SIZE_BYTES)


def _entries_table(
    entries: Sequence[IndexEntry], probed: int | None, taken: IndexEntry | None
) -> Table:
    rows = [(number, *entry) for number, entry in enumerate(entries)]
    columns = ("entry", "relative offset", "position")
    if probed is None and taken:
        table = window("Index entries", columns, rows, entries.index(taken))
        return table._replace(marked=())
    return window("Index entries", columns, rows, probed)
