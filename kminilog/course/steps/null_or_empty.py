"""`step null-or-empty`: no key, an empty key and a key; a null value and an empty value.

    key       none   length -1, no bytes        value     null   length -1, no bytes
              empty  length  0, no bytes                  empty  length  0, no bytes

The documented dialect has no value length, so it refuses a null value. Each message is encoded and
decoded by the engine. Source: S0 7 and S1 5.2; Kafka 0.8.2: Message, DefaultPartitioner.
"""

from typing import NamedTuple

from kminilog.errors import NullValueError
from kminilog.explain.document import ByteRange, Document, Table, Value
from kminilog.explain.field_layout import FieldBytes, message_fields, split_fields
from kminilog.explain.recording import Recording, ask
from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.message import Message, decode, encode
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.text import count, shown

PARTITIONS = 10
_SHOWN_BYTES = 40


class KeyAndValue(NamedTuple):
    """A key and a value to write; `data` is what the engine makes of them, None if it refuses."""

    name: str
    key: bytes | None
    value: bytes | None
    data: bytes | None

    @property
    def told(self) -> dict[str, Value]:
        """The message as a state shows it."""
        values: dict[str, Value] = {"key": _text(self.key), "value": _text(self.value)}
        return values if self.data is None else {**values, "bytes": len(self.data)}


def cases(dialect: Dialect, key: bytes, value: bytes) -> dict[str, KeyAndValue]:
    """Return the five messages, by their names.

    >>> from kminilog.format.dialect import DOCUMENTED
    >>> [one.name for one in cases(DOCUMENTED, b"k", b"v").values() if one.data is None]
    ['null value']
    """
    wanted: dict[str, tuple[bytes | None, bytes | None]] = {
        "no key": (None, value),
        "empty key": (b"", value),
        "a key": (key, value),
        "empty value": (key, b""),
        "null value": (key, None),
    }
    return {name: KeyAndValue(name, *one, _encoded(dialect, *one)) for name, one in wanted.items()}


def document(dialect: Dialect = KAFKA, key: bytes = b"k", value: bytes = b"v") -> Document:
    """Return the step-through for a dialect; its last table has what comes back.

    Raises ValueError for an empty key, and for a key and a value that are too long to show.
    """
    if not key:
        raise ValueError("the key is empty: give a key with bytes, to compare it with an empty one")
    recording = Recording(
        "null-or-empty", f"How null and empty differ on disk ({dialect.name} dialect)"
    )
    made = cases(dialect, key, value)
    for one in made.values():
        if one.data is not None:
            fields = message_fields(one.name, dialect, 0, one.data)
            recording.file(one.name, one.data, fields, is_shown=False)
    _say_keys(recording, dialect, made)
    _say_partition(recording, key)
    _say_empty_value(recording, dialect, made["empty value"])
    _say_null_value(recording, dialect, made)
    _say_round_trips(recording, dialect, made)
    return recording.document()


def _encoded(dialect: Dialect, key: bytes | None, value: bytes | None) -> bytes | None:
    try:
        return encode(dialect, 0, key, value)
    except NullValueError:
        return None


def _parts(dialect: Dialect, one: KeyAndValue) -> dict[str, FieldBytes]:
    return {part.name: part for part in split_fields(dialect, one.data or b"")}


def _say_keys(recording: Recording, dialect: Dialect, made: dict[str, KeyAndValue]) -> None:
    none, empty, some = (made[name] for name in ("no key", "empty key", "a key"))
    recording.show(none.name)
    recording.step(
        "A message without a key. Its key length is -1, in hex ff ff ff ff, and no key bytes "
        "follow. -1 is not a length. It marks null, which means that there is no key.",
        focus=[_focus(dialect, none, "key length")],
        values=none.told,
    )
    recording.show(empty.name)
    question = ask(
        "The next message has an empty key. How many bytes longer is it than the message without "
        "a key?",
        str(len(empty.data or b"") - len(none.data or b"")),
        "Both have a key length and no key bytes.",
        {
            "1": "No byte marks the end of a text. Its length says where it ends.",
            "4": "Both messages have a key length. Without a key it is -1.",
            "-4": "A message without a key has a key length, too. It is -1.",
        },
    )
    recording.step(
        "An empty key is a key that has 0 bytes. Its key length is 0, and no key bytes follow. "
        f"From the message without a key differ only {_differences(dialect, none, empty)}.",
        ask=question,
        focus=[_focus(dialect, empty, "key length")],
        values=empty.told,
    )
    _say_key(recording, dialect, (none, empty, some))


def _say_key(
    recording: Recording, dialect: Dialect, keys: tuple[KeyAndValue, KeyAndValue, KeyAndValue]
) -> None:
    none, _, some = keys
    recording.show(some.name)
    rows = tuple(
        (one.name, _text(one.key), parts["key length"].number, parts["key length"].data.hex(" "))
        for one in keys
        for parts in [_parts(dialect, one)]
    )
    recording.step(
        "For comparison, a key with bytes. The key length alone shows which of the three it is.",
        focus=[ByteRange(some.name, 18, 22 + len(some.key or b""))],
        values=some.told,
        tables=[Table("Three keys", ("message", "key", "key length", "in hex"), rows)],
    )
    recording.hide(none.name)
    recording.hide(some.name)


