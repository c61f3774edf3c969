"""A record beside its message, as lines of text; what differs is marked below.

    key    both     "alice"
    value  source   "order 13 of alice"
                           ^
           message  "order 17 of alice"
                           ^

It uses only what `verify --json` prints. What could deceive a terminal is escaped. Source: ours.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kminilog.text import BAD, QUIET, Span, StyledText, columns, count, printable
from kminilog.verification.both_sides import Excerpt

SIDES = (("source_record", "source"), ("message", "message"))
FIELDS = ("key", "value")
_LINE_BYTES = 36  # of a key or value, so that a line fits 80 columns
_MORE = "… "
_NO_TEXT = re.compile("[\udc80-\udcff]")  # Python's words for bytes that are no UTF-8


def sides_of(sample: Mapping[str, Any], name: str) -> list[tuple[str, Excerpt]]:
    """Return a field, by its name, of each side that a sample has; of "both" if they are equal."""
    found = [
        (word, Excerpt.from_json(sample[side], name)) for side, word in SIDES if sample.get(side)
    ]
    if len(found) == 2 and found[0][1] == found[1][1]:
        return [("both", found[0][1])]
    return found


def escaped_parts(excerpt: Excerpt) -> list[str]:
    r"""Return its parts as text, escaped: in front of what differs, what differs, and after it.

    >>> escaped_parts(Excerpt(b"a\tb", 3, 0, (1, 2))), escaped_parts(Excerpt(bytes([255]), 1))
    (['a', '\\t', 'b'], ['\\xff', '', ''])
    """
    quoted = (
        json.dumps(part.decode("utf-8", "surrogateescape"), ensure_ascii=False)
        for part in excerpt.parts
    )
    return [printable(_NO_TEXT.sub(_as_hex, text[1:-1])) for text in quoted]


def side_lines(sample: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Yield these lines for a sample; none if it has neither side."""
    for name in FIELDS:
        head = name
        for side, excerpt in sides_of(sample, name):
            yield from _lines(f"{indent}{head:5}  {side:7}  ", excerpt)
            head = ""
    if sample.get("not_shown"):
        yield f"{indent}{printable(sample['not_shown'])}"


def _lines(head: str, whole: Excerpt) -> Iterator[str]:
    if whole.data is None:
        yield f"{head}null"
        return
    excerpt = whole.shortened(_LINE_BYTES)
    front, marked, behind = escaped_parts(excerpt)
    opening = f'{_MORE if excerpt.is_cut_in_front else ""}"'
    closing = f'"{" …" if excerpt.is_cut_behind else ""}'
    size = ""
    if excerpt.is_cut_in_front or excerpt.is_cut_behind:
        size = f" ({count(excerpt.size_bytes, 'byte')})"
    yield StyledText(Span(head, QUIET), opening + front, Span(marked, BAD), behind + closing + size)
    if excerpt.differs is not None:
        yield " " * columns(head + opening + front) + "^" * max(columns(marked), 1)


def _as_hex(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]) - 0xDC00:02x}"
