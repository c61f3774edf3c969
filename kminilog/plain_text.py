"""Numbers, keys, values and tables as plain text for people, whoever prints it.

All of it may come from a message, so characters that could deceive a terminal are escaped. Source:
ours.
"""

import json
from collections.abc import Iterable, Sequence

from kminilog.byte_text import columns
from kminilog.printable import printable

_SPACES = "\u3000"  # the blank of Chinese texts
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


def _cut_text(data: bytes, limit_bytes: int) -> bytes:
    """Shorten some bytes, but never inside a UTF-8 character."""
    end = limit_bytes
    while limit_bytes - end < 3 and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end]


def count(number: int, singular: str) -> str:
    """Return a number with its noun.

    >>> count(1, "message"), count(0, "byte"), count(2, "entry")
    ('1 message', '0 bytes', '2 entries')
    """
    plural = singular[:-1] + "ies" if singular.endswith("y") else singular + "s"
    return f"{number} {singular if number == 1 else plural}"


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a plain table: numbers to the right, all else to the left.

    >>> print(*table(["segment", "bytes"], [["0", 34], ["16", 5]]), sep="|")
    segment  bytes|0           34|16           5
    """
    body = [[c if isinstance(c, int) else printable(c) for c in row] for row in rows]
    widths = [
        max(columns(str(cell)) for cell in column) for column in zip(headings, *body, strict=True)
    ]
    is_number = [any(isinstance(row[slot], int) for row in body) for slot in range(len(headings))]

    def line(cells: Sequence[object]) -> str:
        padded = (
            _padded(str(cell), width, right)
            for cell, width, right in zip(cells, widths, is_number, strict=True)
        )
        return "  ".join(padded).rstrip()

    return [line(row) for row in (headings, *body)]


def _padded(text: str, width: int, to_the_right: bool) -> str:
    blanks = " " * (width - columns(text))
    return blanks + text if to_the_right else text + blanks
