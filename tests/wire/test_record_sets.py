"""Record sets of all formats and codecs as messages; damage, and what cannot be stored."""

import sys
from collections import Counter
from random import Random

import pytest

from kminilog.broker_files.entries import CorruptBatch, RecordBatch, scan
from kminilog.broker_files.record import Record
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.wire import record_sets
from kminilog.wire.errors import Code, RefusedError
from kminilog.wire.record_sets import MOST_RECORDS, RecordSet, Sequence, decode_record_set
from tests.broker_files.golden_files import ALL, with_right_crc
from tests.support.broker_files.partition_writer import batch
from tests.support.wire.record_sets import (
    CODEC_NUMBERS,
    NOBODY,
    Producer,
    batch_of,
    message,
    set_of,
    wrapped,
)

SOME = [(b"k", b"a"), (None, b"b" * 300), (b"", b""), (b"k2", None)]
TRANSACTIONAL, CONTROL = 0x10, 0x20
SETS = {
    "plain v0": set_of(SOME),
    "plain v1": set_of(SOME, magic=1),
    **{f"{codec} v0": wrapped(SOME, codec) for codec in ("gzip", "snappy")},
    **{f"{codec} v1": wrapped(SOME, codec, magic=1) for codec in ("gzip", "snappy", "lz4")},
    **{f"{codec} v2": batch_of(SOME, codec=codec) for codec in CODEC_NUMBERS},
}


def outcome(data: bytes, **options: bool) -> RecordSet | Code:
    """Return a record set, or the code that it is refused with."""
    try:
        return decode_record_set(data, **options)
    except RefusedError as error:
        return error.code


def refusal(data: bytes, **options: bool) -> Code:
    """Return the code that a record set is refused with."""
    found = outcome(data, **options)
    assert isinstance(found, Code)
    return found


@pytest.mark.parametrize("name", SETS)
def test_set_of_each_format_and_codec_has_its_messages(name):
    found = decode_record_set(SETS[name])
    has_time = 0 if name.endswith("v0") else len(SOME)
    assert found == RecordSet(SOME, None, has_time, 0)
    assert decode_record_set(SETS[name] * 2).messages == SOME * 2


def test_set_may_mix_formats():
    data = SETS["plain v0"] + SETS["gzip v1"] + SETS["zstd v2"]
    assert decode_record_set(data).messages == SOME * 3


def test_empty_set_has_no_messages():
    assert decode_record_set(b"") == RecordSet([])


@pytest.mark.parametrize("name", SETS)
def test_set_with_any_changed_byte_is_refused_as_a_whole_or_the_same(name):
    """Only the offset, the leader epoch and what a length of null means are outside of the crc."""
    data = SETS["plain v0"] + SETS[name] + SETS["plain v0"]
    start = len(SETS["plain v0"])
    for at in range(start, start + len(SETS[name])):
        changed = bytearray(data)
        changed[at] ^= 0x40
        found = outcome(bytes(changed))
        if isinstance(found, RecordSet):
            assert found.messages == SOME * 3, at
        else:
            assert found is Code.CORRUPT_MESSAGE, at


@pytest.mark.parametrize("name", SETS)
def test_set_that_ends_inside_a_message_is_refused(name):
    data = SETS[name]
    for length in range(1, len(data)):
        if name.startswith("plain") and _is_whole(data[:length]):
            continue
        assert refusal(data[:length]) is Code.CORRUPT_MESSAGE


def _is_whole(data: bytes) -> bool:
    return all(isinstance(each, RecordBatch) for each in scan(data))


def test_set_without_a_record_is_refused():
    assert refusal(batch(0, [], last_delta=-1)) is Code.INVALID_RECORD


def test_idempotent_batch_has_its_sequence():
    found = decode_record_set(batch_of(SOME, producer=Producer(7, 3, 42)))
    assert found.sequence == Sequence(7, 3, 42)


@pytest.mark.parametrize("producer", [Producer(7, -1, 0), Producer(7, 0, -1)])
def test_idempotent_batch_without_epoch_or_sequence_is_refused(producer):
    assert refusal(batch_of(SOME, producer=producer)) is Code.INVALID_RECORD


def test_idempotent_batch_stands_alone_in_its_set():
    own = batch_of(SOME, producer=Producer(7, 0, 0))
    assert refusal(own + batch_of(SOME, producer=Producer(8, 0, 0))) is Code.INVALID_RECORD
    assert refusal(SETS["plain v0"] + own) is Code.INVALID_RECORD
    assert refusal(own + SETS["none v2"]) is Code.INVALID_RECORD


