"""Everything that goes to stdout and stderr: JSON, lines of text, keys and values.

Results go to stdout, as UTF-8 whatever the locale; warnings and errors to stderr, one line each.
`--json` prints one document, or an object a line (NDJSON) where the output is a stream. A key or
value is text where its bytes are valid UTF-8, else Base64 under another name; a missing one is
null. Characters that could deceive a terminal are escaped here (text.py), whatever their
origin: a key, a broken settings file, the exception of a plugin. A byte of a file name that is not
UTF-8 is escaped in a sentence, and Base64 in a field of its own (json_fields.py). Only the bytes of
messages go unchanged into a pipe or a file.

    "key": "text"        "key_base64": "/w=="        "key": null        "log_dir_base64": "Yf8="

A `StyledText` has colours if stdout is a terminal and NO_COLOR is not set. Without them it is the
same. On a terminal, lines and tables are as wide as it is; elsewhere a table has 80 columns, and a
line is as long as it is. Scripts depend on that. This module knows no command. Source: ours;
no-color.org.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from kminilog.errors import KMiniLogError, RetriableError, in_words
from kminilog.format.names import TopicPartition
from kminilog.json_fields import strict_json
from kminilog.storage.partition.log_ends import Loss
from kminilog.storage.partition.notices import Gap, OnGap
from kminilog.text import (
    BAD,
    COMMAND,
    DOUBTFUL,
    FIELD_COLOURS,
    FIT_COLUMNS,
    GOOD,
    HEADING,
    MARKED,
    QUIET,
    Span,
    StyledText,
    folded,
    printable,
    printable_json,
    table,
)

_COLOURS = {
    GOOD: "32",
    BAD: "1;31",
    DOUBTFUL: "33",
    QUIET: "2",
    MARKED: "1",
    HEADING: "1",
    COMMAND: "2",
    **{kind: f"38;5;{number}" for kind, number in FIELD_COLOURS.items()},
}
"""The colour of each meaning and of each field, as ANSI terminals number them."""


_HEADINGS = {
    "name": "partition",
    "log_start_offset": "log start",
    "log_end_offset": "log end",
    "message_count": "messages",
    "size_bytes": "bytes",
}
"""What stands above the column of a field, if it is not the field's own name."""


