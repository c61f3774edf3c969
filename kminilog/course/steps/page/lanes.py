"""The picture of a partition: lanes that share one axis of offsets, as SVG.

    segments         a bar for each; its height is its size, its width the range of its offsets
    index entries    a tick for each
    recovery point   a line up to it
    a group          a line up to its committed offset; dashes from there to the log end: its lag
    findings         a tick for each, taller for an error
    the axis         from the log start to the log end

What a lane shows stands in words above it. Shapes are stretched to the width of the window, text is
not: labels are numbers, placed by percent, and left out where they would overlap. Source: ours.
"""

from collections.abc import Iterable, Iterator

from kminilog.course.steps.page.look import GroupLook, PartitionLook, SegmentLook
from kminilog.course.steps.page.render import text
from kminilog.text import count

MAX_TICKS = 200
"""How many index entries of a partition are drawn; of more, the page says how dense they are."""
MAX_SEGMENTS = 500
MAX_GROUPS = 50

_WIDTH = 10_000  # of the axis, in the units of a shape
_BAR_HEIGHT = 34
_DIGIT_WIDTH = 0.025  # of the width: a digit of a label on a phone
_SHORT_DIGITS = 10  # five offsets of so many digits stand side by side, unless on a phone


def lanes(look: PartitionLook) -> Iterator[str]:
    """Yield the lines of the picture, from the segments down to the axis."""
    yield '<div class="lanes">'
    yield from _segments(look)
    yield from _index(look)
    yield from _recovery_point(look)
    for group in look.groups[:MAX_GROUPS]:
        yield from _group(look, group)
    if len(look.groups) > MAX_GROUPS:
        yield _name("more groups", f"{len(look.groups) - MAX_GROUPS}, see kminilog group list")
        yield "<div></div>"
    yield from _findings(look)
    yield from _axis(look)
    yield "</div>"


def grouped(number: int) -> str:
    """Return a number of things with separators; offsets have none, as in names of files.

    >>> grouped(1234567)
    '1,234,567'
    """
    return f"{number:,}"


def counted(number: int, singular: str) -> str:
    """Return a number with separators and with its noun.

    >>> counted(1, "byte"), counted(1000, "byte")
    ('1 byte', '1,000 bytes')
    """
    return count(number, singular).replace(str(number), grouped(number), 1)


def _share(look: PartitionLook, offset: int) -> float:
    """Return where an offset is on the axis, 0 to 1; offsets outside are at its ends."""
    span = max(look.log_end_offset - look.log_start_offset, 1)
    return min(max((offset - look.log_start_offset) / span, 0), 1)


def _at(look: PartitionLook, offset: int) -> int:
    return round(_WIDTH * _share(look, offset))


def _name(name: str, words: str) -> str:
    return f'<p class="lane-name"><b>{text(name)}</b> <span>{text(words)}</span></p>'


def _lane(height: int, shapes: Iterable[str], labels: Iterable[str] = ()) -> Iterator[str]:
    """Yield a lane: shapes that are stretched, and labels in an SVG of their own below them."""
    yield f'<div class="lane"><svg class="shapes" height="{height}" aria-hidden="true" '
    yield f'viewBox="0 0 {_WIDTH} {height}" preserveAspectRatio="none">'
    yield from shapes
    yield "</svg>"
    found = list(labels)
    if found:
        yield '<svg class="labels" aria-hidden="true">'
        yield from found
        yield "</svg>"
    yield "</div>"


