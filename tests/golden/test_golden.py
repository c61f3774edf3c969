"""Bytes and numbers that somebody else made; PROVENANCE.md says who."""

import gzip
import hashlib
import shutil
from pathlib import Path

import pytest

from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.hashing import murmur2
from kminilog.format.index_entry import decode_entries, encode_entry
from kminilog.format.message import Message, decode, encode
from kminilog.format.names import TopicPartition
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import carry_out, plan_recovery
from kminilog.storage.segment.log_file import scan_file
from kminilog.storage.segment.lookup import segment_slot
from tests.support.invariants import check_log
from tests.support.shared_data import shared_file

SEGMENT = "kafka-0.8-segment/00000000000000000000.log"
INDEX_SHA256 = "c6607fe90ee0b1cb63e504e1dba61b423d8c21ebf323ae38b6295c2a89907d5b"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_published_vector_matches(key: bytes, expected: int):
    assert murmur2(key) == expected


def test_murmur2_partition_key_that_separates_misreadings_matches():
    assert murmur2_partition(b"TT0124", 15) == 10


@pytest.mark.parametrize(
    ("offset", "key", "value", "expected"),
    [
        (
            0,
            None,
            b"message1",
            "000000000000000000000016e97538bc0000ffffffff000000086d65737361676531",
        ),
        (
            1,
            b"key",
            b"value",
            "0000000000000001000000162356c1370000000000036b65790000000576616c7565",
        ),
    ],
)
def test_message_of_a_real_broker_reads_and_writes_the_same_bytes(
    offset: int, key: bytes | None, value: bytes, expected: str
):
    message = decode(KAFKA, bytes.fromhex(expected))
    assert isinstance(message, Message)
    assert (message.offset, message.key, message.value) == (offset, key, value)
    assert encode(KAFKA, offset, key, value).hex() == expected


def test_index_entry_of_the_document_means_its_third_message():
    (entry,) = decode_entries(bytes.fromhex("00000003000001f1"))
    assert (368769 + entry.relative_offset, entry.position) == (368772, 497)
    assert encode_entry(entry).hex() == "00000003000001f1"


def test_segment_names_of_the_document_hold_its_offsets():
    names = [0, 368769, 737337]
    held_by = {368768: 0, 368769: 0, 368770: 1, 368776: 1, 737337: 1, 737338: 2}
    assert {o: segment_slot(DOCUMENTED, names, o) for o in held_by} == held_by


def test_scan_of_a_real_segment_reads_every_message_as_recorded():
    expected = gzip.decompress(
        shared_file("kafka-0.8-segment/expected.txt.gz").read_bytes()
    ).decode()
    lines = []
    for _, message in scan_file(KAFKA, shared_file(SEGMENT)):
        assert isinstance(message, Message)
        assert message.value is not None
        lines.append(f'{message.offset}: "{message.value.decode()}"')
    assert len(lines) == 11_394
    assert lines == expected.splitlines()


def test_recovery_of_a_real_segment_alone_rebuilds_the_known_index(tmp_path: Path):
    shutil.copy(shared_file(SEGMENT), tmp_path)
    numbers = TopicPartition("numbers", 0)
    carry_out(plan_recovery(PartitionReader(tmp_path, numbers, KAFKA, TopicSettings())))
    data = (tmp_path / "00000000000000000000.index").read_bytes()
    entries = decode_entries(data)
    assert (len(entries), entries[0], entries[-1]) == (83, (146, 4124), (11369, 341325))
    assert hashlib.sha256(data).hexdigest() == INDEX_SHA256


def test_append_behind_a_real_segment_goes_on_at_its_end(tmp_path: Path):
    shutil.copy(shared_file(SEGMENT), tmp_path)
    numbers = TopicPartition("numbers", 0)
    carry_out(plan_recovery(PartitionReader(tmp_path, numbers, KAFKA, TopicSettings())))
    log = PartitionLog.open(tmp_path, numbers, KAFKA, TopicSettings())
    assert log.append([(b"k", b"more")]) == range(11_394, 11_395)
    check_log(log)
