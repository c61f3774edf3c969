"""The byte picture: each byte has one field, and the fields say what the decoders say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.broker_files.byte_picture import UNPARSED, fields_of_batch, fields_of_records
from kminilog.broker_files.codecs import decompress
from kminilog.broker_files.entries import RecordBatch, scan
from kminilog.broker_files.record import Record
from kminilog.broker_files.record_batch import HEADER_BYTES, BatchHeader
from tests.broker_files.golden_files import ALL, java


def assert_each_byte_has_one_field(data, fields):
    end = 0
    for field in fields:
        assert field.position == end
        assert field.length > 0
        end += field.length
    assert end == len(data)


@pytest.mark.parametrize("name", ALL)
def test_fields_of_golden_batches_say_what_the_decoders_say(name):
    for batch in scan(ALL[name]):
        assert isinstance(batch, RecordBatch)
        fields = fields_of_batch(batch.data)
        assert_each_byte_has_one_field(batch.data, fields)
        assert UNPARSED not in {field.name for field in fields}
        numbers = {field.name: field.value for field in fields if field.record is None}
        if not isinstance(batch.fields, BatchHeader):
            assert (numbers["offset"], numbers["crc"]) == (batch.fields.offset, batch.fields.crc)
            assert numbers.get("value", b"") == (batch.fields.value or b"")
            continue
        assert [field.value for field in fields[:13]] == list(batch.fields)
        if batch.fields.record_count == 0:
            continue
        payload = decompress(batch.codec, batch.data[HEADER_BYTES:])
        assert isinstance(payload, bytes)
        inside = fields_of_records(payload, batch.fields.base_offset)
        assert_each_byte_has_one_field(payload, inside)
        for number, record in enumerate(batch.records()):
            assert isinstance(record, Record)
            own = [field for field in inside if field.record == number]
            named = {field.name: field for field in own}
            assert named["offset delta"].meaning == f"offset {record.offset}"
            assert getattr(named.get("key"), "value", b"") == (record.key or b"")
            assert named["header count"].value == len(record.headers)
            keys = [field.value for field in own if field.name == "header key"]
            assert keys == [name.encode() for name, _ in record.headers]


def test_header_is_explained_in_words():
    said = {field.name: field.meaning for field in fields_of_batch(java("v2-commit"))[:13]}
    assert said["attributes"] == "none, CreateTime, transactional, control batch"
    assert said["length"] == "66 bytes follow"
    assert said["last offset delta"] == "the last offset is 51"
    (records,) = fields_of_batch(java("v2-zstd"))[13:]
    assert (records.name, records.meaning) == ("records", "compressed with zstd")


@given(st.binary(max_size=120))
def test_damaged_bytes_have_fields_too(data):
    assert_each_byte_has_one_field(data, fields_of_batch(data))
    assert_each_byte_has_one_field(data, fields_of_records(data))


@given(st.sampled_from(sorted(ALL)), st.integers(0, 10_000), st.binary(min_size=1, max_size=4))
def test_changed_bytes_have_fields_too(name, place, noise):
    data = ALL[name]
    position = place % len(data)
    data = data[:position] + noise + data[position + len(noise) :]
    assert_each_byte_has_one_field(data, fields_of_batch(data))