def _label(share: float, words: object, *, anchor: str = "middle", kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{100 * share:.4g}%" y="1em" text-anchor="{anchor}">{words}</text>'


def _numbers(places: Iterable[tuple[float, int]]) -> Iterator[str]:
    """Yield numbers at their places, from left to right, without those that would overlap."""
    last = -1.0
    for share, number in sorted(places):
        if share - last >= _DIGIT_WIDTH * (len(str(number)) + 1):
            yield _label(share, number)
            last = share


def _path(kind: str, steps: Iterable[str]) -> str:
    return f'<path class="{kind}" d="{"".join(steps)}"/>'


def _segments(look: PartitionLook) -> Iterator[str]:
    drawn = look.segments[:MAX_SEGMENTS]
    largest = max((segment.log_bytes for segment in drawn), default=0)
    words = grouped(len(look.segments))
    if largest:
        words += f"; the highest bar is the largest, {counted(largest, 'byte')}"
    if len(drawn) < len(look.segments):
        words += f"; only the first {len(drawn)} are drawn"
    yield _name("segments", words)
    bars = [_bar(look, segment, largest) for segment in drawn if segment.message_count > 0]
    empty = [f"M{_at(look, s.first_offset)} 0V{_BAR_HEIGHT}" for s in drawn if s.message_count <= 0]
    shapes = [_path("bar", bars), _path("empty", empty)]
    middles = [
        (_share(look, segment.first_offset) + _share(look, segment.next_offset)) / 2
        for segment in drawn
    ]
    numbers = _numbers((middle, number) for number, middle in enumerate(middles, start=1))
    yield from _lane(_BAR_HEIGHT, shapes, numbers)


def _bar(look: PartitionLook, segment: SegmentLook, largest: int) -> str:
    top = _BAR_HEIGHT - max(round(_BAR_HEIGHT * segment.log_bytes / max(largest, 1)), 3)
    left, right = _at(look, segment.first_offset), _at(look, segment.next_offset)
    return f"M{left} {_BAR_HEIGHT}V{top}H{right}V{_BAR_HEIGHT}Z"


def _index(look: PartitionLook) -> Iterator[str]:
    entries = look.entry_count
    words = grouped(entries)
    if entries:
        words += f", {density(look.message_count, entries)}"
    if entries > MAX_TICKS:
        yield _name("index entries", f"{words}: too many to draw")
        yield "<div></div>"
        return
    yield _name("index entries", words)
    offsets = (offset for segment in look.segments for offset in segment.entry_offsets)
    yield from _lane(10, [_path("entry", (f"M{_at(look, offset)} 0v10" for offset in offsets))])


def density(messages: int, entries: int) -> str:
    """Return how many messages there are for one index entry, in words.

    >>> density(20, 4), density(10, 3), density(5, 0)
    ('one per 5 messages', 'one per 3.3 messages', 'none')
    """
    if not entries:
        return "none"
    per = f"{messages / entries:.1f}".removesuffix(".0")
    return f"one per {per} {'message' if per == '1' else 'messages'}"


def _recovery_point(look: PartitionLook) -> Iterator[str]:
    point = look.recovery_point
    if point is None:
        yield _name("recovery point", "not known: after a crash, recovery reads everything")
        yield "<div></div>"
        return
    words = f"{point}: messages below it are on the disk for good"
    if point > look.log_end_offset:
        words = f"{point}, above the log end {look.log_end_offset}: the log has lost its end"
    yield _name("recovery point", words)
    yield from _lane(10, [_path("flushed", [f"M0 5H{_at(look, point)}m0 -5v10"])])


def _group(look: PartitionLook, group: GroupLook) -> Iterator[str]:
    yield _name(f"group {group.group}", group_words(group, look.log_end_offset))
    if group.committed is None:
        yield "<div></div>"
        return
    at = _at(look, group.committed)
    shapes = [_path("committed", [f"M0 5H{at}m0 -5v10"])]
    if group.lag:
        shapes.append(_path("lag", [f"M{at} 5H{_WIDTH}"]))
    yield from _lane(10, shapes)


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


def _findings(look: PartitionLook) -> Iterator[str]:
    listed = len(look.findings)
    words = "none" if not look.finding_count else f"{grouped(look.finding_count)}, see below"
    if look.finding_count > listed:
        words += f" for {listed} of them"
    yield _name("findings of verify", words)
    shapes = [_marks(look, "warning", top=7), _marks(look, "error", top=0)]
    places = [
        (_share(look, finding.offset), number)
        for number, finding in enumerate(look.findings, start=1)
        if finding.offset is not None
    ]
    if places:
        yield from _lane(14, shapes, _numbers(places))
    else:
        yield "<div></div>"


def _marks(look: PartitionLook, severity: str, *, top: int) -> str:
    steps = []
    for one in look.findings:
        if one.severity == severity and one.offset is not None:
            steps.append(f"M{_at(look, one.offset)} {top}V14")
            if one.last_offset is not None:
                steps.append(f"H{_at(look, one.last_offset + 1)}V{top}")
    return _path(severity, steps)


def _axis(look: PartitionLook) -> Iterator[str]:
    start, end = look.log_start_offset, look.log_end_offset
    yield _name("offsets", f"log start {start}, log end {end}: the next message gets it")
    parts = 4 if len(str(end)) <= _SHORT_DIGITS else 2  # so that the labels have room
    between = [start + (end - start) * n // parts for n in range(1, parts)]
    between = between if end - start >= parts else []
    ticks = [f"M{_at(look, offset)} 0v6" for offset in (start, *between, end)]
    labels = [_label(0, start, anchor="start")]
    labels += [_label(_share(look, offset), offset, kind="between") for offset in between]
    if end > start:
        labels.append(_label(1, end, anchor="end"))
    yield from _lane(7, [_path("axis", [f"M0 1H{_WIDTH}", *ticks])], labels)
