"""The picture of a partition: lanes below each other that share one axis of offsets.

    segments         a bar for each; its height is its size, its width the range of its offsets
    index entries    a tick for each
    recovery point   a line up to it; in a cluster a line for each copy, up to its log end
    a group          a line up to its committed offset; dashes from there to the log end: its lag
    findings         a tick for each, taller for an error
    the axis         from the log start to the log end

What is in a shape or in a colour is in words too. Shapes are stretched to the width of the window,
text is not: labels are numbers, placed by percent, and left out where they would overlap. The
template is log_dir.html. Source: ours.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from kminilog.cli.ls.look import MAX_TICKS, CopyLook, GroupLook, PartitionLook, SegmentLook
from kminilog.pages import PageLimits, counted, grouped

_WIDTH = 10_000  # of the axis, in the units of a shape
_BAR_HEIGHT = 34
_PLAIN_BARS = 100  # so many are drawn at least, some of them without a tooltip
_TICK_WIDTH = 40  # of an index entry, and of a finding at least
_DIGIT_WIDTH = 0.025  # of the width: a digit of a label on a phone
_SHORT_DIGITS = 10  # five offsets of so many digits stand side by side, unless on a phone


class Label(NamedTuple):
    """A number below a lane, at a percentage of its width; `anchor` is SVG's."""

    at: str
    words: int
    anchor: str = "middle"
    kind: str = ""


class Shape(NamedTuple):
    """A path in a lane, with its classes; perhaps a tooltip, and the place that it leads to."""

    kind: str
    path: str
    title: str = ""
    link: str = ""


class Lane(NamedTuple):
    """What stands above a lane, its shapes and its labels; perhaps none.

    `colour` is the class of its field, if there is one.
    """

    name: str
    words: str
    height: int = 0
    shapes: tuple[Shape, ...] = ()
    labels: tuple[Label, ...] = ()
    colour: str = ""


def lanes(
    look: PartitionLook, opened: Collection[SegmentLook], limits: PageLimits
) -> Iterator[Lane]:
    """Yield the lanes, from the segments down to the axis; of each thing so many at most.

    The page has a place for each of the `opened` segments.
    """
    yield _segments(look, limits.segments, opened)
    yield _index(look)
    if look.copies:
        yield from (_copy(look, copy) for copy in look.copies)
    else:
        yield _recovery_point(look)
    yield from (_group(look, group) for group in look.groups[: limits.groups])
    if len(look.groups) > limits.groups:
        yield Lane("more groups", f"{len(look.groups) - limits.groups}, see kminilog group list")
    yield _findings(look, limits.findings)
    yield _axis(look)


def _share(look: PartitionLook, offset: int) -> float:
    """Return where an offset is on the axis, 0 to 1; offsets outside are at its ends."""
    span = max(look.log_end_offset - look.log_start_offset, 1)
    return min(max((offset - look.log_start_offset) / span, 0), 1)


def _at(look: PartitionLook, offset: int) -> int:
    return round(_WIDTH * _share(look, offset))


def _label(share: float, words: int, anchor: str = "middle", kind: str = "") -> Label:
    return Label(f"{100 * share:.4g}%", words, anchor, kind)


def _numbers(places: Iterable[tuple[float, int]]) -> Iterator[Label]:
    """Yield numbers at their places, from left to right, without those that would overlap."""
    last = -1.0
    for share, number in sorted(places):
        if share - last >= _DIGIT_WIDTH * (len(str(number)) + 1):
            yield _label(share, number)
            last = share


def _segments(look: PartitionLook, limit: int, opened: Collection[SegmentLook]) -> Lane:
    drawn = look.segments[: max(limit, _PLAIN_BARS)]
    largest = max((segment.log_bytes for segment in drawn), default=0)
    words = grouped(len(look.segments))
    if largest:
        words += f"; the highest bar is the largest, {counted(largest, 'byte')}"
    if len(drawn) < len(look.segments):
        words += f"; only the first {len(drawn)} are drawn"
    shapes, plain = [], ""
    for slot, segment in enumerate(drawn):
        bar = _bar(look, segment, largest, segment in opened)
        if slot < limit or bar.link or segment.finding_count:
            shapes.append(bar)
        else:
            plain += bar.path
    if plain:
        shapes.append(Shape("bar", plain))
    middles = [
        (_share(look, segment.first_offset) + _share(look, segment.next_offset)) / 2
        for segment in drawn
    ]
    numbers = _numbers((middle, number) for number, middle in enumerate(middles, start=1))
    return Lane("segments", words, _BAR_HEIGHT, tuple(shapes), tuple(numbers))


def _bar(look: PartitionLook, segment: SegmentLook, largest: int, is_opened: bool) -> Shape:
    link = f"{look.name}/{segment.name}" if is_opened else ""
    size = counted(segment.log_bytes, "byte")
    if segment.message_count <= 0:
        path = f"M{_at(look, segment.first_offset)} 0V{_BAR_HEIGHT}"
        return Shape("empty", path, f"{segment.name}: no message, {size}", link)
    top = _BAR_HEIGHT - max(round(_BAR_HEIGHT * segment.log_bytes / max(largest, 1)), 3)
    left, right = _at(look, segment.first_offset), _at(look, segment.next_offset)
    path = f"M{left} {_BAR_HEIGHT}V{top}H{right}V{_BAR_HEIGHT}Z"
    parts = [f"{segment.name}: offsets {segment.first_offset}..{segment.next_offset - 1}", size]
    parts.append(counted(segment.index_entries, "index entry"))
    if segment.finding_count:
        parts.append(counted(segment.finding_count, "finding"))
    kind = "bar"
    if segment.finding_count:
        kind += " damaged" if segment.is_damaged else " doubtful"
    return Shape(kind, path, ", ".join(parts), link)


