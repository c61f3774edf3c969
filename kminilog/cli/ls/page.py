"""A log dir as one HTML page that needs nothing else: each partition as a picture, and lists below.

The picture has lanes that share one axis of offsets:

    segments         a bar for each; its height is its size, its width the range of its offsets
    index entries    a tick for each
    recovery point   a line up to it
    a group          a line up to its committed offset; dashes from there to the log end: its lag
    findings         a tick for each, taller for an error
    the axis         from the log start to the log end

What is in a shape or in a colour is in words too. Shapes are stretched to the width of the window,
text is not: labels are numbers, placed by percent, and left out where they would overlap. The
template is log_dir.html (pages.py). This module has values only; page_data.py reads the
files. An offset that is not known is None. Source: ours.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kminilog.pages import counted, grouped, render

MAX_PARTITIONS = 200
MAX_TICKS = 200
"""How many index entries of a partition are drawn; of more, the page says how dense they are."""
MAX_SEGMENTS = 500
MAX_GROUPS = 50
_VERDICTS = {
    "ok": "verify found nothing wrong",
    "findings": "verify found what is wrong, see the marks and the lists",
    "partial": "verify found nothing, but could not check everything",
}

_WIDTH = 10_000  # of the axis, in the units of a shape
_BAR_HEIGHT = 34
_DIGIT_WIDTH = 0.025  # of the width: a digit of a label on a phone
_SHORT_DIGITS = 10  # five offsets of so many digits stand side by side, unless on a phone


class SegmentLook(NamedTuple):
    """One segment; `entry_offsets` has the offset of each index entry, or nothing if too many."""

    name: str
    first_offset: int
    next_offset: int
    log_bytes: int
    index_entries: int
    entry_offsets: tuple[int, ...] = ()

    @property
    def message_count(self) -> int:
        """How many messages the offsets have room for."""
        return self.next_offset - self.first_offset


class GroupLook(NamedTuple):
    """How far a group has read a partition, as `group describe` tells it."""

    group: str
    committed: int | None
    lag: int | None
    is_above_log_end: bool = False


class FindingLook(NamedTuple):
    """One finding of `verify`, and the command that shows it; `comes_from` may be empty."""

    kind: str
    severity: str
    partition: str
    place: str
    detail: str
    command: str
    offset: int | None = None
    last_offset: int | None = None
    comes_from: str = ""


class PartitionLook(NamedTuple):
    """One partition. With a `failure`, it could not be read, and most of the rest is not known.

    `finding_count` is that of `verify`, which also counts the findings that it does not keep.
    """

    name: str
    log_start_offset: int = 0
    log_end_offset: int = 0
    size_bytes: int = 0
    segments: tuple[SegmentLook, ...] = ()
    recovery_point: int | None = None
    groups: tuple[GroupLook, ...] = ()
    findings: tuple[FindingLook, ...] = ()
    finding_count: int = 0
    failure: str = ""

    @property
    def message_count(self) -> int:
        """How many messages the offsets of all segments have room for."""
        return sum(segment.message_count for segment in self.segments)

    @property
    def entry_count(self) -> int:
        """How many index entries all segments have."""
        return sum(segment.index_entries for segment in self.segments)


class LogDirLook(NamedTuple):
    """A log dir, or one topic of it.

    elsewhere    findings in none of these partitions
    counts       of each class of findings, how many there are, and how many of them are shown
    not_checked  what `verify` did not check, and why
    not_read     what else could not be read, and why
    left_out     how many partitions are not shown
    """

    path: str
    verdict: str
    partitions: tuple[PartitionLook, ...]
    elsewhere: tuple[FindingLook, ...] = ()
    counts: tuple[tuple[str, int, int], ...] = ()
    not_checked: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()
    left_out: int = 0


class Label(NamedTuple):
    """A number below a lane, at a percentage of its width; `anchor` is SVG's."""

    at: str
    words: int
    anchor: str = "middle"
    kind: str = ""


class Lane(NamedTuple):
    """What stands above a lane, its shapes (classes and paths) and its labels; perhaps none."""

    name: str
    words: str
    height: int = 0
    shapes: tuple[tuple[str, str], ...] = ()
    labels: tuple[Label, ...] = ()


def render_log_dir(look: LogDirLook) -> str:
    """Return the page as text; O(partitions, segments and findings)."""
    totals = (
        counted(len(look.partitions) + look.left_out, "partition"),
        counted(sum(len(partition.segments) for partition in look.partitions), "segment"),
        counted(sum(partition.size_bytes for partition in look.partitions), "byte"),
        _VERDICTS[look.verdict],
    )
    rest = (
        ("Not all findings are shown", list(_more_findings(look))),
        ("Could not be read", look.not_read),
        ("Not checked by verify", look.not_checked),
    )
    return render(
        "log_dir.html",
        look=look,
        totals=", ".join(totals),
        partitions=[
            (partition, () if partition.failure else list(_lanes(partition)))
            for partition in look.partitions
        ],
        density=density,
        max_segments=MAX_SEGMENTS,
        rest=rest,
    )


