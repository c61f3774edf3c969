r"""Text for people: escaped, counted in columns, in tables, and styled. Source: ours.

All of it may come from a message, so what could deceive a terminal or its reader is escaped:

    control characters    move the cursor, change colours, send input: C0, DEL, C1
    bidirectional ones    change the order in which text is displayed: U+202E and others
    line separators       look like the end of a line: U+2028, U+2029
    surrogates            cannot be encoded as UTF-8; Python makes them of undecodable file names
    U+FFFE, U+FFFF        are no characters; XML, and so SVG, must not contain them

Each becomes Python's escape, `\x1b`, or JSON's, `\u001b`. All other characters stay, in any
script. Source of the list: Unicode, categories Cc, Zl, Zp and Cs, and the property Bidi_Control.
"""

import json
import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, Self

_ABOVE_C0 = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff"
_TRICKS = re.compile(f"[\x00-\x1f{_ABOVE_C0}]")
_TRICKS_IN_JSON = re.compile(f"[{_ABOVE_C0}]")  # JSON has the others escaped already
_DOT = "."
_SPACES = "\u3000"  # the blank of Chinese texts
_FILL = "\0"  # after a character that takes two columns
_GAP = "  "  # between two columns of a table
_HEX = re.compile("([0-9a-f]{2} ?)+")  # bytes, which stay on their line
# A Chinese text may break at each character, but not before a full stop or a closing bracket.
_CLOSING = f"(?:[，。；：？！、）」]{_FILL})"
_WORDS = re.compile(f"( +|[^ {_FILL}]+{_CLOSING}+|[^ {_FILL}]{_FILL}{_CLOSING}*)")
_CONTINUED = " \\"  # ends a line of a command that goes on, as a shell takes it
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")  # a word of a command, which stays whole
_BLANK_IN_WORD = "\x01"
_OF_ONE = {"are": "is", "were": "was", "have": "has", "they": "it", "them": "it"}
_WITH_IES, _WITH_ES = re.compile("[^aeiou]y$"), re.compile("(s|x|o|ch|sh)$")
FIT_COLUMNS = 80
SHOWN_BYTES = 200  # of a key or value in a line of text
GOOD, BAD, DOUBTFUL = "good", "bad", "doubtful"
QUIET, MARKED, HEADING, COMMAND = "quiet", "marked", "heading", "command"
"""What a part may mean, apart from the field that it belongs to. `BAD` is damage alone."""
FIELD_COLOURS = {
    "offset": 32,
    "size": 28,
    "crc": 100,
    "magic": 98,
    "attributes": 243,
    **dict.fromkeys(("key-length", "value-length"), 63),
    **dict.fromkeys(("key", "word", "tail"), 130),
    "value": 30,
    **dict.fromkeys(("relative-offset", "position", "entry"), 64),
}
"""The hue that each kind of field has on pages, of a terminal's 256 colours.

They can be read on white and on black. None is red.
"""


def printable(value: object) -> str:
    r"""Return `str(value)` as one line, special characters escaped.

    >>> print(printable("größe\x1b[2J\n\u202e"))
    größe\x1b[2J\n\u202e
    """
    return _TRICKS.sub(lambda trick: ascii(trick[0])[1:-1], str(value))


def printable_json(document: str) -> str:
    r"""Return an equivalent JSON document, special characters escaped. O(length).

    >>> print(printable_json('{"ключ": "\x9b\u202e"}'))
    {"ключ": "\u009b\u202e"}
    """
    if document.isascii() and "\x7f" not in document:
        return document
    return _TRICKS_IN_JSON.sub(lambda trick: f"\\u{ord(trick[0]):04x}", document)


def printable_bytes(data: bytes) -> bytes:
    r"""Return bytes as text for a terminal; special characters and invalid UTF-8 are escaped.

    >>> print(printable_bytes("größe\x1b[2J".encode() + bytes([255])).decode())
    größe\x1b[2J\xff
    """
    return printable(data.decode("utf-8", "backslashreplace")).encode()


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> columns("key"), columns("中国"), columns("é"), columns("e\u0301")
    (3, 4, 1, 1)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def ascii_cells(data: bytes) -> list[str]:
    """Return one character for each byte: itself if it is printable ASCII, else a dot."""
    return [chr(byte) if 0x20 <= byte < 0x7F else _DOT for byte in data]


