"""A step-through as one HTML page that needs nothing else: no network, no other file.

    every step as markup        readable with scripts off, and on paper
    the document as JSON        the same as `--json` prints; its SHA-256 is in a meta element
    viewer.css, viewer.js       one step at a time, bytes to point at, questions that wait

A Content-Security-Policy allows this style sheet and this script by their hashes, and nothing from
anywhere else. Names, keys and values may be hostile: all text is escaped, control characters too.
Source: ours.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from kminilog.course.steps.document import (
    UNPARSED,
    Ask,
    Document,
    Field,
    Range,
    State,
    Step,
    Table,
    Value,
    compact,
    digest,
)
from kminilog.course.steps.text import cost_line, field_rows
from kminilog.text import printable

PALETTE = 10
"""How many colours viewer.css has; a page with more kinds of fields repeats them."""

PAGE_BYTES = 400_000
"""How long a page may be; where bytes in focus would make it longer, scripts alone show them."""
_LEFT_OUT = (
    '<p class="focus">The bytes of this step are too many for this page without scripts.</p>'
)
_AROUND_STEPS = (
    '<div id="bytes"><div id="inspector" role="status"></div></div><div class="steps">',
    "</div></main>",
)
_KEYS = (
    ("→ ←", "next step, step before"),
    ("Home End", "first step, last step"),
    ("g", "go to a step by its number"),
    ("b", "to the bytes; arrow keys move among them, Escape leaves them"),
    ("?", "this list"),
)


def render_page(document: Document, *, index: str | None = None) -> str:
    """Return the page as text; `index` is the link to a page that lists others. O(document)."""
    script = resource("viewer.js")
    above = [*_head(document, script), *_header(document, index)]
    below = [*_bar(document), *_help()]
    below += ['<script type="application/json" id="trace">', compact(document), "</script>"]
    below += [f"<script>{script}</script>", "</body></html>"]
    room = PAGE_BYTES - sum(map(_bytes, [*above, *below, *_AROUND_STEPS]))
    return "\n".join([*above, *_steps(document, room), *below]) + "\n"


def bytes_markup(document: Document) -> str:
    """Return the bytes in focus at the last step, field by field, as markup for another page."""
    kinds = colours_of(document)
    return "".join(
        line for focus in document.steps[-1].focus for line in _focus(document, focus, kinds)
    )


def colours_of(document: Document) -> dict[str, str]:
    """Return the class of each kind of fields, in the order of their first appearance."""
    kinds = list(dict.fromkeys(field.kind for field in document.fields))
    colours = {kind: f"c{number % PALETTE}" for number, kind in enumerate(kinds)}
    return {**colours, UNPARSED: UNPARSED}


def text(value: object) -> str:
    r"""Return `str(value)` escaped for a page, between tags or in quotes.

    >>> print(text('<a href="x">\x00\x1b'))
    &lt;a href=&quot;x&quot;&gt;\x00\x1b
    """
    return escape(printable(value))


def style_sheet() -> str:
    """Return the style sheet of all pages."""
    return resource("viewer.css")


def policy(*, style: str, script: str | None = None) -> str:
    """Return the meta element that allows one style sheet and at most one script, and no more."""
    allowed = f"; script-src {_source(script)}" if script else ""
    return (
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src {_source(style)}{allowed}; base-uri 'none'; form-action 'none'\"/>"
    )


def _source(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


@cache
def resource(name: str) -> str:
    """Return the text of a file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _head(document: Document, script: str) -> Iterator[str]:
    style = style_sheet()
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
    yield policy(style=style, script=script)
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
    yield f'<meta name="kminilog-trace" content="{digest(document)}"/>'
    yield f"<title>{text(document.title)}</title><style>{style}</style></head><body>"


def _header(document: Document, index: str | None) -> Iterator[str]:
    link = f'<a href="{text(index)}">all step-throughs</a>' if index else ""
    yield f"<header><h1>{text(document.title)}</h1>{link}</header><main>"


def _steps(document: Document, room: int) -> Iterator[str]:
    """Yield the steps, with their bytes in focus as far as there is room for so many bytes."""
    colours = colours_of(document)
    steps = document.steps
    befores = (None, *(step.state for step in steps[:-1]))
    heads = ["\n".join(_head_of(document, number)) for number in range(1, len(steps) + 1)]
    focused = ["\n".join(_focused(document, step, colours)) for step in steps]
    pairs = zip(steps, befores, strict=True)
    states = ["\n".join(_state(step.state, before)) for step, before in pairs]
    room -= sum(map(_bytes, (*heads, *states))) + len(steps) * _bytes(_LEFT_OUT)
    last = len(steps) - 1
    for slot in (last, *range(last)):  # the last step is the result
        if _bytes(focused[slot]) > room:
            focused[slot] = _LEFT_OUT
        room -= _bytes(focused[slot])
    yield _AROUND_STEPS[0]
    for parts in zip(heads, focused, states, strict=True):
        yield from parts
    yield _AROUND_STEPS[1]


