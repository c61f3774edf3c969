"""A step-through as plain text: every step in turn, as `kminilog step NAME` prints it to a pipe.

    ── step 3 of 7 ── probes 2, reads 1, 512 bytes
    What is said.
      ? The question, with its choices.
      byte  field  bytes                    value
         8  size   00 00 00 16              22
      name = value

A question stands in front of its answer. Of what the step before has shown already, only what has
changed is repeated; the first and the last step are shown in full. An arrow marks what has changed.

`render_short` is for commands that show a result, and not only how it came about: what is said of
each step, and the last one in full. Source: ours.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from zlib import crc32

from kminilog.explain.document import (
    UNPARSED,
    Ask,
    ByteRange,
    Cost,
    Document,
    Step,
    Table,
    Value,
)
from kminilog.explain.field_layout import FieldBytes, split_fields
from kminilog.explain.state_words import frame_words
from kminilog.format.dialect import Dialect
from kminilog.format.message import CODECS, CRC_END
from kminilog.text import (
    COMMAND,
    FIT_COLUMNS,
    GOOD,
    HEADING,
    MARKED,
    QUIET,
    Span,
    StyledText,
    byte_rows,
    columns,
    count,
    table,
    table_rows,
    text_cells,
    wrap,
)

_INDENT = 4  # columns in front of a table; two of them are for an arrow
_MARGIN = 2  # columns that stay empty after what is said
_BYTES_A_ROW = 8
_SHOWN_ROWS = 8
_TEXTS = ("key", "value", UNPARSED)


def render_text(
    document: Document, from_step: int = 1, *, width: int = FIT_COLUMNS
) -> Iterator[str]:
    """Yield the lines of a document, from a step on; no line is wider than its longest word.

    Raises ValueError if it has no such step.
    """
    check_step(document, from_step)
    yield StyledText(Span(document.title, HEADING))
    before = document.steps[from_step - 2] if from_step > 1 else None
    for number, step in enumerate(document.steps[from_step - 1 :], start=from_step):
        yield ""
        told = frame_words(document, "step {} of {}").format(number, len(document.steps))
        line = f"── {told} ── {cost_line(step.cost)}"
        yield StyledText(Span(line.rstrip(" ─"), QUIET))
        is_whole = number in (from_step, len(document.steps))
        yield from step_lines(document, step, before, is_whole=is_whole, width=width)
        before = step


def render_short(
    document: Document, arguments: Sequence[object], *, width: int = FIT_COLUMNS
) -> Iterator[str]:
    """Yield what is said of each step but the last, the last one in full, and a command.

    The command, with these arguments, shows the other steps in full, too.
    """
    yield StyledText(Span(document.title, HEADING))
    yield ""
    digits = len(str(len(document.steps)))
    for number, step in enumerate(document.steps[:-1], start=1):
        first, later = f"{number:>{digits}}  ", " " * (digits + 2)
        yield from wrap(step.say, width - _MARGIN, first=first, later=later)
    yield from list(render_text(document, len(document.steps), width=width))[1:]
    yield ""
    command = Span(step_command(document.name, arguments), COMMAND)
    yield StyledText("Each step with its state: ", command)


def step_command(name: str, arguments: Sequence[object]) -> str:
    """Return the command that shows a step-through, as a shell takes it.

    >>> step_command("murmur2", ["--key", "it is", "--partitions", 3])
    "kminilog step murmur2 --key 'it is' --partitions 3"
    """
    return shlex.join(["kminilog", "step", name, *map(str, arguments)])


def check_step(document: Document, number: int) -> None:
    """Raise ValueError if a document has no step of this number."""
    if not 1 <= number <= len(document.steps):
        raise ValueError(f"no step {number}: {document.name} has steps 1 to {len(document.steps)}")


def step_lines(
    document: Document,
    step: Step,
    before: Step | None = None,
    *,
    is_whole: bool = True,
    width: int = FIT_COLUMNS,
) -> Iterator[str]:
    """Yield the lines of one step: question, what is said, bytes in focus, values, tables.

    Unless it is shown as a whole, values and rows that the step `before` has shown are left out.
    """
    if step.ask:
        yield from _ask_lines(document, step.ask, width - _MARGIN)
    yield from wrap(step.say, width - _MARGIN)
    for focus in step.focus:
        yield ""
        last = focus.end - 1
        words = frame_words(document, "byte {}" if focus.start == last else "bytes {} to {}")
        yield f"  {focus.file}, {words.format(focus.start, last)}"
        yield from _field_lines(document, focus, width)
    known = before.state.values if before else {}
    values = {
        name: value
        for name, value in step.state.values.items()
        if is_whole or name not in known or known[name] != value
    }
    if values:
        yield ""
        yield from value_lines(values, known, width - _MARGIN)
    for part in step.state.tables:
        rows = _rows_of(part.title, None if is_whole else before)
        yield from table_lines(part, rows, width)


def value_lines(
    values: Mapping[str, Value], known: Mapping[str, Value], width: int
) -> Iterator[str]:
    """Yield values below each other, aligned; what differs from those known before is marked.

    >>> print(*value_lines({"h": 2, "seed": None}, {"h": 1}, 80), sep="|")
    → h    = 2|  seed = none
    """
    longest = max(map(columns, values), default=0)
    for name, value in values.items():
        is_changed = name in known and known[name] != value
        first = f"  {name}{' ' * (longest - columns(name))} = "
        text = "none" if value is None else str(value)
        widest = max(map(columns, text.split(" ")))
        later = " " * max(2, min(columns(first), width - widest))
        for number, line in enumerate(wrap(first + text, width, later=later)):
            shown = f"→{line[1:]}" if is_changed and not number else line
            yield StyledText(Span(shown, MARKED if is_changed else ""))


def _field_lines(document: Document, focus: ByteRange, width: int) -> Iterator[str]:
    """Yield the table of the fields in a range, each row styled by its field."""
    rows = field_rows(document, focus)
    kinds = {field.name: field.kind for field in document.fields}
    head, *body = table_rows(("byte", "field", "bytes", "value"), rows, width - _INDENT)
    yield from (StyledText(Span(f"    {line}", QUIET)) for line in head)
    kind = ""
    for row, lines in zip(rows, body, strict=True):
        kind = kinds.get(str(row[1]), kind)
        yield from (StyledText(Span(f"    {line}", kind)) for line in lines)


def _rows_of(title: str, step: Step | None) -> Sequence[tuple[Value, ...]]:
    tables = step.state.tables if step else ()
    return next((table.rows for table in tables if table.title == title), ())


def table_lines(part: Table, known: Sequence[tuple[Value, ...]], width: int) -> Iterator[str]:
    """Yield an empty line, the title and the rows of a table that are marked, or not known."""
    shown = [
        number
        for number, row in enumerate(part.rows)
        if number in part.marked or number >= len(known) or known[number] != row
    ]
    if not shown:
        return
    yield ""
    for line in wrap(part.title, width, first="  ", later="    "):
        yield StyledText(Span(line, HEADING))
    cells = [[shown_cell(cell) for cell in part.rows[number]] for number in shown]
    meanings = [QUIET, *(MARKED if number in part.marked else "" for number in shown)]
    rows = table_rows(part.columns, cells, width - _INDENT)
    for meaning, (first, *more) in zip(meanings, rows, strict=True):
        arrow = "→" if meaning == MARKED else " "
        for line in (f"  {arrow} {first}", *(f"    {line}" for line in more)):
            yield StyledText(Span(line.rstrip(), meaning))


def _ask_lines(document: Document, ask: Ask, width: int) -> Iterator[str]:
    question = wrap(f"? {ask.question}", width, later="  ")
    yield from (StyledText(Span(line, HEADING)) for line in question)
    for choice in ask.choices:
        mark = frame_words(document, "right:" if choice.is_right else "no:")
        lines = wrap(f"{choice.answer}: {mark} {choice.why}", width, first="    ", later="      ")
        yield from (StyledText(Span(line, GOOD if choice.is_right else "")) for line in lines)


def cost_line(cost: Cost) -> str:
    """Return what the engine has done so far; nothing if it has done nothing.

    >>> cost_line(Cost(2, 1, 512)), cost_line(Cost())
    ('2 probes, 1 read, 512 bytes', '')
    """
    parts = ((cost.probes, "probe"), (cost.reads, "read"), (cost.bytes, "byte"))
    return ", ".join(count(number, noun) for number, noun in parts if number)


def field_rows(document: Document, focus: ByteRange) -> list[tuple[object, ...]]:
    """Return the rows of the fields that have bytes in a range: byte, name, hex, value.

    Of a key, a value or unparsed bytes, each row has the text of its own bytes. Of a run of equal
    bytes, all that follow the first row are one row.
    """
    file = next(file for file in document.files if file.name == focus.file)
    rows: list[tuple[object, ...]] = []
    for field in document.fields:
        if field.file != focus.file or field.end <= focus.start or field.start >= focus.end:
            continue
        data = file.data[field.start - file.start : field.end - file.start]
        said = str(shown_cell(field.value))
        rows += _rows_of_field(field.start, field.name, data, said, is_text=field.kind in _TEXTS)
    return rows


def _rows_of_field(
    start: int, name: str, data: bytes, said: str, *, is_text: bool
) -> Iterator[tuple[object, ...]]:
    cells = text_cells(data, _BYTES_A_ROW) if is_text else []
    for row, (at, end, run) in enumerate(byte_rows(data, _BYTES_A_ROW)):
        if row == _SHOWN_ROWS:
            yield "", "", f"… {count(len(data) - at, 'byte')} more", ""
            break
        if row:
            name = said = ""
        if cells:
            said = "" if run else "".join(cells[at:end])
        yield start + at, name, run or data[at:end].hex(" "), said


def field_table(dialect: Dialect, data: bytes) -> list[str]:
    """Return a message field by field: its byte, its name, the bytes in hex, what they say."""
    rows = [
        row
        for field in split_fields(dialect, data)
        for row in _rows_of_field(
            field.start,
            field.name,
            field.data,
            _meaning(field, data),
            is_text=field.name in _TEXTS,
        )
    ]
    return table(("byte", "field", "bytes", "meaning"), rows)


def _meaning(field: FieldBytes, message: bytes) -> str:
    number = field.number
    match field.name:
        case "size":
            return f"{count(number, 'byte')} follow"
        case "crc":
            actual = crc32(message[CRC_END:])
            return "right for the bytes after it" if actual == number else f"not {actual:08x}"
        case "magic":
            return f"version {number} of the format"
        case "attributes":
            codec = CODECS.get(number & 7, "unknown")
            return "no compression" if codec == "none" else f"compressed with {codec}"
        case "key length" | "value length" if number == -1:
            return f"no {field.name.split()[0]}"
        case "key length" | "value length":
            return count(number, "byte")
        case _:
            return str(number)


def shown_cell(value: object) -> object:
    """Return a cell as a table shows it: nothing for None."""
    return "" if value is None else value
