"""What others wrote is read as they meant it, and no bytes raise."""

import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.broker_files.entries import CorruptBatch, RecordBatch, decode_batch, scan
from kminilog.broker_files.record import CorruptRecord, NotChecked, Record
from kminilog.broker_files.record_batch import HEADER_BYTES, BatchHeader, control_record
from kminilog.format.dialect import KAFKA
from kminilog.format.message import NeedMoreBytes, encode
from tests.broker_files.golden_files import ALL, JAVA, java, with_right_crc

TIME = 1_700_000_000_000
FOUR = [
    (TIME, b"key", b"value"),
    (TIME + 5, None, b"no key, " * 12),
    (TIME - 7, b"tombstone", None),
    (TIME + 100_000, b"", b""),
]
OF_FOUR = [
    name
    for name in ALL
    if name.split("-")[-1] in ("none", "gzip", "snappy", "lz4", "zstd")
    and name.split()[1][0] == "v"
]


def batches(data: bytes) -> list[RecordBatch]:
    found = list(scan(data))
    assert {type(batch) for batch in found} == {RecordBatch}
    return found


def records(data: bytes) -> list[Record]:
    return [record for batch in batches(data) for record in batch.records()]


@pytest.mark.parametrize("name", OF_FOUR)
def test_four_records_of_each_client_format_and_codec_are_read(name):
    client, case = name.split()
    magic, codec = int(case[1]), case.split("-")[1]
    first = 3_000_000_000 if client == JAVA else 0
    found = records(ALL[name])
    assert [record.offset for record in found] == list(range(first, first + 4))
    times = [time if magic else -1 for time, _, _ in FOUR]
    assert [record.timestamp for record in found] == times
    assert [record[2:4] for record in found] == [row[1:] for row in FOUR]
    assert {(batch.magic, batch.codec) for batch in scan(ALL[name])} == {(magic, codec)}
    if client == JAVA or magic == 2 or codec == "none":  # the others have been at no broker
        assert batches(ALL[name])[-1].last_offset == first + 3
    if magic == 2:
        assert found[0].headers[:2] == (("h1", b"x"), ("null", None))


def test_each_client_wrote_each_codec_of_each_format():
    assert len(OF_FOUR) == 3 * (5 + 4 + 4) - 1  # aiokafka refuses lz4 in v0


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_what_real_brokers_stored_is_read(magic):
    """Values, and what kafka-python's own test expects of them besides."""
    data = [ALL[f"kafka-brokers v{magic}-{number}"] for number in range(4)]
    found = records(b"".join(data[:3] if magic == 2 else data))
    assert [(record.offset, record.value) for record in found] == [
        *((0, b"123"), (1, b""), (2, b""), (3, b"123"))
    ]
    assert found[0].timestamp == (-1, 1503648000942, 1503229838908)[magic]
    if magic == 2:
        (record,) = records(data[3])
        assert (record.value, record.headers) == (b"hdr", (("hkey", b"hval"),))
    else:
        assert batches(data[0])[0].fields.crc == (4272954815, 1199974594)[magic]


def test_header_of_a_batch_is_read_as_it_was_written():
    (batch,) = batches(java("v2-transactional"))
    header = batch.fields
    assert isinstance(header, BatchHeader)
    assert header[:4] == (50, 58, 3, 2)
    assert header[6:] == (0, TIME, TIME, 4001, 2, 0, 1)
    assert header.is_transactional
    assert not header.is_control
    assert not header.has_delete_horizon
    assert (batch.base_offset, batch.last_offset, batch.position) == (50, 50, 0)


@pytest.mark.parametrize("name, kind", [("v2-commit", "COMMIT"), ("v2-abort", "ABORT")])
def test_marker_of_a_transaction_says_what_it_ends_with(name, kind):
    (batch,) = batches(java(name))
    assert isinstance(batch.fields, BatchHeader)
    assert batch.fields.is_control
    (marker,) = batch.records()
    assert isinstance(marker, Record)
    assert control_record(marker) == (kind, 9)


def test_hundred_headers_are_read():
    (record,) = records(java("v2-hundred-headers"))
    assert record.headers == tuple((f"h{n}", b"%d" % n) for n in range(100))


def test_log_append_time_is_the_time_of_all_records():
    for name in "v2-log-append-time", "v1-log-append-time":
        assert {record.timestamp for record in records(java(name))} == {1_700_000_099_000}
        assert batches(java(name))[0].timestamp_type == "LogAppendTime"


def test_sequence_after_the_greatest_is_0():
    found = [record.sequence for record in records(java("v2-idempotent"))]
    assert found == [2**31 - 2, 2**31 - 1, 0, 1]


def test_batch_that_compaction_has_emptied_keeps_its_offsets():
    (batch,) = batches(java("v2-empty"))
    assert (list(batch.records()), batch.base_offset, batch.last_offset) == ([], 100, 119)


def test_batch_that_compaction_has_thinned_keeps_its_offsets():
    (batch,) = batches(java("v2-compacted"))
    assert [record.offset for record in records(java("v2-compacted"))] == [201, 205, 209]
    assert (batch.base_offset, batch.last_offset) == (200, 209)


