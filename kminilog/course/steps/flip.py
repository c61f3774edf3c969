"""`step flip`: one byte of a message is changed, and who notices?

    alone      decode            valid, unfinished, bad-length, bad-magic or bad-crc
    in a log   check_segment     what `verify` finds, with two messages after the changed one

    the file ends after the message      34 bytes: 34 * 255 changes
    letter                               s  valid: no check of the message notices it
                                         n  unfinished: more bytes are needed
                                         l, m, c  bad-length, bad-magic, bad-crc

All changes of one byte are decoded, and their outcomes go with the document, so that a viewer can
show any of them. The answer of `decode` is the first check that fails: size, magic, lengths, crc.
Kafka 0.8.2 asks the crc directly after the size and knows no check of the other fields;
`letter_by_crc` gives the answer in that order. A temporary directory holds the log. Source: S1 5.2;
ours; Kafka 0.8.2: Message.isValid.
"""

from collections import Counter
from typing import NamedTuple
from zlib import crc32

from kminilog.course.steps.temporary_partition import temporary_log
from kminilog.explain.document import ByteRange, Document, Table, Value, WhatIf
from kminilog.explain.field_layout import FieldBytes, message_fields, split_fields
from kminilog.explain.recording import Recording, ask
from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.message import (
    CRC_END,
    SIZE_END,
    CorruptMessage,
    Fault,
    Message,
    NeedMoreBytes,
    Outcome,
    decode,
    encode,
    is_next_message,
)
from kminilog.settings import TopicSettings
from kminilog.text import agreeing, count, shown
from kminilog.verification.segment_checks import check_segment

# ---- every change, and what the checks of a message say


UNCHANGED, VALID, UNFINISHED = "=", "s", "n"
MEANINGS = {
    UNCHANGED: "unchanged",
    VALID: "a valid message",
    UNFINISHED: "unfinished",
    "l": Fault.BAD_LENGTH.value,
    "m": Fault.BAD_MAGIC.value,
    "c": Fault.BAD_CRC.value,
}
_LETTERS = {meaning: letter for letter, meaning in MEANINGS.items()}


class ByteChange(NamedTuple):
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
        return VALID
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


def counts(part: FieldBytes, letters: tuple[str, ...]) -> Counter[str]:
    """Return how many changes of a field have which letter."""
    found = Counter("".join(letters[part.start : part.start + len(part.data)]))
    del found[UNCHANGED]
    return found


def examples(
    dialect: Dialect, data: bytes, letters: tuple[str, ...]
) -> list[tuple[str, ByteChange]]:
    """Return for each field one change of each letter that it has: the smallest, at its end."""
    found = []
    for part in split_fields(dialect, data):
        for wanted in sorted(counts(part, letters), key="snlmc".index):
            places = range(part.start, part.start + len(part.data))
            found.append((part.name, _nearest(data, places, letters, wanted)))
    return found


def _nearest(data: bytes, places: range, letters: tuple[str, ...], wanted: str) -> ByteChange:
    at, new = min(
        ((at, new) for at in places for new in range(256) if letters[at][new] == wanted),
        key=lambda found: (-found[0], abs(found[1] - data[found[0]])),
    )
    return ByteChange(at, data[at], new, wanted)


def own_change(dialect: Dialect, data: bytes, at: int | None, new: int | None) -> ByteChange:
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
    return ByteChange(at, old, new, letter(dialect, change(data, at, new)))


def field_at(parts: list[FieldBytes], at: int) -> str:
    """Return the name of the field that a byte belongs to."""
    return next(part.name for part in parts if at < part.start + len(part.data))


# ---- the steps


MAX_MESSAGE_BYTES = 256
_FILE, _OWN = "message", "your change"
_BEHIND = ((None, b"next"), (None, b"last"))
_ANSWERS = {code: meaning for code, meaning in MEANINGS.items() if code != UNCHANGED}

_SHORT = {**_ANSWERS, VALID: "unnoticed"}

_SAY_FIELD = {
    "offset": "No check of a message covers the offset.",
    "size": "The size says where the message ends, and it is needed before the CRC can be "
    "computed. The CRC does not cover it.",
    "crc": "Here only the CRC is wrong. A reader cannot know if the CRC is wrong or the bytes "
    "after it.",
    "magic": "The magic is the version of the format. Only version 0 is known.",
    "attributes": "The attributes name the codec of a compressed message.",
    "key length": "The key length says where the key ends.",
    "value length": "The value length must reach exactly to the end of the message.",
    "key": "Any bytes can be a key, so only the CRC can show the change.",
    "value": "Any bytes can be a value, so only the CRC can show the change.",
}
_SAY_LETTER = {
    VALID: "The engine reads a valid message. A reader of this message alone cannot notice the "
    "change.",
    UNFINISHED: "The engine needs more bytes. This looks like a message that was not written to "
    "its end, a torn tail.",
    "l": "The lengths are not possible.",
    "m": "The engine knows no such version.",
    "c": "The CRC does not match.",
}
# The wrong answers of each question, with the thought that leads to each.
_THOUGHTS = {
    ("offset", VALID): {
        "c": "The CRC covers the bytes after it, from the magic on. The offset stands before it.",
        "l": "The lengths have not changed.",
        UNFINISHED: "The size has not changed, and all of these bytes are there.",
    },
    ("size", UNFINISHED): {
        "c": "The CRC is computed over as many bytes as the size says. One of them is not there.",
        "l": "This size is possible if more bytes follow.",
        VALID: "The size says where the message ends, and its last byte is not there.",
    },
    ("magic", "m"): {
        "c": "The CRC does not match either. But the engine checks the version first, because "
        "another version may have its CRC in another place.",
        VALID: "A reader must not guess how to read a version that it does not know.",
        "l": "The lengths have not changed.",
    },
}


