"""Record sets of a produce request, of any format, as the messages that a topic can store.

    v0  v1    messages; compressed ones have messages inside
    v2        batches, with a producer's id and sequence, timestamps, headers

A topic stores key and value. So timestamps and the borders of batches are lost; headers, too, if
the topic's setting says so, else a record with headers is refused. One wrong checksum, and nothing
of the set is stored. Source: Kafka: LogValidator; the formats: `broker_files.entries`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kminilog.broker_files.entries import CorruptBatch, RecordBatch, scan
from kminilog.broker_files.record import CorruptRecord, NotChecked
from kminilog.broker_files.record_batch import BatchHeader
from kminilog.format.message import KeyValue, NeedMoreBytes
from kminilog.wire.errors import Code, RefusedError

MOST_UNPACKED_BYTES = 32 << 20
MOST_RECORDS = 250_000
"""Of a record set: a record takes some hundred bytes of memory, and 7 in a compressed batch."""
_GREATEST = (1 << 31) - 1


class Sequence(NamedTuple):
    """Whose batch it is, and the numbers that its producer gave to its records."""

    producer_id: int
    epoch: int
    first: int

    def after(self, records: int) -> int:
        """Return the number that comes after these many records; after the greatest comes 0."""
        return (self.first + records) & _GREATEST


class RecordSet(NamedTuple):
    """The messages of a record set; `sequence` is None if its producer is not idempotent."""

    messages: list[KeyValue]
    sequence: Sequence | None = None
    with_timestamp: int = 0
    with_headers: int = 0


def decode_record_set(data: bytes, *, drops_headers: bool = False) -> RecordSet:
    """Return the messages of a record set. O(bytes). Raises RefusedError, with its error code.

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> decode_record_set(encode(KAFKA, 0, None, b"a") + encode(KAFKA, 0, b"k", b"b")).messages
    [(None, b'a'), (b'k', b'b')]
    """
    messages: list[KeyValue] = []
    sequences: list[Sequence] = []
    with_timestamp = with_headers = batches = 0
    for batch in _batches(data):
        batches += 1
        if isinstance(batch.fields, BatchHeader):
            _check_header(batch.fields)
            if batch.fields.producer_id >= 0:
                header = batch.fields
                sequences.append(
                    Sequence(header.producer_id, header.producer_epoch, header.base_sequence)
                )
        for record in batch.records(MOST_UNPACKED_BYTES):
            if isinstance(record, CorruptRecord):
                raise RefusedError(Code.CORRUPT_MESSAGE, record.detail)
            if isinstance(record, NotChecked):
                is_unknown = record.reason.startswith("codec ")
                code = Code.UNSUPPORTED_COMPRESSION_TYPE if is_unknown else Code.MESSAGE_TOO_LARGE
                raise RefusedError(code, record.reason)
            if record.headers and not drops_headers:
                reason = "a record has headers: the topic cannot store them; set its setting"
                reason += " message.drop.headers to store it without them"
                raise RefusedError(Code.UNSUPPORTED_FOR_MESSAGE_FORMAT, reason)
            with_headers += bool(record.headers)
            with_timestamp += record.timestamp >= 0
            messages.append((record.key, record.value))
            check_count(len(messages))
    if batches and not messages:
        raise RefusedError(Code.INVALID_RECORD, "a record set without a record")
    if sequences and batches > 1:
        reason = "a batch of an idempotent producer, and another one, in a set"
        raise RefusedError(Code.INVALID_RECORD, reason)
    return RecordSet(messages, next(iter(sequences), None), with_timestamp, with_headers)


def _batches(data: bytes) -> Iterator[RecordBatch]:
    for outcome in scan(data):
        if isinstance(outcome, CorruptBatch):
            raise RefusedError(Code.CORRUPT_MESSAGE, outcome.detail)
        if isinstance(outcome, NeedMoreBytes):
            raise RefusedError(Code.CORRUPT_MESSAGE, "the record set ends inside a message")
        yield outcome


def check_count(records: int) -> None:
    """Raise RefusedError for a set of too many records."""
    if records > MOST_RECORDS:
        raise RefusedError(Code.MESSAGE_TOO_LARGE, f"more than {MOST_RECORDS} records in a set")


def _check_header(header: BatchHeader) -> None:
    if header.is_control or header.is_transactional:
        raise RefusedError(Code.INVALID_RECORD, "there are no transactions here")
    if header.producer_id >= 0 and min(header.producer_epoch, header.base_sequence) < 0:
        reason = f"epoch {header.producer_epoch}, sequence {header.base_sequence}"
        raise RefusedError(Code.INVALID_RECORD, f"a producer id, but {reason}")
    if header.record_count != header.last_offset_delta + 1:
        reason = f"{header.record_count} records, but a last offset delta of "
        raise RefusedError(Code.INVALID_RECORD, f"{reason}{header.last_offset_delta}")
