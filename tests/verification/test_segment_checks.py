import gzip
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.message import encode
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.segment.damage_scan import walk
from kminilog.storage.segment.segment import Segment
from kminilog.verification.fast_segment_checks import check_segment as check_quickly
from kminilog.verification.segment_checks import check_segment
from kminilog.verification.summaries import SegmentSummary, everywhere
from tests.support.damage import cut_to, encode_entries, flip_byte, later_message, message_positions
from tests.support.shared_data import shared_file
from tests.support.verification.logs import ORDERS, write_log

INTERVAL = 4096
NAME = "0" * 20


def write(directory: Path, data: bytes, index: bytes = b"") -> Path:
    path = directory / f"{NAME}.log"
    path.write_bytes(data)
    path.with_suffix(".index").write_bytes(index)
    return path


def messages(dialect: Dialect, *offsets: int, value: bytes = b"value") -> bytes:
    return b"".join(encode(dialect, offset, b"key", value) for offset in offsets)


def check(
    directory: Path,
    dialect: Dialect,
    partition_of: Callable[[bytes], int] | None = None,
    interval: int = INTERVAL,
) -> SegmentSummary:
    placement = everywhere(partition_of) if partition_of else ()
    return check_segment(ORDERS, Segment(directory, 0, dialect, interval), placement)


def found(summary: SegmentSummary) -> list[tuple[str, int | None, int | None]]:
    return [(f.kind.value, f.offset, f.position) for f in summary.findings]


def test_segment_in_order_is_counted_and_has_no_findings(tmp_path, dialect):
    data = messages(dialect, 0, 1, 2)
    write(tmp_path, data)
    assert check(tmp_path, dialect) == SegmentSummary(
        base_offset=0,
        name=NAME,
        first_offset=0,
        last_offset=2,
        message_count=3,
        log_bytes=len(data),
        index_entries=0,
        findings=[],
        unchecked=[],
        start_offset=0,
        next_offset=3,
        unplaced_count=3,
    )


def test_empty_segment_has_no_findings(tmp_path, dialect):
    write(tmp_path, b"")
    summary = check(tmp_path, dialect)
    assert (summary.first_offset, summary.last_offset) == (None, None)
    assert (summary.start_offset, summary.next_offset) == (0, 0)
    assert summary.findings == []


# ---- damage


def test_message_inside_the_value_of_a_damaged_one_is_not_taken_for_the_next(tmp_path, dialect):
    inner = messages(dialect, 7)
    data = messages(dialect, 0) + encode(dialect, 1, None, b"<" + inner + b">")
    path = write(tmp_path, data + messages(dialect, 2, 3))
    flip_byte(path, len(data) - 1, mask=1)
    assert found(check(tmp_path, dialect)) == [("bad-crc", 1, len(messages(dialect, 0)))]


def test_message_inside_the_value_of_the_last_one_is_not_taken_for_the_next(tmp_path, dialect):
    data = messages(dialect, 0) + encode(dialect, 1, None, messages(dialect, 7) + b">")
    flip_byte(write(tmp_path, data), len(data) - 1, mask=1)
    assert found(check(tmp_path, dialect)) == [("bad-crc", 1, len(messages(dialect, 0)))]


def test_damage_that_takes_several_messages_is_one_finding(tmp_path, dialect):
    path = write(tmp_path, messages(dialect, *range(8)))
    positions = message_positions(path.read_bytes())
    data = bytearray(path.read_bytes())
    data[positions[2] : positions[5]] = bytes(positions[5] - positions[2])
    path.write_bytes(data)
    summary = check(tmp_path, dialect)
    assert found(summary) == [("bad-length", 2, positions[2])]
    assert summary.findings[0].detail.endswith("; 3 messages were in these bytes")


def test_two_damaged_messages_apart_are_two_findings(tmp_path, dialect):
    path = write(tmp_path, messages(dialect, *range(6)))
    positions = message_positions(path.read_bytes())
    for slot in (1, 3):
        flip_byte(path, positions[slot + 1] - 1, mask=1)
    summary = check(tmp_path, dialect)
    assert found(summary) == [("bad-crc", 1, positions[1]), ("bad-crc", 3, positions[3])]
    assert (summary.message_count, summary.next_offset) == (4, 6)


def test_size_beyond_the_end_in_a_message_with_others_behind_it_is_no_torn_tail(tmp_path, dialect):
    path = write(tmp_path, messages(dialect, *range(4)))
    positions = message_positions(path.read_bytes())
    flip_byte(path, positions[1] + 9, value=1)
    flip_byte(path, positions[2] - 1, mask=1)
    assert found(check(tmp_path, dialect)) == [("bad-length", 1, positions[1])]


@pytest.mark.parametrize("magic", [1, 3])
def test_unfinished_message_before_one_of_a_later_format_is_no_torn_tail(tmp_path, dialect, magic):
    data = messages(dialect, *range(4))
    torn = messages(dialect, 4, value=bytes(500))[:40]
    write(tmp_path, data + torn + later_message(magic, 5, b"value"))
    (finding,) = check(tmp_path, dialect).findings
    assert finding.kind == "bad-length"
    assert "a whole message of another format" in finding.detail