def _bytes(markup: str) -> int:
    return len(markup.encode()) + 1  # and the end of its line


def _head_of(document: Document, number: int) -> Iterator[str]:
    step = document.steps[number - 1]
    cost = cost_line(step.cost)
    told = f' <span class="cost">· {text(cost)}</span>' if cost else ""
    yield f'<section class="step" id="step/{number}">'
    yield f"<h2>step {number} of {len(document.steps)}{told}</h2>"
    if step.ask:
        yield from _ask(step.ask)
    yield f'<p class="say">{text(step.say)}</p>'


def _focused(document: Document, step: Step, colours: Mapping[str, str]) -> Iterator[str]:
    for focus in step.focus:
        yield from _focus(document, focus, colours)


def _state(state: State, before: State | None) -> Iterator[str]:
    if state.values:
        yield from _values(state.values, before)
    for table in state.tables:
        yield from _table(table)
    yield "</section>"


def _ask(ask: Ask) -> Iterator[str]:
    yield f'<div class="ask"><p>{text(ask.question)}</p>'
    for choice in ask.choices:
        verdict = "Right" if choice.is_right else "No"
        yield f"<details><summary>{text(choice.answer)}</summary>"
        yield f"<p>{verdict}: {text(choice.why)}</p></details>"
    yield "</div>"


def _focus(document: Document, focus: Range, colours: Mapping[str, str]) -> Iterator[str]:
    kinds = _kinds(document.fields)
    yield f'<div class="focus scroll"><h3>{text(focus.file)}, bytes {focus.start} to '
    yield f"{focus.end - 1}</h3><table><tr><th>byte</th><th>field</th><th>bytes</th>"
    yield "<th>value</th></tr>"
    for at, name, data, value in field_rows(document, focus):
        colour = colours.get(kinds.get(str(name), ""), "")
        label = f'<span class="field-name {colour}">{text(name)}</span>' if name else ""
        yield f'<tr><td class="number">{text(at)}</td><td>{label}</td><td>{text(data)}</td>'
        yield f"<td>{text(value)}</td></tr>"
    yield "</table></div>"


def _kinds(fields: tuple[Field, ...]) -> dict[str, str]:
    return {field.name: field.kind for field in fields}


def _values(values: Mapping[str, Value], before: State | None) -> Iterator[str]:
    known = before.values if before else values
    yield "<dl>"
    for name, value in values.items():
        is_new = name not in known or known[name] != value
        changed = ' class="changed"' if is_new else ""
        shown = "none" if value is None else text(value)
        yield f"<dt>{text(name)}</dt><dd{changed}>{shown}</dd>"
    yield "</dl>"


def _table(table: Table) -> Iterator[str]:
    heads = "".join(f"<th>{text(column)}</th>" for column in table.columns)
    yield f'<h3>{text(table.title)}</h3><div class="scroll"><table class="rows">'
    yield f"<tr><th></th>{heads}</tr>"
    for number, row in enumerate(table.rows):
        is_marked = number in table.marked
        cells = "".join(f"<td{_number_class(cell)}>{_shown(cell)}</td>" for cell in row)
        kind = ' class="marked"' if is_marked else ""
        yield f"<tr{kind}><td>{'→' if is_marked else ''}</td>{cells}</tr>"
    yield "</table></div>"


def _number_class(cell: Value) -> str:
    return ' class="number"' if isinstance(cell, int) else ""


def _shown(value: Value) -> str:
    return "" if value is None else text(value)


def _bar(document: Document) -> Iterator[str]:
    yield '<nav class="bar" aria-label="steps">'
    for name, sign, label in (("first", "«", "first step"), ("back", "←", "step before")):
        yield f'<button type="button" id="{name}" aria-label="{label}">{sign}</button>'
    yield f'<a class="place" id="place" href="#step/1">1 / {len(document.steps)}</a>'
    for name, sign, label in (("next", "→", "next step"), ("last", "»", "last step")):
        yield f'<button type="button" id="{name}" aria-label="{label}">{sign}</button>'
    yield '<input class="wide" id="jump" type="number" min="1" placeholder="step"'
    yield ' aria-label="go to step"/>'
    yield '<button class="wide" type="button" id="keys" aria-label="keys">?</button></nav>'


def _help() -> Iterator[str]:
    yield '<dialog id="help" aria-label="keys"><dl>'
    for keys, meaning in _KEYS:
        yield f"<dt>{keys}</dt><dd>{meaning}</dd>"
    yield "</dl></dialog>"
