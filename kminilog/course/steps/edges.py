"""`step edges`: the searches that go wrong first: at a name, at both ends, and past them.

    first - 1   first   a name - 1   a name   a name + 1   last   last + 1

Source: S1 5.2 and 5.3: which file holds the number in a name depends on the dialect.
"""

from collections.abc import Iterator

from kminilog.course.steps.document import Bar, Document, Picture, PictureLane, Table
from kminilog.course.steps.find_offset import Search, tried
from kminilog.course.steps.recording import Recording, ask, question_with_enough_choices
from kminilog.format.names import segment_name
from kminilog.storage.lookup import NAMES
from kminilog.storage.partition_reader import PartitionReader
from kminilog.text import count

_OUT_OF_RANGE = "out of range"


def document(reader: PartitionReader) -> Document:
    """Return the step-through of searches at the edges of a partition and of one of its names.

    Raises what `PartitionReader.find` raises for damage, and ValueError for a partition without
    segments.
    """
    partition = reader.topic_partition
    if not reader.segments():
        raise ValueError(f"{partition} has no segment, so there is nothing to search")
    recording = Recording("edges", f"Which segment holds the offsets at the edges of {partition}")
    _tell_segments(recording, reader)
    rows: list[tuple[int, str, str]] = []
    for offset, where in edges(reader):
        search = tried(reader, offset)
        answer = search.segment.name if search.found else _OUT_OF_RANGE
        rows.append((offset, where, answer))
        _record(recording, search, where, answer, tuple(rows))
    return recording.document()


def edges(reader: PartitionReader) -> Iterator[tuple[int, str]]:
    """Yield the offsets at the edges, ascending, and all that each is."""
    start, end = reader.log_start_offset, reader.log_end_offset
    names = [segment.base_offset for segment in reader.segments()]
    name = names[len(names) // 2]
    places = [
        (name - 1, "one less than a name"),
        (name, "the number in a name"),
        (name + 1, "one more than a name"),
    ]
    if start < end:
        places += [
            (start - 1, "one before the first message"),
            (start, "the first message"),
            (end - 1, "the last message"),
            (end, "one after the last message"),
        ]
    for offset in sorted({offset for offset, _ in places if offset >= 0}):
        yield offset, " and ".join(where for at, where in places if at == offset)


def _record(
    recording: Recording,
    search: Search,
    where: str,
    answer: str,
    rows: tuple[tuple[int, str, str], ...],
) -> None:
    names = [segment.base_offset for segment in search.reader.segments()]
    slot = names.index(search.segment.base_offset)
    near = names[max(slot - 1, 0) : slot + 2]
    why = {segment_name(name): _wrong(search, name) for name in near}
    why[_OUT_OF_RANGE] = "The log does hold this offset."
    question = ask(
        f"Offset {search.offset}, {where}: which segment holds it?",
        answer,
        _right(search),
        why,
    )
    recording.spend(probes=len(search.trace.probes(NAMES)))
    said = f"Segment {answer} holds it." if search.found else "The log does not hold it."
    recording.step(
        f"Offset {search.offset} is {where}. {said}",
        ask=question_with_enough_choices(question),
        values={"offset": search.offset, "segment": answer if search.found else None},
        tables=[Table("Edges", ("offset", "what it is", "segment"), rows, (len(rows) - 1,))],
        picture=_picture(search.reader, search.offset, answer),
    )


def _tell_segments(recording: Recording, reader: PartitionReader) -> None:
    """Say what is there before the first question."""
    names = [segment_name(segment.base_offset) for segment in reader.segments()]
    rule = "below" if reader.dialect.named_by_previous else "not above"
    recording.step(
        f"{reader.topic_partition} has {count(len(names), 'segment')}, and holds the offsets "
        f"{reader.log_start_offset} to {reader.log_end_offset - 1}. In the {reader.dialect.name} "
        f"dialect, a search takes the segment with the greatest name {rule} the offset. Mistakes "
        "are likely at the edges: near a name, and at both ends of the log.",
        values={"log start": reader.log_start_offset, "log end": reader.log_end_offset},
        tables=[Table("Segments", ("slot", "name"), tuple(enumerate(names)))],
        picture=_picture(reader, None, ""),
    )


def _picture(reader: PartitionReader, offset: int | None, answer: str) -> Picture:
    """Return the segments on the axis of offsets, and where the offset of the search is."""
    first, end = reader.log_start_offset - 1, reader.log_end_offset + 2
    names = [segment.base_offset for segment in reader.segments()]
    starts = [max(name + reader.dialect.named_by_previous, first) for name in names]
    bars = [
        Bar(
            start,
            max(stop, start),
            segment_name(name),
            "here" if segment_name(name) == answer else "",
        )
        for name, start, stop in zip(
            names, starts, [*starts[1:], reader.log_end_offset], strict=True
        )
    ]
    if offset is not None:
        at = min(max(offset, first), end)
        bars.append(Bar(at, at, str(offset), key="offset"))
    return Picture(
        "The segments by the offsets that they hold",
        (PictureLane("offsets", first, end, tuple(bars)),),
    )


def _wrong(search: Search, name: int) -> str:
    if not search.found:
        return (
            "The log does not hold this offset, and a search never returns another message instead."
        )
    if name > search.offset:
        return (
            f"{name} is greater than {search.offset}, so all messages of this segment come later."
        )
    if name == search.offset:
        return (
            "In this dialect, the number in a name is the last offset of the segment before. So "
            "that segment holds it."
        )
    return f"{name} is low enough. But it is not the greatest name that is low enough."


def _right(search: Search) -> str:
    if not search.found:
        start, end = search.reader.log_start_offset, search.reader.log_end_offset
        return f"The log holds the offsets {start} to {end - 1}."
    rule = "below" if search.reader.dialect.named_by_previous else "not above"
    return (
        f"It has the greatest name {rule} {search.offset}. If there is no such name, it is the "
        "first segment."
    )
