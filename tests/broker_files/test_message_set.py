"""A compressed message: its inner offsets and times, and what may be wrong with it."""

import gzip
import struct
from zlib import crc32

import pytest

from kminilog.broker_files.entries import RecordBatch, decode_batch
from kminilog.broker_files.record import CorruptRecord, Record

LOG_APPEND_TIME = 8


def message(magic, offset, value, *, attributes=0, timestamp=1000, key=None):
    """Return the bytes of one message of format v0 or v1."""
    content = struct.pack(">bb", magic, attributes)
    content += struct.pack(">q", timestamp) if magic else b""
    for field in key, value:
        content += struct.pack(">i", -1 if field is None else len(field)) + (field or b"")
    return struct.pack(">qiI", offset, len(content) + 4, crc32(content)) + content


def outcomes(data):
    batch = decode_batch(data)
    assert isinstance(batch, RecordBatch)
    return list(batch.records())


def wrapper(magic, offset, inner, **fields):
    return message(magic, offset, gzip.compress(inner), **{"attributes": 1} | fields)


def test_offsets_inside_are_absolute_in_v0_and_relative_in_v1():
    v0 = message(0, 40, b"a") + message(0, 41, b"b")
    v1 = message(1, 0, b"a") + message(1, 1, b"b")
    for data in wrapper(0, 41, v0), wrapper(1, 41, v1):
        assert [(record.offset, record.value) for record in outcomes(data)] == [
            (40, b"a"),
            (41, b"b"),
        ]


def test_offsets_inside_have_the_gaps_that_compaction_left():
    inner = message(1, 2, b"a") + message(1, 7, b"b")
    assert [record.offset for record in outcomes(wrapper(1, 107, inner))] == [102, 107]


def test_wrapper_with_offset_0_has_inner_offsets_as_they_are():
    inner = message(1, 0, b"a") + message(1, 1, b"b")
    assert [record.offset for record in outcomes(wrapper(1, 0, inner))] == [0, 1]


def test_wrapper_below_its_last_message_is_damage():
    (outcome,) = outcomes(wrapper(1, 1, message(1, 2, b"a")))
    assert isinstance(outcome, CorruptRecord)
    assert "wrapper offset '1' is less than the last inner message offset '2'" in outcome.detail


@pytest.mark.parametrize("attributes, time", [(1, 1000), (1 | LOG_APPEND_TIME, 5000)])
def test_log_append_time_of_the_wrapper_is_the_time_of_all(attributes, time):
    data = wrapper(1, 0, message(1, 0, b"a"), attributes=attributes, timestamp=5000)
    assert outcomes(data) == [Record(0, time, None, b"a")]


@pytest.mark.parametrize(
    "inner, said",
    [
        (b"", "no inner records"),
        (message(1, 0, b"a")[:-1], "cut short"),
        (message(1, 0, b"a")[:9], "cut short"),
        (message(1, 0, b"a")[:-1] + b"b", "stored crc"),
        (message(1, 0, b"a", attributes=1), "must not be compressed"),
        (struct.pack(">qiIbb", 0, 13, 0, 1, 0), "less than the minimum record overhead (14)"),
        (struct.pack(">qiIbb", 0, 50, 0, 2, 0) + bytes(44), "Invalid magic found in record: 2"),
        (struct.pack(">qiIbbi", 0, 14, 0, 1, 0, 0) + bytes(4), "size = 14"),
    ],
)
def test_damage_inside_is_the_only_outcome_of_the_set(inner, said):
    (outcome,) = outcomes(wrapper(1, 5, message(1, 0, b"first") + inner if inner else inner))
    assert isinstance(outcome, CorruptRecord)
    assert said in outcome.detail


def test_wrapper_without_a_value_is_damage():
    (outcome,) = outcomes(message(1, 5, None, attributes=1))
    assert isinstance(outcome, CorruptRecord)
    assert "null value (magic = 1)" in outcome.detail


def test_zstd_is_no_codec_of_a_message():
    (outcome,) = outcomes(message(1, 5, b"", attributes=4))
    assert isinstance(outcome, CorruptRecord)


@pytest.mark.parametrize("position, length", [(18, 3), (22, 2), (22, 0), (18, -2)])
def test_length_that_does_not_add_up_is_damage(position, length):
    data = message(0, 5, b"a")
    data = data[:position] + struct.pack(">i", length) + data[position + 4 :]
    outcome = decode_batch(data[:12] + struct.pack(">I", crc32(data[16:])) + data[16:])
    if (position, length) == (18, -2):
        assert isinstance(outcome, RecordBatch)  # as for Kafka: any negative length is null
    else:
        assert getattr(outcome, "fault", None) == "bad-length"
