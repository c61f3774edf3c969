r"""One record as `consume` writes it: its value, key TAB value, JSON, or a format of the user's.

A format has kcat's letters, and ends a line only where it says `\n`:

    %t topic    %p partition    %o offset    %k key    %s value    %K, %S their lengths; -1: null
    %R length of the value as 4 bytes, big-endian      %% a percent sign
    \n newline    \t tab    \r carriage return    \0 zero byte    \\ backslash    \xHH any byte

A null key or value is written as `null` in all forms of text. Source: kcat (-f).
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

from kminilog.cli.shared.message_fields import KeyAndValue
from kminilog.cli.shared.options import unescaped
from kminilog.cli.shared.output import write_bytes, write_record
from kminilog.consumer.interface import ConsumerRecord
from kminilog.json_fields import bytes_field
from kminilog.text import printable_bytes

WriteRecord = Callable[[ConsumerRecord], None]
Part = Callable[[Any], bytes]
Letters = Mapping[str, Part]

_TOKEN = re.compile(r"%(.?)|([^%]+)", re.DOTALL)
_NOT_STORED = {"T": "time", "h": "headers"}
_NULL = b"null"
NO_MORE: Letters = MappingProxyType({})


def text_writer(*, has_key: bool, is_escaping: bool) -> Callable[[KeyAndValue], None]:
    """Return a function that writes the value, or key TAB value, and a newline."""
    shown = _shown(is_escaping)

    def write(record: KeyAndValue) -> None:
        parts = (record.key, record.value) if has_key else (record.value,)
        write_bytes(b"\t".join(map(shown, parts)))

    return write


def format_writer(
    text: str, *, is_escaping: bool, more: Letters = NO_MORE
) -> Callable[[Any], None]:
    """Return a function that writes a record in this format; ValueError for a wrong one.

    `more` are letters for what other records have.
    """
    parts = _parts(text, _shown(is_escaping), more)

    def write(record: Any) -> None:
        write_bytes(b"".join(part(record) for part in parts), end=b"")

    return write


def check_format(text: str, more: Letters = NO_MORE) -> str:
    r"""Return a format as it is; ValueError if it is none.

    >>> check_format("%k: %s\\n")
    '%k: %s\\n'
    >>> check_format("%T")
    Traceback (most recent call last):
    ...
    ValueError: %T: messages have no time in this format (version 0)
    """
    _parts(text, _shown(False), more)
    return text


def _parts(text: str, shown: Callable[[bytes | None], bytes], more: Letters) -> list[Part]:
    if not text:
        raise ValueError("it is empty: write letters such as '%k: %s\\n'")
    letters: dict[str, Part] = {
        "t": lambda record: record.topic.encode(),
        "p": lambda record: b"%d" % record.partition,
        "o": lambda record: b"%d" % record.offset,
        "k": lambda record: shown(record.key),
        "s": lambda record: shown(record.value),
        "K": lambda record: b"%d" % _length(record.key),
        "S": lambda record: b"%d" % _length(record.value),
        "R": lambda record: _length(record.value).to_bytes(4, "big", signed=True),
        **more,
    }
    parts: list[Part] = []
    for token in _TOKEN.finditer(text):
        letter, literal = token.groups()
        if literal is not None or letter == "%":
            parts.append(partial(_same, unescaped(literal or "%")))
        elif letter in letters:
            parts.append(letters[letter])
        else:
            _refuse(token[0], letter, letters)
    return parts


def _refuse(token: str, letter: str, letters: Letters) -> NoReturn:
    if letter in _NOT_STORED:
        what = _NOT_STORED[letter]
        raise ValueError(f"{token}: messages have no {what} in this format (version 0)")
    known = " ".join(f"%{one}" for one in letters)
    raise ValueError(f"{token}: the letters are {known}, and %% is a percent sign")


def _same(data: bytes, record: ConsumerRecord) -> bytes:
    return data


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _shown(is_escaping: bool) -> Callable[[bytes | None], bytes]:
    def shown(data: bytes | None) -> bytes:
        if data is None:
            return _NULL
        return printable_bytes(data) if is_escaping else data

    return shown


def write_json(record: ConsumerRecord) -> None:
    """Write a record as one JSON object."""
    fields = {**bytes_field("key", record.key), **bytes_field("value", record.value)}
    place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    write_record({**place, **fields})
