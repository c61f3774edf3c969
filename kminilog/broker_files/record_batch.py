"""A batch of format v2, Kafka 0.11 and later: a header, and records that are small beside it.

    byte  0             8        12             16      17    21           23
          +-------------+--------+--------------+-------+-----+------------+-------------------+
          | base offset | length | leader epoch | magic | crc | attributes | last offset delta |
          +-------------+--------+--------------+-------+-----+------------+-------------------+
            int64         int32    int32          int8   uint32  int16        int32
    byte  27               35              43            51               53              57
          +----------------+---------------+-------------+----------------+---------------+-------+
          | base timestamp | max timestamp | producer id | producer epoch | base sequence | count |
          +----------------+---------------+-------------+----------------+---------------+-------+
            int64            int64           int64         int16            int32           int32
    byte  61   the records, one after the other, or what they are when compressed together

    length       bytes after the length field
    crc          CRC-32C of everything after the crc: so a leader may set the epoch before it
    attributes   bits 0 to 2: codec; 3: timestamp type; 4: transactional; 5: control batch;
                 6: the base timestamp says when to delete this batch (compaction)

    record       length attributes timestamp-delta offset-delta
                 key-length key value-length value header-count header*
    header       key-length key value-length value

All numbers of a record are varints in zigzag, but for its attributes: a byte, 0. Length -1 is null.
Compaction removes records, and keeps base offset and last offset delta: so a batch may have gaps,
and even no records. This module looks at no crc: `broker_files.entries` does.
Source: Kafka: DefaultRecordBatch, DefaultRecord, ControlRecordType, EndTransactionMarker.
"""

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kminilog.broker_files.codecs import codec_name
from kminilog.broker_files.record import NO_SEQUENCE, CorruptRecord, Record
from kminilog.broker_files.varint import Varint, decode_varint

_HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = _HEADER.size  # 61; Kafka: RECORD_BATCH_OVERHEAD
CRC_AT, CRC_END = 17, 21
CONTROL_BIT = 0x20  # of the attributes
_INT32_MAX = (1 << 31) - 1
_CONTROL_KEY = struct.Struct(">hh")  # version, type
_MARKER = struct.Struct(">hi")  # version, coordinator epoch
_WRONG_VERSION = "Invalid version found for {}: {}. May indicate data corruption"
CONTROL_TYPES = {
    0: "ABORT",
    1: "COMMIT",
    2: "LEADER_CHANGE",
    3: "SNAPSHOT_HEADER",
    4: "SNAPSHOT_FOOTER",
    5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}


class BatchHeader(NamedTuple):
    """The fields of a batch in front of its records, as they are stored."""

    base_offset: int
    length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def codec(self) -> str:
        """Its codec by name."""
        return codec_name(self.attributes)

    @property
    def timestamp_type(self) -> str:
        """Whose time the records have: of the producer, or of the broker for the whole batch."""
        return "LogAppendTime" if self.attributes & 0x08 else "CreateTime"

    @property
    def is_transactional(self) -> bool:
        """Whether it counts only if a COMMIT of its producer follows."""
        return self.attributes & 0x10 != 0

    @property
    def is_control(self) -> bool:
        """Whether its records are Kafka's own, which no consumer sees."""
        return self.attributes & CONTROL_BIT != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Whether compaction may delete its markers and tombstones, from its base timestamp on."""
        return self.attributes & 0x40 != 0


class ControlRecord(NamedTuple):
    """What a record of a control batch says; `coordinator_epoch` is of ABORT and COMMIT only."""

    type: str
    coordinator_epoch: int | None = None


DecodeRecord = Callable[[BatchHeader, bytes, int], tuple[Record, int]]


class _InvalidRecordError(Exception):
    """What is wrong, in Kafka's words."""


def decode_header(data: bytes, position: int = 0) -> BatchHeader:
    """Return the header in the 61 bytes from `position` on, whatever they say. O(1)."""
    return BatchHeader(*_HEADER.unpack_from(data, position))


def decode_record(header: BatchHeader, payload: bytes, start: int) -> tuple[Record, int]:
    """Return the record that begins at `start`, and where it ends; raises an error of this module.

    O(bytes). Plain and slow: `quick_record` does the same.
    """
    cursor = _Cursor(payload, start)
    length = cursor.number()
    body, available_bytes = cursor.position, len(payload) - cursor.position
    if length > available_bytes:
        raise _InvalidRecordError(
            f"Invalid record size: expected {length} bytes in record payload, but instead the "
            f"buffer has only {available_bytes} remaining bytes."
        )
    cursor.position += 1  # its attributes, which nobody uses
    timestamp = header.base_timestamp + cursor.number(bits=64)
    offset_delta = cursor.number()
    key = cursor.sized()
    value = cursor.sized()
    headers = cursor.headers()
    if cursor.position - body != length:
        raise _InvalidRecordError(
            f"Invalid record size: expected to read {length} bytes in record payload, but instead "
            f"read {cursor.position - body}"
        )
    if header.timestamp_type == "LogAppendTime":
        timestamp = header.max_timestamp
    sequence = NO_SEQUENCE
    if header.base_sequence >= 0:
        sequence = (header.base_sequence + offset_delta) & _INT32_MAX  # after the greatest comes 0
    offset = header.base_offset + offset_delta
    return Record(offset, timestamp, key, value, headers, sequence), cursor.position