class _Flipped(NamedTuple):
    """The message of a step-through, the letters of all its changes, and its fields."""

    dialect: Dialect
    key: bytes | None
    value: bytes
    data: bytes
    letters: tuple[str, ...]
    parts: list[FieldBytes]


def findings(
    dialect: Dialect, key: bytes | None, value: bytes, at: int, new: int
) -> list[tuple[str, str]]:
    """Return what `verify` finds in a log whose first message has this byte changed.

    >>> findings(KAFKA, None, b"v", 7, 9)
    [('offset-disorder', 'offset 9, expected 0')]
    """
    with temporary_log(dialect, TopicSettings()) as log:
        log.append([(key, value), *_BEHIND])
        segment = log.segments()[0]
        segment.log_path.write_bytes(change(segment.log_path.read_bytes(), at, new))
        found = check_segment(log.topic_partition, segment).findings
        return [(one.kind.value, one.detail) for one in found]


def document(
    dialect: Dialect = KAFKA,
    key: bytes | None = None,
    value: bytes = b"message1",
    at: int | None = None,
    new: int | None = None,
) -> Document:
    """Return the step-through for a message; `at` and `new` are a change of the user's own.

    Without `new`, the byte gets the next value. Raises ValueError for a message of more than
    MAX_MESSAGE_BYTES, and for a change that is none.
    """
    data = encode(dialect, 0, key, value)
    if len(data) > MAX_MESSAGE_BYTES:
        raise ValueError(
            f"the message has {len(data)} bytes, and every change of at most "
            f"{MAX_MESSAGE_BYTES} is tried: give a shorter key or value"
        )
    letters = all_letters(dialect, data)
    flipped = _Flipped(dialect, key, value, data, letters, split_fields(dialect, data))
    recording = Recording("flip", "Which check notices that one byte has changed")
    recording.file(_FILE, data, message_fields(_FILE, dialect, 0, data))
    recording.what_if = WhatIf(_FILE, letters, MEANINGS)
    recording.step(
        f"The message has {len(data)} bytes. Each byte has 255 other values, so there are "
        f"{len(data)} * 255 = {len(data) * 255:,} ways to change one byte. The engine decodes the "
        "message after each of these changes.",
        focus=[ByteRange(_FILE, 0, len(data))],
        values={"key": shown(key, 40), "value": shown(value, 40), "bytes": len(data)},
    )
    if at is not None or new is not None:
        own = own_change(dialect, data, at, new)
        _say_change(recording, flipped, _OWN, field_at(flipped.parts, own.at), own)
    for name, one in examples(dialect, data, letters):
        _say_change(recording, flipped, f"{name}: {_ANSWERS[one.letter]}", name, one)
    _say_totals(recording, flipped)
    return recording.document()


def _say_change(
    recording: Recording, flipped: _Flipped, file: str, field: str, one: ByteChange
) -> None:
    changed = change(flipped.data, one.at, one.new)
    recording.file(file, changed, message_fields(file, flipped.dialect, 0, changed))
    recording.damaged = [ByteRange(file, one.at, one.at + 1)]
    what = f"Byte {one.at}, in the {field}, changes from {one.old:02x} to {one.new:02x}"
    answer = _ANSWERS[one.letter]
    thoughts = _THOUGHTS.get((field, one.letter), {}) if file != _OWN else {}
    question = ask(
        f"{what}. What does the engine say of this message?",
        answer,
        _SAY_LETTER[one.letter],
        {_ANSWERS[code]: thought for code, thought in thoughts.items()},
    )
    found = findings(flipped.dialect, flipped.key, flipped.value, one.at, one.new)
    values: dict[str, Value] = {
        "engine": answer,
        "because": _because(decode(flipped.dialect, changed), len(changed)),
        "verify, in a log": "; ".join(": ".join(each) for each in found) or "nothing",
    }
    recording.step(
        f"{what}. {_SAY_FIELD[field]} {_SAY_LETTER[one.letter]}",
        ask=question if thoughts else None,
        focus=recording.damaged,
        values=values,
    )
    recording.hide(file)


