"""A log dir as one HTML page that needs nothing else: topics, partitions, segments, messages.

    the verdict       what `verify` says, then what there is, topic by topic
    a partition       its picture (lanes.py), its findings with their bytes, its segments
    a segment         its first messages, or those around the first damage, and their bytes

A bar is a link to its segment, a tick to its finding. The page shows as much as fits into
PAGE_BYTES, says what it leaves out, and names the command that shows it. If even the least does not
fit, it says so. The template is log_dir.html (pages.py). Source: ours.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from kminilog.cli.ls.lanes import Lane, density, lanes
from kminilog.cli.ls.look import ContentsOf, LogDirLook, PartitionLook, SegmentLook
from kminilog.pages import PageLimits, as_much_as_fits, counted, render, wrong_first
from kminilog.text import noun

_FEW_PARTITIONS = 6  # so many are unfolded
_FEW_FINDINGS = 3  # of so many, the bytes are unfolded
ShownPartition = tuple[PartitionLook, list[Lane], dict[int, SegmentLook]]
"""A partition, its picture, and the segments whose messages are shown, with their numbers."""


class TopicPart(NamedTuple):
    """A topic of the page: all of its partitions, and those that are shown."""

    name: str
    partitions: Sequence[PartitionLook]
    shown: Sequence[ShownPartition]

    @property
    def severity(self) -> str:
        """How bad it is: the worst of its partitions."""
        found = {one.severity for one in self.partitions}
        return next(one for one in ("error", "warning", "ok") if one in found)

    @property
    def said(self) -> str:
        """What `verify` says of them, in few words."""
        if found := sum(one.finding_count for one in self.partitions):
            return counted(found, "finding")
        return next(one.said for one in self.partitions if one.severity == self.severity)

    @property
    def first_finding(self) -> str:
        """Where its first finding stands on the page; empty if there is none."""
        return next((f"{one.name}/finding-1" for one, *_ in self.shown if one.findings), "")

    @property
    def groups(self) -> list[tuple[str, list[tuple[int, str]], int]]:
        """Each group: its lags that are known, with their partitions; in how many none is."""
        lags: dict[str, list[tuple[int, str]]] = {}
        unknown = Counter[str]()
        for one in self.partitions:
            for group in one.groups:
                known = lags.setdefault(group.group, [])
                if group.lag is None:
                    unknown[group.group] += 1
                else:
                    known.append((group.lag, one.name))
        return [(name, known, unknown[name]) for name, known in lags.items()]


def render_log_dir(look: LogDirLook, contents_of: ContentsOf = lambda *asked: None) -> str:
    """Return the page as text; `contents_of` reads the messages that it shows."""
    return as_much_as_fits(partial(_rendered, look, contents_of))


def _rendered(look: LogDirLook, contents_of: ContentsOf, limits: PageLimits, fits: bool) -> str:
    topics = list(_topics(look, limits))
    shown = sum(len(topic.shown) for topic in topics)
    rest = (
        ("Not all findings are shown", list(_more_findings(look))),
        ("Could not be read", look.not_read),
        ("Not checked by verify", look.not_checked),
    )
    return render(
        "log_dir.html",
        look=look,
        fits=fits,
        limits=limits,
        topics=topics,
        tiles=_tiles(look, len(topics)),
        left_out=list(_left_out(look, limits, shown)),
        found_in=[one.name for topic in topics for one, *_ in topic.shown if one.findings],
        is_open=shown <= _FEW_PARTITIONS,
        few_findings=_FEW_FINDINGS,
        contents_of=contents_of,
        density=density,
        rest=[(title, lines[: limits.findings], len(lines)) for title, lines in rest if lines],
    )


def _topics(look: LogDirLook, limits: PageLimits) -> Iterator[TopicPart]:
    """Yield the topics; of all partitions those with findings are shown first of all."""
    drawn = wrong_first(look.partitions, limits.partitions, lambda one: one.severity != "ok")
    names = {one.name for one in drawn}
    for name, partitions in groupby(look.partitions, key=lambda one: one.topic):
        parts = list(partitions)
        shown = [_shown(one, limits) for one in parts if one.name in names]
        yield TopicPart(name, parts, shown)


def _shown(look: PartitionLook, limits: PageLimits) -> ShownPartition:
    """Return a partition as it is shown; of all segments those with findings are opened first."""
    if look.failure:
        return look, [], {}
    numbered = list(enumerate(look.segments, start=1))
    opened = dict(wrong_first(numbered, limits.opened, lambda one: one[1].finding_count))
    drawn = lanes(look, opened.values(), limits)
    return look, list(drawn), opened


def _tiles(look: LogDirLook, topics: int) -> list[tuple[int, str]]:
    """Return how much there is: numbers with their units."""
    tiles = (
        (topics, "topic"),
        (len(look.partitions), "partition"),
        (sum(len(one.segments) for one in look.partitions), "segment"),
        (sum(one.message_count for one in look.partitions), "message"),
        (sum(one.size_bytes for one in look.partitions), "byte"),
        (sum(total for _, total, _ in look.counts), "finding"),
    )
    return [(number, noun(unit, number)) for number, unit in tiles]


def _left_out(look: LogDirLook, limits: PageLimits, shown: int) -> Iterator[str]:
    """Yield what a page of this size leaves out, in words."""
    if shown < len(look.partitions):
        yield f"{shown} of {counted(len(look.partitions), 'partition')} are shown"
    if any(len(one.segments) > limits.segments for one in look.partitions):
        yield f"of each partition, {counted(limits.segments, 'segment')} at most"
    if any(len(one.segments) > limits.opened for one in look.partitions):
        yield f"messages of {counted(limits.opened, 'segment')} of each partition at most"


def _more_findings(look: LogDirLook) -> Iterator[str]:
    for kind, total, shown in look.counts:
        if total > shown:
            said = f"{counted(total, 'finding')}, {shown} shown"
            yield f"{kind}: {said}; kminilog verify counts them"
