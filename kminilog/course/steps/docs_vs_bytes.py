"""`step docs-vs-bytes`: one message in both dialects, and read by the layout of old web pages.

    documented   offset  size  crc  magic  attributes  key length  key  value
    kafka        offset  size  crc  magic  attributes  key length  key  value length  value
    web pages            length  magic  crc  payload

Kafka's web pages of 0.8.1 to 0.9.0 show the third layout, which is on no disk: it is that of the
time before 0.8, and message offsets and keys came later. The pages add that the crc is computed
over the payload. `read_by_pages` is a reader that believes them. All else is what the engine
encodes and decodes. Source: S1 5.2; Kafka 0.8.2: Message, MessageAndOffset; Kafka's documentation
of 0.8.1 to 0.9.0, 5.4 and 5.5; users@kafka 16375 for the default message, and for a learner who
compared its bytes with the web pages.
"""

from typing import NamedTuple
from zlib import crc32

from kminilog.explain.document import UNPARSED, ByteRange, Document, Field, Table, Value
from kminilog.explain.field_layout import NUMBERS, message_fields, split_fields
from kminilog.explain.script import Script
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.message import (
    CRC_END,
    KEY_START,
    SIZE_END,
    CorruptMessage,
    Message,
    decode,
    encode,
)
from kminilog.text import count, numbered, shown

# ---- the layout of the web pages


FILLER_BYTES = 8
"""What a learner called "some sort of filler" in front of the length: the offset."""
_PAYLOAD_START = 9  # length, magic, crc


class ByPages(NamedTuple):
    """A message as the web pages have it; `payload_bytes` is what the length leaves for it."""

    length: int
    magic: int
    crc: int
    payload_bytes: int


def read_by_pages(data: bytes, position: int) -> ByPages:
    """Return what a reader finds at a position who follows the web pages; it needs 9 bytes.

    >>> read_by_pages(bytes.fromhex("00000016 e97538bc 00 00"), 0)
    ByPages(length=22, magic=233, crc=1966652416, payload_bytes=17)
    """
    length = int.from_bytes(data[position : position + 4], signed=True)
    crc = int.from_bytes(data[position + 5 : position + 9])
    return ByPages(length, data[position + 4], crc, length - 5)


def checksums(data: bytes, value: bytes) -> dict[str, tuple[int, int]]:
    """Return the CRC-32 of parts of a message that others have taken: where each begins, and it.

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> checksums(encode(KAFKA, 0, None, b"message1"), b"message1")["the value alone"]
    (26, 1137720874)
    """
    zeroed = data[:SIZE_END] + bytes(4) + data[CRC_END:]
    parts = {
        "magic to the end": data[CRC_END:],
        "key length to the end": data[CRC_END + 2 :],
        "the web pages' payload": data[FILLER_BYTES + _PAYLOAD_START :],
        "the value alone": value,
    }
    sums = {name: (len(data) - len(part), crc32(part)) for name, part in parts.items()}
    return {**sums, "all bytes, CRC set to 0": (0, crc32(zeroed))}


def _pages_fields(data: bytes, found: ByPages) -> list[Field]:
    """Return the fields that such a reader sees after the filler; they cover `data`."""
    # The kinds, so the colours, are those of the fields that a reader takes them for.
    return [
        Field(_PAGES, 0, 8, "not in the pages", UNPARSED, None),
        Field(_PAGES, 8, 12, "length", "size", found.length),
        Field(_PAGES, 12, 13, "magic", "magic", found.magic),
        Field(_PAGES, 13, 17, "crc", "crc", found.crc),
        Field(_PAGES, 17, len(data), "payload", "value", count(len(data) - 17, "byte")),
    ]


# ---- the steps


BROKERS_BYTES = bytes.fromhex(
    "0000000000000000 00000016 e97538bc 00 00 ffffffff 00000008 6d65737361676531"
)
"""Offset 0, no key, value "message1", as a broker of Kafka 0.8 wrote it."""

STEPS = (
    *("The documented dialect", "The kafka dialect", "Field by field"),
    *("Kafka bytes in the documented dialect", "Documented bytes in the kafka dialect"),
    *("From byte 0", "After the filler", "The magic", "The crc", "The payload"),
    *("What the CRC covers", "What the engine reads"),
)
_DOCUMENTED, _KAFKA, _PAGES = "documented dialect", "kafka dialect", "kafka, read by web pages"
_SHOWN_BYTES = 40


