"""What `find` shows, whatever the format: where a message stands, and which probes led there.

    orders-0/00000000000000000000.log, offset 7, byte 252: key "k", value "v"

Source: ours.
"""

from collections.abc import Callable
from typing import Any

from kminilog.cli.shared.output import width
from kminilog.explain.recorded_search import Trace
from kminilog.format.index_entry import IndexEntry
from kminilog.format.names import segment_name
from kminilog.storage.segment.lookup import ENTRIES, NAMES
from kminilog.text import Span, StyledText, columns

_INDENT = "    "


def place_lines(
    log: str, offset: int, position: int, parts_of: Callable[[int], tuple[Span | str, ...]]
) -> list[str]:
    """Return the place of a message and the message: as one line, or as two if it is long.

    `parts_of` returns the message for a line of so many columns; it is cut where it does not fit.
    """
    place = (f"{log}, ", Span(f"offset {offset}", "offset"), f", byte {position}:")
    line = StyledText(*place, " ", *parts_of(width()))
    if columns(line) <= width():
        return [line]
    return [StyledText(*place), StyledText(_INDENT, *parts_of(width() - len(_INDENT)))]


def probes_json(trace: Trace, base_offset: int, entry: IndexEntry | None) -> dict[str, Any]:
    """Return the probes of a search, and the index entry at which it went on, as JSON fields."""
    entries_probed = trace.probes(ENTRIES)
    return {
        "segments_probed": [segment_name(probe.value) for probe in trace.probes(NAMES)],
        "index_entry": entry
        and {
            "offset": base_offset + entry.relative_offset,
            "position": entry.position,
            "relative_offset": entry.relative_offset,
        },
        "index_probes": len(entries_probed),
        "index_offsets_probed": [base_offset + probe.value for probe in entries_probed],
    }
