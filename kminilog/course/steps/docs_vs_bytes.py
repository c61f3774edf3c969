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
from kminilog.explain.recording import Recording, ask
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


def pages_fields(file: str, data: bytes) -> list[Field]:
    """Return the fields that such a reader sees after the filler; they cover `data`."""
    found = read_by_pages(data, FILLER_BYTES)
    # The kinds, so the colours, are those of the fields that a reader takes them for.
    return [
        Field(file, 0, 8, "not in the pages", UNPARSED, None),
        Field(file, 8, 12, "length", "size", found.length),
        Field(file, 12, 13, "magic", "magic", found.magic),
        Field(file, 13, 17, "crc", "crc", found.crc),
        Field(file, 17, len(data), "payload", "value", count(len(data) - 17, "byte")),
    ]


# ---- the steps


BROKERS_BYTES = bytes.fromhex(
    "0000000000000000 00000016 e97538bc 00 00 ffffffff 00000008 6d65737361676531"
)
"""Offset 0, no key, value "message1", as a broker of Kafka 0.8 wrote it."""

_DOCUMENTED, _KAFKA, _PAGES = "documented dialect", "kafka dialect", "kafka, read by web pages"
_SHOWN_BYTES = 40


def document(key: bytes | None = None, value: bytes = b"message1") -> Document:
    """Return the step-through for a message; its last state has what the kafka dialect reads.

    Raises ValueError for a key and a value that are too long to show.
    """
    recording = Recording(
        "docs-vs-bytes", "One message in three layouts: two dialects, and Kafka's old pages"
    )
    documented, kafka = encode(DOCUMENTED, 0, key, value), encode(KAFKA, 0, key, value)
    recording.file(_DOCUMENTED, documented, message_fields(_DOCUMENTED, DOCUMENTED, 0, documented))
    recording.file(_KAFKA, kafka, message_fields(_KAFKA, KAFKA, 0, kafka), is_shown=False)
    recording.file(_PAGES, kafka, pages_fields(_PAGES, kafka), is_shown=False)
    _say_dialects(recording, key, value)
    _say_exchanged(recording, documented, kafka)
    _say_pages(recording, kafka)
    _say_crc(recording, kafka, value)
    _say_result(recording, kafka)
    return recording.document()


def _say_dialects(recording: Recording, key: bytes | None, value: bytes) -> None:
    documented, kafka = encode(DOCUMENTED, 0, key, value), encode(KAFKA, 0, key, value)
    values: dict[str, Value] = {"offset": 0, "key": _text(key), "value": _text(value)}
    recording.step(
        f"A message with offset 0 in the documented dialect: a header of {KEY_START} bytes, "
        "then the key, if there is one, then the value. No field holds the length of the value. "
        "The value ends where the message ends, and the size says where that is.",
        focus=[ByteRange(_DOCUMENTED, 0, len(documented))],
        values={**values, "bytes": len(documented)},
    )
    recording.show(_KAFKA)
    longer = len(kafka) - len(documented)
    question = ask(
        "The kafka dialect has a field for the length of the value. How many bytes longer is the "
        "same message in that dialect?",
        str(longer),
        "The value length is an int32, like the key length.",
        {
            "0": "The size field does not replace it. Both dialects have the size, and the kafka "
            "dialect has the value length in addition.",
            "1": "One byte is enough for short values only. All lengths here have four bytes.",
            "8": "Only the offset has eight bytes. Lengths have four.",
        },
    )
    same = kafka == BROKERS_BYTES
    broker = f" A broker of Kafka 0.8 wrote exactly these {len(kafka)} bytes." if same else ""
    recording.step(
        f"The same message in the kafka dialect is {longer} bytes longer: a value length stands "
        f"in front of the value.{broker}",
        ask=question,
        focus=[ByteRange(_KAFKA, 0, len(kafka))],
        values={**values, "bytes": len(kafka)},
    )


def _say_exchanged(recording: Recording, documented: bytes, kafka: bytes) -> None:
    table = _comparison(documented, kafka)
    differing = [str(row[1]) for row in table.rows if row[2] not in ("not there", row[3])]
    recording.step(
        "The two messages, field by field. The size counts the four bytes more, and the CRC "
        f"covers them. The fields that differ: {' and '.join(differing)}. All other fields that "
        "both have are the same.",
        tables=[table],
    )
    found = decode(DOCUMENTED, kafka)
    assert isinstance(found, Message), found  # the CRC covers the same bytes in both dialects
    question = ask(
        "A reader of the documented dialect gets the kafka bytes. What does it find?",
        f"a value of {count(len(found.value or b''), 'byte')}",
        "For this reader all bytes after the key are the value, also the four bytes of the value "
        "length.",
        {
            "a wrong CRC": "Both dialects compute the CRC over the same bytes: all bytes after it.",
            "the same value": "This reader knows no value length, so it cannot take these bytes "
            "off the value.",
            "an unfinished message": "In both dialects, the size counts the bytes to the end of "
            "the message.",
        },
    )
    recording.step(
        "The kafka bytes, read in the documented dialect. The CRC matches, and the value length "
        "becomes the beginning of the value. No check reports this, so a reader must know the "
        "dialect.",
        ask=question,
        focus=[ByteRange(_KAFKA, len(kafka) - len(found.value or b""), len(kafka))],
        values={"key": _text(found.key), "value": _text(found.value)},
    )
    recording.step(
        "The documented bytes, read in the kafka dialect: "
        + _said_of_documented(documented, len(found.key or b"")),
        focus=[ByteRange(_DOCUMENTED, 0, len(documented))],
    )


