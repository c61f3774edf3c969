"""A report as one self-contained HTML page: no network, no script, no other file.

    verdict      what was checked, and the result; when, by which version and by which command
    account      the two sides of the equation as two bars of the same length
    findings     by severity; what each class means, and its samples
    coverage     what was checked, and what was not
    partitions   their sizes, where in their offsets findings are, and their segments

The template is report.html (pages.py), where all words stand that depend on no value. Names and
keys may hold any characters; they stay text. The page is valid XML as well as HTML. Source: ours.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from kminilog.pages import grouped, is_too_long, render
from kminilog.text import agreeing, count, noun
from kminilog.verification.conservation import LEFT_SIDE, RIGHT_SIDE
from kminilog.verification.findings import Finding
from kminilog.verification.results import ClassFindings, Results, equation, totals

_VERDICTS = {
    "ok": "What was checked is in order.",
    "partial": "Nothing was found, but something that was asked could not be checked.",
}
_SHOWN_SEGMENTS = 6  # more are folded
# How many partitions, segments, and samples of each class a page shows: the first that fits.
_LIMITS = ((2_000, 20_000, 20), (200, 1_000, 20), (100, 300, 10), (50, 100, 3), (10, 20, 1))
Json = Mapping[str, Any]
_Limits = tuple[int, int, int]
Item = TypeVar("Item")
BytesOf = Callable[[Finding], Sequence[object]]
"""Returns the bytes of a sample, as bytes.html shows them."""


class ReportOrigin(NamedTuple):
    """How a report was made: when (UTC), by which version, in which directory, by which command."""

    time: str
    version: str
    directory: str
    command: str


class SampleMark(NamedTuple):
    """Where in the offsets of a partition a sample is, in percent, and what it is."""

    severity: str
    left: float
    title: str


class PartitionBar(NamedTuple):
    """A partition of a report; its `width` is its size, in percent of the largest one's."""

    name: str
    held: str
    offsets: str
    size_bytes: int
    width: float
    marks: list[SampleMark]


class TopicParts(NamedTuple):
    """A topic of a report: the mean size, in percent of the largest, and rows by segment names.

    It has `part_count` partitions and `segment_count` segments, not all of which may be shown;
    `wrong_count` of the segments have findings.
    """

    name: str
    skew: str
    at_mean: float
    parts: list[PartitionBar]
    segments: list[tuple[str, Json]]
    part_count: int
    segment_count: int
    wrong_count: int


def render_html(
    results: Results, bytes_of: BytesOf = lambda sample: (), made: ReportOrigin | None = None
) -> str:
    """Return the page as text. `bytes_of` gives damaged bytes, which stand beside their command.

    A page that would be too long shows less, what is damaged first of all, and says so; if even the
    least is too long, it says that.

    >>> page = render_html(Results({"topics": ["<u>"]}))
    >>> "is in order" in page, "<u>" in page, "&lt;u&gt;" in page
    (True, False, True)
    """
    for limits in _LIMITS:
        page = _rendered(results, bytes_of, made, limits, fits=True)
        if not is_too_long(page):
            return page
    return _rendered(results, bytes_of, made, _LIMITS[-1], fits=False)


def _rendered(
    results: Results, bytes_of: BytesOf, made: ReportOrigin | None, limits: _Limits, *, fits: bool
) -> str:
    most_partitions, most_segments, most_samples = limits
    shown = _worst_first(results.partitions, lambda one: one, most_partitions)
    rows = [
        (f"{_name(part)}/{row['segment']}", row)
        for part in results.partitions
        for row in part.get("segments", ())
    ]
    shown_rows = _worst_first(rows, lambda one: one[1], most_segments)
    names = results.scope.get("topics", [])
    return render(
        "report.html",
        results=results,
        fits=fits,
        title=f"{noun('Topic', len(names))} {', '.join(names)}" if names else "No topic",
        topics=", ".join(names) or "no topic",
        said=headline(results),
        severity=worst(results),
        tiles=[*totals(results.partitions), (results.tally.total(), "findings")],
        facts=[(name, value) for name, value in _facts(results, made) if value],
        sides=(LEFT_SIDE, RIGHT_SIDE),
        equation=results.conservation and equation(results.conservation),
        is_in_order=not any(
            results.conservation.get(name) for name in ("missing", "extra", "duplicate", "altered")
        ),
        bytes_of=bytes_of,
        has_samples_only=any(found.total > len(found.samples) for found in results.found()),
        most_samples=most_samples,
        parts_of_topics=list(_topics(results, shown, shown_rows)),
        left_out=[
            (len(results.partitions) - len(shown), "partition"),
            (len(rows) - len(shown_rows), "segment"),
        ],
        shown_segments=_SHOWN_SEGMENTS,
    )


