"""The records of a batch: what may be wrong with one, in Kafka's words; and control records."""

import struct

import pytest

from kminilog.broker_files.record import CorruptRecord, Record
from kminilog.broker_files.record_batch import (
    CONTROL_TYPES,
    BatchHeader,
    ControlRecord,
    control_record,
    decode_records,
)
from kminilog.broker_files.varint import encode_unsigned, zigzag

HEADER = BatchHeader(100, 0, 0, 2, 0, 0, 0, 1000, 9000, -1, -1, -1, 1)


def varint(number: int) -> bytes:
    return encode_unsigned(zigzag(number))


def sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(key=None, value=None, *headers, length=None, header_count=None):
    body = b"\0" + varint(5) + varint(2) + sized(key) + sized(value)
    body += varint(len(headers) if header_count is None else header_count)
    body += b"".join(sized(name) + sized(content) for name, content in headers)
    return varint(len(body) if length is None else length) + body


def test_record_has_its_offset_and_time_from_the_header():
    (found,) = decode_records(HEADER, record(b"k", None, (b"h", None), (b"", b"")))
    assert found == Record(102, 1005, b"k", None, (("h", None), ("", b"")))


def test_null_is_not_empty():
    (null,) = decode_records(HEADER, record(None, None))
    (empty,) = decode_records(HEADER, record(b"", b""))
    assert (null[2:4], empty[2:4]) == ((None, None), (b"", b""))


def test_log_append_time_is_the_max_timestamp_of_the_batch():
    (found,) = decode_records(HEADER._replace(attributes=0x08), record())
    assert isinstance(found, Record)
    assert found.timestamp == 9000


@pytest.mark.parametrize("base, sequence", [(-1, -1), (0, 2), (2**31 - 1, 1)])
def test_sequence_counts_from_the_first_and_begins_again_at_0(base, sequence):
    (found,) = decode_records(HEADER._replace(base_sequence=base), record())
    assert isinstance(found, Record)
    assert found.sequence == sequence


WHOLE = len(record()) - 1


@pytest.mark.parametrize(
    "payload, said",
    [
        (b"", "Found invalid record structure"),
        (b"\xff" * 9, "Found invalid record structure"),
        (
            record(length=40),
            f"expected 40 bytes in record payload, but instead the buffer has only {WHOLE} remain",
        ),
        (record(length=3), f"expected to read 3 bytes in record payload, but instead read {WHOLE}"),
        (record(header_count=-1), "Found invalid number of record headers -1"),
        (record(header_count=9), "9 is larger than the remaining size of the buffer"),
        (record(None, None, (None, b"")), "Invalid negative header key size -1"),
        (record() + b"!", "records still remaining in file"),
    ],
)
def test_damaged_record_is_named_in_kafkas_words(payload, said):
    *_, outcome = decode_records(HEADER, payload)
    assert isinstance(outcome, CorruptRecord)
    assert said in outcome.detail


def test_records_before_the_damage_are_there():
    payload = record(b"a") + record(b"b", length=3)
    first, second = decode_records(HEADER._replace(record_count=2), payload)
    assert isinstance(first, Record)
    assert isinstance(second, CorruptRecord)
    assert second.position == len(record(b"a"))


def test_negative_count_is_damage():
    (outcome,) = decode_records(HEADER._replace(record_count=-1), record())
    assert outcome == CorruptRecord("Found invalid record count -1 in magic v2 batch")


@pytest.mark.parametrize("number, name", [*CONTROL_TYPES.items(), (7, "type 7"), (-1, "type -1")])
def test_control_record_has_the_name_of_its_type(number, name):
    marker = Record(0, 0, struct.pack(">hh", 0, number), struct.pack(">hi", 0, 9))
    epoch = 9 if name in ("ABORT", "COMMIT") else None
    assert control_record(marker) == ControlRecord(name, epoch)


@pytest.mark.parametrize(
    "key, value, said",
    [
        (None, None, "Must have at least 4 bytes, but found only 0"),
        (b"\0\0\0", None, "Must have at least 4 bytes, but found only 3"),
        (b"\xff\xff\0\1", None, "Invalid version found for control record: -1"),
        (b"\0\0\0\1", None, "marker of 0 bytes, not 6"),
        (b"\0\0\0\1", b"\xff\xff\0\0\0\1", "Invalid version found for end transaction marker: -1"),
    ],
)
def test_damaged_control_record_is_named(key, value, said):
    outcome = control_record(Record(0, 0, key, value))
    assert isinstance(outcome, CorruptRecord)
    assert said in outcome.detail