def byte_rows(data: bytes, row_bytes: int) -> Iterator[tuple[int, int, str]]:
    """Yield where each row of bytes begins and ends, and in place of a run what is said of it.

    Of a run of equal bytes, all that follow its first row are one row.

    >>> list(byte_rows(b"." * 47 + b"ab", 8))
    [(0, 8, ''), (8, 40, '32 more 0x2e'), (40, 48, ''), (48, 49, '')]
    """
    at = 0
    while at < len(data):
        row = data[at : at + row_bytes]
        yield at, at + len(row), ""
        at += len(row)
        rest = data[at:].lstrip(row[-1:]) if len(set(row)) == 1 else data[at:]
        run = len(data) - at - len(rest)
        run -= run % row_bytes if rest else 0
        if run >= row_bytes:
            yield at, at + run, f"{run} more 0x{row[-1:].hex()}"
            at += run


def text_cells(data: bytes, row_bytes: int, shift: int = 0) -> list[str]:
    """Return for each byte of a text what stands in its column; ASCII only if it is no UTF-8.

    Blanks follow a character that takes fewer columns than bytes, and a character that a row would
    cut stands in the next one. A row has `row_bytes` bytes; the first one has `shift` bytes of
    something else in front. The text may end inside a character: then its first bytes are dots.

    >>> "".join(text_cells("中e国".encode(), 8))
    '中 e国 '
    >>> text_cells("e中".encode(), 2), text_cells(bytes([0xe4, 65]), 8)
    (['e', ' ', '中', ''], ['.', 'A'])
    """
    try:
        text, cut = data.decode(), b""
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return ascii_cells(data)
        text, cut = data[: error.start].decode(), data[error.start :]
    cells: list[str] = []
    for character in text:
        size, width = len(character.encode()), columns(character)
        if not character.isprintable() or not width:
            cells += [_DOT] * size
            continue
        room = row_bytes - (shift + len(cells)) % row_bytes
        blanks = room if room < min(width, size) else 0
        tail = size - blanks - width
        cells += [*" " * blanks, character, *[""] * (width - 1), *" " * tail]
    return [*cells, *[_DOT] * len(cut)]


def shown(data: bytes | None, limit_bytes: int = SHOWN_BYTES) -> str:
    r"""Return a key or value for a line of text: quoted and escaped, shortened if it is long.

    >>> print(shown(b"tab\t, newline\n"), shown("é".encode()), shown(bytes([0, 255])), shown(None))
    "tab\t, newline\n" "é" b'\x00\xff' null
    >>> print(shown(b"abcdef", 4), shown("中文\n".encode()))
    "abcd" … (6 bytes) "中文\n"
    """
    if data is None:
        return "null"
    if len(data) > limit_bytes:
        return f"{shown(_cut_text(data, limit_bytes))} … ({len(data)} bytes)"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return repr(data)
    quoted = json.dumps(text, ensure_ascii=False)
    if text.isprintable():
        return quoted
    return "".join(c if c.isprintable() or c in _SPACES else json.dumps(c)[1:-1] for c in quoted)


def shown_in(data: bytes | None, width: int) -> str:
    r"""Return a key or value as `shown` does, cut further until it takes at most `width` columns.

    Less than what says that it is cut is not possible.

    >>> print(shown_in(b"abcdef", 8), shown_in("中文".encode() * 9, 22))
    "abcdef" "中文中" … (54 bytes)
    """
    whole = shown(data)
    if data is None or columns(whole) <= width:
        return whole
    limits = range(1, min(len(data), SHOWN_BYTES + 1))
    return shown(data, bisect_right(limits, width, key=lambda n: columns(shown(data, n))))