def _index(look: PartitionLook) -> Lane:
    entries = look.entry_count
    words = grouped(entries)
    if entries:
        words += f", {density(look.message_count, entries)}"
    if entries > MAX_TICKS:
        return Lane("index entries", f"{words}: too many to draw", colour="entry")
    offsets = (offset for segment in look.segments for offset in segment.entry_offsets)
    ticks = "".join(
        f"M{_at(look, offset)} 0h{_TICK_WIDTH}v10h-{_TICK_WIDTH}z" for offset in offsets
    )
    shapes = (Shape("entry", ticks),) if ticks else ()
    return Lane("index entries", words, 10, shapes, colour="entry")


def density(messages: int, entries: int) -> str:
    """Return how many messages there are for one index entry, in words.

    >>> density(20, 4), density(10, 3), density(5, 0)
    ('one per 5 messages', 'one per 3.3 messages', 'none')
    """
    if not entries:
        return "none"
    per = f"{messages / entries:.1f}".removesuffix(".0")
    return f"one per {per} {'message' if per == '1' else 'messages'}"


def _recovery_point(look: PartitionLook) -> Lane:
    point = look.recovery_point
    if point is None:
        return Lane("recovery point", "not known: after a crash, recovery reads everything")
    words = f"{point}: messages below it are on the disk for good"
    if point > look.log_end_offset:
        words = f"{point}, above the log end {look.log_end_offset}: "
        words += look.readable or "the log has lost its end"
    return Lane("recovery point", words, 10, (Shape("flushed", _line(look, point)),))


def _line(look: PartitionLook, end: int) -> str:
    return f"M0 5H{_at(look, end)}m0 -5v10"


def _copy(look: PartitionLook, copy: CopyLook) -> Lane:
    name = f"copy on broker {copy.broker}"
    end, committed = copy.log_end_offset, copy.high_watermark
    if end is None:
        return Lane(name, f"{copy.role}: {copy.failure}")
    words = f"{copy.role}: log end {end}, high watermark {committed}"
    shapes = [Shape("copy", _line(look, end), words)]
    if committed is not None:
        shapes.append(Shape("flushed", _line(look, committed), f"high watermark {committed}"))
    return Lane(name, words, 10, tuple(shapes))


def _group(look: PartitionLook, group: GroupLook) -> Lane:
    name, words = f"group {group.group}", group_words(group, look.log_end_offset)
    if group.committed is None:
        return Lane(name, words)
    shapes = [Shape("committed", _line(look, group.committed))]
    if group.lag:
        shapes.append(Shape("lag", f"M{_at(look, group.committed)} 5H{_WIDTH}", f"lag {group.lag}"))
    return Lane(name, words, 10, tuple(shapes))


def group_words(group: GroupLook, log_end_offset: int) -> str:
    """Return how far a group is, in words.

    >>> group_words(GroupLook("g", 12, 8), 20)
    'committed 12, lag 8'
    """
    if group.committed is None:
        return "nothing committed yet"
    if group.is_above_log_end:
        return f"committed {group.committed}, above the log end {log_end_offset}: lag not known"
    return f"committed {group.committed}, lag {'not known' if group.lag is None else group.lag}"


def _findings(look: PartitionLook, limit: int) -> Lane:
    listed = look.findings[:limit]
    words = "none" if not look.finding_count else f"{grouped(look.finding_count)}, see below"
    if look.finding_count > len(listed):
        words += f" for {len(listed)} of them"
    shapes, places = [], []
    for number, finding in enumerate(listed, start=1):
        if finding.offset is None:
            continue
        top = 0 if finding.severity == "error" else 7
        left = _at(look, finding.offset)
        last = finding.offset if finding.last_offset is None else finding.last_offset
        right = max(_at(look, last + 1), left + _TICK_WIDTH)
        path = f"M{left} {top}H{right}V14H{left}Z"
        title, link = f"{finding.kind}: {finding.place}", f"{look.name}/finding-{number}"
        shapes.append(Shape(finding.severity, path, title, link))
        places.append(((left + right) / 2 / _WIDTH, number))
    height = 14 if shapes else 0
    return Lane("findings of verify", words, height, tuple(shapes), tuple(_numbers(places)))


def _axis(look: PartitionLook) -> Lane:
    start, end = look.log_start_offset, look.log_end_offset
    parts = 4 if len(str(end)) <= _SHORT_DIGITS else 2  # so that the labels have room
    between = [start + (end - start) * n // parts for n in range(1, parts)]
    between = between if end - start >= parts else []
    ticks = "".join(f"M{_at(look, offset)} 0v6" for offset in (start, *between, end))
    labels = [_label(0, start, "start")]
    labels += [_label(_share(look, offset), offset, kind="between") for offset in between]
    if end > start:
        labels.append(_label(1, end, "end"))
    words = f"log start {start}, log end {end}: {look.readable or 'the next message gets it'}"
    shapes = (Shape("axis", f"M0 1H{_WIDTH}{ticks}"),)
    return Lane("offsets", words, 7, shapes, tuple(labels), colour="offset")
