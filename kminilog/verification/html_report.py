"""A report as one self-contained HTML page: no network, no script, no other file.

    verdict      what was checked, and the result; when, by which version and by which command
    account      the two sides of the equation as two bars of the same length
    partitions   their sizes, where in their offsets findings are, and their segments
    findings     by severity; what each class means, and its samples
    coverage     what was checked, and what was not

It uses only what `verify --json` prints, and the `ReportOrigin` of the run. Names and keys may hold
any characters, so the page escapes all text, even control characters. It is valid XML as well as
HTML. Source: ours.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kminilog.text import count
from kminilog.verification.conservation import LEFT_SIDE, RIGHT_SIDE
from kminilog.verification.coverage import in_words
from kminilog.verification.html_findings import BytesOf, findings_markup
from kminilog.verification.html_partitions import partitions_markup
from kminilog.verification.html_style import STYLE
from kminilog.verification.html_text import number, text
from kminilog.verification.text_report import by_severity, equation, totals

_VERDICTS = {
    "ok": "What was checked is in order.",
    "partial": "Nothing was found, but something that was asked could not be checked.",
}
Json = Mapping[str, Any]


class ReportOrigin(NamedTuple):
    """How a report was made: when (UTC), by which version, in which directory, by which command."""

    time: str
    version: str
    directory: str
    command: str


def render_html(
    report: Json, bytes_of: BytesOf = lambda kind, sample: "", made: ReportOrigin | None = None
) -> str:
    """Return the page as text; `report` is what `verify --json` prints.

    `bytes_of` gives the markup of damaged bytes, which stands below their command.

    >>> page = render_html({"verdict": "ok", "scope": {"topics": ["<u>"]}, "partitions": [],
    ...     "conservation": {}, "findings": [], "checked": [], "unchecked": [], "allowed": []})
    >>> "is in order" in page, "<u>" in page, "&lt;u&gt;" in page
    (True, False, True)
    """
    parts = [*_head(report, made), *_account(report["conservation"])]
    parts += [*findings_markup(report, bytes_of), *_coverage(report), *partitions_markup(report)]
    parts.append("</main></body></html>")
    return "<!DOCTYPE html>\n" + "\n".join(parts) + "\n"


def _head(report: Json, made: ReportOrigin | None) -> Iterator[str]:
    verdict, scope = report["verdict"], report["scope"]
    topics = ", ".join(scope.get("topics", [])) or "no topic"
    title = f"verify {topics}: {verdict}"
    yield '<html lang="en"><head><meta charset="utf-8"/>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
    yield f"<title>{text(title)}</title><style>{STYLE}</style></head><body><main>"
    yield f'<header class="{verdict}"><p class="badge">{verdict}</p>'
    said = _VERDICTS.get(verdict) or _counted(report)
    yield f"<h1>{text(topics)}</h1><p>{text(said)}</p></header>"
    yield '<ul class="tiles">'
    found_count = sum(found["count"] for found in report["findings"])
    for value, unit in [*totals(report), (found_count, "findings")]:
        yield f"<li><b>{number(value)}</b> {unit}</li>"
    yield "</ul><dl>"
    against = scope.get("against") or {}
    for name, value in (
        ("made", made and f"{made.time}, by kminilog {made.version}"),
        ("command", made and made.command),
        ("in directory", made and made.directory),
        ("took", report.get("seconds") is not None and f"{report['seconds']:.1f} s"),
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


def _counted(report: Json) -> str:
    """Return how many findings there are, of which severity and of which class."""
    findings = [found for found in by_severity(report) if not found["is_allowed"]]
    totals_of = dict.fromkeys(("error", "warning"), 0)
    for found in findings:
        totals_of[found["severity"]] += found["count"]
    severities = ", ".join(count(total, word) for word, total in totals_of.items() if total)
    classes = ", ".join(f"{number(found['count'])} {found['class']}" for found in findings)
    return f"{severities}: {classes}."


def _account(conservation: Json) -> Iterator[str]:
    if not conservation:
        return
    line = equation(conservation)
    wrong = ("missing", "extra", "duplicate", "altered")
    heading = "The account does not add up"
    if conservation["holds"]:
        is_valid = not any(conservation[name] for name in wrong)
        heading = "Every record accounted for" if is_valid else "The account of the source"
    yield f"<section><h2>{heading}</h2>"
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
