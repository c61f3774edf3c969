"""`step null-or-empty`: no key, an empty key and a key; a null value and an empty value.

    key       none   length -1, no bytes        value     null   length -1, no bytes
              empty  length  0, no bytes                  empty  length  0, no bytes

The documented dialect has no value length, so it refuses a null value. Each message is encoded and
decoded by the engine. Source: S0 7 and S1 5.2; Kafka 0.8.2: Message, DefaultPartitioner.
"""

from kminilog.errors import NullValueError
from kminilog.explain.document import ByteRange, Document, Table, Value
from kminilog.explain.field_layout import message_fields, split_fields
from kminilog.explain.script import Script
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.message import Message, decode, encode
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.text import shown

PARTITIONS = 10
STEPS = (
    *("No key", "An empty key", "A key", "The partition of an empty key", "An empty value"),
    *("A null value", "A null value is refused", "What comes back"),
)
_SHOWN_BYTES = 40


def document(dialect: Dialect = DOCUMENTED, key: bytes = b"k", value: bytes = b"v") -> Document:
    """Return the step-through for a dialect; its last table has what comes back.

    Raises ValueError for an empty key, and for a key and a value that are too long to show.
    """
    if not key:
        raise ValueError("the key is empty: give a key with bytes, to compare it with an empty one")
    messages: dict[str, tuple[bytes | None, bytes | None]] = {
        "no key": (None, value),
        "empty key": (b"", value),
        "a key": (key, value),
        "empty value": (key, b""),
        "null value": (key, None),
    }
    written: dict[str, bytes] = {}
    refused: dict[str, NullValueError] = {}
    for name, message in messages.items():
        try:
            written[name] = encode(dialect, 0, *message)
        except NullValueError as error:
            refused[name] = error
    parts = {
        name: {part.name: part for part in split_fields(dialect, data)}
        for name, data in written.items()
    }
    empty_partition = murmur2_partition(b"", PARTITIONS)

    told = Script(__file__, "null-or-empty", STEPS, dialect=dialect)
    recording = told.recording
    for name, data in written.items():
        recording.file(name, data, message_fields(name, dialect, 0, data), is_shown=False)

    def values(name: str) -> dict[str, Value]:
        shown_key, shown_value = map(_text, messages[name])
        return {"key": shown_key, "value": shown_value, "bytes": len(written[name])}

    def focus(name: str, field: str) -> list[ByteRange]:
        part = parts[name][field]
        return [ByteRange(name, part.start, part.start + len(part.data))]

    def differing(name: str, other: str) -> list[str]:
        mine, theirs = parts[name], parts[other]
        return [field for field in mine if mine[field].data != theirs[field].data]

    recording.show("no key")
    told.tell("No key", focus=focus("no key", "key length"), values=values("no key"))
    recording.show("empty key")
    told.tell(
        "An empty key",
        focus=focus("empty key", "key length"),
        values=values("empty key"),
        longer=len(written["empty key"]) - len(written["no key"]),
        differing=differing("no key", "empty key"),
    )
    recording.show("a key")
    lengths = [(name, parts[name]["key length"]) for name in ("no key", "empty key", "a key")]
    rows: list[tuple[Value, ...]] = [
        (name, _text(messages[name][0]), length.number, length.data.hex(" "))
        for name, length in lengths
    ]
    told.tell(
        "A key",
        focus=[ByteRange("a key", 18, 22 + len(key))],
        values=values("a key"),
        tables=[Table("Three keys", ("message", "key", "key length", "in hex"), tuple(rows))],
    )
    recording.hide("no key", "a key")
    rows = [
        (_text(one), "yes" if one is None else "no", "no" if one else "yes", where)
        for one, where in (
            (None, "any"),
            (b"", str(empty_partition)),
            (key, str(murmur2_partition(key, PARTITIONS))),
        )
    ]
    columns = ("key", "key is None", "not key", "partition")
    told.tell(
        "The partition of an empty key",
        tables=[Table("Two tests in Python", columns, tuple(rows), (0, 1))],
        partition=empty_partition,
        partitions=PARTITIONS,
    )

    recording.hide("empty key")
    recording.show("empty value")
    end = [ByteRange("empty value", 18, len(written["empty value"]))]
    if dialect.has_value_length:
        end = focus("empty value", "value length")
    told.tell("An empty value", focus=end, values=values("empty value"))
    if refused:
        told.tell(
            "A null value is refused",
            values={"key": _text(key), "value": "null", "error": str(refused["null value"])},
        )
    else:
        recording.show("null value")
        told.tell(
            "A null value",
            focus=focus("null value", "value length"),
            values=values("null value"),
            value_length=parts["null value"]["value length"].number,
            differing=differing("empty value", "null value"),
        )

    rows, same_count = [], 0
    for name, message in messages.items():
        read = ("refused", "refused")
        if name in written:
            found = decode(dialect, written[name])
            assert isinstance(found, Message), found
            same_count += (found.key, found.value) == message
            read = (_text(found.key), _text(found.value))
        rows.append((name, *map(_text, message), *read))
    marked = tuple(slot for slot, name in enumerate(messages) if name in refused)
    read_columns = ("message", "key", "value", "key read", "value read")
    told.tell(
        "What comes back",
        values={"the same": same_count, "refused": len(refused)},
        tables=[Table("What is read", read_columns, tuple(rows), marked)],
        all=len(messages),
        same=same_count,
        refused=len(refused),
    )
    return told.document()


def _text(data: bytes | None) -> str:
    return shown(data, _SHOWN_BYTES)