def _say_partition(recording: Recording, key: bytes) -> None:
    partition = murmur2_partition(b"", PARTITIONS)
    question = ask(
        f"A producer hashes keys with murmur2 over {PARTITIONS} partitions. Which partition does "
        "an empty key go to?",
        f"partition {partition}",
        "An empty key is hashed like any other key. So it always goes to this partition.",
        {
            "partition 0": "The hash of no bytes is not 0, because the hash begins with a seed.",
            "any partition": "That is right for a message without a key. But an empty key is a "
            "key.",
            "none: it is refused": "An empty key is a key, and it is allowed.",
        },
    )
    rows = tuple(
        (_text(one), "yes" if one is None else "no", "no" if one else "yes", where)
        for one, where in (
            (None, "any"),
            (b"", str(partition)),
            (key, str(murmur2_partition(key, PARTITIONS))),
        )
    )
    columns = ("key", "key is None", "not key", "partition")
    recording.step(
        f"An empty key is hashed, so it always goes to partition {partition} of {PARTITIONS}. "
        "Without a key, the partitioner is free to choose. In Python, “not key” is true for both, "
        "so a program with this test confuses them. The test “key is None” does not.",
        ask=question,
        tables=[Table("Two tests in Python", columns, rows, (0, 1))],
    )


def _say_empty_value(recording: Recording, dialect: Dialect, one: KeyAndValue) -> None:
    recording.hide("empty key")
    recording.show(one.name)
    said = (
        "This dialect has no value length. The value has no bytes, so the message ends after the "
        "key."
    )
    focus = ByteRange(one.name, 18, len(one.data or b""))
    if dialect.has_value_length:
        said = "Its value length is 0, and no bytes follow."
        focus = _focus(dialect, one, "value length")
    recording.step(
        f"An empty value. {said}",
        focus=[focus],
        values=one.told,
    )


def _say_null_value(recording: Recording, dialect: Dialect, made: dict[str, KeyAndValue]) -> None:
    null = made["null value"]
    if null.data is None:
        _say_refused(recording, dialect, null)
        return
    recording.show(null.name)
    question = ask(
        "Now the value is null. What is the value length in the message?",
        str(_parts(dialect, null)["value length"].number),
        "-1 marks null, as for the key.",
        {
            "0": "That is the length of an empty value, which is a value.",
            "4": 'That is the length of the text "null". But null is not a text.',
            "none: the field is left out": "Then a reader could not know where the value begins. "
            "The field is always there.",
        },
    )
    recording.step(
        "A null value has the value length -1, and no bytes follow. From the empty value differ "
        f"only {_differences(dialect, made['empty value'], null)}. Kafka's log compaction deletes "
        "a key whose value is null. An empty value deletes nothing.",
        ask=question,
        focus=[_focus(dialect, null, "value length")],
        values=null.told,
    )


def _say_refused(recording: Recording, dialect: Dialect, null: KeyAndValue) -> None:
    question = ask(
        "Now the value is null. What does the engine do in this dialect?",
        "it refuses the message",
        "No field could show if the value is null or empty.",
        {
            "it writes an empty value": "Then a reader gets an empty value in place of null, and "
            "nobody notices.",
            "it writes the length -1": "This dialect has no value length that could be -1.",
            'it writes the text "null"': "Then a reader gets four letters. But null is not a text.",
        },
    )
    recording.step(
        "A null value is refused. Without a value length, its bytes would be the same as those of "
        "an empty value. An error is better than a message that changes when it is read.",
        ask=question,
        values={**null.told, "error": str(NullValueError(dialect.name))},
    )


def _say_round_trips(recording: Recording, dialect: Dialect, made: dict[str, KeyAndValue]) -> None:
    rows: list[tuple[Value, ...]] = []
    same_count = 0
    for one in made.values():
        read = ("refused", "refused")
        if one.data is not None:
            message = decode(dialect, one.data)
            assert isinstance(message, Message), message
            same_count += (message.key, message.value) == (one.key, one.value)
            read = (_text(message.key), _text(message.value))
        rows.append((one.name, _text(one.key), _text(one.value), *read))
    question = ask(
        f"The {len(made)} messages are written, then read. How many come back with the same key "
        "and value?",
        str(same_count),
        "The lengths -1 and 0 keep null and empty apart. A message that cannot be kept is refused.",
        {
            "5": "A null value cannot be written in this dialect.",
            "4": "In this dialect null and empty have different lengths, for keys and for values.",
            "3": "An empty key and an empty value come back as empty, not as null.",
            "1": "The lengths 0 and -1 are kept, too.",
        },
    )
    refused_count = sum(one.data is None for one in made.values())
    marked = tuple(number for number, row in enumerate(rows) if row[3] == "refused")
    columns = ("message", "key", "value", "key read", "value read")
    recording.step(
        f"The messages are written, then read. {same_count} of {len(made)} come back with the same "
        f"key and value. The dialect refused {count(refused_count, 'message')}.",
        ask=question,
        values={"the same": same_count, "refused": refused_count},
        tables=[Table("What is read", columns, tuple(rows), marked)],
    )


def _differences(dialect: Dialect, one: KeyAndValue, other: KeyAndValue) -> str:
    mine, theirs = _parts(dialect, one), _parts(dialect, other)
    return " and ".join(f"the {name}" for name in mine if mine[name].data != theirs[name].data)


def _focus(dialect: Dialect, one: KeyAndValue, name: str) -> ByteRange:
    part = _parts(dialect, one)[name]
    return ByteRange(one.name, part.start, part.start + len(part.data))


def _text(data: bytes | None) -> str:
    return shown(data, _SHOWN_BYTES)
