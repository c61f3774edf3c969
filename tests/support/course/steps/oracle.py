"""Messages, indexes and rules of Kafka 0.8, by hand: it shares no code with kminilog.

    offset 8, size 4, crc 4, magic 1, attributes 1, key length 4, key, (value length 4), value

In the dialect `documented` there is no value length, and a segment has the name of the last offset
before it. Source: the documents of Kafka 0.8, and S1.
"""

import random
import re
import struct
import zlib
from collections.abc import Iterable
from typing import NamedTuple

_PLURAL_OF_ONE = re.compile(
    r"(?<![\d.,−-])(?<![-−+*=/] )(?<!to )1 "
    r"(of them |[a-z]+ )?(bytes|messages|entries|segments|steps|partitions|are)\b"
)
_RANGE = re.compile(r"(?:[Bb]ytes|offsets) (-?\d+) to (-?\d+)\b")
BOTH = ("documented", "kafka")


def encoded(dialect: str, offset: int, key: bytes | None, value: bytes) -> bytes:
    """Return the bytes of a message."""
    body = b"\0\0" + struct.pack(">i", -1 if key is None else len(key)) + (key or b"")
    body += (struct.pack(">i", len(value)) if dialect == "kafka" else b"") + value
    return struct.pack(">qiI", offset, 4 + len(body), zlib.crc32(body)) + body


def is_whole(dialect: str, data: bytes, at: int) -> bool:
    """Tell if a valid message begins at a byte."""
    if len(data) - at < 22:
        return False
    _, size, crc = struct.unpack_from(">qiI", data, at)
    body = data[at + 16 : at + 12 + size]
    if size < 10 or len(body) != size - 4 or zlib.crc32(body) != crc or body[0]:
        return False
    (key_length,) = struct.unpack_from(">i", body, 2)
    value_at = 6 + max(key_length, 0) + 4 * (dialect == "kafka")
    if key_length < -1 or value_at > len(body):
        return False
    if dialect == "documented":
        return True
    (value_length,) = struct.unpack_from(">i", body, value_at - 4)
    return max(value_length, 0) == len(body) - value_at and value_length >= -1


class Place(NamedTuple):
    """A message in a segment."""

    offset: int
    start: int
    end: int


def places(dialect: str, data: bytes) -> list[Place]:
    """Return the messages from byte 0 on, up to what is none."""
    found, at = [], 0
    while is_whole(dialect, data, at):
        offset, size = struct.unpack_from(">qi", data, at)
        found.append(Place(offset, at, at + 12 + size))
        at += 12 + size
    return found


def first_offset(dialect: str, name: int) -> int:
    """Return the offset with which a segment of this name begins."""
    return name + 1 if dialect == "documented" and name else name


def due(base: int, found: list[Place], interval: int) -> list[tuple[int, int]]:
    """Return the index entries that messages get: relative offset and position."""
    entries, last = [], 0
    for one in found:
        if one.start - last > interval:
            entries.append((one.offset - base, one.start))
            last = one.start
    return entries


def segments(
    dialect: str, sizes: list[int], limit: int
) -> list[tuple[int, list[tuple[int, int, int]]]]:
    """Return each segment by its name, with the offset, start and size of its messages."""
    made: list[tuple[int, list[tuple[int, int, int]]]] = [(0, [])]
    for offset, size in enumerate(sizes):
        name, held = made[-1]
        used = sum(size for *_, size in held)
        next_name = offset - 1 if dialect == "documented" else offset
        if used and used + size > limit and next_name > name:
            made.append((next_name, []))
            used = 0
        made[-1][1].append((offset, used, size))
    return made


def chosen(dialect: str, names: list[int], offset: int) -> int:
    """Return the name of the segment that a search takes, by looking at all of them."""
    below = [n for n in names if (n < offset if dialect == "documented" else n <= offset)]
    return below[-1] if below else names[0]


def numbers(text: str) -> list[int]:
    """Return the whole numbers in a sentence, in order; names of files and algorithms are none."""
    return [int(n.replace(",", "")) for n in re.findall(r"(?<![\w-])-?\d[\d,]*\b(?!\.\w)", text)]


def values(chance: random.Random, count: int, longest: int) -> list[bytes]:
    """Return values to write; short ones and empty ones are among them."""
    return [
        chance.randbytes(chance.choice((0, 1, chance.randint(0, longest)))) for _ in range(count)
    ]


def assert_one_thing_is_one(texts: Iterable[str]) -> None:
    """Assert that what is said of one thing is singular, and that no range has one end."""
    for text in texts:
        assert not _PLURAL_OF_ONE.search(text), text
        for low, high in _RANGE.findall(text):
            assert int(low) < int(high), text
