"""A step-through as one HTML page that needs nothing else, and the page that lists them.

    every step as markup        readable with scripts off, and on paper
    the document as JSON        the same as `--json` prints; its SHA-256 is in a meta element
    pages.css, viewer.js        one step at a time, bytes to point at, questions that wait

The templates are step.html, bytes.html and index.html (pages.py). Names, keys and values may be
hostile; they stay text. Source: ours.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from kminilog.course.steps.document import ByteRange, Document, Picture, compact, digest
from kminilog.course.steps.drawing import drawn
from kminilog.course.steps.text import cost_line, field_rows
from kminilog.pages import framed, render

PAGE_BYTES = 400_000
"""How long a page may be; where bytes in focus would make it longer, scripts alone show them."""
INDEX_PAGE = "index.html"
_KEYS = (
    ("→ ←", "next step, step before; also Space, PageDown and PageUp, as clickers send them"),
    ("Home End", "first step, last step"),
    ("1 2 3", "answer the question of this step"),
    ("a", "show the answer"),
    ("n", "to the next question"),
    ("p", "play the steps up to the next question; pause"),
    ("f", "full screen"),
    ("t", "light or dark"),
    ("g", "go to a step by its number"),
    ("b", "to the bytes; arrow keys move among them, Escape leaves them"),
    ("?", "this list"),
)


class FieldRow(NamedTuple):
    """Some bytes of one field, in hex; its kind has a colour in the style sheet."""

    at: object
    name: object
    data: object
    value: object
    kind: str


class BytesTable(NamedTuple):
    """Bytes `start` to `end` (exclusive) of a file, field by field: what bytes.html shows."""

    file: str
    start: int
    end: int
    rows: list[FieldRow]


class Listed(NamedTuple):
    """A step-through in the list: its page is `<name>.html`."""

    name: str
    title: str
    takes: str
    document: Document


def render_page(document: Document, *, index: str | None = None) -> str:
    """Return the page as text; `index` is the link to a page that lists others. O(document)."""
    slots = range(len(document.steps))
    page = _page(document, index, slots)
    if len(page.encode()) <= PAGE_BYTES:
        return page
    room = PAGE_BYTES - len(_page(document, index, ()).encode())
    shown = []
    for slot in (slots[-1], *slots[:-1]):  # the last step is the result
        bytes_ = render("bytes.html", tables=_tables(document, document.steps[slot].focus))
        if len(bytes_.encode()) <= room:
            room -= len(bytes_.encode())
            shown.append(slot)
    return _page(document, index, shown)


def render_index(listed: Sequence[Listed]) -> str:
    """Return the page that lists step-throughs: INDEX_PAGE beside their pages."""
    return render("index.html", listed=listed)


def bytes_in_focus(document: Document) -> list[BytesTable]:
    """Return the bytes in focus at the last step, for another page."""
    return _tables(document, document.steps[-1].focus)


def framed_page(document: Document) -> str:
    """Return the page in a frame, for a notebook."""
    return framed(render_page(document))


def _page(document: Document, index: str | None, with_bytes: Collection[int]) -> str:
    """Return the page; only these steps, by their places, show their bytes without scripts."""
    return render(
        "step.html",
        document=document,
        digest=digest(document),
        json=compact(document),
        index=index,
        keys=_KEYS,
        steps=[
            (
                step,
                cost_line(step.cost),
                step.state.picture and drawn(step.state.picture),
                _rows_drawn(step.state.picture),
                slot in with_bytes,
                _tables(document, step.focus),
                slot + 1,
            )
            for slot, step in enumerate(document.steps)
        ],
    )


def _tables(document: Document, focus: Sequence[ByteRange]) -> list[BytesTable]:
    kinds = {field.name: field.kind for field in document.fields}
    return [
        BytesTable(
            *part,
            [
                FieldRow(at, name, data, value, kinds.get(str(name), ""))
                for at, name, data, value in field_rows(document, part)
            ],
        )
        for part in focus
    ]


def _rows_drawn(picture: Picture | None) -> set[tuple[int, int]]:
    """Return the rows of tables that bars of a picture stand for."""
    lanes = picture.lanes if picture else ()
    return {bar.row for lane in lanes for bar in lane.bars if bar.row}