def headline(results: Results) -> str:
    """Return the verdict in a sentence; of findings, how many there are of which class."""
    return _VERDICTS.get(results.verdict) or _missing(results) + _counted(results.found())


def worst(results: Results) -> str:
    """Return "error" or "warning", the worst of the findings that count, or "ok".

    Something that could not be checked is a "warning".

    >>> worst(Results({}))
    'ok'
    """
    if results.verdict != "findings":
        return "ok" if results.verdict == "ok" else "warning"
    return next(one.rank for one in results.found())


def _facts(results: Results, made: ReportOrigin | None) -> Iterator[tuple[str, object]]:
    scope = results.scope
    against = scope.get("against") or {}
    if made:
        yield "made", f"{made.time}, by kminilog {made.version}"
        yield "command", made.command
        yield "in directory", made.directory
    yield "took", results.seconds is not None and f"{results.seconds:.1f} s"
    yield "log dir", scope.get("log_dir")
    yield "engine", scope.get("engine")
    yield "source", ", ".join(against.get("paths", []))
    yield "job", scope.get("job")
    yield "partitioner", scope.get("partitioner")
    yield "rejected rows", ", ".join(scope.get("quarantine", []))
    yield "allowed", ", ".join(sorted(results.allowed))


def _counted(classes: Sequence[ClassFindings]) -> str:
    """Return how many findings there are, of which severity and of which class."""
    found = [one for one in classes if not one.is_allowed]
    totals_of = dict.fromkeys(("error", "warning"), 0)
    for one in found:
        totals_of[one.rank] += one.total
    severities = ", ".join(count(total, word) for word, total in totals_of.items() if total)
    return f"{severities}: {', '.join(f'{grouped(one.total)} {one.kind}' for one in found)}."


def _missing(results: Results) -> str:
    missing = results.conservation.get("missing")
    if not missing:
        return ""
    of_all = f"{grouped(missing)} of {grouped(results.conservation['source'])} records"
    return f"{of_all} {agreeing('are', missing)} missing. "


def _worst_first(items: Sequence[Item], row_of: Callable[[Item], Json], most: int) -> list[Item]:
    """Return so many of the items, in their order; those with findings before the others."""
    order = sorted(range(len(items)), key=lambda slot: not row_of(items[slot])["finding_count"])
    return [items[slot] for slot in sorted(order[:most])]


def _topics(
    results: Results, shown: Sequence[Json], rows: Sequence[tuple[str, Json]]
) -> Iterator[TopicParts]:
    """Yield the topics with the partitions and the rows of segments that are shown."""
    for topic in dict.fromkeys(part["topic"] for part in shown):
        parts = [part for part in results.partitions if part["topic"] == topic]
        largest = max(part["size_bytes"] for part in parts)
        mean = sum(part["size_bytes"] for part in parts) / len(parts)
        skew = f", the largest is {largest / mean:.2f} times the mean" if mean else ""
        at_mean = 100 * mean / max(largest, 1)
        drawn = [_part(results, part, max(largest, 1)) for part in shown if part["topic"] == topic]
        names = set(map(_name, parts))
        own = [one for one in rows if one[0].rpartition("/")[0] in names]
        found = [row["finding_count"] for part in parts for row in part.get("segments", ())]
        counts = (len(parts), len(found), sum(map(bool, found)))
        yield TopicParts(topic, skew, at_mean, drawn, own, *counts)


def _name(part: Json) -> str:
    return f"{part['topic']}-{part['partition']}"


def _part(results: Results, part: Json, largest: int) -> PartitionBar:
    start, end = part["log_start_offset"], part["log_end_offset"]
    held = [f"{grouped(value)} {unit}" for value, unit in reversed(totals([part])[1:])]
    return PartitionBar(
        name=_name(part),
        held=", ".join(held),
        offsets=f"offsets {start} to {end - 1}" if end > start else "no offsets",
        size_bytes=part["size_bytes"],
        width=100 * part["size_bytes"] / largest,
        marks=list(_marks(results, part)),
    )


def _marks(results: Results, part: Json) -> Iterator[SampleMark]:
    start, end = part["log_start_offset"], part["log_end_offset"]
    for found in results.found():
        for sample in found.samples:
            is_here = (sample.topic, sample.partition) == (part["topic"], part["partition"])
            if is_here and sample.offset is not None:
                share = (sample.offset - start) / max(end - start, 1)
                title = f"{found.kind}: {sample.place}"
                yield SampleMark(found.rank, 100 * min(max(share, 0), 1), title)
