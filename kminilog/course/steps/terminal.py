"""A step-through on a terminal: bytes on the left, state on the right, one step at a time.

    → ← Home End   steps        ↑ ↓   scroll        g 12 Enter   go to step 12
    1 2 3 …        answer       a     show the answer
    ?              keys         q     quit

A field has a colour and a label. A question waits: what follows comes after the right answer.
It fits into 80 columns and 24 lines. This module reads keys through a function that is handed in.
Source: ours.
"""

from collections.abc import Callable, Iterator

from rich.console import Console, Group, RenderableType
from rich.segment import Segment, Segments
from rich.table import Table as Grid
from rich.text import Text

from kminilog.course.steps.document import ByteRange, Document, Step, Table, digest
from kminilog.course.steps.text import cost_line, field_rows, shown_cell
from kminilog.text import printable, table

_COLOURS = ("cyan", "green", "yellow", "magenta", "bright_blue", "red", "bright_green", "white")
_MARK = "bold reverse"
_BARS = 2  # the lines above and below the step
_WIDTH_OF_TWO_SIDES = 72  # columns; on a narrower terminal the state stands below the bytes
_LABEL_WIDTH = 15  # characters of the longest name of our fields: relative offset
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
        kinds = list(dict.fromkeys(field.kind for field in document.fields))
        self._colours = {kind: _COLOURS[n % len(_COLOURS)] for n, kind in enumerate(kinds)}
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
        head = Text(
            printable(self._document.title), style="bold", no_wrap=True, overflow="ellipsis"
        )
        head.truncate(max(width - len(place) - len(cost) - 4, 8), overflow="ellipsis")
        return head + Text(f"  {cost}" if cost else "", style="dim") + Text(f"  {place}", "bold")

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
        step = self._step
        if step.ask:
            yield Text(printable(f"? {step.ask.question}"), style="bold")
            for number, choice in enumerate(step.ask.choices, start=1):
                yield Text(f"  {number}  {printable(choice.answer)}")
            if self._verdict:
                is_right = self._number in self._answered
                yield Text(printable(self._verdict), style="green" if is_right else "red")
            elif self._is_waiting:
                yield Text("  choose by number; a shows the answer", style="dim")
            yield Text()
        if self._is_waiting:
            return
        yield Text(printable(step.say))
        yield Text()
        yield self._sides(step)
        for part in step.state.tables:
            yield from _table(part)

    def _sides(self, step: Step) -> Grid:
        grid = Grid.grid(padding=(0, 2), expand=True)
        values = Text()
        for name, value in step.state.values.items():
            values.append(printable(name), style="dim")
            values.append(f" = {printable('none' if value is None else value)}\n")
        left = [self._bytes(focus) for focus in step.focus]
        if left and self._console.width >= _WIDTH_OF_TWO_SIDES:
            grid.add_column(ratio=3)
            grid.add_column(ratio=2)
            grid.add_row(Group(*left), values)
        else:
            grid.add_row(Group(*left, values))
        return grid

    def _bytes(self, focus: ByteRange) -> Text:
        text = Text(f"{printable(focus.file)}\n", style="bold")
        rows = field_rows(self._document, focus)
        widths = [max(len(str(row[column])) for row in rows) for column in (0, 1)]
        for at, name, data, _ in rows:
            colour = self._colours.get(self._kinds.get(str(name), ""), "")
            text.append(f"{at!s:>{widths[0]}} ", style="dim not bold")
            label = f"{name!s:<{widths[1]}.{_LABEL_WIDTH}} "
            text.append(printable(label), style=f"{colour} not bold")
            text.append(f"{data}\n", style=f"{colour} not bold")
        return text


def _table(part: Table) -> Iterator[Text]:
    yield Text(printable(part.title), style="bold")
    cells = [[shown_cell(cell) for cell in row] for row in part.rows]
    head, *lines = table(part.columns, cells, fit=None)
    yield Text(f"  {head}", style="dim", no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(lines):
        is_marked = number in part.marked
        style = _MARK if is_marked else ""
        sign = "→" if is_marked else " "
        yield Text(f"{sign} {line}", style=style, no_wrap=True, overflow="ellipsis")
    yield Text()