def shown_beside(key: bytes | None, value: bytes | None, width: int) -> tuple[str, str]:
    """Return a key and a value, the wider one cut until both together take `width` columns.

    >>> shown_beside(b"key", b"v" * 99, 30)
    ('"key"', '"vvvvvvvvvv" … (99 bytes)')
    """
    said = shown_in(key, max(width // 2, width - columns(shown(value))))
    return said, shown_in(value, width - columns(said))


def _cut_text(data: bytes, limit_bytes: int) -> bytes:
    """Shorten some bytes, but never inside a UTF-8 character."""
    end = limit_bytes
    while end and limit_bytes - end < 3 and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end]


def count(number: int, singular: str, verb: str = "") -> str:
    """Return a number with its noun, and the verb of which they are the subject.

    >>> count(1, "message"), count(0, "byte"), count(2, "entry"), count(2, "batch")
    ('1 message', '0 bytes', '2 entries', '2 batches')
    >>> count(1, "key", "are"), count(2, "key", "are")
    ('1 key is', '2 keys are')
    """
    return f"{number} {noun(singular, number)} {agreeing(verb, number)}".rstrip()


def noun(singular: str, number: int) -> str:
    """Return a noun as it stands after a number.

    >>> noun("byte", 1), noun("byte", 0)
    ('byte', 'bytes')
    """
    return singular if number == 1 else _with_s(singular)


def agreeing(verb: str, number: int) -> str:
    """Return a verb, or a pronoun, as it stands for so many things; `verb` is its plural.

    >>> agreeing("go", 1), agreeing("differ", 1), agreeing("were", 1), agreeing("go", 0)
    ('goes', 'differs', 'was', 'go')
    >>> agreeing("they", 1), agreeing("them", 2)
    ('it', 'them')
    """
    return verb if number != 1 or not verb else _OF_ONE.get(verb) or _with_s(verb)


def _with_s(word: str) -> str:
    """Return the plural of a noun, or the form of a verb that goes with one thing."""
    if _WITH_IES.search(word):
        return f"{word[:-1]}ies"
    return word + ("es" if _WITH_ES.search(word) else "s")


def numbered(numbers: range, singular: str, verb: str = "") -> str:
    """Return a noun with its numbers in a row, and the verb of which they are the subject.

    >>> numbered(range(5, 6), "byte", "are"), numbered(range(5, 9), "byte", "are")
    ('byte 5 is', 'bytes 5 to 8 are')
    >>> numbered(range(0), "offset")
    'no offset'
    """
    if numbers[1:]:
        return f"{_with_s(singular)} {numbers[0]} to {numbers[-1]} {verb}".rstrip()
    said = f"{singular} {numbers[0]}" if numbers else f"no {singular}"
    return f"{said} {agreeing(verb, 1)}".rstrip()


def offsets(numbers: range, verb: str = "") -> str:
    """Return some offsets in a row, with the verb of which they are the subject.

    >>> offsets(range(5, 6), "were"), offsets(range(5, 9), "were"), offsets(range(5, 6))
    ('offset 5 was', 'offsets 5 to 8 were', 'offset 5')
    """
    return numbered(numbers, "offset", verb)


class _Wrapper(textwrap.TextWrapper):
    wordsep_simple_re = _WORDS


def wrap(text: str, width: int, *, first: str = "", later: str = "") -> list[str]:
    """Return a text as lines of so many columns, broken at blanks: Chinese takes two a character.

    No word is cut, so a line of one long word may be wider.

    >>> wrap("to read 中文", 8, later="  "), wrap("中文。", 4), wrap("a/long/path", 4)
    (['to read', '  中文'], ['中', '文。'], ['a/long/path'])
    """
    wide = text
    if not text.isascii():
        wide = "".join(character.ljust(columns(character), _FILL) for character in text)
    wrapper = _Wrapper(
        max(width, 1),
        initial_indent=first,
        subsequent_indent=later,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_FILL, "") for line in wrapper.wrap(wide) if line.strip(f"{_FILL} ")]


def table(
    headings: Sequence[str], rows: Iterable[Sequence[object]], fit: int | None = FIT_COLUMNS
) -> list[str]:
    """Return the lines of a plain table: numbers to the right, all else to the left; None is -.

    If it is wider than `fit` columns, its cells are wrapped, at blanks. If that does not suffice,
    the last columns of each row stand on lines of their own. Words are never cut.

    >>> print(*table(["segment", "bytes"], [["0", 34], ["16", 5]]), sep="|")
    segment  bytes|0           34|16           5
    """
    return [line for row in table_rows(headings, rows, fit) for line in row]


def table_rows(
    headings: Sequence[str], rows: Iterable[Sequence[object]], fit: int | None = FIT_COLUMNS
) -> list[list[str]]:
    """Return the lines of each row of such a table, the headings first.

    >>> table_rows(["name", "what it means"], [["a", "first of all"]], fit=12)
    [['name  what', '      it', '      means'], ['a     first', '      of all']]
    >>> table_rows(["name", "bytes"], [["a", 5]], fit=8)
    [['name', '  bytes'], ['a', '      5']]
    """
    known = [["-" if cell is None else cell for cell in row] for row in rows]
    body = [[cell if isinstance(cell, int) else printable(cell) for cell in row] for row in known]
    cells = [[str(cell) for cell in row] for row in (headings, *body)]
    is_number = [any(isinstance(row[slot], int) for row in body) for slot in range(len(headings))]
    blocks = [(slots, _fitting(cells, slots, fit)) for slots in _blocks(cells, fit)]
    return [
        [
            f"{_GAP if slots.start else ''}{line}"
            for slots, widths in blocks
            for line in _row_lines(row[slots], widths, is_number[slots])
            if line or not slots.start
        ]
        for row in cells
    ]