def test_messages_of_another_magic_are_one_finding_that_says_they_are_whole(tmp_path, dialect):
    data = messages(dialect, *range(4))
    write(tmp_path, data + b"".join(later_message(3, n, b"value") for n in (4, 5, 6)))
    (finding,) = check(tmp_path, dialect).findings
    assert (finding.kind, finding.position) == ("bad-magic", len(data))
    assert finding.detail == "magic 3 is not 0, but the crc is right: an unknown format"


def test_messages_that_a_torn_tail_took_with_it_are_not_missed_in_the_index(tmp_path, dialect):
    data = messages(dialect, *range(8))
    positions = message_positions(data)
    entries = encode_entries([(n, positions[n]) for n in range(1, 8)])
    write(tmp_path, data[: positions[4] + 5], entries)
    assert found(check(tmp_path, dialect, interval=0)) == [("torn-tail", 4, positions[4])]


def test_two_altered_offsets_in_a_row_do_not_make_all_behind_them_look_wrong(tmp_path, dialect):
    write(tmp_path, messages(dialect, 0, 1, 900, 9_000, *range(4, 30)))
    summary = check(tmp_path, dialect)
    assert [offset for _, offset, _ in found(summary)] == [900, 9_000, 4]
    assert summary.next_offset == 30


def test_many_findings_are_counted_and_few_are_kept(tmp_path, dialect):
    path = write(tmp_path, messages(dialect, *range(201)))
    for position in message_positions(path.read_bytes())[1:-1:2]:
        flip_byte(path, position + 16, value=9)
    findings = check(tmp_path, dialect).findings
    assert len(findings) == 20
    assert sum(finding.stands_for for finding in findings) == 100


def test_text_file_with_the_name_of_a_segment_is_damage_and_no_error(tmp_path, dialect):
    write(tmp_path, b"the quick brown fox jumps over the lazy dog\n" * 100)
    (finding,) = check(tmp_path, dialect).findings
    assert (finding.offset, finding.position) == (0, 0)


def test_file_that_cannot_be_read_is_unchecked(tmp_path, dialect):
    (tmp_path / f"{NAME}.log").mkdir()
    (tmp_path / f"{NAME}.index").touch()
    summary = check(tmp_path, dialect)
    assert summary.next_offset is None
    (unchecked,) = summary.unchecked
    assert f"{NAME}.log" in unchecked
    assert "directory" in unchecked.lower()


# ---- compressed messages, and messages of other origin


def test_compressed_messages_are_counted_as_not_checked_inside(tmp_path):
    data = b"".join(
        encode(KAFKA, offset, None, gzip.compress(b"inside"), attributes=1) for offset in (4, 9)
    )
    write(tmp_path, data + messages(KAFKA, 10))
    summary = check(tmp_path, KAFKA)
    assert (summary.findings, summary.compressed_count) == ([], 2)
    assert (summary.start_offset, summary.next_offset) == (0, 11)


def test_compressed_message_may_be_indexed_by_its_first_or_its_last_offset(tmp_path):
    data = [encode(KAFKA, offset, None, bytes(50), attributes=2) for offset in (4, 9, 14)]
    for offset in (5, 9):
        write(tmp_path, b"".join(data), encode_entries([(offset, len(data[0]))]))
        assert found(check(tmp_path, KAFKA, interval=100)) == []
    write(tmp_path, b"".join(data), encode_entries([(10, len(data[0]))]))
    assert found(check(tmp_path, KAFKA, interval=100)) == [("index-position", 10, 0)]


def test_segment_of_a_real_broker_lacks_nothing_but_its_index(tmp_path):
    source = shared_file("kafka-0.8-segment/00000000000000000000.log")
    shutil.copy(source, tmp_path / f"{NAME}.log")
    summary = check(tmp_path, KAFKA)
    assert found(summary) == [("index-sparse", None, None)]
    assert summary.message_count == 11_394


# ---- partitions of keys


def test_key_of_another_partition_is_found_and_a_message_without_key_is_right_anywhere(
    tmp_path, dialect
):
    first, second = encode(dialect, 0, b"mine", b""), encode(dialect, 1, b"other", b"")
    write(tmp_path, first + second + encode(dialect, 2, None, b"") + encode(dialect, 3, b"", b""))
    partitions = {b"mine": 0, b"other": 3, b"": 1}
    summary = check(tmp_path, dialect, partitions.__getitem__)
    assert found(summary) == [
        ("wrong-partition", 1, len(first)),
        ("wrong-partition", 3, summary.log_bytes - len(encode(dialect, 3, b"", b""))),
    ]
    assert summary.findings[0].detail == "its key belongs to partition 3"


# ---- a writer at work: `partition_of` is called in the middle of the reading


