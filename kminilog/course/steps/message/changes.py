"""Every one-byte change of a message, and which check notices it.

    the file ends after the message      34 bytes: 34 * 255 changes
    letter                               s  valid: no check of the message notices it
                                         n  unfinished: more bytes are needed
                                         l, m, c  bad-length, bad-magic, bad-crc

The engine judges each change by `decode`. Its answer is the first check that fails: size, magic,
lengths, crc. Kafka 0.8.2 asks the crc directly after the size and knows no check of the other
fields; `letter_by_crc` gives the answer in that order. Source: ours; Kafka 0.8.2: Message.isValid.
"""

from collections import Counter
from typing import NamedTuple
from zlib import crc32

from kminilog.course.steps.layout import Part, split_fields
from kminilog.format.dialect import Dialect
from kminilog.format.message import (
    CRC_END,
    SIZE_END,
    CorruptMessage,
    Fault,
    Message,
    NeedMoreBytes,
    decode,
)

UNCHANGED, SOUND, UNFINISHED = "=", "s", "n"
MEANINGS = {
    UNCHANGED: "unchanged",
    SOUND: "a valid message",
    UNFINISHED: "unfinished",
    "l": Fault.BAD_LENGTH.value,
    "m": Fault.BAD_MAGIC.value,
    "c": Fault.BAD_CRC.value,
}
_LETTERS = {meaning: letter for letter, meaning in MEANINGS.items()}


class Change(NamedTuple):
    """One byte of a message gets another value; `letter` says who notices."""

    at: int
    old: int
    new: int
    letter: str


def change(data: bytes, at: int, new: int) -> bytes:
    """Return the bytes with one of them changed.

    >>> change(b"abc", 1, 0x42)
    b'aBc'
    """
    return data[:at] + bytes([new]) + data[at + 1 :]


def letter(dialect: Dialect, data: bytes) -> str:
    """Return the letter for what the engine says of the bytes of one message."""
    outcome = decode(dialect, data)
    if isinstance(outcome, Message):
        return SOUND
    return UNFINISHED if isinstance(outcome, NeedMoreBytes) else _LETTERS[outcome.fault.value]


def letter_by_crc(dialect: Dialect, data: bytes) -> str:
    """Return the letter if the crc is asked as soon as the size is possible.

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> changed = change(encode(KAFKA, 0, None, b"v"), 16, 1)  # the magic
    >>> letter(KAFKA, changed), letter_by_crc(KAFKA, changed)
    ('m', 'c')
    """
    outcome = decode(dialect, data)
    smallest_bytes = SIZE_END + dialect.overhead_bytes
    if isinstance(outcome, CorruptMessage) and outcome.length_bytes >= smallest_bytes:
        stored = int.from_bytes(data[SIZE_END:CRC_END])
        if crc32(data[CRC_END : outcome.length_bytes]) != stored:
            return _LETTERS[Fault.BAD_CRC.value]
    return letter(dialect, data)


def all_letters(dialect: Dialect, data: bytes, *, by_crc: bool = False) -> tuple[str, ...]:
    """Return 256 letters for each byte: what happens if it had that value; O(bytes * 256).

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> all_letters(KAFKA, encode(KAFKA, 0, None, b"v"))[7][:5]
    '=ssss'
    """
    judge = letter_by_crc if by_crc else letter
    return tuple(
        "".join(
            UNCHANGED if new == old else judge(dialect, change(data, at, new)) for new in range(256)
        )
        for at, old in enumerate(data)
    )


def counts(part: Part, letters: tuple[str, ...]) -> Counter[str]:
    """Return how many changes of a field have which letter."""
    found = Counter("".join(letters[part.start : part.start + len(part.data)]))
    del found[UNCHANGED]
    return found


def examples(dialect: Dialect, data: bytes, letters: tuple[str, ...]) -> list[tuple[str, Change]]:
    """Return for each field one change of each letter that it has: the smallest, at its end."""
    found = []
    for part in split_fields(dialect, data):
        for wanted in sorted(counts(part, letters), key="snlmc".index):
            places = range(part.start, part.start + len(part.data))
            found.append((part.name, _nearest(data, places, letters, wanted)))
    return found


def _nearest(data: bytes, places: range, letters: tuple[str, ...], wanted: str) -> Change:
    at, new = min(
        ((at, new) for at in places for new in range(256) if letters[at][new] == wanted),
        key=lambda found: (-found[0], abs(found[1] - data[found[0]])),
    )
    return Change(at, data[at], new, wanted)


def own_change(dialect: Dialect, data: bytes, at: int | None, new: int | None) -> Change:
    """Return a change that a user has asked for; without `new`, the byte gets the next value.

    Raises ValueError if there is no such byte, or if nothing would change.
    """
    if at is None:
        raise ValueError("a new value, but for which byte? say which one to change")
    if not 0 <= at < len(data):
        raise ValueError(f"no byte {at}: the message has bytes 0 to {len(data) - 1}")
    old = data[at]
    new = (old + 1) % 256 if new is None else new
    if new == old:
        raise ValueError(f"byte {at} is {old:02x} already: give another value")
    return Change(at, old, new, letter(dialect, change(data, at, new)))


def field_at(parts: list[Part], at: int) -> str:
    """Return the name of the field that a byte belongs to."""
    return next(part.name for part in parts if at < part.start + len(part.data))
