"""`step flip`: one byte of a message is changed, and who notices?

    alone      decode            valid, unfinished, bad-length, bad-magic or bad-crc
    in a log   check_segment     what `verify` finds, with two messages after the changed one

    the file ends after the message      30 bytes: 30 * 255 changes
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
from collections.abc import Collection, Mapping
from typing import NamedTuple
from zlib import crc32

from kminilog.course.steps.temporary_partition import temporary_log
from kminilog.explain.document import ByteRange, Document, Table, Value, WhatIf
from kminilog.explain.field_layout import FieldBytes, message_fields, split_fields
from kminilog.explain.script import Script
from kminilog.format.dialect import DOCUMENTED, Dialect
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

MAX_MESSAGE_BYTES = 256
UNCHANGED, VALID, UNFINISHED = "=", "s", "n"
MEANINGS = {
    UNCHANGED: "unchanged",
    VALID: "a valid message",
    UNFINISHED: "unfinished",
    "l": Fault.BAD_LENGTH.value,
    "m": Fault.BAD_MAGIC.value,
    "c": Fault.BAD_CRC.value,
}
STEPS = (
    *("The message", "One byte changes", "All changes", "The CRC directly after the size"),
    *("A size that looks like a torn tail", "The offset"),
)
_LETTERS = {meaning: letter for letter, meaning in MEANINGS.items()}
_ANSWERS = {letter: meaning for letter, meaning in MEANINGS.items() if letter != UNCHANGED}
_COLUMNS = {**_ANSWERS, VALID: "unnoticed"}
_FILE, _OWN = "message", "your change"
_BEHIND = ((None, b"next"), (None, b"last"))


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
        places = range(part.start, part.start + len(part.data))
        for wanted in sorted(counts(part, letters), key="snlmc".index):
            at, new = min(
                ((at, new) for at in places for new in range(256) if letters[at][new] == wanted),
                key=lambda one: (-one[0], abs(one[1] - data[one[0]])),
            )
            found.append((part.name, ByteChange(at, data[at], new, wanted)))
    return found


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


def findings(
    dialect: Dialect, key: bytes | None, value: bytes, at: int, new: int
) -> list[tuple[str, str]]:
    """Return what `verify` finds in a log whose first message has this byte changed.

    >>> findings(DOCUMENTED, None, b"v", 7, 9)
    [('offset-disorder', 'offset 9, expected 0')]
    """
    with temporary_log(dialect, TopicSettings()) as log:
        log.append([(key, value), *_BEHIND])
        segment = log.segments()[0]
        segment.log_path.write_bytes(change(segment.log_path.read_bytes(), at, new))
        found = check_segment(log.topic_partition, segment).findings
        return [(one.kind.value, one.detail) for one in found]


def document(
    dialect: Dialect = DOCUMENTED,
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
    letters, parts = all_letters(dialect, data), split_fields(dialect, data)
    shown_changes = [
        (f"{name}: {_ANSWERS[one.letter]}", name, one)
        for name, one in examples(dialect, data, letters)
    ]
    if at is not None or new is not None:
        own = own_change(dialect, data, at, new)
        field = next(part.name for part in parts if own.at < part.start + len(part.data))
        shown_changes.insert(0, (_OWN, field, own))

    changes = len(data) * 255
    told = Script(__file__, "flip", STEPS, message_bytes=len(data), changes=f"{changes:,}")
    recording = told.recording
    recording.file(_FILE, data, message_fields(_FILE, dialect, 0, data))
    recording.what_if = WhatIf(_FILE, letters, MEANINGS)
    told.tell(
        "The message",
        focus=[ByteRange(_FILE, 0, len(data))],
        values={"key": shown(key, 40), "value": shown(value, 40), "bytes": len(data)},
    )
    for file, field, one in shown_changes:
        changed = change(data, one.at, one.new)
        recording.file(file, changed, message_fields(file, dialect, 0, changed))
        recording.damaged = [ByteRange(file, one.at, one.at + 1)]
        found = findings(dialect, key, value, one.at, one.new)
        engine = _ANSWERS[one.letter]
        told.tell(
            "One byte changes",
            asks=file != _OWN,
            focus=recording.damaged,
            values={
                "engine": engine,
                "because": _because(decode(dialect, changed), len(changed)),
                "verify, in a log": "; ".join(": ".join(each) for each in found) or "nothing",
            },
            at=one.at,
            field=field,
            old=f"{one.old:02x}",
            new=f"{one.new:02x}",
            engine=engine,
        )
        recording.hide(file)

    by_field = {part.name: counts(part, letters) for part in parts}
    by_field["all"] = sum(by_field.values(), Counter[str]())
    unnoticed_in_offset, total = by_field["offset"][VALID], by_field["all"]
    values: dict[str, Value] = {"changes": changes}
    values |= {meaning: total[one] for one, meaning in _ANSWERS.items()}
    told.tell(
        "All changes",
        values=values,
        tables=[_table("What the engine says", by_field, _ANSWERS, 0, len(parts))],
        unnoticed=f"{total[VALID]:,}",
        unnoticed_in_offset=f"{unnoticed_in_offset:,}",
        # a shorter message can have the same CRC
        has_unnoticed_sizes=total[VALID] > unnoticed_in_offset,
    )
    letters_by_crc = all_letters(dialect, data, by_crc=True)
    by_field = {part.name: counts(part, letters_by_crc) for part in parts}
    groups = {name: by_field.pop(name) for name in ("offset", "size")}
    groups["all after"] = sum(by_field.values(), Counter[str]())
    without_magic = [one for one in _ANSWERS if one != "m"]
    title = "If the CRC is checked directly after the size"
    table = _table(title, groups, without_magic, 2)
    told.tell("The CRC directly after the size", values=values, tables=[table])
    told.tell(
        "A size that looks like a torn tail",
        focus=[ByteRange(_FILE, 8, 12)],
        values=values,
        tables=[table._replace(marked=(1,))],
        unfinished=groups["size"][UNFINISHED],
    )
    refused_count = sum(
        not is_next_message(message, 0)
        for at in range(8)
        for new in range(256)
        if letters[at][new] == VALID
        for message in [decode(dialect, change(data, at, new))]
        if isinstance(message, Message)
    )
    told.tell(
        "The offset",
        focus=[ByteRange(_FILE, 0, 8)],
        values={**values, "refused by the log": refused_count},
        refused=f"{refused_count:,}",
    )
    return told.document()


def _because(outcome: Outcome, available_bytes: int) -> str:
    if isinstance(outcome, Message):
        return f"its offset is {outcome.offset}, and every check passes"
    if isinstance(outcome, NeedMoreBytes):
        needed = count(outcome.needed_bytes, "byte", "are")
        return f"{needed} needed, {available_bytes} {agreeing('are', available_bytes)} there"
    return outcome.detail


def _table(
    title: str, by_field: Mapping[str, Counter[str]], letters: Collection[str], *marked: int
) -> Table:
    """Return for each field how many changes it has, and how many of them with each letter."""
    columns = ("field", "changes", *(_COLUMNS[one] for one in letters))
    rows: list[tuple[Value, ...]] = [
        (name, sum(found.values()), *(found[one] for one in letters))
        for name, found in by_field.items()
    ]
    return Table(title, columns, tuple(rows), marked)