def test_messages_that_are_added_meanwhile_are_neither_read_nor_missed(tmp_path, dialect):
    settings = TopicSettings(segment_bytes=10_000, index_interval_bytes=0)
    log = PartitionLog.open(tmp_path, ORDERS, dialect, settings)
    log.append((b"key", b"value") for _ in range(5))

    def append(key: bytes) -> int:
        log.append([(b"key", b"value")] * 3)
        return 0

    summary = check(tmp_path, dialect, append, interval=0)
    assert (summary.findings, summary.message_count) == ([], 5)
    assert log.log_end_offset == 20


def test_index_that_is_written_meanwhile_is_no_finding(tmp_path, dialect):
    data = messages(dialect, 0, 1, 2)
    entries = encode_entries([(n, message_positions(data)[n]) for n in (1, 2)])
    path = write(tmp_path, data)

    def write_index(key: bytes) -> int:
        path.with_suffix(".index").write_bytes(entries)
        return 0

    assert found(check(tmp_path, dialect, write_index, interval=0)) == []
    path.with_suffix(".index").write_bytes(b"")
    assert [kind for kind, *_ in found(check(tmp_path, dialect, interval=0))] == ["index-sparse"]


def test_walk_unfinished_message_that_is_whole_at_the_second_look_is_no_damage(tmp_path, dialect):
    data = messages(dialect, 0, 1, 2)
    path = write(tmp_path, data)
    positions = message_positions(data)
    cut_to(path, positions[2] - 3)
    steps = walk(Segment(tmp_path, 0, dialect, INTERVAL), positions[2] - 3)
    assert next(steps).position == 0
    path.write_bytes(data)
    (step,) = steps
    assert (step.position, step.damage) == (positions[1], None)


def test_walk_file_that_is_cut_meanwhile_ends(tmp_path, dialect):
    data = messages(dialect, *range(10))
    path = write(tmp_path, data)
    flip_byte(path, message_positions(data)[3] - 1, mask=1)
    steps = walk(Segment(tmp_path, 0, dialect, INTERVAL), len(data))
    next(steps)
    os.truncate(path, 0)
    assert len(list(steps)) < 10


# ---- a segment whose first bytes are known


def fields_of(summary: SegmentSummary) -> SegmentSummary:
    """Return a summary with one row for each range."""
    rows: dict[int, list[int]] = {}
    for first, count, total in summary.fingerprints:
        row = rows.setdefault(first, [first, 0, 0])
        row[1:] = [row[1] + count, (row[2] + total) % 2**64]
    return summary._replace(fingerprints=tuple(row for _, row in sorted(rows.items())))


@pytest.mark.parametrize("check_segment", [check_segment, check_quickly])
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_check_that_goes_on_after_known_bytes_finds_what_a_check_of_all_does(
    tmp_path_factory, dialect, check_segment, data
):
    directory = tmp_path_factory.mktemp("log")
    count = data.draw(st.integers(1, 30))
    write_log(directory, dialect, count=count, settings=TopicSettings(index_interval_bytes=60))
    (path,) = directory.glob("*.log")
    content, index = path.read_bytes(), path.with_suffix(".index").read_bytes()
    positions = [*message_positions(content), len(content)]
    known_count = data.draw(st.integers(0, count))
    known_bytes = positions[known_count]
    entries = sum(entry[1] < known_bytes for entry in struct.iter_unpack(">ii", index))
    if known_count < count and data.draw(st.booleans()):
        place = data.draw(st.integers(known_bytes, len(content) - 1))
        flip_byte(path, place, mask=data.draw(st.integers(1, 255)))
    if len(index) > 8 * entries and data.draw(st.booleans()):
        place = data.draw(st.integers(8 * entries, len(index) - 1))
        flip_byte(path.with_suffix(".index"), place, mask=1)
    first = tmp_path_factory.mktemp("first")
    write(first, content[:known_bytes], index[: 8 * entries])
    borders = data.draw(st.lists(st.integers(0, count), unique=True).map(sorted))

    def checked(where: Path, **options: SegmentSummary) -> SegmentSummary:
        segment = Segment(where, 0, dialect, 60)
        return check_segment(ORDERS, segment, everywhere(lambda key: 0), borders, **options)

    known = checked(first)
    assert known.findings == []
    again = checked(directory, known=known)
    assert fields_of(again) == fields_of(checked(directory))


@pytest.mark.parametrize("check_segment", [check_segment, check_quickly])
def test_segment_that_is_shorter_than_what_is_known_of_it_is_not_checked(
    tmp_path, dialect, check_segment
):
    data = messages(dialect, 0, 1, 2)
    path = write(tmp_path, data)
    segment = Segment(tmp_path, 0, dialect, INTERVAL)
    known = check_segment(ORDERS, segment)
    cut_to(path, message_positions(data)[2])
    (reason,) = check_segment(ORDERS, segment, known=known).unchecked
    assert reason == f"{path}: it became shorter while it was checked"
