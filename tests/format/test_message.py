import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.errors import NullValueError
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import (
    CorruptMessage,
    Fault,
    Message,
    NeedMoreBytes,
    checksum,
    content,
    decode,
    encode,
    encoded_bytes,
    header,
    is_next_message,
    scan,
)
from kminilog.storage.segment.damage_scan import repaired_size
from tests.support.damage import later_message
from tests.support.format.messages import dialects, keys, messages


@given(messages())
def test_message_encoded_and_decoded_is_the_same(case):
    dialect, offset, key, value = case
    data = encode(dialect, offset, key, value)
    message = decode(dialect, data)
    assert isinstance(message, Message)
    assert (message.offset, message.key, message.value) == (offset, key, value)
    assert message.length_bytes == len(data) == encoded_bytes(dialect, key, value)
    assert encode(dialect, *message[:1], message.key, message.value) == data


@given(messages())
def test_message_is_header_crc_and_content(case):
    dialect, offset, key, value = case
    after_crc = content(dialect, key, value)
    crc = struct.pack(">I", zlib.crc32(after_crc))
    assert encode(*case) == header(offset, after_crc) + crc + after_crc
    assert header(offset, after_crc) == struct.pack(">qi", offset, len(after_crc) + 4)


@given(messages(), st.binary(min_size=16, max_size=16))
def test_checksum_covers_neither_offset_nor_size_nor_crc(case, beginning):
    encoded = encode(*case)
    stored = int.from_bytes(encoded[12:16])
    assert checksum(encoded) == checksum(beginning + encoded[16:]) == stored


@given(messages(), st.data())
def test_message_cut_anywhere_needs_more_bytes(case, data):
    encoded = encode(*case)
    kept_bytes = data.draw(st.integers(0, len(encoded) - 1))
    outcome = decode(case[0], encoded[:kept_bytes])
    assert isinstance(outcome, NeedMoreBytes)
    assert outcome.needed_bytes > kept_bytes


@given(messages(), st.data())
def test_message_with_one_byte_changed_behind_the_size_is_corrupt(case, data):
    encoded = bytearray(encode(*case))
    position = data.draw(st.integers(12, len(encoded) - 1))
    encoded[position] ^= data.draw(st.integers(1, 255))
    assert isinstance(decode(case[0], bytes(encoded)), CorruptMessage)


@pytest.mark.parametrize("magic", [1, 2])
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
def test_decode_of_another_magic_is_corrupt_whatever_its_crc(dialect, magic):
    encoded = later_message(magic, 5, b"hi")
    for data in (encoded, encoded[:-1] + b"!"):
        outcome = decode(dialect, data)
        assert isinstance(outcome, CorruptMessage)
        assert outcome.detail == f"magic {magic} is not 0"


@given(messages(), st.integers(0, 2**31 - 1))
def test_repaired_size_of_a_message_with_another_size_is_the_real_one(case, wrong_size):
    encoded = encode(*case)
    damaged = encoded[:8] + struct.pack(">i", wrong_size) + encoded[12:]
    real_size = len(encoded) - 12
    assert repaired_size(damaged) == (None if wrong_size == real_size else real_size)


def test_repaired_size_of_too_few_bytes_is_none():
    assert repaired_size(bytes(21)) is None


def _with_crc(dialect: Dialect, after_crc: bytes) -> bytes:
    return struct.pack(">qiI", 5, len(after_crc) + 4, zlib.crc32(after_crc)) + after_crc


@pytest.mark.parametrize(
    ("dialect", "after_crc", "fault"),
    [
        (KAFKA, struct.pack(">bbiib", 1, 0, -1, 1, 65), Fault.BAD_MAGIC),
        (KAFKA, struct.pack(">bbiib", 0, 0, -2, 1, 65), Fault.BAD_LENGTH),
        (KAFKA, struct.pack(">bbiib", 0, 0, 9, 1, 65), Fault.BAD_LENGTH),
        (KAFKA, struct.pack(">bbiib", 0, 0, -1, 2, 65), Fault.BAD_LENGTH),
        (KAFKA, struct.pack(">bbiib", 0, 0, -1, -1, 65), Fault.BAD_LENGTH),
        (KAFKA, struct.pack(">bbiib", 0, 0, -1, -2, 65), Fault.BAD_LENGTH),
        (DOCUMENTED, struct.pack(">bbib", 1, 0, -1, 65), Fault.BAD_MAGIC),
        (DOCUMENTED, struct.pack(">bbib", 0, 0, -2, 65), Fault.BAD_LENGTH),
        (DOCUMENTED, struct.pack(">bbib", 0, 0, 2, 65), Fault.BAD_LENGTH),
    ],
)
def test_message_with_a_right_crc_and_a_wrong_field_is_corrupt(
    dialect: Dialect, after_crc: bytes, fault: Fault
):
    outcome = decode(dialect, _with_crc(dialect, after_crc))
    assert isinstance(outcome, CorruptMessage)
    assert (outcome.fault, outcome.offset) == (fault, 5)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
@pytest.mark.parametrize("size", [-(2**31), -1, 0, 9])
def test_message_with_a_size_below_the_smallest_is_corrupt_at_once(dialect: Dialect, size: int):
    outcome = decode(dialect, struct.pack(">qi", 3, size))
    assert isinstance(outcome, CorruptMessage)
    assert outcome.fault is Fault.BAD_LENGTH


def test_message_null_key_and_empty_key_differ():
    for dialect in DIALECTS.values():
        null, empty = (decode(dialect, encode(dialect, 0, key, b"v")) for key in (None, b""))
        assert isinstance(null, Message)
        assert null.key is None
        assert isinstance(empty, Message)
        assert empty.key == b""


def test_message_null_value_is_only_in_the_kafka_dialect():
    message = decode(KAFKA, encode(KAFKA, 0, b"k", None))
    assert isinstance(message, Message)
    assert message.value is None
    with pytest.raises(NullValueError, match="documented dialect has no null value"):
        encode(DOCUMENTED, 0, b"k", None)


def test_message_names_its_codec():
    for attributes, codec in {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 7: "unknown"}.items():
        message = decode(KAFKA, encode(KAFKA, 9, None, b"inner", attributes=attributes))
        assert isinstance(message, Message)
        assert message.codec == codec


def test_follows_takes_a_compressed_message_with_a_later_offset_only():
    compressed = decode(KAFKA, encode(KAFKA, 9, None, b"inner", attributes=1))
    assert isinstance(compressed, Message)
    assert [is_next_message(compressed, offset) for offset in (8, 9, 10)] == [True, True, False]
    far = compressed._replace(offset=2**30 + 9)
    assert [is_next_message(far, offset) for offset in (9, 10)] == [False, True]


@given(st.lists(keys, max_size=8), dialects, st.binary(max_size=11))
def test_scan_of_messages_and_a_torn_tail_yields_each_and_stops(some_keys, dialect, torn):
    encoded = [encode(dialect, offset, key, b"v") for offset, key in enumerate(some_keys)]
    outcomes = list(scan(dialect, b"".join(encoded) + torn))
    positions = [sum(map(len, encoded[:count])) for count in range(len(encoded) + bool(torn))]
    assert [position for position, _ in outcomes] == positions
    assert [m.key for _, m in outcomes if isinstance(m, Message)] == some_keys
    assert isinstance(outcomes[-1][1], NeedMoreBytes) if torn else True