def decode_records(
    header: BatchHeader, payload: bytes, decode: DecodeRecord = decode_record
) -> Iterator[Record | CorruptRecord]:
    """Yield the records in decompressed bytes; after a `CorruptRecord` none follows. O(bytes).

    `decode` is what decodes each of them.

    >>> header = BatchHeader(7, 0, 0, 2, 0, 0, 0, 1000, 1000, -1, -1, -1, record_count=1)
    >>> payload = bytes.fromhex("12 00 04 00 02 6b 04 68 69 00")
    >>> [tuple(record) for record in decode_records(header, payload)]
    [(7, 1002, b'k', b'hi', (), -1)]
    >>> [type(record).__name__ for record in decode_records(header, payload[:-1])]
    ['CorruptRecord']
    """
    if header.record_count < 0:
        detail = f"Found invalid record count {header.record_count} in magic v{header.magic} batch"
        yield CorruptRecord(detail)
        return
    position = 0
    for _ in range(header.record_count):
        try:
            record, end = decode(header, payload, position)
        except _InvalidRecordError as error:
            yield CorruptRecord(str(error), position)
            return
        yield record
        position = end
    if position < len(payload):
        detail = "Incorrect declared batch size, records still remaining in file"
        yield CorruptRecord(detail, position)


def control_record(record: Record) -> ControlRecord | CorruptRecord:
    """Return what a record of a control batch says. O(1).

    >>> marker = Record(5, 0, bytes.fromhex("0000 0001"), bytes.fromhex("0000 00000003"))
    >>> control_record(marker)
    ControlRecord(type='COMMIT', coordinator_epoch=3)
    >>> type(control_record(marker._replace(key=b""))).__name__
    'CorruptRecord'
    """
    key = record.key or b""
    if len(key) < _CONTROL_KEY.size:
        return CorruptRecord(
            "Invalid value size found for control record key. Must have at least "
            f"{_CONTROL_KEY.size} bytes, but found only {len(key)}"
        )
    version, number = _CONTROL_KEY.unpack_from(key)
    if version < 0:
        return CorruptRecord(_WRONG_VERSION.format("control record", version))
    name = CONTROL_TYPES.get(number, f"type {number}")
    if name not in ("ABORT", "COMMIT"):
        return ControlRecord(name)
    value = record.value or b""
    if len(value) < _MARKER.size:
        return CorruptRecord(f"end transaction marker of {len(value)} bytes, not {_MARKER.size}")
    version, coordinator_epoch = _MARKER.unpack_from(value)
    if version < 0:
        return CorruptRecord(_WRONG_VERSION.format("end transaction marker", version))
    return ControlRecord(name, coordinator_epoch)


class _Cursor:
    """Reads the fields of a record in turn; each method raises _InvalidRecordError."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self.position = position

    def number(self, *, bits: int = 32) -> int:
        found = decode_varint(self._data, self.position, bits=bits)
        if not isinstance(found, Varint):
            raise _InvalidRecordError("Found invalid record structure")
        self.position = found.end
        return found.value

    def sized(self) -> bytes | None:
        """Return as many bytes as the number in front of them says; None for a negative one."""
        length = self.number()
        return self._bytes(length) if length >= 0 else None

    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        count = self.number()
        if count < 0:
            raise _InvalidRecordError(f"Found invalid number of record headers {count}")
        remaining_bytes = len(self._data) - self.position
        if count > remaining_bytes:
            raise _InvalidRecordError(
                f"Found invalid number of record headers. {count} is larger than the remaining "
                "size of the buffer"
            )
        return tuple(self._header() for _ in range(count))

    def _header(self) -> tuple[str, bytes | None]:
        length = self.number()
        if length < 0:
            raise _InvalidRecordError(f"Invalid negative header key size {length}")
        key = self._bytes(length).decode("utf-8", "replace")  # as Java does
        return key, self.sized()

    def _bytes(self, length: int) -> bytes:
        start, self.position = self.position, self.position + length
        if self.position > len(self._data):
            raise _InvalidRecordError("Found invalid record structure")
        return self._data[start : self.position]