def _because(outcome: Outcome, available_bytes: int) -> str:
    if isinstance(outcome, Message):
        return f"its offset is {outcome.offset}, and every check passes"
    if isinstance(outcome, NeedMoreBytes):
        needed = count(outcome.needed_bytes, "byte", "are")
        return f"{needed} needed, {available_bytes} {agreeing('are', available_bytes)} there"
    return outcome.detail


def _say_totals(recording: Recording, flipped: _Flipped) -> None:
    by_field = {part.name: counts(part, flipped.letters) for part in flipped.parts}
    total = sum(by_field.values(), Counter[str]())
    changes = len(flipped.data) * 255
    unnoticed = by_field["offset"][VALID]
    are_others = total[VALID] > unnoticed  # a shorter message with the same CRC
    these = f"Of these, {unnoticed:,} are changes" if are_others else "These are the changes"
    question = ask(
        f"Of all {changes:,} changes, how many does no check of the message notice?",
        f"{total[VALID]:,}",
        f"All 8 * 255 changes of the offset{', and those of the size' if are_others else ''}.",
        {
            "0": "The CRC detects every change of a byte that it covers. It does not cover all "
            "bytes.",
            "1,020": "4 * 255 is a field of four bytes. The offset has eight.",
            "3,060": "That counts offset and size, which the CRC does not cover. But with a wrong "
            "size the message ends at a wrong byte, and a check notices that.",
        },
    )
    columns = ("field", "changes", *(_SHORT[code] for code in _ANSWERS))
    rows: list[tuple[Value, ...]] = [
        (name, sum(found.values()), *(found[code] for code in _ANSWERS))
        for name, found in by_field.items()
    ]
    rows.append(("all", changes, *(total[code] for code in _ANSWERS)))
    values: dict[str, Value] = {"changes": changes}
    values.update((meaning, total[code]) for code, meaning in _ANSWERS.items())
    recording.step(
        f"Of {changes:,} changes, the checks of a message notice all but {total[VALID]:,}. "
        f"{these} of the offset. The engine checks size, magic, lengths and CRC, in this "
        "order. It names the first one that is wrong.",
        ask=question,
        values=values,
        tables=[Table("What the engine says", columns, tuple(rows), (0, len(rows) - 1))],
    )
    _say_by_crc(recording, flipped, values)
    _say_offset(recording, flipped, values)


def _say_by_crc(recording: Recording, flipped: _Flipped, values: dict[str, Value]) -> None:
    letters = all_letters(flipped.dialect, flipped.data, by_crc=True)
    by_field = {part.name: counts(part, letters) for part in flipped.parts}
    groups = {name: by_field.pop(name) for name in ("offset", "size")}
    groups["all after"] = sum(by_field.values(), Counter[str]())
    shown_codes = [code for code in _ANSWERS if code != "m"]
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (name, sum(found.values()), *(found[code] for code in shown_codes))
        for name, found in groups.items()
    )
    columns = ("field", "changes", *(_SHORT[code] for code in shown_codes))
    recording.step(
        "Kafka 0.8.2 checks the CRC directly after the size. Then every change after the size is "
        "a bad CRC, because a CRC-32 detects every change within 32 bits. So the CRC covers the "
        "version and the lengths, too. Our engine only checks them first.",
        values=values,
        tables=[Table("If the CRC is checked directly after the size", columns, rows, (2,))],
    )
    unfinished = groups["size"][UNFINISHED]
    recording.step(
        f"{unfinished:,} of {4 * 255:,} changes of the size look like a torn tail. A program that "
        "cuts the log there loses a good message, and all messages after it. The command verify "
        "looks for the next message, and computes the CRC up to it. If that CRC matches, only the "
        "size is wrong.",
        focus=[ByteRange(_FILE, 8, 12)],
        values=values,
        tables=[Table("If the CRC is checked directly after the size", columns, rows, (1,))],
    )


def _say_offset(recording: Recording, flipped: _Flipped, values: dict[str, Value]) -> None:
    refused_count = sum(
        not is_next_message(message, 0)
        for at in range(8)
        for new in range(256)
        if flipped.letters[at][new] == VALID
        for message in [decode(flipped.dialect, change(flipped.data, at, new))]
        if isinstance(message, Message)
    )
    question = ask(
        "Who can notice that an offset was changed?",
        "the log, by the offset that must come next",
        "Offsets follow each other without gaps. So the log knows which offset must come next.",
        {
            "nobody": "A reader of one message cannot notice it. But the message is part of a log.",
            "the index": "Few messages have an index entry. And an index can be wrong, too.",
            "the CRC, if it is computed again": "It is the same as before, because it does not "
            "cover the offset.",
        },
    )
    recording.step(
        "The CRC does not cover the offset, so that a broker can assign offsets without a new "
        f"CRC. The log knows that offset 0 belongs here, and refuses {refused_count:,} of "
        f"{8 * 255:,} changes. So recovery and the command verify compare every offset with the "
        "one before it.",
        ask=question,
        focus=[ByteRange(_FILE, 0, 8)],
        values={**values, "refused by the log": refused_count},
    )
