"""A report as one self-contained HTML page: no network, no script, no other file.

    verdict      what was checked, and the result
    account      the two sides of the equation as two bars of the same length
    partitions   the size of each compared with the others, and where in its offsets findings are
    findings     by severity; each sample with its place and the command that shows it

It uses only what `verify --json` prints. Names and keys may hold any characters, so the page
escapes all text, even control characters. It is valid XML as well as HTML. Source: ours.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from kminilog.printable import printable
from kminilog.verification.conservation import LEFT_SIDE, RIGHT_SIDE
from kminilog.verification.coverage import in_words
from kminilog.verification.html_style import STYLE
from kminilog.verification.text_report import by_severity, consequences, equation, link, totals

_VERDICTS = {
    "ok": "What was checked is in order.",
    "findings": "Something is wrong.",
    "partial": "Nothing was found, but something that was asked could not be checked.",
}
Json = Mapping[str, Any]
BytesOf = Callable[[str, Json], str]
"""Returns the markup of the bytes of a sample: of its class, and its JSON."""


def render_html(report: Json, bytes_of: BytesOf = lambda kind, sample: "") -> str:
    """Return the page as text; `report` is what `verify --json` prints.

    `bytes_of` gives the markup of damaged bytes, which stands below their command.

    >>> page = render_html({"verdict": "ok", "scope": {"topics": ["<u>"]}, "partitions": [],
    ...     "conservation": {}, "findings": [], "checked": [], "unchecked": [], "allowed": []})
    >>> "is in order" in page, "<u>" in page, "&lt;u&gt;" in page
    (True, False, True)
    """
    parts = [*_head(report), *_account(report["conservation"]), *_partitions(report)]
    parts += [*_findings(report, bytes_of), *_coverage(report), "</main></body></html>"]
    return "<!DOCTYPE html>\n" + "\n".join(parts) + "\n"


def text(value: object) -> str:
    r"""Return `str(value)` escaped for a page, between tags or in quotes.

    >>> print(text('<a href="x">\x00\x1b'))
    &lt;a href=&quot;x&quot;&gt;\x00\x1b
    """
    return escape(printable(value))


def number(value: int) -> str:
    """Return a number with thousands separators.

    >>> number(1234567)
    '1,234,567'
    """
    return f"{value:,}"


def _head(report: Json) -> Iterator[str]:
    verdict, scope = report["verdict"], report["scope"]
    topics = ", ".join(scope.get("topics", [])) or "no topic"
    title = f"verify {topics}: {verdict}"
    yield '<html lang="en"><head><meta charset="utf-8"/>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
    yield f"<title>{text(title)}</title><style>{STYLE}</style></head><body><main>"
    yield f'<header class="{verdict}"><p class="badge">{verdict}</p>'
    yield f"<h1>{text(topics)}</h1><p>{_VERDICTS[verdict]}</p></header>"
    yield '<ul class="tiles">'
    count = sum(found["count"] for found in report["findings"])
    for value, unit in [*totals(report), (count, "findings")]:
        yield f"<li><b>{number(value)}</b> {unit}</li>"
    yield "</ul><dl>"
    against = scope.get("against") or {}
    for name, value in (
        ("log dir", scope.get("log_dir")),
        ("engine", scope.get("engine")),
        ("source", ", ".join(against.get("paths", []))),
        ("job", scope.get("job")),
        ("partitioner", scope.get("partitioner")),
        ("rejected rows", ", ".join(scope.get("quarantine", []))),
        ("allowed", ", ".join(report["allowed"])),
    ):
        if value:
            yield f"<div><dt>{name}</dt><dd>{text(value)}</dd></div>"
    yield "</dl>"


def _account(conservation: Json) -> Iterator[str]:
    if not conservation:
        return
    line = equation(conservation)
    yield "<section><h2>Every record accounted for</h2>"
    yield f'<div class="account" role="img" aria-label="{text(line)}">'
    for side in (LEFT_SIDE, RIGHT_SIDE):
        yield '<div class="bar">'
        for name in side:
            if conservation[name]:
                yield f'<span class="{name}" style="flex-grow:{conservation[name]}"></span>'
        yield '</div><p class="legend">'
        for name in side:
            yield f'<span><i class="{name}"></i>{name} <b>{number(conservation[name])}</b></span>'
        yield "</p>"
    yield f"</div><p><code>{text(line)}</code></p>"
    if conservation["altered"]:
        altered = number(conservation["altered"])
        yield f"<p>{altered} altered: in the source, and, with other bytes, in what is stored.</p>"
    yield "</section>"


def _findings(report: Json, bytes_of: BytesOf) -> Iterator[str]:
    yield "<section><h2>Findings</h2>"
    if not report["findings"]:
        yield "<p>None.</p>"
    for found in by_severity(report):
        severity = "allowed" if found["is_allowed"] else found["severity"]
        samples = found["samples"]
        opened = ' open="open"' if severity == "error" else ""
        yield f'<details class="{severity}"{opened}><summary><b>{text(found["class"])}</b>'
        yield f'<span class="severity">{severity}</span> {number(found["count"])}</summary><ol>'
        for sample in samples:
            if not sample.get("cause"):
                yield from _sample(report, found, sample, bytes_of)
        yield "</ol>"
        if caused := sum(1 for sample in samples if sample.get("cause")):
            yield f"<p>{caused} shown where {'it comes' if caused == 1 else 'they come'} from</p>"
        if found["count"] > len(samples):
            yield f"<p>and {number(found['count'] - len(samples))} more</p>"
        yield "</details>"
    yield "</section>"


def _sample(report: Json, found: Json, sample: Json, bytes_of: BytesOf) -> Iterator[str]:
    yield f'<li><p class="place">{text(sample["place"])}</p>'
    yield f"<p>{text(sample['detail'])}</p><pre>{text(sample['command'])}</pre>"
    yield bytes_of(found["class"], sample)
    caused = consequences(report, found, sample)
    if caused:
        yield "<ul>"
        for one in caused:
            where = f"{one['class']}: {one['place']}: {one['detail']}"
            yield f"<li><b>{link(one)}</b> {text(where)}</li>"
        yield "</ul>"
    yield "</li>"


def _partitions(report: Json) -> Iterator[str]:
    for topic in dict.fromkeys(part["topic"] for part in report["partitions"]):
        parts = [part for part in report["partitions"] if part["topic"] == topic]
        largest = max(part["size_bytes"] for part in parts)
        mean = sum(part["size_bytes"] for part in parts) / len(parts)
        skew = f", the largest is {largest / mean:.2f} times the mean" if mean else ""
        yield f"<section><h2>{text(topic)}: partitions</h2>"
        yield f"<p>{len(parts)} of them{skew}. Above, the size of each, and a line for the mean; "
        yield "below, its offsets from the first to the last, with a mark for each sample.</p>"
        yield '<div class="partitions">'
        for part in parts:
            yield from _partition(part, max(largest, 1), mean, _marks(report, part))
        yield "</div></section>"


def _partition(part: Json, largest: int, mean: float, marks: Sequence[str]) -> Iterator[str]:
    name = f"{part['topic']}-{part['partition']}"
    start, end = part["log_start_offset"], part["log_end_offset"]
    offsets = f"offsets {start} to {end - 1}" if end > start else "no offsets"
    size, sums = part["size_bytes"], totals({"partitions": [part]})[1:]
    held = ", ".join(f"{number(value)} {unit}" for value, unit in reversed(sums))
    width, at_mean = 100 * size / largest, 100 * mean / largest
    yield f'<div class="partition"><h3>{text(name)}</h3>'
    yield f'<div class="size" role="img" aria-label="{number(size)} bytes">'
    yield f'<span style="width:{width:.2f}%"></span><i style="left:{at_mean:.2f}%"></i></div>'
    yield f"<p>{held}, {offsets}</p>"
    yield f'<div class="offsets" role="img" aria-label="{len(marks)} marks, {offsets}">'
    yield from marks
    yield "</div></div>"


def _marks(report: Json, part: Json) -> list[str]:
    start, end = part["log_start_offset"], part["log_end_offset"]
    marks = []
    for found in by_severity(report):
        severity = "allowed" if found["is_allowed"] else found["severity"]
        for sample in found["samples"]:
            is_here = (sample["topic"], sample["partition"]) == (part["topic"], part["partition"])
            if is_here and sample["offset"] is not None:
                share = (sample["offset"] - start) / max(end - start, 1)
                left = 100 * min(max(share, 0), 1)
                title = text(f"{found['class']}: {sample['place']}")
                marks.append(f'<i class="{severity}" style="left:{left:.2f}%" title="{title}"></i>')
    return marks


def _coverage(report: Json) -> Iterator[str]:
    if report["checked"]:
        yield "<section><h2>Checked</h2>"
        yield f"<p>{text(', '.join(report['checked']))}</p></section>"
    if report["unchecked"]:
        yield "<section><h2>Not checked</h2><ul>"
        for one in report["unchecked"]:
            asked = "<b>asked:</b> " if one["asked"] else ""
            yield f"<li>{asked}{text(in_words(one))}</li>"
        yield "</ul></section>"
