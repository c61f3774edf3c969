"""The findings of a report for a page: what each class means, its samples, and what came of them.

A sample has its place, what it is, the record beside its message, the damaged bytes with their
fields, and the command that shows it. Source: ours.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kminilog.text import count
from kminilog.verification.both_sides import Excerpt
from kminilog.verification.html_text import number, sentence, text
from kminilog.verification.plain_words import advice, meaning
from kminilog.verification.side_lines import FIELDS, escaped_parts, sides_of
from kminilog.verification.text_report import by_severity, consequences, link

Json = Mapping[str, Any]
BytesOf = Callable[[str, Json], str]
"""Returns the markup of the bytes of a sample: of its class, and its JSON."""


def findings_markup(report: Json, bytes_of: BytesOf) -> Iterator[str]:
    """Yield the section of all findings, errors first."""
    yield "<section><h2>Findings</h2>"
    if not report["findings"]:
        yield "<p>None.</p>"
    for found in by_severity(report):
        severity = "allowed" if found["is_allowed"] else found["severity"]
        samples = found["samples"]
        opened = ' open="open"' if severity == "error" else ""
        yield f'<details class="{severity}"{opened}><summary><b>{text(found["class"])}</b>'
        yield f'<span class="severity">{severity}</span> {number(found["count"])}</summary>'
        yield f'<p class="meaning">{sentence(meaning(found["class"]))} '
        yield f"{sentence(advice(found['class']))}</p><ol>"
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
    yield f"<p>{text(sample['detail'])}</p>"
    yield from _sides(sample)
    yield f"<pre>{text(sample['command'])}</pre>"
    yield bytes_of(found["class"], sample)
    caused = consequences(report, found, sample)
    if caused:
        yield "<ul>"
        for one in caused:
            where = f"{one['class']}: {one['place']}: {one['detail']}"
            yield f"<li><b>{link(one)}</b> {text(where)}"
            yield from _sides(one)
            yield "</li>"
        yield "</ul>"
    yield "</li>"


def _sides(sample: Json) -> Iterator[str]:
    """Yield the record beside its message, what differs marked; nothing if there is neither."""
    rows = [
        f"<tr><th>{name}</th><th>{side}</th><td>{_excerpt(excerpt)}</td></tr>"
        for name in FIELDS
        for side, excerpt in sides_of(sample, name)
    ]
    if rows:
        yield f'<table class="sides">{"".join(rows)}</table>'
    if sample.get("not_shown"):
        yield f'<p class="aside">{text(sample["not_shown"])}</p>'


def _excerpt(excerpt: Excerpt) -> str:
    if excerpt.data is None:
        return "null"
    front, marked, behind = map(text, escaped_parts(excerpt))
    mark = "" if excerpt.differs is None else f"<mark>{marked}</mark>"
    before = "… " if excerpt.is_cut_in_front else ""
    size = ""
    if excerpt.is_cut_in_front or excerpt.is_cut_behind:
        dots = " …" if excerpt.is_cut_behind else ""
        size = f'{dots} <span class="aside">({count(excerpt.size_bytes, "byte")})</span>'
    return f"{before}<code>{front}{mark}{behind}</code>{size}"
