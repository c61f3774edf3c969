r"""A line of text that knows what its parts mean: which field, good or bad, looked at now.

    offset 7, byte 32: DAMAGED, bad-crc ...
           ^                    ^
           offset               bad

It is a `str`, and is printed as one wherever there is no colour. Whoever writes to a terminal may
give each meaning a colour. Source: ours.
"""

from typing import NamedTuple, Self

GOOD, BAD, DOUBTFUL = "good", "bad", "doubtful"
QUIET, MARKED, HEADING = "quiet", "marked", "heading"
"""What a part may mean, apart from the field that it belongs to: offset, key-length and others."""


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
