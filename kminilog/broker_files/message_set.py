"""A message of format v0 or v1, Kafka 0.8 to 0.10, and the message set inside a compressed one.

    byte  0        8      12    16      17           18          v0: 18, v1: 26
          +--------+------+-----+-------+------------+-----------+------------+-----+-------- - -
          | offset | size | crc | magic | attributes | timestamp | key length | key | value length
          +--------+------+-----+-------+------------+-----------+------------+-----+-------- - -
            int64   int32  uint32  int8    int8        int64        int32             int32, value
                                                       only v1

    crc          CRC-32 (zlib) of everything after the crc
    attributes   bits 0 to 2: codec; 3, only in v1: timestamp type, 1 is LogAppendTime

A compressed message, the *wrapper*, has a whole message set in its value, and the offset of the
last message in it. The offsets inside are in v0 the true ones; in v1 they count from 0, so that a
broker need not compress again: true = inner + wrapper's - last inner. A wrapper of v1 with
LogAppendTime has the time of all messages inside; with CreateTime each has its own.
Source: Kafka: LegacyRecord, AbstractLegacyRecordBatch.DeepRecordsIterator; KIP-31, KIP-32.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

from kminilog.broker_files.codecs import MAX_DECOMPRESSED_BYTES, codec_name, decompress
from kminilog.broker_files.record import NO_TIMESTAMP, CorruptRecord, Record, RecordOutcome
from kminilog.format.message import CRC_END, SIZE_END
from kminilog.text import count

_FIXED = struct.Struct(">qiIbb")  # offset, size, crc, magic, attributes
_TIMESTAMP = struct.Struct(">q")
_LENGTH = struct.Struct(">i")
OVERHEAD_BYTES = (14, 22)  # after the size field, without key and value, by magic


class LegacyMessage(NamedTuple):
    """A message of format v0 or v1, as it is stored; `timestamp` is -1 in v0."""

    offset: int
    size: int
    crc: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None

    @property
    def codec(self) -> str:
        """Its codec by name."""
        return codec_name(self.attributes)

    @property
    def timestamp_type(self) -> str:
        """Whose time it has: nobody's, of the producer, or of the broker."""
        if self.magic == 0:
            return "NoTimestampType"
        return "LogAppendTime" if self.attributes & 0x08 else "CreateTime"


def decode_message(frame: bytes) -> LegacyMessage | CorruptRecord:
    """Return the message that these bytes are, all of them; its magic is 0 or 1. O(size).

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> decode_message(encode(KAFKA, 7, None, b"hi")).value
    b'hi'
    >>> decode_message(encode(KAFKA, 7, None, b"hi")[:-1] + b"!").detail
    'Record is corrupt (stored crc = 4251893211, computed crc = 2238280825)'
    """
    size = len(frame) - SIZE_END
    offset, stored_size, crc, magic, attributes = _FIXED.unpack_from(frame)
    if size < OVERHEAD_BYTES[magic]:
        detail = f"the record is smaller than the minimum overhead ({OVERHEAD_BYTES[magic]})"
        return CorruptRecord(f"Record is corrupt ({detail}, size = {size})")
    actual_crc = crc32(frame[CRC_END:])
    if crc != actual_crc:
        return CorruptRecord(f"Record is corrupt (stored crc = {crc}, computed crc = {actual_crc})")
    timestamp, position = NO_TIMESTAMP, _FIXED.size
    if magic == 1:
        (timestamp,) = _TIMESTAMP.unpack_from(frame, position)
        position += _TIMESTAMP.size
    contents: list[bytes | None] = []  # the key, then the value
    for name, bytes_after in ("key", _LENGTH.size), ("value", 0):
        (length,) = _LENGTH.unpack_from(frame, position)
        start, position = position + _LENGTH.size, position + _LENGTH.size + max(length, 0)
        if position + bytes_after > len(frame):
            return CorruptRecord(f"Record is corrupt ({name} length {length}, size {size})")
        contents.append(frame[start:position] if length >= 0 else None)
    if position != len(frame):
        rest = count(len(frame) - position, "byte")
        return CorruptRecord(f"Record is corrupt ({rest} after its value)")
    return LegacyMessage(offset, stored_size, crc, magic, attributes, timestamp, *contents)


def records_of(
    message: LegacyMessage, limit_bytes: int = MAX_DECOMPRESSED_BYTES
) -> Iterator[RecordOutcome]:
    """Yield the one record of a plain message, or those inside a compressed one. O(bytes).

    A set that is damaged anywhere gives a `CorruptRecord` and nothing else: in v1 the offsets of
    all depend on the last one. `limit_bytes` bounds the decompressed set.
    """
    if message.codec == "none":
        yield _record(message, message.offset, message.timestamp)
        return
    inner = _inner_messages(message, limit_bytes)
    if not isinstance(inner, list):
        yield inner
        return
    base_offset = 0  # of v0, where the offsets inside are the true ones
    if message.magic == 1 and message.offset != 0:  # 0: old librdkafka's, while it is produced
        base_offset = message.offset - inner[-1].offset
        if base_offset < 0:
            yield CorruptRecord(
                "Found invalid wrapper offset in compressed v1 message set, wrapper offset "
                f"'{message.offset}' is less than the last inner message offset "
                f"'{inner[-1].offset}' and it is not zero."
            )
            return
    for each in inner:
        has_own_time = message.timestamp_type != "LogAppendTime" or each.magic == 0
        timestamp = each.timestamp if has_own_time else message.timestamp
        yield _record(each, base_offset + each.offset, timestamp)


def _inner_messages(
    wrapper: LegacyMessage, limit_bytes: int
) -> list[LegacyMessage] | RecordOutcome:
    """Return the messages inside, with the offsets that they have there; at least one."""
    if wrapper.codec == "zstd":
        return CorruptRecord(
            "Invalid wrapper compressionType found in legacy deep record iterator 4"
        )
    if wrapper.value is None:
        return CorruptRecord(
            f"Found invalid compressed record set with null value (magic = {wrapper.magic})"
        )
    data = decompress(wrapper.codec, wrapper.value, magic=wrapper.magic, limit_bytes=limit_bytes)
    if not isinstance(data, bytes):
        return data
    messages: list[LegacyMessage] = []
    position = 0
    while position < len(data):
        frame = _inner_frame(data, position)
        message = decode_message(frame) if isinstance(frame, bytes) else frame
        if isinstance(message, CorruptRecord):
            return message._replace(position=position)
        if message.codec != "none":
            return CorruptRecord("Inner messages must not be compressed", position)
        messages.append(message)
        position += len(frame)
    if not messages:
        return CorruptRecord("Found invalid compressed record set with no inner records")
    return messages


def _inner_frame(data: bytes, position: int) -> bytes | CorruptRecord:
    """Return the bytes of the message that begins at `position`."""
    available_bytes = len(data) - position
    if available_bytes < _FIXED.size:
        return CorruptRecord("the compressed record set is cut short")
    _, size, _, magic, _ = _FIXED.unpack_from(data, position)
    if size < OVERHEAD_BYTES[0]:
        return CorruptRecord(
            f"Record size {size} is less than the minimum record overhead ({OVERHEAD_BYTES[0]})"
        )
    if available_bytes < SIZE_END + size:
        return CorruptRecord("the compressed record set is cut short")
    if magic not in (0, 1):
        return CorruptRecord(f"Invalid magic found in record: {magic}")
    return data[position : position + SIZE_END + size]


def _record(message: LegacyMessage, offset: int, timestamp: int) -> Record:
    return Record(offset, timestamp, message.key, message.value)
