"""A step-through on a terminal: bytes on the left, state on the right, one step at a time.

    → ← Home End   steps        ↑ ↓   scroll        g 12 Enter   go to step 12
    1 2 3 …        answer       a     show the answer
    ?              keys         q     quit

A field has a label, and the colour that it has on pages. An arrow marks what has changed. A
question waits: what follows comes after the right answer. It is as wide as the terminal, and no
word is cut. This module reads keys through a function that is handed in. Source: ours.
"""

from collections.abc import Callable, Iterator

from rich.console import Console, Group, RenderableType
from rich.segment import Segment, Segments
from rich.table import Table as Grid
from rich.text import Text

from kminilog.explain.document import ByteRange, Document, Step, digest
from kminilog.explain.text import cost_line, field_rows, table_lines, value_lines
from kminilog.text import (
    FIELD_COLOURS,
    HEADING,
    MARKED,
    QUIET,
    Span,
    StyledText,
    columns,
    printable,
    table_rows,
    wrap,
)

_STYLES = {
    QUIET: "dim",
    MARKED: "bold",
    HEADING: "bold",
    **{kind: f"color({number})" for kind, number in FIELD_COLOURS.items()},
}
_BARS = 2  # the lines above and below the step
_BETWEEN = 4  # columns between the bytes and the values, if they stand side by side
_KEYS = (
    "→ ←        next step, step before",
    "Home End   first step, last step",
    "↑ ↓        scroll",
    "g 12 Enter go to step 12",
    "1 2 3 …    answer the question",
    "a          show the answer",
    "q          quit",
)
NEXT, BACK, UP, DOWN = "\x1b[C", "\x1b[D", "\x1b[A", "\x1b[B"
FIRST, LAST = ("\x1b[H", "\x1b[1~", "\x1bOH"), ("\x1b[F", "\x1b[4~", "\x1bOF")
ENTER = ("\r", "\n")
DIGITS = tuple("0123456789")  # str.isdigit is also true for ², a key of French keyboards
_TYPED_DIGITS = 9