def document(key: bytes | None = None, value: bytes = b"message1") -> Document:
    """Return the step-through for a message; its last state has what the kafka dialect reads.

    Raises ValueError for a key and a value that are too long to show.
    """
    documented, kafka = encode(DOCUMENTED, 0, key, value), encode(KAFKA, 0, key, value)
    mixed, other_way = decode(DOCUMENTED, kafka), decode(KAFKA, documented)
    assert isinstance(mixed, Message), mixed  # the CRC covers the same bytes in both dialects
    read = decode(KAFKA, kafka)
    assert isinstance(read, Message), read
    at_start, by_pages = read_by_pages(kafka, 0), read_by_pages(kafka, FILLER_BYTES)

    told = Script(
        __file__,
        "docs-vs-bytes",
        STEPS,
        kafka_bytes=len(kafka),
        at_start=at_start,
        by_pages=by_pages,
        magic=f"0x{by_pages.magic:02x}",
    )
    recording = told.recording
    recording.file(_DOCUMENTED, documented, message_fields(_DOCUMENTED, DOCUMENTED, 0, documented))
    recording.file(_KAFKA, kafka, message_fields(_KAFKA, KAFKA, 0, kafka), is_shown=False)
    recording.file(_PAGES, kafka, _pages_fields(kafka, by_pages), is_shown=False)
    whole_documented = ByteRange(_DOCUMENTED, 0, len(documented))
    whole_kafka = ByteRange(_KAFKA, 0, len(kafka))

    values: dict[str, Value] = {"offset": 0, "key": _text(key), "value": _text(value)}
    told.tell(
        "The documented dialect",
        focus=[whole_documented],
        values={**values, "bytes": len(documented)},
        header_bytes=KEY_START,
    )
    recording.show(_KAFKA)
    told.tell(
        "The kafka dialect",
        focus=[whole_kafka],
        values={**values, "bytes": len(kafka)},
        longer=len(kafka) - len(documented),
        is_of_broker=kafka == BROKERS_BYTES,
    )
    table = _comparison(documented, kafka)
    told.tell(
        "Field by field",
        tables=[table],
        differing=[row[1] for row in table.rows if row[2] not in ("not there", row[3])],
    )
    value_bytes = len(mixed.value or b"")
    told.tell(
        "Kafka bytes in the documented dialect",
        focus=[whole_kafka._replace(start=len(kafka) - value_bytes)],
        values={"key": _text(mixed.key), "value": _text(mixed.value)},
        value_bytes=value_bytes,
    )
    rest_bytes = len(documented) - KEY_START - len(key or b"")
    told.tell(
        "Documented bytes in the kafka dialect",
        focus=[whole_documented],
        has_length=rest_bytes >= NUMBERS["value length"],
        rest_bytes=rest_bytes,
        corrupt=other_way if isinstance(other_way, CorruptMessage) else None,
    )

    told.tell(
        "From byte 0",
        focus=[ByteRange(_KAFKA, 0, SIZE_END)],
        values={"length": at_start.length, "payload bytes": at_start.payload_bytes},
    )
    recording.hide(_DOCUMENTED)
    recording.show(_PAGES)
    values = {"length": by_pages.length}
    told.tell("After the filler", focus=[ByteRange(_PAGES, 8, 12)], values=values)
    values["magic"] = f"0x{by_pages.magic:02x}"
    told.tell(
        "The magic",
        focus=[ByteRange(_PAGES, 12, 13)],
        values=values,
        before_magic=f"0x{kafka[11]:02x}",
    )
    values["crc"] = by_pages.crc
    told.tell("The crc", focus=[ByteRange(_PAGES, 13, 17)], values=values)
    told.tell(
        "The payload",
        focus=[ByteRange(_PAGES, 17, len(kafka))],
        values={**values, "payload bytes": by_pages.payload_bytes},
        fields=[part.name for part in split_fields(KAFKA, kafka) if part.start > CRC_END],
    )

    sums = checksums(kafka, value)
    rows = tuple(
        (name, numbered(range(start, len(kafka)), "byte"), crc)
        for name, (start, crc) in sums.items()
    )
    recording.hide(_PAGES)
    told.tell(
        "What the CRC covers",
        focus=[whole_kafka._replace(start=SIZE_END)],
        values={"stored crc": read.crc},
        tables=[Table("CRC-32 of which bytes?", ("what", "which", "CRC-32"), rows, (0,))],
        stored=read.crc,
        of_value=sums["the value alone"][1],
    )
    told.tell(
        "What the engine reads",
        focus=[whole_kafka],
        values={**read._asdict(), "key": _text(read.key), "value": _text(read.value)},
    )
    return told.document()


def _comparison(documented: bytes, kafka: bytes) -> Table:
    hexes = {part.name: part.data.hex(" ") for part in split_fields(DOCUMENTED, documented)}
    rows = tuple(
        (part.start, part.name, hexes.get(part.name, "not there"), part.data.hex(" "))
        for part in split_fields(KAFKA, kafka)
        if part.name in NUMBERS
    )
    marked = tuple(number for number, row in enumerate(rows) if row[2] != row[3])
    columns = ("byte in kafka", "field", "documented", "kafka")
    return Table("The fields that are numbers", columns, rows, marked)


def _text(data: bytes | None) -> str:
    return shown(data, _SHOWN_BYTES)
