"""What a broker's `.log` consists of, whatever its format: one view of messages and batches.

All formats begin with an offset, a size and, at byte 16, the magic:

    magic 0 or 1    a message, which may hold a compressed message set
    magic 2         a batch

A broker that was upgraded has all of them in one file. Kafka's own classes call each of them a
batch, and so does this module. Decoding has three outcomes: a `RecordBatch`, `NeedMoreBytes` or a
`CorruptBatch`. This module knows no files, and no other entry: it does not know which offset must
come. Source: Kafka: RecordBatch, FileLogInputStream, ByteBufferLogInputStream.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kminilog.broker_files.codecs import MAX_DECOMPRESSED_BYTES, decompress
from kminilog.broker_files.crc32c import crc32c
from kminilog.broker_files.message_set import (
    OVERHEAD_BYTES,
    LegacyMessage,
    decode_message,
    records_of,
)
from kminilog.broker_files.quick_record import quick_record
from kminilog.broker_files.record import CorruptRecord, RecordOutcome
from kminilog.broker_files.record_batch import (
    CRC_END,
    HEADER_BYTES,
    BatchHeader,
    decode_header,
    decode_records,
)
from kminilog.format.message import (
    SIZE_END,
    CorruptMessage,
    Fault,
    NeedMoreBytes,
    framed,
)

_MAGIC_AT = 16


class RecordBatch(NamedTuple):
    """A whole message or batch whose crc is right; `fields` has what its own format stores."""

    position: int
    fields: LegacyMessage | BatchHeader
    data: bytes

    @property
    def length_bytes(self) -> int:
        """Bytes from the offset field to its end."""
        return len(self.data)

    @property
    def magic(self) -> int:
        """Its format: 0, 1 or 2."""
        return self.fields.magic

    @property
    def codec(self) -> str:
        """Its codec by name."""
        return self.fields.codec

    @property
    def timestamp_type(self) -> str:
        """NoTimestampType in format v0, CreateTime or LogAppendTime."""
        return self.fields.timestamp_type

    @property
    def max_timestamp(self) -> int:
        """The greatest timestamp of its records as stored; -1 without any."""
        fields = self.fields
        return fields.max_timestamp if isinstance(fields, BatchHeader) else fields.timestamp

    @property
    def base_offset(self) -> int | None:
        """Its first offset; None for a compressed message, of which only the contents tell."""
        fields = self.fields
        if isinstance(fields, BatchHeader):
            return fields.base_offset
        return fields.offset if fields.codec == "none" else None

    @property
    def last_offset(self) -> int:
        """The last offset it stands for; compaction may have removed that record."""
        fields = self.fields
        if isinstance(fields, BatchHeader):
            return fields.base_offset + fields.last_offset_delta
        return fields.offset

    def records(self, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[RecordOutcome]:
        """Yield its records; what is no `Record` is the last. `limit_bytes` bounds the memory."""
        fields = self.fields
        if isinstance(fields, LegacyMessage):
            yield from records_of(fields, limit_bytes)
            return
        payload = self.data[HEADER_BYTES:]
        if fields.record_count == 0:  # compaction left the header: nothing was compressed
            return
        unpacked = decompress(fields.codec, payload, limit_bytes=limit_bytes)
        if isinstance(unpacked, bytes):
            yield from decode_records(fields, unpacked, quick_record)
        else:
            yield unpacked


class CorruptBatch(NamedTuple):
    """Bytes that are no message and no batch, with the reason in Kafka's words.

    `offset` and `length_bytes` are what the first two fields say, which may be wrong.
    """

    fault: Fault
    detail: str
    offset: int
    length_bytes: int


BatchOutcome = RecordBatch | NeedMoreBytes | CorruptBatch


def decode_batch(data: bytes, position: int = 0) -> BatchOutcome:
    """Return what begins at `position`, of whatever format. O(size), for the checksum.

    The records inside are not looked at.

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> message = encode(KAFKA, 7, None, b"hi")
    >>> [record.value for record in decode_batch(message).records()]
    [b'hi']
    >>> decode_batch(message[:-1])
    NeedMoreBytes(needed_bytes=28)
    >>> decode_batch(message[:16] + b"\\x09" + message[17:]).detail
    'Invalid magic found in record: 9'
    """
    frame = framed(data, position, OVERHEAD_BYTES[0])
    if isinstance(frame, NeedMoreBytes):
        return frame
    if isinstance(frame, CorruptMessage):
        size = frame.length_bytes - SIZE_END
        detail = (
            f"Record size {size} is less than the minimum record overhead ({OVERHEAD_BYTES[0]})"
        )
        return CorruptBatch(Fault.BAD_LENGTH, detail, frame.offset, frame.length_bytes)
    offset = int.from_bytes(frame[:8], signed=True)
    magic = int.from_bytes(frame[_MAGIC_AT : _MAGIC_AT + 1], signed=True)
    if magic not in (0, 1, 2):
        detail = f"Invalid magic found in record: {magic}"
        return CorruptBatch(Fault.BAD_MAGIC, detail, offset, len(frame))
    fields = _header(frame) if magic == 2 else decode_message(frame)
    if not isinstance(fields, CorruptRecord):
        return RecordBatch(position, fields, frame)
    fault = Fault.BAD_CRC if "stored crc" in fields.detail else Fault.BAD_LENGTH
    return CorruptBatch(fault, fields.detail, offset, len(frame))


def scan(data: bytes, position: int = 0) -> Iterator[BatchOutcome]:
    """Yield what stands there one after the other; stop after the first that is no `RecordBatch`.

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> data = encode(KAFKA, 0, None, b"a") + encode(KAFKA, 1, None, b"b")
    >>> [type(outcome).__name__ for outcome in scan(data[:-1])]
    ['RecordBatch', 'NeedMoreBytes']
    """
    while position < len(data):
        outcome = decode_batch(data, position)
        yield outcome
        if not isinstance(outcome, RecordBatch):
            return
        position += outcome.length_bytes


def _header(frame: bytes) -> BatchHeader | CorruptRecord:
    if len(frame) < HEADER_BYTES:
        return CorruptRecord(
            f"Record batch is corrupt (the size {len(frame)} is smaller than the minimum allowed "
            f"overhead {HEADER_BYTES})"
        )
    header = decode_header(frame)
    actual_crc = crc32c(frame[CRC_END:])
    if header.crc != actual_crc:
        return CorruptRecord(
            f"Record is corrupt (stored crc = {header.crc}, computed crc = {actual_crc})"
        )
    return header