def _said_of_documented(documented: bytes, key_bytes: int) -> str:
    """Return what a reader of the kafka dialect finds in the bytes of the other one."""
    outcome = decode(KAFKA, documented)
    rest_bytes = len(documented) - KEY_START - key_bytes
    taken = "the reader takes the four bytes after the key for the value length"
    if rest_bytes < NUMBERS["value length"]:
        there = count(rest_bytes, "byte", "are")
        taken = f"a value length has four bytes, but after the key {there} there"
    if isinstance(outcome, CorruptMessage):
        return f"{taken}. It does not fit: {outcome.fault.value}, {outcome.detail}."
    return f"{taken}. That happens to be a valid message."


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


def _say_pages(recording: Recording, kafka: bytes) -> None:
    at_start, after_filler = read_by_pages(kafka, 0), read_by_pages(kafka, FILLER_BYTES)
    size = after_filler.length
    question = ask(
        "Kafka's web pages of 0.8.1 to 0.9.0 show a third layout: length (4 bytes), magic (1), "
        "crc (4), payload. A reader begins at byte 0. Which length does it find?",
        str(at_start.length),
        "The offset begins at byte 0, and the pages leave it out. Its upper four bytes are 0.",
        {
            str(size): "That is the size, at byte 8. The pages do not say that an offset comes "
            "first.",
            str(len(kafka)): "That is the length of the whole message. It does not stand at byte "
            "0.",
            "9": "That is the length of the three fields before the payload. It does not stand at "
            "byte 0.",
        },
    )
    recording.step(
        f"Now read these bytes as the web pages say, from byte 0. The length is {at_start.length}, "
        f"so the payload would have {at_start.length} - 5 = {at_start.payload_bytes} bytes. The "
        "pages leave out the offset, so this reader cannot go on.",
        ask=question,
        focus=[ByteRange(_KAFKA, 0, SIZE_END)],
        values={"length": at_start.length, "payload bytes": at_start.payload_bytes},
    )
    recording.hide(_DOCUMENTED)
    recording.show(_PAGES)
    values: dict[str, Value] = {"length": size}
    recording.step(
        "A learner on Kafka's mailing list left out the first eight bytes. After them the length "
        f"is {size}, and that is right. In both layouts the length counts all bytes after it. So "
        "this reader finds the end of each message.",
        focus=[ByteRange(_PAGES, 8, 12)],
        values=values,
    )
    _say_header_by_pages(recording, kafka, after_filler)


def _say_header_by_pages(recording: Recording, kafka: bytes, found: ByPages) -> None:
    values: dict[str, Value] = {"length": found.length, "magic": f"0x{found.magic:02x}"}
    question = ask(
        "Which byte does this reader take for the magic, the version of the format?",
        f"0x{found.magic:02x}",
        "Byte 12 is the first byte of the real CRC.",
        {
            "0x00": "That is the real magic, at byte 16. On the disk the CRC comes first.",
            "0x01": "Magic 1 came with Kafka 0.10. It has nothing to do with these bytes.",
            f"0x{kafka[11]:02x}": "That is the last byte of the length.",
        },
    )
    ends = "A reader that knows only version 0 stops here." if found.magic else "By chance it is 0."
    recording.step(
        f"The magic would be 0x{found.magic:02x}. In the pages, the magic stands before the CRC. "
        f"On the disk, it stands after the CRC. {ends}",
        ask=question,
        focus=[ByteRange(_PAGES, 12, 13)],
        values=values,
    )
    values["crc"] = found.crc
    recording.step(
        f"The CRC would be {found.crc}: three bytes of the real CRC, and the magic.",
        focus=[ByteRange(_PAGES, 13, 17)],
        values=values,
    )
    parts = [f"the {part.name}" for part in split_fields(KAFKA, kafka) if part.start > CRC_END]
    recording.step(
        f"The payload would have {found.payload_bytes} bytes: they are {', '.join(parts[:-1])} and "
        f"{parts[-1]}.",
        focus=[ByteRange(_PAGES, 17, len(kafka))],
        values={**values, "payload bytes": found.payload_bytes},
    )


def _say_crc(recording: Recording, kafka: bytes, value: bytes) -> None:
    stored = int.from_bytes(kafka[SIZE_END:CRC_END])
    sums = checksums(kafka, value)
    question = ask(
        f"The pages say that the CRC is the CRC-32 of the payload. Which bytes give the {stored} "
        "that is stored?",
        "magic to the end",
        "The CRC covers everything after it. It covers neither the offset nor the size.",
        {
            "the value alone": "The pages say so. But then the CRC would not detect a change of "
            "the key.",
            "key length to the end": "The CRC covers magic and attributes, too.",
            "all bytes, CRC set to 0": "Many formats do so. But here the CRC does not cover the "
            "offset, so that a broker can set the offset without a new CRC.",
        },
    )
    rows = tuple(
        (name, numbered(range(start, len(kafka)), "byte"), crc)
        for name, (start, crc) in sums.items()
    )
    recording.hide(_PAGES)
    recording.step(
        f"The stored {stored} is the CRC-32 of all bytes from the magic to the end. The value "
        f"alone gives {sums['the value alone'][1]}.",
        ask=question,
        focus=[ByteRange(_KAFKA, SIZE_END, len(kafka))],
        values={"stored crc": stored},
        tables=[Table("CRC-32 of which bytes?", ("what", "which", "CRC-32"), rows, (0,))],
    )


def _say_result(recording: Recording, kafka: bytes) -> None:
    found = decode(KAFKA, kafka)
    assert isinstance(found, Message), found
    recording.step(
        "This is what the engine reads. The bytes decide, not the page. Before you trust a "
        "description, compare it with a file of a real broker.",
        focus=[ByteRange(_KAFKA, 0, len(kafka))],
        values={**found._asdict(), "key": _text(found.key), "value": _text(found.value)},
    )


def _text(data: bytes | None) -> str:
    return shown(data, _SHOWN_BYTES)
