"""The first part of a search: the names of the segments, by bisection.

Source: S1 5.3.1.
"""

from collections.abc import Sequence

from kminilog.course.steps.document import Table
from kminilog.course.steps.lookup.search import Search, compared, window
from kminilog.course.steps.recording import Recording, ask, question_with_enough_choices
from kminilog.format.names import segment_name
from kminilog.storage.lookup import NAMES
from kminilog.text import count


def record_names(recording: Recording, search: Search) -> None:
    """Add the steps from all segments to the one that may hold the offset."""
    offset, dialect = search.offset, search.reader.dialect
    names = [one.base_offset for one in search.reader.segments()]
    rule = "below" if dialect.named_by_previous else "not above"
    recording.step(
        f"Where is offset {offset} of {search.reader.topic_partition}? The partition has "
        f"{count(len(names), 'segment')}. The {dialect.name} dialect wants the greatest name "
        f"{rule} {offset}; if there is none, the first. The names are sorted, so bisection works.",
        values={"offset": offset, "low": 0, "high": len(names)},
        tables=[_names_table(names, None)],
    )
    low, high = 0, len(names)
    for probe in search.trace.probes(NAMES):
        goes_right = probe.value < offset or (
            probe.value == offset and not dialect.named_by_previous
        )
        low, high = (probe.slot + 1, high) if goes_right else (low, probe.slot)
        recording.spend(probes=1)
        recording.step(
            f"Slot {probe.slot} is {probe.value}: {compared(probe, offset)}. Go on to the "
            f"{'right' if goes_right else 'left'} of it.",
            values={"offset": offset, "low": low, "high": high},
            tables=[_names_table(names, probe.slot)],
        )
    _record_segment(recording, search, names, rule)


def _record_segment(recording: Recording, search: Search, names: Sequence[int], rule: str) -> None:
    segment, offset = search.segment, search.offset
    slot = names.index(segment.base_offset)
    wrong = {segment_name(names[0]): "That is the first segment. Each name is a bound: go on."}
    wrong[segment_name(names[-1])] = "That is the last segment, where new messages are written."
    if slot + 1 < len(names):
        wrong[segment_name(names[slot + 1])] = (
            "That is the next greater name, a ceiling. A name says where a segment begins, so the "
            "offset is in front of it."
        )
    question = ask(
        f"Which segment is searched for offset {offset}?",
        segment.name,
        f"It is the greatest name {rule} {offset}, or the first of all.",
        wrong,
    )
    recording.step(
        f"The search chooses segment {segment.name}: its .index and its .log. Only the walk shows "
        "if the message is there.",
        ask=question_with_enough_choices(question),
        values={"offset": offset, "segment": segment.name},
        tables=[_names_table(names, slot)],
    )


def _names_table(names: Sequence[int], slot: int | None) -> Table:
    rows = [(number, segment_name(name)) for number, name in enumerate(names)]
    return window("Names of the segments", ("slot", "name"), rows, slot)
