"""Which key and which value a line of input has.

    --key-separator S    the text before its first occurrence is the key, the rest the value
    --key-regex R        group 1, or else the whole match, is the key; the line is the value
    neither, or no match                         no key; the line is the value; if that is so for
                                                 all lines, it is told once for a separator
    --null-value TOKEN   a value that is just this is null

Source: ours; Kafka: ConsoleProducer.LineMessageReader.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import click

from kminilog.cli.shared.output import warn
from kminilog.regex import compile_regex
from kminilog.storage.topics import Topic
from kminilog.text import printable_bytes

_KeyOf = Callable[[bytes], tuple[bytes | None, bytes]]


class LineMessage(NamedTuple):
    """One line of input as a message; `is_cut` if it is too long and was not read to its end."""

    number: int
    key: bytes | None
    value: bytes | None
    is_cut: bool


class LineRule(NamedTuple):
    """How a line becomes a message; none that is longer than `longest_bytes` can be stored."""

    key_of: _KeyOf
    separator: bytes | None
    null: bytes | None
    longest_bytes: int

    def messages(self, lines: Iterable[bytes], source: str) -> Iterator[LineMessage]:
        """Yield what lines, without their newlines, are as messages.

        Tells at the end, with the name of their source, if none of them had the separator.
        """
        number, has_key = 0, False
        for number, line in enumerate(lines, 1):
            key, value = self.key_of(line)
            has_key = has_key or key is not None
            is_cut = len(line) > self.longest_bytes
            yield LineMessage(number, key, None if value == self.null else value, is_cut)
        if self.separator and number and not has_key:
            shown = printable_bytes(self.separator).decode()
            warn(f"{source}: no line has the separator '{shown}', so no message has a key")


def line_rule(
    topic: Topic, separator: bytes | None, regex: str | None, null_value: str | None
) -> LineRule:
    """Return the rule for these options; UsageError if they contradict each other or are wrong."""
    null = None if null_value is None else _bytes(null_value)
    longest_bytes = topic.settings.largest_message_bytes + len(separator or b"") + len(null or b"")
    return LineRule(_key_rule(separator, regex), separator, null, longest_bytes)


def _key_rule(separator: bytes | None, regex: str | None) -> _KeyOf:
    if separator is not None and regex is not None:
        raise click.UsageError("give --key-separator or --key-regex, not both")
    if separator is not None:
        return _by_separator(separator)
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