def named(partition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object of a partition with its `name`, such as orders-0."""
    return {**partition, "name": f"{partition['topic']}-{partition['partition']}"}


def write_line(line: str = "") -> None:
    """Write one line of text to stdout; a styled one with colours, where there are any.

    On a terminal it becomes several lines if it is too long.
    """
    if not is_terminal():
        return write_bytes(printable(line).encode())
    spans = line.parts if isinstance(line, StyledText) else (Span(line),)
    shown = StyledText(*(Span(printable(text), meaning) for text, meaning in spans))
    for part in folded(shown, width()):
        write_bytes(("".join(map(_coloured, part.parts)) if is_coloured() else part).encode())
    return None


def width() -> int:
    """Return how many columns lines and tables may have: those of the terminal, else 80."""
    return shutil.get_terminal_size().columns if is_terminal() else FIT_COLUMNS


def clear_screen() -> None:
    """Make the terminal empty, if stdout is one that can: what follows stands at its top."""
    if is_terminal() and os.environ.get("TERM") != "dumb":
        write_bytes(b"\x1b[H\x1b[2J", end=b"")


def is_coloured() -> bool:
    """Tell if stdout is a terminal with colours, and the user has nothing against them."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _coloured(span: Span) -> str:
    colour = _COLOURS.get(span.meaning)
    return f"\x1b[{colour}m{span.text}\x1b[0m" if colour and span.text else span.text


def write_lines(lines: Iterable[str]) -> None:
    """Write lines of text to stdout."""
    for line in lines:
        write_line(line)


def write_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table that is not wider than the terminal to stdout."""
    write_lines(table(headings, rows, width()))


def table_of(records: Iterable[Mapping[str, Any]], *fields: str) -> list[str]:
    """Return the lines of a table of JSON objects: a column for each of these fields."""
    rows = [[record[name] for name in fields] for record in records]
    headings = [_HEADINGS.get(name, name.replace("_", " ")) for name in fields]
    return table(headings, rows, width())


def write_bytes(data: bytes, *, end: bytes = b"\n") -> None:
    """Write some bytes and a newline to stdout, untouched."""
    try:
        sys.stdout.buffer.write(data + end)
    except OSError as error:
        raise _of_stdout(error) from None


def is_terminal() -> bool:
    """Tell if stdout is a terminal, where the bytes of messages are escaped."""
    return sys.stdout.isatty()


def write_document(document: Any) -> None:
    """Write one JSON document, indented."""
    write_bytes(json_bytes(document, indent=2))


def show(document: Any, as_json: bool, view: Callable[[Any], Iterable[str]]) -> None:
    """Write what a command has found out: as JSON, or as the lines that a view makes of it."""
    if as_json:
        write_document(document)
    else:
        write_lines(view(document))


def chapters(*parts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a story in several parts, with an empty line between two of them."""
    for place, part in enumerate(parts):
        if place:
            yield ""
        yield from part


@contextmanager
def failures_told(as_json: bool) -> Iterator[None]:
    """Write an error as a JSON document, too, if JSON is asked for; the error goes on.

    `can_be_tried_again` tells if the same command may succeed later, although nobody changes
    anything.
    """
    try:
        yield
    except (KMiniLogError, OSError) as error:
        if as_json:
            may_pass = isinstance(error, RetriableError)
            write_document({"error": in_words(error), "can_be_tried_again": may_pass})
        raise


def write_record(record: dict[str, Any]) -> None:
    """Write one object of a stream, on one line."""
    write_bytes(json_bytes(record))


def json_bytes(document: Any, *, indent: int | None = None) -> bytes:
    r"""Return JSON as UTF-8, special characters escaped; its meaning is the same.

    Any strict parser reads it: see `strict_json`. Raises ValueError for a number that JSON lacks.

    >>> json_bytes(["\u00e4", "\udcff\x9b"])
    b'["\xc3\xa4", "\\\\udcff\\u009b"]'
    """
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    if not text.isascii() and any("\ud800" <= one <= "\udfff" for one in text):
        return json_bytes(strict_json(document), indent=indent)
    return printable_json(text).encode()


def flush() -> None:
    """Flush stdout; BrokenPipeError if its reader is gone."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise _of_stdout(error) from None


def _of_stdout(error: OSError) -> OSError:
    lose_rest_of(sys.stdout)
    error.filename = error.filename or "stdout"
    return error


def lose_rest_of(stream: TextIO) -> None:
    """Make a stream that has failed take all: its buffer must not fail when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def warn(text: str) -> None:
    """Write one line to stderr, after the name of the program."""
    complain(f"kminilog: {' '.join(text.splitlines())}")


def complain(line: str) -> None:
    """Write one line to stderr, special characters escaped."""
    with suppress(OSError):
        print(printable(line), file=sys.stderr)
    flush_stderr()


def flush_stderr() -> None:
    """Flush stderr; if it refuses, this line and later ones are lost: no result depends on it."""
    try:
        sys.stderr.flush()
    except OSError:
        lose_rest_of(sys.stderr)


def prompt(text: str) -> None:
    """Write to stderr, without a newline, if it is a terminal: somebody types there."""
    if sys.stderr.isatty():
        with suppress(OSError):
            print(text, end="", file=sys.stderr)
        flush_stderr()


def warn_all(texts: Iterable[str]) -> None:
    """Write some lines to stderr."""
    for text in texts:
        warn(text)


class Broken:
    """Takes errors of things that are left out, and what logs have lost; knows the exit code.

    It writes each once.
    """

    def __init__(self) -> None:
        self.exit_code = 0
        self._told: set[str] = set()

    def __call__(self, error: Exception) -> None:
        self._tell(in_words(error), 2)

    def lost(self, loss: Loss) -> None:
        """Take what a log has lost: all else is there, but the answer is not the whole one."""
        self._tell(str(loss), 1)

    def _tell(self, told: str, exit_code: int) -> None:
        if told not in self._told:
            warn(told)
        self._told.add(told)
        self.exit_code = max(self.exit_code, exit_code)


def gap_teller() -> OnGap:
    """Return a callable that writes a line to stderr for each gap, once."""
    told: dict[TopicPartition, int] = {}

    def tell(gap: Gap) -> None:
        if gap.next_offset > told.get(gap.topic_partition, 0):
            told[gap.topic_partition] = gap.next_offset
            warn(str(gap))

    return tell