@pytest.mark.parametrize("attributes", [TRANSACTIONAL, CONTROL, TRANSACTIONAL | CONTROL])
def test_transactions_are_refused(attributes):
    assert refusal(batch_of(SOME, attributes=attributes)) is Code.INVALID_RECORD


def test_batch_whose_counts_differ_is_refused():
    assert refusal(batch(0, SOME, count=3)) is Code.INVALID_RECORD
    assert refusal(batch(0, SOME, last_delta=7)) is Code.INVALID_RECORD
    assert refusal(batch(0, SOME, count=5, last_delta=4)) is Code.CORRUPT_MESSAGE


def test_headers_are_refused_unless_the_topic_drops_them():
    data = batch_of(SOME, headers=[(b"h", b"1"), (b"n", None)])
    assert refusal(data) is Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
    found = decode_record_set(data, drops_headers=True)
    assert (found.messages, found.with_headers) == (SOME, len(SOME))


@pytest.mark.parametrize("codec", ["snappy", "lz4", "zstd"])
def test_codec_that_is_not_installed_is_error_76(codec, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(SETS[f"{codec} v2"]) is Code.UNSUPPORTED_COMPRESSION_TYPE
    assert decode_record_set(SETS["gzip v2"]).messages == SOME


@pytest.mark.parametrize("number", [5, 6, 7])
def test_codec_that_nobody_knows_is_damage(number):
    assert refusal(batch_of(SOME, attributes=number)) is Code.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_set_that_unpacks_to_too_much_is_refused_with_a_code_that_makes_clients_split(
    codec, monkeypatch
):
    monkeypatch.setattr(record_sets, "MOST_UNPACKED_BYTES", 1 << 16)
    bomb = batch_of([(None, bytes(1 << 17))], codec=codec)
    assert len(bomb) < 10_000
    assert refusal(bomb) is Code.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("is_new", [True, False])
def test_set_of_too_many_records_is_refused_with_a_code_that_makes_clients_split(is_new):
    one = [(None, None)]
    count = MOST_RECORDS + 1
    data = batch_of(one, codec="gzip", times=count) if is_new else set_of(one) * count
    assert refusal(data) is Code.MESSAGE_TOO_LARGE


def test_message_of_a_producer_is_what_the_log_has():
    data = b"".join(encode(KAFKA, number, *each) for number, each in enumerate(SOME))
    assert data == SETS["plain v0"]


@pytest.mark.parametrize("name", ALL)
def test_bytes_that_clients_and_brokers_wrote(name):
    """The same records as the room that reads their files finds, or a refusal that says why not."""
    data = ALL[name]
    batches = list(scan(data))
    expected = [
        record for each in batches if isinstance(each, RecordBatch) for record in each.records()
    ]
    found = outcome(data, drops_headers=True)
    if isinstance(found, RecordSet):
        assert found.messages == [(each.key, each.value) for each in expected]
        assert found.with_headers == sum(bool(each.headers) for each in expected)
    elif found is Code.CORRUPT_MESSAGE:
        is_read = all(isinstance(each, Record) for each in expected)
        assert any(isinstance(each, CorruptBatch) for each in batches) or not is_read
    else:
        assert found is Code.INVALID_RECORD
        assert any(
            each.fields.is_control
            or each.fields.is_transactional
            or len(batches) > 1
            or each.fields.record_count != each.fields.last_offset_delta + 1
            for each in batches
            if each.magic == 2
        )


def test_bytes_that_clients_wrote_are_mostly_taken(record_property):
    found = [outcome(data, drops_headers=True) for data in ALL.values()]
    refused = Counter(each.name for each in found if isinstance(each, Code))
    record_property("counted", f"{len(found)} sets, refused: {dict(refused)}")
    assert refused.total() < len(found) / 2


@pytest.mark.parametrize("rounds", [300, pytest.param(30_000, marks=pytest.mark.soak)])
def test_random_changes_with_a_right_crc_are_messages_or_refused_and_nothing_else(rounds):
    chance, names = Random(5), list(SETS)
    for _ in range(rounds):
        data = bytearray(SETS[chance.choice(names)])
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(17, len(data))] = chance.randrange(256)
        outcome(with_right_crc(bytes(data)), drops_headers=chance.random() < 0.5)


def test_no_producer_is_no_sequence():
    assert decode_record_set(batch_of(SOME, producer=NOBODY)).sequence is None
    assert decode_record_set(message(b"k", b"v")).sequence is None