def _more_findings(look: LogDirLook) -> Iterator[str]:
    for kind, total, shown in look.counts:
        if total > shown:
            said = f"{counted(total, 'finding')}, {shown} shown"
            yield f"{kind}: {said}; kminilog verify counts them"


def _lanes(look: PartitionLook) -> Iterator[Lane]:
    """Yield the lanes of the picture, from the segments down to the axis."""
    yield _segments(look)
    yield _index(look)
    yield _recovery_point(look)
    for group in look.groups[:MAX_GROUPS]:
        yield _group(look, group)
    if len(look.groups) > MAX_GROUPS:
        yield Lane("more groups", f"{len(look.groups) - MAX_GROUPS}, see kminilog group list")
    yield _findings(look)
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


def _segments(look: PartitionLook) -> Lane:
    drawn = look.segments[:MAX_SEGMENTS]
    largest = max((segment.log_bytes for segment in drawn), default=0)
    words = grouped(len(look.segments))
    if largest:
        words += f"; the highest bar is the largest, {counted(largest, 'byte')}"
    if len(drawn) < len(look.segments):
        words += f"; only the first {len(drawn)} are drawn"
    bars = [_bar(look, segment, largest) for segment in drawn if segment.message_count > 0]
    empty = [f"M{_at(look, s.first_offset)} 0V{_BAR_HEIGHT}" for s in drawn if s.message_count <= 0]
    middles = [
        (_share(look, segment.first_offset) + _share(look, segment.next_offset)) / 2
        for segment in drawn
    ]
    numbers = _numbers((middle, number) for number, middle in enumerate(middles, start=1))
    shapes = (("bar", "".join(bars)), ("empty", "".join(empty)))
    return Lane("segments", words, _BAR_HEIGHT, shapes, tuple(numbers))


def _bar(look: PartitionLook, segment: SegmentLook, largest: int) -> str:
    top = _BAR_HEIGHT - max(round(_BAR_HEIGHT * segment.log_bytes / max(largest, 1)), 3)
    left, right = _at(look, segment.first_offset), _at(look, segment.next_offset)
    return f"M{left} {_BAR_HEIGHT}V{top}H{right}V{_BAR_HEIGHT}Z"


def _index(look: PartitionLook) -> Lane:
    entries = look.entry_count
    words = grouped(entries)
    if entries:
        words += f", {density(look.message_count, entries)}"
    if entries > MAX_TICKS:
        return Lane("index entries", f"{words}: too many to draw")
    offsets = (offset for segment in look.segments for offset in segment.entry_offsets)
    ticks = "".join(f"M{_at(look, offset)} 0v10" for offset in offsets)
    return Lane("index entries", words, 10, (("entry", ticks),))


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
        words = f"{point}, above the log end {look.log_end_offset}: the log has lost its end"
    return Lane("recovery point", words, 10, (("flushed", f"M0 5H{_at(look, point)}m0 -5v10"),))


def _group(look: PartitionLook, group: GroupLook) -> Lane:
    name, words = f"group {group.group}", group_words(group, look.log_end_offset)
    if group.committed is None:
        return Lane(name, words)
    at = _at(look, group.committed)
    shapes = [("committed", f"M0 5H{at}m0 -5v10")]
    if group.lag:
        shapes.append(("lag", f"M{at} 5H{_WIDTH}"))
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


def _findings(look: PartitionLook) -> Lane:
    listed = len(look.findings)
    words = "none" if not look.finding_count else f"{grouped(look.finding_count)}, see below"
    if look.finding_count > listed:
        words += f" for {listed} of them"
    places = [
        (_share(look, finding.offset), number)
        for number, finding in enumerate(look.findings, start=1)
        if finding.offset is not None
    ]
    if not places:
        return Lane("findings of verify", words)
    shapes = (_marks(look, "warning", top=7), _marks(look, "error", top=0))
    return Lane("findings of verify", words, 14, shapes, tuple(_numbers(places)))


def _marks(look: PartitionLook, severity: str, *, top: int) -> tuple[str, str]:
    steps = []
    for one in look.findings:
        if one.severity == severity and one.offset is not None:
            steps.append(f"M{_at(look, one.offset)} {top}V14")
            if one.last_offset is not None:
                steps.append(f"H{_at(look, one.last_offset + 1)}V{top}")
    return severity, "".join(steps)


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
    words = f"log start {start}, log end {end}: the next message gets it"
    return Lane("offsets", words, 7, (("axis", f"M0 1H{_WIDTH}{ticks}"),), tuple(labels))
