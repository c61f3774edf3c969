"""The picture of a step that shows bytes: each file as a lane, to scale.

    a .log of several messages    a bar for each message, those in focus with a bold edge
    an .index                     a bar for each entry, with an arrow to the message it points at
    any other bytes               a bar for each field

All of it comes from the files and fields of the document, so it says what the bytes say; where a
message ends is where the next one begins. Source: ours.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from kminilog.explain.document import (
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
_HEADS = ("offset", "relative-offset")
_SEGMENT_FILE = re.compile(r"(\d{20})\.(index|log)\b")


def files_picture(
    files: Iterable[File],
    fields: Sequence[Field],
    ends: Mapping[str, int],
    focus: Sequence[ByteRange],
    damaged: Sequence[ByteRange] = (),
) -> Picture | None:
    """Return the picture of the files that are shown up to these ends; None if there is none.

    The files of a segment stand together, the others as they were added. What touches a damaged
    range, and a torn tail, is red.
    """
    shown = [file for file in files if file.name in ends][-_MOST_LANES:]
    shown.sort(key=lambda file: _segment_file(file.name))
    if not shown:
        return None
    is_segment = sum(bool(_segment_file(file.name)[0]) for file in shown) > 1
    lanes = []
    for file in shown:
        end = ends[file.name]
        own = [each for each in fields if each.file == file.name and each.start < end]
        is_end = end < file.end or end == file.size_bytes  # else the file goes on
        torn = _torn_tail(own, end) if is_end else []
        bars = _bars(own, end, focus, [*damaged, *torn], is_segment=is_segment)
        note = count(end - file.start, "byte")
        heads = [each.kind for each in own if each.kind in _HEADS]
        if heads and len(bars) < len(own):
            whole = count(len(heads) - len(torn), "message" if heads[0] == "offset" else "entry")
            note = f"{whole}{' and a part' if torn else ''}, {note}"
        scale = _scale(file, shown)
        lanes.append(PictureLane(file.name, file.start, scale, tuple(bars), note, file.name))
    return Picture("The bytes, to scale", tuple(lanes), tuple(_arrows(lanes, fields)))


def _segment_file(name: str) -> tuple[str, str]:
    """Return the number of a segment in the name of a file, and which file of it; else nothing.

    >>> _segment_file("00000000000000000003.log before")
    ('00000000000000000003', 'log')
    """
    found = _SEGMENT_FILE.match(name)
    return (found[1], found[2]) if found else ("", "")


def _scale(file: File, shown: Sequence[File]) -> int:
    """Return where the axis of a file ends: files of one kind that are shown have one scale."""
    kind = _segment_file(file.name)[1]
    like = [each for each in shown if _segment_file(each.name)[1] == kind]
    return file.start + max(1, *(each.end - each.start for each in like))


def _bars(
    fields: Sequence[Field],
    end: int,
    focus: Sequence[ByteRange],
    damaged: Sequence[ByteRange],
    *,
    is_segment: bool,
) -> list[Bar]:
    """Return bars that cover the bytes: of messages or entries, or of the fields of a message."""
    heads = [each.kind for each in fields if each.kind in _HEADS]
    is_one = not heads or (heads == ["offset"] and not is_segment)
    if is_one and all(_is_in(damaged, one.file, one.start, one.end) for one in fields):
        damaged = ()  # in red throughout, it would not show its fields
    things: list[list[Field]] = []
    for each in fields:
        if is_one or not things or each.kind in (*_HEADS, UNPARSED):
            things.append([])
        things[-1].append(each)
    bars = [_bar(thing, end, focus, damaged, is_whole=not is_one) for thing in things]
    if all("here" in bar.style for bar in bars):
        bars = [_without("here", bar) for bar in bars]
    rest = bars[_MOST_BARS:]
    if rest:
        bars[_MOST_BARS:] = [Bar(rest[0].start, end, f"{len(rest)} more", "seen")]
    return bars


def _without(word: str, bar: Bar) -> Bar:
    return bar._replace(style=" ".join(one for one in bar.style.split() if one != word))


def _bar(
    thing: Sequence[Field],
    end: int,
    focus: Sequence[ByteRange],
    damaged: Sequence[ByteRange],
    *,
    is_whole: bool,
) -> Bar:
    """Return the bar of a field, or of a whole message or entry."""
    head, stop = thing[0], min(thing[-1].end, end)
    label, styles = head.name, [head.kind]
    if is_whole and head.kind in _HEADS:
        values = [str(each.value) for each in thing if each.value is not None]
        is_entry = head.kind == "relative-offset"
        label = ",".join(values) if is_entry else "".join(values[:1])[-_SHOWN_DIGITS:]
        styles = ["entry"] if is_entry else []
    if head.kind == head.name == UNPARSED or _is_in(damaged, head.file, head.start, stop):
        styles = ["lost"]
    if _is_in(focus, head.file, head.start, stop):
        styles.append("here")
    return Bar(head.start, stop, label, " ".join(styles))


def _is_in(ranges: Sequence[ByteRange], file: str, start: int, end: int) -> bool:
    return any(each.file == file and each.start < end and start < each.end for each in ranges)


def _torn_tail(fields: Sequence[Field], end: int) -> list[ByteRange]:
    """Return the last message if the bytes end before its size says so; else nothing."""
    start = max((each.start for each in fields if each.kind == "offset"), default=None)
    if start is None:
        return []
    size = next((each for each in fields if each.kind == "size" and each.start > start), None)
    if size and isinstance(size.value, int) and size.end + size.value <= end:
        return []
    return [ByteRange(fields[0].file, start, end)]


def _arrows(lanes: Sequence[PictureLane], fields: Sequence[Field]) -> list[Arrow]:
    """Return an arrow from each entry to its place in the log, where that is the next lane."""
    arrows = []
    for number, (index, log) in enumerate(pairwise(lanes)):
        (stem, kind), below = _segment_file(index.name), _segment_file(log.name)
        if kind != "index" or below != (stem, "log"):
            continue
        positions = [
            (each.start, each.value)
            for each in fields
            if each.file == index.name and each.kind == "position"
        ]
        for bar in index.bars:
            for start, at in positions:
                if (
                    bar.start < start < bar.end
                    and isinstance(at, int)
                    and log.start <= at <= log.end
                ):
                    arrows.append(Arrow(number, (bar.start + bar.end) / 2, number + 1, at))
    return arrows


def stacked(upper: Picture, lower: Picture) -> Picture:
    """Return the lanes of two pictures below each other, with the title of the lower one."""
    more = len(upper.lanes)
    arrows = [
        one._replace(from_lane=one.from_lane + more, to_lane=one.to_lane + more)
        for one in lower.arrows
    ]
    return Picture(lower.title, upper.lanes + lower.lanes, (*upper.arrows, *arrows))
