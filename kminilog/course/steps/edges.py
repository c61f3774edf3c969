"""`step edges`: the searches that go wrong first: at a name, at both ends, and past them.

    first - 1   first   a name - 1   a name   a name + 1   last   last + 1

Source: S1 5.2 and 5.3: which file holds the number in a name depends on the dialect.
"""

from collections.abc import Sequence

from kminilog.explain.document import Bar, Document, Picture, PictureLane, Table
from kminilog.explain.find_offset import tried
from kminilog.explain.script import Script
from kminilog.format.names import segment_name
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.segment.lookup import NAMES

STEPS = ("The segments", "The log holds it", "The log does not hold it")


def document(reader: PartitionReader) -> Document:
    """Return the step-through of searches at the edges of a partition and of one of its names.

    Raises what `PartitionReader.find` raises for damage, and ValueError for a partition without
    segments.
    """
    partition = reader.topic_partition
    names = [segment.base_offset for segment in reader.segments()]
    if not names:
        raise ValueError(f"{partition} has no segment, so there is nothing to search")
    start, end = reader.log_start_offset, reader.log_end_offset
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
    offsets = sorted({offset for offset, _ in places if offset >= 0})

    told = Script(
        __file__,
        "edges",
        STEPS,
        partition=partition,
        dialect=reader.dialect,
        segments=len(names),
        held=range(start, end),
    )
    told.tell(
        "The segments",
        values={"log start": start, "log end": end},
        tables=[Table("Segments", ("slot", "name"), tuple(enumerate(map(segment_name, names))))],
        picture=_picture(reader, offsets, None, ""),
    )
    rows: list[tuple[int, str, str]] = []
    for offset in offsets:
        search = tried(reader, offset)
        segment = search.segment
        answer = segment.name if search.found else "out of range"
        where = [place for at, place in places if at == offset]
        rows.append((offset, " and ".join(where), answer))
        slot = names.index(segment.base_offset)
        told.recording.spend(probes=len(search.trace.probes(NAMES)))
        told.tell(
            "The log holds it" if search.found else "The log does not hold it",
            values={"offset": offset, "segment": segment.name if search.found else None},
            tables=[
                Table("Edges", ("offset", "what it is", "segment"), tuple(rows), (len(rows) - 1,))
            ],
            picture=_picture(reader, offsets, offset, answer),
            offset=offset,
            where=where,
            segment=segment.name,
            before=names[slot - 1] if slot else None,
            after=names[slot + 1] if slot + 1 < len(names) else None,
        )
    return told.document()


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
