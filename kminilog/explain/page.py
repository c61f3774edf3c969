"""A step-through as one HTML page that needs nothing else, and the page that lists them.

    every step as markup        readable with scripts off, and on paper
    the document as JSON        the same as `--json` prints; its SHA-256 is in a meta element
    pages.css, viewer.js        one step at a time, bytes to point at, questions that wait

The templates are step.html, beside.html, index.html and bench_answer.html, with what they share in
step_parts.html and bytes.html (pages.py). Names, keys and values may be hostile; they stay text.
Source: ours.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from kminilog.explain.document import (
    Ask,
    ByteRange,
    Document,
    Field,
    File,
    Picture,
    Step,
    compact,
    digest,
)
from kminilog.explain.drawing import WIDTH, Drawing, drawn
from kminilog.explain.text import cost_line, field_rows
from kminilog.pages import PAGE_BYTES, framed, is_too_long, render

INDEX_PAGE = "index.html"
_HEX_BYTES = re.compile("[0-9a-f]{2}( [0-9a-f]{2})*")
_WIDTH_BESIDE = 600  # of pictures
_SHOWN_BYTES = 256  # of a file, on a bench
_KEYS = (
    ("→ ←", "next step, step before"),
    ("Space PageDown", "the answer to a question that waits, else the next step; PageUp: back"),
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
    """Some bytes of one field, in hex; its kind has a colour in the style sheet.

    A byte may be `marked`: then it stands between `data` and what comes `after` it.
    """

    at: object
    name: object
    data: object
    value: object
    kind: str
    marked: str = ""
    after: str = ""

    def marking(self, at: int) -> "FieldRow":
        """Return the row with a byte marked, by its position in the file; itself if it has not it.

        >>> FieldRow(8, "size", "00 00 00 1b", 27, "size").marking(11)[-2:]
        ('1b', '')
        """
        data = str(self.data)
        if not (isinstance(self.at, int) and _HEX_BYTES.fullmatch(data)):
            return self
        start = 3 * (at - self.at)
        end = start + 2
        if not 0 <= start < len(data):
            return self
        return self._replace(data=data[:start], marked=data[start:end], after=data[end:])


class BytesTable(NamedTuple):
    """Bytes `start` to `end` (exclusive) of a file, field by field: what bytes.html shows."""

    file: str
    start: int
    end: int
    rows: list[FieldRow]


class _HexField(NamedTuple):
    """A field with the bytes of it that are shown: place, hex, words for it, if it is in focus."""

    name: str
    kind: str
    start: int
    cells: list[tuple[int, str, str, bool]]


class Listed(NamedTuple):
    """A step-through in the list: its page is `<name>.html`."""

    name: str
    title: str
    takes: str
    document: Document


class _StepView(NamedTuple):
    """A step as step.html shows it; `rows` are those of tables that bars stand for.

    `answers` are those to the next question that its picture has.
    """

    number: int
    step: Step
    cost: str
    picture: Drawing | None
    rows: set[tuple[int, int]]
    answers: set[str]
    has_bytes: bool
    tables: list[BytesTable]
    is_like: bool


def render_page(
    document: Document, *, index: str | None = None, width: int = WIDTH, from_step: int = 1
) -> str:
    """Return the page as text; its pictures are so wide. O(document).

    `index` is the link to a page that lists others. In a browser, `from_step` is shown first.
    """
    slots = range(len(document.steps))
    page = _page(document, index, slots, width, from_step)
    if not is_too_long(page):
        return page
    room = PAGE_BYTES - len(_page(document, index, (), width, from_step).encode())
    shown = []
    for slot in (slots[-1], *slots[:-1]):  # the last step is the result
        bytes_ = render("bytes.html", tables=_tables(document, document.steps[slot].focus))
        if len(bytes_.encode()) <= room:
            room -= len(bytes_.encode())
            shown.append(slot)
    return _page(document, index, shown, width, from_step)


def render_last_step(document: Document) -> str:
    """Return the last step alone, for a page that has the style sheets: its bytes are buttons.

    If some are in focus, files that have none of them are only in the picture.
    """
    *others, step = document.steps
    picture = step.state.picture
    rows = _rows_drawn(picture)
    drawing = picture and drawn(picture, WIDTH)
    focused = {focus.file for focus in step.focus}
    return render(
        "bench_answer.html",
        one=_StepView(1, step, "", drawing, rows, set(), False, [], False),
        before=(others or [step])[-1],
        files=[
            (file.name, step.state.ends[file.name] - file.start, _hex_fields(document, file, step))
            for file in document.files
            if file.name in step.state.ends and (not focused or file.name in focused)
        ],
    )


def _hex_fields(document: Document, file: File, step: Step) -> list[_HexField]:
    """Return the fields of a file from the first one in focus on; all, if they are not too many."""
    end = step.state.ends[file.name]
    fields = [one for one in document.fields if one.file == file.name and one.start < end]
    focus = {at for name, *both in step.focus if name == file.name for at in range(*both)}
    if end - file.start > _SHOWN_BYTES and focus:
        fields = [one for one in fields if one.end > min(focus)]
    room, shown = _SHOWN_BYTES, []
    for one in fields:
        stop = min(one.end, end, one.start + room)
        data = file.data[one.start - file.start : stop - file.start]
        cells = [
            (at, f"{byte:02x}", f"byte {at}, {one.name}, hex {byte:02x}", at in focus)
            for at, byte in enumerate(data, one.start)
        ]
        room -= len(cells)
        if cells:
            shown.append(_HexField(one.name, one.kind, one.start, cells))
    return shown


def render_index(listed: Sequence[Listed]) -> str:
    """Return the page that lists step-throughs: INDEX_PAGE beside their pages."""
    return render("index.html", listed=listed)


def render_beside(left: Document, right: Document, from_step: int = 1) -> str:
    """Return a page with the pages of two documents, which go from step to step together."""
    sides = [(one.title, render_page(one, width=_WIDTH_BESIDE)) for one in (left, right)]
    return render("beside.html", sides=sides, from_step=from_step)


def bytes_table(part: File, fields: Iterable[Field], marked: int | None = None) -> BytesTable:
    """Return all bytes of a file, or of a part of one, for another page; one byte may be marked."""
    document = Document("", "", (part,), tuple(fields), ())
    table = _tables(document, [ByteRange(part.name, part.start, part.end)])[0]
    if marked is None:
        return table
    return table._replace(rows=[row.marking(marked) for row in table.rows])


def framed_page(document: Document) -> str:
    """Return the page in a frame, for a notebook."""
    return framed(render_page(document))


def _page(
    document: Document,
    index: str | None,
    with_bytes: Collection[int],
    width: int,
    from_step: int,
) -> str:
    """Return the page; only these steps, by their places, show their bytes without scripts."""
    like = _like_their_neighbours(document.steps)
    asks = [*(step.ask for step in document.steps[1:]), None]
    return render(
        "step.html",
        document=document,
        digest=digest(document),
        json=compact(document),
        index=index,
        keys=_KEYS,
        from_step=from_step,
        steps=[
            _StepView(
                slot + 1,
                step,
                cost_line(step.cost),
                step.state.picture and drawn(step.state.picture, width),
                _rows_drawn(step.state.picture),
                answers_drawn(step.state.picture, ask),
                slot in with_bytes,
                _tables(document, step.focus),
                slot in like,
            )
            for slot, (step, ask) in enumerate(zip(document.steps, asks, strict=True))
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


def _like_their_neighbours(steps: Sequence[Step]) -> set[int]:
    """Return which steps, by their places, can be folded on paper.

    They say the same as the steps before and after them, but for the numbers.
    """
    said = [re.sub(r"\d+", "", step.say) for step in steps]
    return {
        slot
        for slot, three in enumerate(zip(said, said[1:], said[2:], strict=False), start=1)
        if len(set(three)) == 1 and not steps[slot].ask
    }


def answers_drawn(picture: Picture | None, ask: Ask | None) -> set[str]:
    """Return the answers that are names of bars or lanes: all of them but one at most, else none.

    A plain number may be a count, so it is none of them.

    >>> from kminilog.explain.document import AnswerChoice, PictureLane
    >>> picture = Picture("", (PictureLane("C0", 0, 1, ()), PictureLane("C1", 0, 1, ())))
    >>> names = [AnswerChoice(name, False, "") for name in ("C0", "C1", "nobody", "all")]
    >>> sorted(answers_drawn(picture, Ask("", tuple(names[:3]))))
    ['C0', 'C1']
    >>> answers_drawn(picture, Ask("", tuple(names)))
    set()
    """
    lanes = picture.lanes if picture else ()
    names = {name for lane in lanes for name in (lane.name, *(bar.label for bar in lane.bars))}
    answers = {choice.answer for choice in ask.choices} if ask else set()
    found = {one for one in answers & names if not (one.isdecimal() and one == str(int(one)))}
    return found if len(found) >= len(answers) - 1 else set()


def _rows_drawn(picture: Picture | None) -> set[tuple[int, int]]:
    """Return the rows of tables that bars of a picture stand for."""
    lanes = picture.lanes if picture else ()
    return {bar.row for lane in lanes for bar in lane.bars if bar.row}
