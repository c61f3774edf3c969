"""The picture of a step that shows bytes: each file as a lane, to scale.

    a .log of several messages    a bar for each message, those in focus with a bold edge
    an .index                     a bar for each entry, with an arrow to the message it points at
    any other bytes               a bar for each field

All of it comes from the files and fields of the document, so it says what the bytes say; where a
message ends is where the next one begins. Source: ours.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from kminilog.course.steps.document import (
    UNPARSED,
    Arrow,
    Bar,
    ByteRange,
    Field,
    File,
    Picture,
    PictureLane,
)
from kminilog.text import count

_MOST_LANES = 6
_MOST_BARS = 60
_SHOWN_DIGITS = 6


def files_picture(
    files: Iterable[File],
    fields: Sequence[Field],
    ends: Mapping[str, int],
    focus: Sequence[ByteRange],
) -> Picture | None:
    """Return the picture of the files that are shown up to these ends; None if there is none."""
    shown = [file for file in files if file.name in ends][-_MOST_LANES:]
    shown.sort(key=lambda file: file.name)  # so an index stands above its log
    if not shown:
        return None
    lanes = []
    for file in shown:
        own = [each for each in fields if each.file == file.name and each.start < ends[file.name]]
        bars = _bars(file, own, ends[file.name], focus)
        note = count(ends[file.name] - file.start, "byte")
        scale = _scale(file, shown, ends)
        lanes.append(PictureLane(file.name, file.start, scale, bars, note, file.name))
    return Picture("The bytes, to scale", tuple(lanes), tuple(_arrows(lanes, shown, fields)))


def _scale(file: File, shown: Sequence[File], ends: Mapping[str, int]) -> int:
    """Return where the axis of a file ends: logs that are shown together have one scale."""
    suffix = file.name.rpartition(".")[2]
    like = [each for each in shown if each.name.rpartition(".")[2] == suffix]
    longest = max(max(each.end, ends[each.name]) - each.start for each in like)
    return file.start + max(longest, 1)


def _bars(
    file: File, fields: Sequence[Field], end: int, focus: Sequence[ByteRange]
) -> tuple[Bar, ...]:
    kinds = {"offset", "relative-offset"}
    starts = [each for each in fields if each.kind in kinds]
    if len(starts) < 2 and not file.name.endswith(".index"):
        here = [each for each in fields if _is_in(focus, each.file, each.start, each.end)]
        lit = here if len(here) < len(fields) else []
        return tuple(_field_bar(each, end, each in lit) for each in fields[:_MOST_BARS])
    bars = []
    for first, stop in pairwise([*(each.start for each in starts), end]):
        own = [each for each in fields if first <= each.start < stop]
        bars.append(_thing(file.name, own, first, stop, focus))
    return tuple(bars[:_MOST_BARS])


def _field_bar(field: Field, end: int, is_here: bool) -> Bar:
    style = f"{field.kind} here" if is_here else field.kind
    return Bar(field.start, min(field.end, end), field.name, style)


def _is_in(focus: Sequence[ByteRange], file: str, start: int, end: int) -> bool:
    return any(each.file == file and each.start < end and start < each.end for each in focus)


def _thing(
    file: str, fields: Sequence[Field], start: int, stop: int, focus: Sequence[ByteRange]
) -> Bar:
    """Return the bar of a message or of an entry."""
    is_here = _is_in(focus, file, start, stop)
    kinds = [each.kind for each in fields]
    style = "here" if is_here else "entry" if kinds[0] == "relative-offset" else ""
    if UNPARSED in kinds:
        style = "lost"
    elif _is_unfinished(fields, stop):
        style = "torn"
    label = str(fields[0].value)[-_SHOWN_DIGITS:]
    if kinds[0] == "relative-offset":
        label = ",".join(str(each.value) for each in fields[:2])
    return Bar(start, stop, label, style)


def _is_unfinished(fields: Sequence[Field], stop: int) -> bool:
    """Tell if the bytes of a message end before its size says so."""
    sizes = [each for each in fields if each.kind == "size"]
    if not sizes or not isinstance(sizes[0].value, int):
        return fields[0].kind == "offset"
    return sizes[0].end + sizes[0].value > stop


def _arrows(
    lanes: Sequence[PictureLane], files: Sequence[File], fields: Sequence[Field]
) -> list[Arrow]:
    """Return an arrow from each entry to its place in the log of the same name."""
    names = [lane.name for lane in lanes]
    arrows = []
    for number, lane in enumerate(lanes):
        log = f"{lane.name.removesuffix('.index')}.log"
        if not lane.name.endswith(".index") or log not in names:
            continue
        to = names.index(log)
        for bar in lane.bars:
            at = next(
                (
                    f.value
                    for f in fields
                    if f.file == lane.name
                    and f.kind == "position"
                    and bar.start < f.start < bar.end
                ),
                None,
            )
            if isinstance(at, int) and lanes[to].start <= at <= lanes[to].end:
                arrows.append(Arrow(number, (bar.start + bar.end) / 2, to, at))
    return arrows


def below_lane(lane: PictureLane, picture: Picture | None) -> Picture:
    """Return a picture with one more lane above its own."""
    if picture is None:
        return Picture(lane.name, (lane,))
    arrows = [
        one._replace(from_lane=one.from_lane + 1, to_lane=one.to_lane + 1) for one in picture.arrows
    ]
    return Picture(picture.title, (lane, *picture.lanes), tuple(arrows))
