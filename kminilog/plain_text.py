"""Numbers, keys, values and tables as plain text for people, whoever prints it.

All of it may come from a message, so characters that could deceive a terminal are escaped. Source:
ours.
"""

import json
import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from kminilog.byte_text import columns
from kminilog.printable import printable

_SPACES = "\u3000"  # the blank of Chinese texts
_FILL = "\0"  # after a character that takes two columns
_GAP = "  "  # between two columns of a table
_HEX = re.compile("([0-9a-f]{2} ?)+")  # bytes, which stay on their line
_OF_ONE = {"are": "is", "were": "was", "have": "has"}
FIT_COLUMNS = 80
SHOWN_BYTES = 200  # of a key or value in a line of text


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


def count(number: int, singular: str) -> str:
    """Return a number with its noun.

    >>> count(1, "message"), count(0, "byte"), count(2, "entry")
    ('1 message', '0 bytes', '2 entries')
    """
    plural = singular[:-1] + "ies" if singular.endswith("y") else singular + "s"
    return f"{number} {singular if number == 1 else plural}"


def offsets(numbers: range, verb: str = "") -> str:
    """Return some offsets in a row, with the verb of which they are the subject.

    >>> offsets(range(5, 6), "were"), offsets(range(5, 9), "were"), offsets(range(5, 6))
    ('offset 5 was', 'offsets 5 to 8 were', 'offset 5')
    """
    if len(numbers) == 1:
        return f"offset {numbers[0]} {_OF_ONE.get(verb, verb)}".rstrip()
    return f"offsets {numbers.start} to {numbers.stop - 1} {verb}".rstrip()


def wrap(
    text: str, width: int, *, first: str = "", later: str = "", cuts_words: bool = True
) -> list[str]:
    """Return a text as lines of so many columns, as textwrap does: Chinese takes two a character.

    >>> wrap("to read 中文", 8, later="  ")
    ['to read', '  中文']
    """
    wide = "".join(character.ljust(columns(character), _FILL) for character in text)
    lines = textwrap.wrap(
        wide,
        width - (wide != text),  # a long word may be cut in front of a fill
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=cuts_words,
        break_on_hyphens=cuts_words,
    )
    return [line.replace(_FILL, "") for line in lines if line.strip(f"{_FILL} ")]


def table(
    headings: Sequence[str], rows: Iterable[Sequence[object]], fit: int | None = FIT_COLUMNS
) -> list[str]:
    """Return the lines of a plain table: numbers to the right, all else to the left.

    Its cells are wrapped, at blanks, if it is wider than `fit` columns. Words are never cut, so it
    may stay wider.

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
    """
    body = [[c if isinstance(c, int) else printable(c) for c in row] for row in rows]
    cells = [[str(cell) for cell in row] for row in (headings, *body)]
    is_number = [any(isinstance(row[slot], int) for row in body) for slot in range(len(headings))]
    widths = _fitting(cells, fit)
    return [list(_row_lines(row, widths, is_number)) for row in cells]


def _fitting(rows: Sequence[Sequence[str]], fit: int | None) -> list[int]:
    """Return the width of each column: the widest that has blanks is narrowed until all fit."""
    columns_of_cells = list(zip(*rows, strict=True))
    widths = [max(map(columns, cells)) for cells in columns_of_cells]
    narrowest = [max(map(_widest_word, cells)) for cells in columns_of_cells]
    while fit is not None and _width(widths) > fit:
        loose = [slot for slot, width in enumerate(widths) if width > narrowest[slot]]
        if not loose:
            break
        widths[max(loose, key=widths.__getitem__)] -= 1
    return widths


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _widest_word(cell: str) -> int:
    words = [cell] if _HEX.fullmatch(cell) else cell.split(" ")
    return max(map(columns, words))


def _row_lines(
    cells: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]
) -> Iterator[str]:
    wrapped = [
        _wrapped(cell, width) if columns(cell) > width else [cell]
        for cell, width in zip(cells, widths, strict=True)
    ]
    for parts in zip_longest(*wrapped, fillvalue=""):
        line = map(_padded, parts, widths, is_number)
        yield _GAP.join(line).rstrip()


def _wrapped(cell: str, width: int) -> list[str]:
    lines = [""]
    for word in cell.split(" "):
        if lines[-1] and columns(lines[-1]) + 1 + columns(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def _padded(text: str, width: int, to_the_right: bool) -> str:
    blanks = " " * (width - columns(text))
    return blanks + text if to_the_right else text + blanks
