"""A report as text for a terminal: the totals, the equation, the findings, the verdict.

Errors come first, then warnings, then allowed classes. Below each class are its samples, each with
its place, its fault, its record beside its message, and the command that shows it. A sample whose
cause is another sample comes below that one. After the findings, the report lists what was checked
and what was not. It uses only what `verify --json` prints. Source: ours.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kminilog.text import BAD, DOUBTFUL, FIT_COLUMNS, GOOD, QUIET, Span, StyledText, printable, wrap
from kminilog.verification.conservation import LEFT_SIDE, RIGHT_SIDE
from kminilog.verification.coverage import in_words
from kminilog.verification.side_lines import side_lines

TOTALS = (("segment_count", "segment"), ("message_count", "message"), ("size_bytes", "byte"))
Json = Mapping[str, Any]
_SEVERITIES = ("error", "warning")
_MEANINGS = {"error": BAD, "warning": DOUBTFUL, "ok": GOOD, "findings": BAD, "partial": DOUBTFUL}


def render_text(report: Mapping[str, Any]) -> str:
    """Return the report as lines; the last one is the verdict.

    >>> print(render_text({"verdict": "ok", "partitions": [], "conservation": {}, "findings": [],
    ...                    "checked": ["messages"], "unchecked": [], "allowed": []}))
    0 partitions, 0 segments, 0 messages, 0 bytes
    checked: messages
    verdict: ok
    """
    return "\n".join(report_lines(report))


def equation(conservation: Mapping[str, Any]) -> str:
    """Return the conservation equation of a source as one line.

    >>> counts = dict(source=9, stored=8, missing=2, extra=0, duplicate=1, rejected=0, altered=3)
    >>> print(equation({**counts, "holds": True}))
    source 9 + extra 0 + duplicate 1 = stored 8 + rejected 0 + missing 2 (altered 3)
    """
    left, right = (
        " + ".join(f"{name} {conservation[name]}" for name in side)
        for side in (LEFT_SIDE, RIGHT_SIDE)
    )
    altered = f" (altered {conservation['altered']})" if conservation["altered"] else ""
    return f"{left} {'=' if conservation['holds'] else '≠'} {right}{altered}"


def totals(report: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return how much was checked: numbers with their units.

    >>> part = {"segment_count": 1, "message_count": 2, "size_bytes": 60}
    >>> totals({"partitions": [part]})
    [(1, 'partition'), (1, 'segment'), (2, 'messages'), (60, 'bytes')]
    """
    partitions = report["partitions"]
    sums = [(sum(part[name] for part in partitions), unit) for name, unit in TOTALS]
    counted = [(len(partitions), "partition"), *sums]
    return [(number, unit if number == 1 else f"{unit}s") for number, unit in counted]


def by_severity(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the findings: errors, warnings, then allowed ones; each gets `is_allowed`."""
    found = [{**f, "is_allowed": f["class"] in report["allowed"]} for f in report["findings"]]
    return sorted(found, key=lambda f: (f["is_allowed"], _SEVERITIES.index(f["severity"])))


def consequences(report: Mapping[str, Any], found: Json, sample: Json) -> list[dict[str, Any]]:
    """Return the samples whose certain or possible cause is this one, each with its `class`."""
    return [
        {**other, "class": kind["class"]}
        for kind in report["findings"]
        for other in kind["samples"]
        if (cause := other.get("cause"))
        and (cause["class"], cause["place"]) == (found["class"], sample["place"])
    ]


def link(consequence: Json) -> str:
    """Return a word that says how certain the cause is: "so" or "may be why".

    >>> link({"cause": {"certain": True}}), link({"cause": {"certain": False}})
    ('so', 'may be why')
    """
    return "so" if consequence["cause"]["certain"] else "may be why"


def _consequence(one: Json) -> Iterator[str]:
    where = f"{one['class']}: {printable(one['place'])}: {printable(one['detail'])}"
    yield f"        {link(one)}: {where}"
    yield from side_lines(one, " " * 12)


def _sample(report: Json, found: Json, sample: Json) -> Iterator[str]:
    yield f"    {printable(sample['place'])}: {printable(sample['detail'])}"
    yield from side_lines(sample, " " * 8)
    yield StyledText(Span(f"        {sample['command']}", QUIET))
    for one in consequences(report, found, sample):
        yield from _consequence(one)


def report_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield these lines; verdicts, severities and commands know what they are."""
    yield ", ".join(f"{number} {unit}" for number, unit in totals(report))
    if report["conservation"]:
        holds = report["conservation"]["holds"]
        yield StyledText(Span(equation(report["conservation"]), "" if holds else BAD))
    findings = by_severity(report)
    widths = [
        max((len(str(found[name])) for found in findings), default=0)
        for name in ("class", "severity", "count")
    ]
    for found in findings:
        allowed = "  allowed" if found["is_allowed"] else ""
        name, severity = found["class"].ljust(widths[0]), found["severity"].ljust(widths[1])
        head = f"{name}  {severity}  {found['count']:>{widths[2]}}{allowed}"
        yield StyledText(Span(head, QUIET if allowed else _MEANINGS[found["severity"]]))
        for sample in found["samples"]:
            if not sample.get("cause"):
                yield from _sample(report, found, sample)
        if caused := sum(1 for sample in found["samples"] if sample.get("cause")):
            yield f"    {caused} shown where {'it comes' if caused == 1 else 'they come'} from"
        if found["count"] > len(found["samples"]):
            yield f"    and {found['count'] - len(found['samples'])} more"
    if report["checked"]:
        yield f"checked: {', '.join(report['checked'])}"
    for one in report["unchecked"]:
        line = f"not checked: {printable(in_words(one))}"
        if one["asked"]:  # it says why not, perhaps with a path: that stays on its line
            yield line
        else:
            yield from wrap(line, FIT_COLUMNS, later="    ", cuts_words=False)
    yield StyledText("verdict: ", Span(report["verdict"], _MEANINGS[report["verdict"]]))
