"""`find --explain`: how one message was searched, each step of the three searches, and its bytes.

    names of segments  --bisect-->  index entries  --bisect-->  messages  --walk-->  the message

What is shown was recorded in the search that ran (trace.py); nothing is searched again for show.
Every line is plain text; the first word of each section is its number. Source: S1 5.3.
"""

from collections.abc import Iterator
from typing import Any

from kminilog.cli.message_fields import field_table, message_json
from kminilog.format.message import SIZE_END
from kminilog.format.names import segment_name
from kminilog.plain_text import count, shown, table
from kminilog.storage.lookup import ENTRIES, NAMES, segment_slot
from kminilog.storage.partition_reader import Found, PartitionReader
from kminilog.storage.regular_file import open_regular
from kminilog.storage.segment import Segment
from kminilog.storage.segment_search import Located
from kminilog.trace import Trace

_SHOWN_AT_EACH_END = 3
_RIGHT = "go on to the right of it"
_LEFT = "go on to the left of it"


def found_json(reader: PartitionReader, offset: int, found: Found, trace: Trace) -> dict[str, Any]:
    """Return what `find --json` prints."""
    segment, located = found
    entry = located.index_entry
    entries_probed = trace.probes(ENTRIES)
    return {
        "topic": reader.topic_partition.topic,
        "partition": reader.topic_partition.partition,
        "offset": offset,
        "segment": segment.name,
        "segments_probed": [segment_name(probe.value) for probe in trace.probes(NAMES)],
        "index_entry": entry
        and {
            "offset": segment.base_offset + entry.relative_offset,
            "position": entry.position,
            "relative_offset": entry.relative_offset,
        },
        "index_probes": len(entries_probed),
        "index_offsets_probed": [segment.base_offset + probe.value for probe in entries_probed],
        "scanned_messages": located.scanned_messages,
        "scanned_bytes": located.scanned_bytes,
        "position": located.position,
        "message": message_json(located.position, located.message),
    }


def explain(
    reader: PartitionReader, offset: int, found: Found | None, trace: Trace
) -> Iterator[str]:
    """Yield the lines that tell what a search did; `found` is None if it was in vain."""
    yield f"Where is offset {offset} of {reader.topic_partition}?"
    segments = reader.segments()
    if not segments:
        return
    slot = segment_slot(reader.dialect, [s.base_offset for s in segments], offset)
    segment, located = found or (segments[slot], None)
    yield from _explain_names(reader, offset, segment, trace)
    yield from _explain_index(offset, segment, located, trace)
    yield from _explain_walk(offset, segment, located, trace)
    if located:
        yield from _explain_message(segment, located)


def _explain_names(
    reader: PartitionReader, offset: int, segment: Segment, trace: Trace
) -> Iterator[str]:
    is_below = reader.dialect.named_by_previous
    rule = "below" if is_below else "not above"
    yield ""
    yield f"1. Segment: binary search in {count(len(reader.segments()), 'segment name')}"
    yield f"   the greatest name {rule} {offset} ({reader.dialect.name} dialect); else the first"
    rows = []
    for number, probe in enumerate(trace.probes(NAMES), start=1):
        goes_right = probe.value < offset or (probe.value == offset and not is_below)
        step = _RIGHT if goes_right else _LEFT
        rows.append(
            (number, probe.slot, segment_name(probe.value), _compare(probe.value, offset), step)
        )
    yield from _indented(table(("probe", "slot", "name", "compared", "then"), rows), rows)
    yield f"   → {segment.log_path.name}, with {segment.index.path.name}"


def _explain_index(
    offset: int, segment: Segment, located: Located | None, trace: Trace
) -> Iterator[str]:
    entries = segment.index.entries()
    wanted = offset - segment.base_offset
    yield ""
    yield f"2. Index: binary search in {count(len(entries), 'index entry')}"
    yield (
        f"   the greatest relative offset not above {wanted} "
        f"(offset {offset} less {segment.base_offset}, the number in the name)"
    )
    rows = []
    for number, probe in enumerate(trace.probes(ENTRIES), start=1):
        step = _RIGHT if probe.value <= wanted else _LEFT
        position = entries[probe.slot].position if probe.slot < len(entries) else "gone"
        rows.append(
            (number, probe.slot, probe.value, position, _compare(probe.value, wanted), step)
        )
    headings = ("probe", "slot", "relative offset", "position", "compared", "then")
    yield from _indented(table(headings, rows), rows)
    entry = segment.index.lookup(offset)
    if entry is None:
        yield "   → no entry is low enough: start at byte 0"
    elif located and located.index_entry is None:
        yield "   → an entry, but no message with its offset stands there: start at byte 0"
    else:
        at = segment.base_offset + entry.relative_offset
        yield f"   → entry {tuple(entry)}: offset {at} begins at byte {entry.position}"


def _explain_walk(
    offset: int, segment: Segment, located: Located | None, trace: Trace
) -> Iterator[str]:
    # A header is read again if the bytes that the walk had ended inside its message.
    stands = {read.position: read.fields for read in trace.header_reads}
    start = next(iter(stands), 0)
    if located:
        start = located.index_entry.position if located.index_entry else 0
    yield ""
    yield f"3. Scan: read {segment.log_path.name} from byte {start}, message by message"
    rows: list[tuple[object, ...]] = []
    for position, (found_offset, size, *_) in stands.items():
        is_found = located is not None and position == located.position
        step = "found" if is_found else f"{_compare(found_offset, offset)}: next"
        rows.append((position, found_offset, SIZE_END + size, step))
    left_out = len(rows) - 2 * _SHOWN_AT_EACH_END
    if left_out > 1:
        rest = (("…", "…", "…", f"{left_out} more: next"),)
        rows = [*rows[:_SHOWN_AT_EACH_END], *rest, *rows[-_SHOWN_AT_EACH_END:]]
    yield from _indented(table(("byte", "offset", "bytes", "then"), rows), rows)
    if located:
        scanned = f"{count(located.scanned_messages, 'message')}, {located.scanned_bytes} bytes"
        yield f"   → byte {located.position}, after {scanned}"
    else:
        yield f"   → offset {offset} is not there"


def _explain_message(segment: Segment, located: Located) -> Iterator[str]:
    message = located.message
    with open(segment.log_path, "rb", opener=open_regular) as file:
        file.seek(located.position)
        data = file.read(message.length_bytes)
    yield ""
    yield f"4. Message: {len(data)} bytes at byte {located.position} of {segment.log_path.name}"
    lines = field_table(segment.dialect, located.position, data)
    yield from _indented(lines, lines)
    yield f"   → key {shown(message.key)}, value {shown(message.value)}"


def _compare(value: int, wanted: int) -> str:
    sign = "<" if value < wanted else ">" if value > wanted else "="
    return f"{sign} {wanted}"


def _indented(lines: list[str], rows: object) -> Iterator[str]:
    if rows:
        yield from (f"     {line}" for line in lines)
