"""The layout of a message on Kafka's web pages of 0.8.1 to 0.9.0, which no such broker writes.

    web pages                  length 4   magic 1   crc 4   payload
    on the disk     offset 8   size 4     crc 4   magic 1   attributes 1   key length 4   …

It is the layout of the time before 0.8; message offsets and keys came later. The pages add that the
crc is computed over the payload. `read_by_pages` is a reader that believes them. Source: Kafka's
documentation of 0.8.1 to 0.9.0, 5.4 and 5.5; users@kafka 16375.
"""

from typing import NamedTuple
from zlib import crc32

from kminilog.course.steps.document import UNPARSED, Field
from kminilog.format.message import CRC_END, SIZE_END
from kminilog.text import count

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
    return {**sums, "all bytes, crc set to 0": (0, crc32(zeroed))}


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
