"""Which key and which value a line of input has.

    --key-separator S    the text before its first occurrence is the key, the rest the value
    --key-regex R        group 1, or else the whole match, is the key; the line is the value
    neither, or no match                         no key; the line is the value
    --null-value TOKEN   a value that is just this is null

Source: ours; Kafka: ConsoleProducer.LineMessageReader.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import click

from kminilog.regex import compile_regex
from kminilog.storage.topics import Topic

_KeyOf = Callable[[bytes], tuple[bytes | None, bytes]]


class Line(NamedTuple):
    """One line of input as a message; `is_cut` if it is too long and was not read to its end."""

    number: int
    key: bytes | None
    value: bytes | None
    is_cut: bool


class LineRule(NamedTuple):
    """How a line becomes a message; none that is longer than `longest_bytes` can be stored."""

    key_of: _KeyOf
    null: bytes | None
    longest_bytes: int

    def messages(self, lines: Iterable[bytes]) -> Iterator[Line]:
        """Yield what lines, without their newlines, are as messages."""
        for number, line in enumerate(lines, 1):
            key, value = self.key_of(line)
            is_cut = len(line) > self.longest_bytes
            yield Line(number, key, None if value == self.null else value, is_cut)


def line_rule(
    topic: Topic, separator: str | None, regex: str | None, null_value: str | None
) -> LineRule:
    """Return the rule for these options; UsageError if they contradict each other or are wrong."""
    null = None if null_value is None else _bytes(null_value)
    left_out = len(_bytes(separator or "")) + len(null or b"")
    return LineRule(
        _key_rule(separator, regex), null, topic.settings.largest_message_bytes + left_out
    )


def _key_rule(separator: str | None, regex: str | None) -> _KeyOf:
    if separator is not None and regex is not None:
        raise click.UsageError("give --key-separator or --key-regex, not both")
    if separator == "":
        raise click.UsageError("--key-separator must not be empty")
    if separator is not None:
        return _by_separator(_bytes(separator))
    if regex is not None:
        return _by_regex(regex)
    return lambda line: (None, line)


def _by_separator(separator: bytes) -> _KeyOf:
    def split(line: bytes) -> tuple[bytes | None, bytes]:
        key, found, value = line.partition(separator)
        return (key, value) if found else (None, line)

    return split


def _by_regex(regex: str) -> _KeyOf:
    pattern = compile_regex(_bytes(regex), "--key-regex")

    def search(line: bytes) -> tuple[bytes | None, bytes]:
        match = pattern.search(line)
        return match and match[1 if pattern.groups else 0], line

    return search


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