def test_formats_may_be_mixed_in_one_file():
    data = java("v0-none") + java("v1-gzip") + java("v2-zstd")
    assert len(records(data)) == 12
    assert [batch.magic for batch in batches(data)] == [0, 0, 0, 0, 1, 2]
    positions = [batch.position for batch in batches(data)]
    assert positions[-1] == len(data) - len(java("v2-zstd"))


def test_compressed_message_does_not_say_its_first_offset():
    (wrapper,) = batches(java("v1-gzip"))
    assert (wrapper.base_offset, wrapper.last_offset) == (None, 3_000_000_003)


@pytest.mark.parametrize("name", ALL)
def test_every_cut_needs_more_bytes(name):
    data = ALL[name]
    end = batches(data)[0].length_bytes
    for length in range(1, end):
        outcome = decode_batch(data[:length])
        assert isinstance(outcome, NeedMoreBytes)
        assert outcome.needed_bytes == (12 if length < 12 else end)


@pytest.mark.parametrize("name", ["v0-none", "v1-gzip", "v2-none", "v2-lz4"])
def test_every_changed_byte_that_the_crc_covers_is_damage(name):
    data = java(name)[: batches(java(name))[0].length_bytes]
    for position in range(16, len(data)):
        for mask in 0x01, 0x80:
            changed = bytearray(data)
            changed[position] ^= mask
            outcome = decode_batch(bytes(changed))
            assert isinstance(outcome, CorruptBatch)
            assert "Record is corrupt (stored crc" in outcome.detail or position == 16


def test_batch_smaller_than_its_header_is_damage():
    outcome = decode_batch(struct.pack(">qiib", 0, 48, 0, 2) + bytes(43))
    assert isinstance(outcome, CorruptBatch)
    assert outcome.fault == "bad-length"
    said = "Record batch is corrupt (the size 60 is smaller than the minimum allowed overhead 61)"
    assert outcome.detail == said


def test_size_below_the_smallest_is_damage_in_kafkas_words():
    outcome = decode_batch(struct.pack(">qi", 5, 13) + bytes(13))
    assert outcome == (
        "bad-length",
        "Record size 13 is less than the minimum record overhead (14)",
        5,
        25,
    )


@pytest.mark.parametrize(
    "codec, module", [("snappy", "pyarrow"), ("lz4", "pyarrow"), ("zstd", "pyarrow")]
)
def test_codec_without_its_package_is_not_checked(monkeypatch, codec, module):
    monkeypatch.setitem(sys.modules, module, None)
    (batch,) = batches(java(f"v2-{codec}"))
    (outcome,) = batch.records()
    said = f"codec {codec} needs {module}: pip install 'kminilog[bulk]'"
    assert outcome == NotChecked(said)


def test_lz4_of_format_v0_needs_xxhash_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "xxhash", None)
    (outcome,) = batches(java("v0-lz4"))[0].records()
    assert outcome == NotChecked("codec lz4 needs xxhash: pip install 'kminilog[bulk]'")


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_records_beyond_the_limit_are_not_checked(codec):
    (batch,) = batches(java(f"v2-{codec}"))
    unpacked_bytes = len(java("v2-none")) - HEADER_BYTES
    (outcome,) = batch.records(limit_bytes=unpacked_bytes - 1)
    assert outcome == NotChecked(f"more than {unpacked_bytes - 1} bytes when decompressed")
    assert len(list(batch.records(limit_bytes=unpacked_bytes))) == 4


@given(st.binary(max_size=200))
def test_no_bytes_raise(data):
    for outcome in scan(data):
        assert isinstance(outcome, RecordBatch | NeedMoreBytes | CorruptBatch)


@given(st.sampled_from(sorted(ALL)), st.integers(0, 1 << 20), st.binary(min_size=1, max_size=6))
def test_no_records_behind_a_right_crc_raise(name, place, noise):
    """A writer may be wrong, too: the crc is made right for what the noise has changed."""
    (batch, *_) = batches(ALL[name])
    start = 21 if batch.magic == 2 else 17
    position = start + place % (batch.length_bytes - start)
    data = batch.data[:position] + noise + batch.data[position + len(noise) :]
    data = data[: batch.length_bytes]
    outcome = decode_batch(with_right_crc(data))
    if isinstance(outcome, RecordBatch):
        *before, last = [*outcome.records()] or [None]
        assert all(isinstance(record, Record) for record in before)
        assert last is None or isinstance(last, Record | CorruptRecord | NotChecked)
        last_offset = outcome.last_offset
        assert isinstance(last_offset, int)
    else:
        assert isinstance(outcome, CorruptBatch)


@given(st.integers(-(2**63), 2**63 - 1), st.none() | st.binary(), st.none() | st.binary())
def test_message_of_kminilog_in_the_kafka_dialect_is_format_v0(offset, key, value):
    assert records(encode(KAFKA, offset, key, value)) == [Record(offset, -1, key, value)]


def test_empty_batch_has_nothing_to_decompress():
    empty = java("v2-empty")
    gzip = with_right_crc(empty[:21] + b"\0\1" + empty[23:])  # Kafka keeps the codec
    (batch,) = batches(gzip)
    assert (batch.codec, list(batch.records())) == ("gzip", [])