class Viewer:
    """Shows a document on a console; `read_key` waits for a key and returns what it sends."""

    def __init__(
        self, document: Document, console: Console, read_key: Callable[[], str], number: int = 1
    ) -> None:
        self._document = document
        self._console = console
        self._read_key = read_key
        self._number = number
        self._scroll = 0
        self._verdict = ""
        self._typed: str | None = None  # digits of the step to go to
        self._is_help = False
        self._answered: set[int] = set()
        self._kinds = {field.name: field.kind for field in document.fields}

    def run(self) -> None:
        """Show steps until the user quits; the screen is then as before."""
        with self._console.screen(hide_cursor=True) as screen:
            while True:
                screen.update(self.frame())
                key = self._read_key()
                if key in ("q", "Q"):
                    return
                self.press(key)

    def press(self, key: str) -> None:
        """Do what a key asks for; other keys do nothing."""
        if self._typed is not None:
            self._type(key)
        elif key == NEXT:
            self._go(self._number + 1)
        elif key == BACK:
            self._go(self._number - 1)
        elif key in FIRST:
            self._go(1)
        elif key in LAST:
            self._go(len(self._document.steps))
        elif key in (UP, DOWN):
            self._scroll = max(0, self._scroll + (1 if key == DOWN else -1))
        elif key == "g":
            self._typed = ""
        elif key == "?":
            self._is_help = not self._is_help
        elif self._is_waiting and (key == "a" or key in DIGITS):
            self._answer(key)

    @property
    def _step(self) -> Step:
        return self._document.steps[self._number - 1]

    @property
    def _is_waiting(self) -> bool:
        return self._step.ask is not None and self._number not in self._answered

    def _go(self, number: int) -> None:
        self._number = min(max(number, 1), len(self._document.steps))
        self._scroll, self._verdict, self._is_help = 0, "", False

    def _type(self, key: str) -> None:
        if key in ENTER:
            number = int(self._typed or self._number)
            self._typed = None
            self._go(number)
        elif key in DIGITS:
            self._typed = f"{self._typed}{key}"[:_TYPED_DIGITS]
        else:
            self._typed = None

    def _answer(self, key: str) -> None:
        ask = self._step.ask
        assert ask is not None
        right = next(choice for choice in ask.choices if choice.is_right)
        if key != "a" and not 1 <= int(key) <= len(ask.choices):
            return
        choice = right if key == "a" else ask.choices[int(key) - 1]
        self._verdict = f"{'Right' if choice.is_right else 'Not'} {choice.answer}: {choice.why}"
        if choice.is_right:
            self._answered.add(self._number)

    # ---- what is shown

    def frame(self) -> RenderableType:
        """Return the screen as it should be: a bar, the step as far as it fits, a bar."""
        width, height = self._console.size
        body = Group(*(self._help() if self._is_help else self._body()))
        options = self._console.options.update(width=width, height=None)
        lines = self._console.render_lines(body, options, pad=False)
        room = height - _BARS
        self._scroll = min(self._scroll, max(0, len(lines) - room))
        seen = lines[self._scroll : self._scroll + room]
        below = len(lines) - self._scroll - len(seen)
        parts = [segment for line in seen for segment in (*line, Segment.line())]
        parts += [Segment.line()] * (room - len(seen))
        return Group(self._head(width), Segments(parts), self._foot(below))

    def _head(self, width: int) -> Text:
        place = f"{self._number} / {len(self._document.steps)}"
        cost = cost_line(self._step.cost)
        beside = f"  {cost}" if cost else ""
        room = width - columns(f"{beside}  {place}")
        title, *more = wrap(printable(self._document.title), room)
        if more:
            title = f"{wrap(printable(self._document.title), room - 2)[0]} …"
        head = Text.assemble((title, "bold"), (beside, "dim"), (f"  {place}", "bold"))
        head.no_wrap = True
        return head

    def _foot(self, below: int) -> Text:
        if self._typed is not None:
            return Text(f"go to step: {self._typed}_", no_wrap=True)
        more = f"  ↓ {below} more lines" if below else ""
        return Text(f"← → step  ? keys  q quit{more}", style="dim", no_wrap=True)

    def _help(self) -> Iterator[RenderableType]:
        yield from (Text(line) for line in _KEYS)
        yield Text()
        yield Text(f"document {digest(self._document)}", style="dim")

    def _body(self) -> Iterator[RenderableType]:
        width, step = self._console.width, self._step
        if step.ask:
            yield from self._wrapped(f"? {step.ask.question}", "bold")
            for number, choice in enumerate(step.ask.choices, start=1):
                yield from self._wrapped(f"  {number}  {choice.answer}")
            if self._verdict:
                is_right = self._number in self._answered
                yield from self._wrapped(self._verdict, "green" if is_right else "yellow")
            elif self._is_waiting:
                yield Text("  choose by number; a shows the answer", style="dim")
            yield Text()
        if self._is_waiting:
            return
        yield from self._wrapped(step.say)
        yield Text()
        yield self._sides(step)
        for part in step.state.tables:
            yield from map(_shown, table_lines(part, (), width))

    def _wrapped(self, text: str, style: str = "") -> Iterator[Text]:
        indent = " " * (len(text) - len(text.lstrip()))
        for line in wrap(printable(text), self._console.width, later=indent):
            yield Text(line, style=style)

    def _sides(self, step: Step) -> RenderableType:
        """Return bytes and values, side by side if no word has to be cut for that."""
        before = self._document.steps[max(self._number - 2, 0)].state.values
        left = [line for focus in step.focus for line in self._bytes(focus)]
        room = self._console.width - max(map(columns, left), default=0) - _BETWEEN
        beside = list(value_lines(step.state.values, before, room)) if left else []
        if beside and max(map(columns, beside)) <= room:
            grid = Grid.grid(padding=(0, _BETWEEN, 0, 0))
            grid.add_row(Group(*map(_shown, left)), Group(*map(_shown, beside)))
            return grid
        below = list(value_lines(step.state.values, before, self._console.width))
        between = [""] if left and below else []
        return Group(*map(_shown, [*left, *between, *below]))

    def _bytes(self, focus: ByteRange) -> Iterator[str]:
        yield StyledText(Span(focus.file, HEADING))
        rows = [row[:3] for row in field_rows(self._document, focus)]
        _, *lines = table_rows(("", "", ""), rows, self._console.width)
        kind = ""
        for (_, name, _), row in zip(rows, lines, strict=True):
            kind = self._kinds.get(str(name), kind)
            yield from (StyledText(Span(line, kind)) for line in row)


def _shown(line: str) -> Text:
    """Return a line of text as rich shows it: as it is, each part in its style."""
    spans = line.parts if isinstance(line, StyledText) else (Span(line),)
    parts = ((printable(text), _STYLES.get(meaning, "")) for text, meaning in spans)
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")
