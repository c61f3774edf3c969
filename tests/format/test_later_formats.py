"""What is whole in a later format is told from rubbish, and nobody cuts it off.

The file goes with the module: without both, all other tests pass.
"""

import struct

import pytest

from kminilog.columns import segment_scan
from kminilog.columns.segment_scan import FAST
from kminilog.errors import CorruptLogError
from kminilog.format.dialect import DIALECTS
from kminilog.format.later_formats import LATER_FORMATS, batch_fields
from kminilog.format.message import Message, NeedMoreBytes, encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.recovery import carry_out, plan_recovery
from kminilog.storage.segment.damage_scan import walk
from kminilog.storage.segment.scan import PLAIN
from kminilog.storage.segment.whole_messages import (
    WholeMessages,
    count_whole_messages,
    decode_any,
    format_name,
    whole_messages,
)
from tests.support.damage import crc32c, later_message
from tests.support.storage.segments import write_segment

both_dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)
both_scanners = pytest.mark.parametrize("scanner", [PLAIN, FAST], ids=["plain", "fast"])
both_formats = pytest.mark.parametrize("magic", [1, 2])


def append(path, data: bytes) -> None:
    path.write_bytes(path.read_bytes() + data)


def make_log(directory, dialect) -> PartitionLog:
    settings = TopicSettings(segment_bytes=256, index_interval_bytes=20)
    log = PartitionLog.open(directory, TopicPartition("orders", 0), dialect, settings)
    log.append((b"k%d" % n, b"value %d" % n) for n in range(20))
    return log


@both_formats
def test_whole_message_of_a_later_format_has_its_name(magic):
    whole = decode_any(b"front" + later_message(magic, 5, b"hi"), 5)
    assert isinstance(whole, Message)
    assert format_name(whole) == LATER_FORMATS[magic].name
    assert f"format v{magic}" in format_name(whole)


def test_batch_is_whole_only_if_its_crc_is_right():
    encoded = later_message(2, 5, b"hi")
    assert isinstance(decode_any(encoded), Message)
    for position in range(16, len(encoded)):
        damaged = bytearray(encoded)
        damaged[position] ^= 1
        assert not isinstance(decode_any(bytes(damaged)), Message), position
    for kept_bytes in range(len(encoded)):
        assert isinstance(decode_any(encoded[:kept_bytes]), NeedMoreBytes)


def test_batch_has_the_offset_of_its_last_record():
    covered = struct.pack(">hi", 0, 6) + bytes(40)
    content = struct.pack(">ibI", 0, 2, crc32c(covered)) + covered
    assert batch_fields(struct.pack(">qi", 100, len(content)) + content).offset == 106


@pytest.mark.parametrize("rubbish", [b"", b"rubbish", bytes(30), b"\0" * 8 + b"\xff" * 8])
def test_batch_is_found_behind_rubbish_by_its_last_offset(tmp_path, rubbish):
    path = tmp_path / "log"
    path.write_bytes(rubbish + later_message(2, 5, b"hi", last_offset_delta=4))
    for minimum_offset, is_found in ((7, True), (9, True), (10, False)):
        found = [message.offset for _, message in whole_messages(path, 0, minimum_offset)]
        assert found == [9] * is_found


@both_dialects
def test_batch_counts_as_a_batch(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect, 1)
    append(segment.log_path, later_message(2, segment.first_offset + 1, b"later"))
    expected = WholeMessages(1, segment.first_offset + 2, 1)
    assert count_whole_messages(segment) == expected
    assert segment_scan.count_whole_messages(segment) == expected


@both_formats
@both_dialects
def test_damage_names_what_is_whole_in_a_later_format(tmp_path, dialect, magic):
    segment = write_segment(tmp_path, dialect, 4)
    end = segment.file_bytes
    append(segment.log_path, b"".join(later_message(magic, n, b"v") for n in range(3)))
    (damage,) = (found.damage for found in walk(segment, segment.file_bytes) if found.damage)
    assert (damage.kind, damage.position) == ("bad-magic", end)
    assert damage.detail.endswith(f"but the crc is right: {LATER_FORMATS[magic].name}")


@both_dialects
def test_unfinished_message_before_a_batch_is_no_torn_tail(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect, 4)
    torn = encode(dialect, segment.first_offset + 4, b"k", bytes(500))[:40]
    append(segment.log_path, torn + later_message(2, segment.first_offset + 5, b"value"))
    *_, last = walk(segment, segment.file_bytes)
    assert last.damage
    assert last.damage.kind == "bad-length"
    assert "a whole message of another format" in last.damage.detail


@both_scanners
@pytest.mark.parametrize("front", [b"", b"rubbish", "torn", "bad crc"], ids=str)
@both_dialects
def test_recovery_refuses_to_cut_off_batches(tmp_path, dialect, front, scanner):
    log = make_log(tmp_path, dialect)
    end = log.log_end_offset
    if front == "torn":
        front = encode(dialect, end, b"k", bytes(3000))[:30]
    elif front == "bad crc":
        front = encode(dialect, end, b"k", b"v")[:-1] + b"!"
    batches = [later_message(2, end + 1 + n, b"value") for n in range(3)]
    append(log.segments()[-1].log_path, front + b"".join(batches))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    found = plan_recovery(log.reader, scanner=scanner)
    assert found.cut is None
    assert (str(found.damage.lost), found.whole_end_offset) == (
        "3 whole batches of format v2",
        end + 4,
    )
    after = 3 if front else 2  # else the first of them stands at the fault itself
    with pytest.raises(CorruptLogError, match=f"; {after} whole batches of format v2 after it"):
        carry_out(found)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@both_scanners
@both_dialects
def test_recovery_refuses_a_torn_tail_before_a_segment_of_batches(tmp_path, dialect, scanner):
    log = make_log(tmp_path, dialect)
    *_, before_last, last = log.segments()
    append(before_last.log_path, b"torn")
    last.log_path.write_bytes(later_message(2, last.first_offset, b"value"))
    found = plan_recovery(log.reader, scanner=scanner)
    assert found.cut is None
    assert str(found.damage.lost) == "1 whole batch of format v2"


@both_dialects
def test_recovery_cuts_a_torn_batch(tmp_path, dialect):
    log = make_log(tmp_path, dialect)
    append(log.segments()[-1].log_path, later_message(2, log.log_end_offset, b"v")[:-1])
    assert str(plan_recovery(log.reader).cut.lost) == "0 whole messages"
