"""`step edges`: the searches that go wrong first: at a name, at both ends, and past them.

    first - 1   first   a name - 1   a name   a name + 1   last   last + 1

Source: S1 5.2 and 5.3: which file holds the number in a name depends on the dialect.
"""

from collections.abc import Iterator, Sequence

from kminilog.explain.document import Bar, Document, Picture, PictureLane, Table
from kminilog.explain.find_offset import Search, tried
from kminilog.explain.recording import Recording, ask, question_with_enough_choices
from kminilog.format.names import segment_name
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.segment.lookup import NAMES
from kminilog.text import count, numbered

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
    places = list(edges(reader))
    offsets = [offset for offset, _ in places]
    _tell_segments(recording, reader, offsets)
    rows: list[tuple[int, str, str]] = []
    for offset, where in places:
        search = tried(reader, offset)
        answer = search.segment.name if search.found else _OUT_OF_RANGE
        rows.append((offset, where, answer))
        picture = _picture(reader, offsets, offset, answer)
        _record(recording, search, answer, tuple(rows), picture)
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
    answer: str,
    rows: tuple[tuple[int, str, str], ...],
    picture: Picture,
) -> None:
    where = rows[-1][1]
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
        picture=picture,
    )


def _tell_segments(recording: Recording, reader: PartitionReader, offsets: Sequence[int]) -> None:
    """Say what is there before the first question."""
    names = [segment_name(segment.base_offset) for segment in reader.segments()]
    rule = "below" if reader.dialect.named_by_previous else "not above"
    recording.step(
        f"{reader.topic_partition} has {count(len(names), 'segment')}, and holds {_held(reader)}. "
        f"In the {reader.dialect.name} dialect, a search takes the segment with the greatest name "
        f"{rule} the offset. If there is none, it takes the first one. Mistakes are likely at the "
        "edges: near a name, and at both ends of the log.",
        values={"log start": reader.log_start_offset, "log end": reader.log_end_offset},
        tables=[Table("Segments", ("slot", "name"), tuple(enumerate(names)))],
        picture=_picture(reader, offsets, None, ""),
    )


def _held(reader: PartitionReader) -> str:
    return numbered(range(reader.log_start_offset, reader.log_end_offset), "offset")


def _picture(
    reader: PartitionReader, offsets: Sequence[int], offset: int | None, answer: str
) -> Picture:
    """Return the segments on the axis of offsets, and where the offset of the search is.

    The axis has room for all `offsets` that are searched.
    """
    segments, log_end = reader.segments(), reader.log_end_offset
    first, end = min(reader.log_start_offset, *offsets), max(log_end, *offsets) + 1
    starts = [segment.first_offset for segment in segments]
    bars = [
        Bar(start, max(stop, start), one.name, "here" if one.name == answer else "")
        for one, start, stop in zip(segments, starts, [*starts[1:], log_end], strict=True)
    ]
    if offset is not None:
        bars.append(Bar(offset, offset, str(offset), key="offset"))
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
    reader, offset = search.reader, search.offset
    if not search.found and reader.log_start_offset <= offset < reader.log_end_offset:
        return "It is in a gap of the log: no message has it."
    if not search.found:
        return f"The log holds {_held(reader)}."
    rule = "below" if reader.dialect.named_by_previous else "not above"
    return (
        f"It has the greatest name {rule} {offset}. If there is no such name, it is the "
        "first segment."
    )
