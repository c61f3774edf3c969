"""A report as one self-contained HTML page: no network, no script, no other file.

    verdict      what was checked, and the result
    contents     of a page with many findings: each class with its count, and a link to it
    account      the two sides of the equation as two bars of the same length
    findings     by severity; what each class means, and its samples
    coverage     what was checked, and what was not
    partitions   their sizes, where in their offsets findings are, and their segments
    made         when, by which version and by which command

The template is report.html (pages.py), where all words stand that depend on no value. Names and
keys may hold any characters; they stay text. The page is valid XML as well as HTML. Source: ours.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kminilog.pages import PageLimits, as_much_as_fits, counted, grouped, render, wrong_first
from kminilog.text import agreeing, noun
from kminilog.verification.conservation import LEFT_SIDE, RIGHT_SIDE
from kminilog.verification.findings import Finding
from kminilog.verification.results import ClassFindings, Results, equation, totals

_VERDICTS = {
    "ok": "What was checked is in order.",
    "partial": "Nothing was found, but something that was asked could not be checked.",
}
_FEW_SEGMENTS = 6  # more are folded
_FEW_FINDINGS = 10  # with more, a table of contents comes first
_SEGMENTS_OF_EACH = 5  # so many for each partition are shown on average
Json = Mapping[str, Any]
BytesOf = Callable[[Finding], Sequence[object]]
"""Returns the bytes of a sample, as bytes.html shows them."""


class ReportOrigin(NamedTuple):
    """How a report was made: when (UTC), by which version, in which directory, by which command."""

    time: str
    version: str
    directory: str
    command: str


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
    return as_much_as_fits(partial(_rendered, results, bytes_of, made))


def _rendered(
    results: Results, bytes_of: BytesOf, made: ReportOrigin | None, limits: PageLimits, fits: bool
) -> str:
    shown = wrong_first(results.partitions, limits.partitions, _finding_count)
    rows = [
        {**row, "topic": part["topic"], "partition": part["partition"]}
        for part in results.partitions
        for row in part.get("segments", ())
    ]
    shown_rows = wrong_first(rows, limits.partitions * _SEGMENTS_OF_EACH, _finding_count)
    names, findings = results.scope.get("topics", []), results.tally.total()
    return render(
        "report.html",
        results=results,
        fits=fits,
        title=f"{noun('Topic', len(names))} {', '.join(names)}" if names else "No topic",
        topics=", ".join(names) or "no topic",
        said=headline(results),
        severity=worst(results),
        findings=findings,
        few_findings=_FEW_FINDINGS,
        tiles=[*totals(results.partitions), (findings, noun("finding", findings))],
        made=made,
        sides=(LEFT_SIDE, RIGHT_SIDE),
        equation=results.conservation and equation(results.conservation),
        is_in_order=not any(
            results.conservation.get(name) for name in ("missing", "extra", "duplicate", "altered")
        ),
        bytes_of=bytes_of,
        has_samples_only=bool(results.conservation)
        and any(found.total > len(found.samples) for found in results.found()),
        most_samples=limits.findings,
        partitions=_by_topic(results.partitions),
        shown_partitions=_by_topic(shown),
        segments=_by_topic(rows),
        shown_segments=_by_topic(shown_rows),
        few_segments=_FEW_SEGMENTS,
        totals=totals,
        marks_of=partial(_marks, results),
        left_out=[
            (len(results.partitions) - len(shown), "partition"),
            (len(rows) - len(shown_rows), "segment"),
        ],
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


def _counted(classes: Sequence[ClassFindings]) -> str:
    """Return how many findings there are, of which severity and of which class."""
    found = [one for one in classes if not one.is_allowed]
    totals_of = dict.fromkeys(("error", "warning"), 0)
    for one in found:
        totals_of[one.rank] += one.total
    severities = ", ".join(counted(total, word) for word, total in totals_of.items() if total)
    return f"{severities}: {', '.join(f'{grouped(one.total)} {one.kind}' for one in found)}."


def _missing(results: Results) -> str:
    missing = results.conservation.get("missing")
    if not missing:
        return ""
    of_all = f"{grouped(missing)} of {counted(results.conservation['source'], 'record')}"
    return f"{of_all} {agreeing('are', missing)} missing. "


def _finding_count(row: Json) -> int:
    return int(row["finding_count"])


def _by_topic(rows: Iterable[Json]) -> Mapping[str, list[Json]]:
    found: dict[str, list[Json]] = defaultdict(list)
    for row in rows:
        found[row["topic"]].append(row)
    return found


def _marks(results: Results, part: Json) -> Iterator[tuple[str, float, str]]:
    """Yield the samples in a partition: severity, place in the offsets in percent, what it is."""
    start, end = part["log_start_offset"], part["log_end_offset"]
    for found in results.found():
        for sample in found.samples:
            is_here = (sample.topic, sample.partition) == (part["topic"], part["partition"])
            if is_here and sample.offset is not None:
                share = (sample.offset - start) / max(end - start, 1)
                yield found.rank, 100 * min(max(share, 0), 1), f"{found.kind}: {sample.place}"