def _blocks(rows: Sequence[Sequence[str]], fit: int | None) -> list[slice]:
    """Return which columns stand beside each other; what has no room begins a new block."""
    blocks, start, used = [], 0, -len(_GAP)
    for slot, cells in enumerate(zip(*rows, strict=True)):
        narrowest = max(map(_widest_word, cells)) + len(_GAP)
        if fit is not None and start < slot and used + narrowest > fit:
            blocks.append(slice(start, slot))
            start, used = slot, 0  # a later block is indented
        used += narrowest
    return [*blocks, slice(start, len(rows[0]))]


def _fitting(rows: Sequence[Sequence[str]], slots: slice, fit: int | None) -> list[int]:
    """Return the width of each column: the widest that has blanks is narrowed until all fit."""
    columns_of_cells = list(zip(*(row[slots] for row in rows), strict=True))
    widths = [max(map(columns, cells)) for cells in columns_of_cells]
    narrowest = [max(map(_widest_word, cells)) for cells in columns_of_cells]
    indent = len(_GAP) if slots.start else 0
    while fit is not None and indent + _width(widths) > fit:
        loose = [slot for slot, width in enumerate(widths) if width > narrowest[slot]]
        if not loose:
            break
        widths[max(loose, key=widths.__getitem__)] -= 1
    return widths


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _widest_word(cell: str) -> int:
    if cell.isascii() and (" " not in cell or _HEX.fullmatch(cell)):
        return len(cell)
    return max(map(columns, wrap(cell, 1)), default=0)


def _row_lines(
    cells: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]
) -> Iterator[str]:
    wrapped = [
        wrap(cell, width) if columns(cell) > width else [cell]
        for cell, width in zip(cells, widths, strict=True)
    ]
    for parts in zip_longest(*wrapped, fillvalue=""):
        line = map(_padded, parts, widths, is_number)
        yield _GAP.join(line).rstrip()


def _padded(text: str, width: int, to_the_right: bool) -> str:
    blanks = " " * (width - columns(text))
    return blanks + text if to_the_right else text + blanks


class Span(NamedTuple):
    """Some text, and what it means; nothing in particular if that is empty."""

    text: str
    meaning: str = ""


class StyledText(str):
    """A line made of parts; the parts in order are the whole line."""

    __slots__ = ("parts",)
    parts: tuple[Span, ...]

    def __new__(cls, *parts: Span | str) -> Self:
        """Return the line that these parts make.

        >>> line = StyledText("verdict: ", Span("ok", GOOD))
        >>> line == "verdict: ok", [span.meaning for span in line.parts]
        (True, ['', 'good'])
        """
        whole = tuple(Span(span) if isinstance(span, str) else span for span in parts)
        line = super().__new__(cls, "".join(span.text for span in whole))
        line.parts = whole
        return line


def indented(line: str, indent: str) -> str:
    """Return a line with something in front of it; it keeps what it means.

    >>> indented(StyledText(Span("ok", GOOD)), "  ").parts[1]
    Span(text='ok', meaning='good')
    """
    return StyledText(indent, *line.parts) if isinstance(line, StyledText) else indent + line


def folded(line: StyledText, width: int) -> list[StyledText]:
    r"""Return a line as lines of so many columns, broken at blanks; each part keeps its meaning.

    Later lines are indented. A command goes on after a backslash, so that it can be copied.
    What is in quotes there is one word.

    >>> folded(StyledText("  verdict: all is well"), 16)
    ['  verdict: all', '    is well']
    >>> folded(StyledText(Span("ls a 'b c'", COMMAND)), 6)
    ['ls a \\', "  'b c'"]
    """
    if columns(line) <= width:
        return [line]
    spans = line.parts
    command = next((n for n, span in enumerate(spans) if span.meaning == COMMAND), len(spans))
    command_at = sum(len(span.text) for span in spans[:command])
    indent = " " * (len(line) - len(line.lstrip(" ")))
    room = width - len(_CONTINUED) * (command < len(spans))
    found: list[StyledText] = []
    end = 0
    whole = line[:command_at] + _QUOTED.sub(_held, line[command_at:])
    for held in wrap(whole[len(indent) :], room, first=indent, later=indent + _GAP):
        text = held.replace(_BLANK_IN_WORD, " ")
        words = text.lstrip(" ")
        start = line.index(words, end)
        if command_at < end:
            found[-1] = StyledText(*found[-1].parts, _CONTINUED)
        end = start + len(words)
        found.append(StyledText(text.removesuffix(words), *_cut(spans, start, end)))
    return found or [line]


def _held(quoted: re.Match[str]) -> str:
    return quoted[0].replace(" ", _BLANK_IN_WORD)


def _cut(spans: Iterable[Span], start: int, end: int) -> Iterator[Span]:
    for text, meaning in spans:
        yield Span(text[max(start, 0) : max(end, 0)], meaning)
        start, end = start - len(text), end - len(text)
