"""Later formats of Kafka: their names, and how a whole message of one is told from rubbish.

    format 1, Kafka 0.10    a timestamp after the attributes; the same crc as format 0
    format 2, Kafka 0.11    a batch of records; its crc is a CRC-32C at byte 17, of what follows it

No key or value of them is read. But they are whole messages, and nobody may cut them off as
rubbish: `storage.segment.whole_messages` takes them from here. All else works without this module;
then a batch is rubbish like any other. The room that reads them is `broker_files`.
Source: Kafka: Record, RecordBatch.
"""

import struct
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from kminilog.format.any_format import AnyFormat, fields_of

_BATCH = struct.Struct(">IHi")  # from byte 17 on: crc, attributes, last offset delta
_BATCH_CRC_AT, _BATCH_CRC_END = 17, 21


class LaterFormat(NamedTuple):
    """One format: `fields_of` takes as many bytes as the size field says.

    A batch holds messages, and has the offset of its first record in its offset field.
    """

    name: str
    fields_of: Callable[[bytes], AnyFormat] = fields_of
    is_batch: bool = False


def batch_fields(data: bytes) -> AnyFormat:
    """Return the fields of a batch; its offset is that of its last record. O(size)."""
    fields = fields_of(data)
    if len(data) < _BATCH_CRC_AT + _BATCH.size:
        return fields
    crc, attributes, last_offset_delta = _BATCH.unpack_from(data, _BATCH_CRC_AT)
    actual_crc = crc32c(data[_BATCH_CRC_END:])
    offset = fields.offset + last_offset_delta
    return AnyFormat(offset, fields.magic, attributes, crc, actual_crc)


@cache
def _castagnoli_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


def crc32c(data: bytes) -> int:
    """Return the CRC-32C; about 10 MB a second, which is enough for a few batches after damage.

    >>> f"{crc32c(b'123456789'):08x}"
    'e3069283'
    """
    table, crc = _castagnoli_table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


LATER_FORMATS = {
    1: LaterFormat("a message of Kafka 0.10, format v1"),
    2: LaterFormat("a batch of Kafka 0.11+, format v2", batch_fields, is_batch=True),
}
"""By their magic."""
