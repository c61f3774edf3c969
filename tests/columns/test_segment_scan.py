"""The fast examination against the plain one, and recovery with either."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.columns.boundaries import find_beginnings
from kminilog.columns.checking import check
from kminilog.columns.segment_scan import FAST, count_following, count_whole_messages, scan_segment
from kminilog.format.dialect import DIALECTS, KAFKA, Dialect
from kminilog.format.message import encode, is_next_message, scan
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import describe, plan_recovery
from kminilog.storage.segment import scan as plain
from kminilog.storage.segment.scan import SegmentScanner
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from tests.support.columns.strategies import both_dialects, crc_of, each_library, log_of, messages
from tests.support.damage import later_message, message_positions

ORDERS = TopicPartition("orders", 0)
WINDOWS = st.sampled_from([1, 40, 200, 1 << 16])


def segment_of(path: str, dialect: Dialect, content: bytes, base_offset: int = 0) -> Segment:
    """A segment with these bytes and the index that they are due."""
    segment = Segment(Path(path), base_offset, dialect, 50)
    segment.log_path.write_bytes(content)
    segment.index.rewrite(plain.scan_segment(segment).entries)
    return segment


@each_library
@both_dialects
@given(data=st.data(), base_offset=st.sampled_from([0, 6, 2**63 - 1]), window_bytes=WINDOWS)
def test_scan_segment_and_count_whole_messages_say_what_the_plain_ones_say(
    library, dialect, data, base_offset, window_bytes
):
    first = min(dialect.first_offset(base_offset), 2**63 - 100)
    content = bytearray(log_of(dialect, data.draw(messages(dialect)), first))
    with TemporaryDirectory() as path, crc_of(library):
        segment = segment_of(path, dialect, bytes(content), base_offset)
        if content:
            in_header = st.sampled_from(message_positions(bytes(content))[:-1]).flatmap(
                lambda start: st.integers(start, start + 21)
            )
            for _ in range(data.draw(st.integers(0, 2))):
                place = data.draw(in_header | st.integers(0, len(content) - 1))
                content[place] ^= data.draw(st.integers(1, 255))
        if data.draw(st.booleans()):  # of another format, for `whole` only
            at = data.draw(st.integers(0, len(content)))
            content[at:at] = later_message(data.draw(st.sampled_from([1, 3])), 4, b"later")
        end = data.draw(st.integers(0, len(content)) | st.just(len(content)))
        segment.log_path.write_bytes(content[:end])
        if data.draw(st.integers(0, 3)) == 0:
            index = bytearray(segment.index.path.read_bytes() + b"???")
            index[data.draw(st.integers(0, len(index) - 1))] ^= 255
            segment.index.path.write_bytes(index)
        assert scan_segment(segment, window_bytes=window_bytes) == plain.scan_segment(segment)
        position, few = data.draw(st.integers(0, end)), data.draw(st.integers(1, 5))
        whole = count_whole_messages(segment, position, few=few, window_bytes=window_bytes)
        assert whole == plain.count_whole_messages(segment, position)


@given(
    steps=st.lists(st.tuples(st.sampled_from([-1, 0, 1, 1, 1, 2, 5]), st.integers(0, 3))),
    dialect=st.sampled_from(list(DIALECTS.values())),
    window_bytes=WINDOWS,
    shift=st.integers(-3, 3),
)
def test_scan_segment_lets_compressed_messages_leave_offsets_out(
    steps, dialect, window_bytes, shift
):
    offset, content = -1, b""
    for step, attributes in steps:
        offset += step
        content += encode(dialect, offset, None, b"v", attributes=attributes)
    with TemporaryDirectory() as path:
        segment = segment_of(path, dialect, content)
        due = plain.scan_segment(
            segment
        ).entries  # each entry is true of some offsets, not of others
        segment.index.rewrite(entry._replace(relative_offset=entry[0] + shift) for entry in due)
        assert scan_segment(segment, window_bytes=window_bytes) == plain.scan_segment(segment)


OFFSET = st.sampled_from([-(2**63), -1, 0, 1, 2, 3, 2**63 - 1])


@settings(max_examples=300)
@given(
    rows=st.lists(st.tuples(st.integers(0, 2) | OFFSET, st.booleans()), max_size=5),
    first=st.sampled_from([0, 1, 2**63 - 1, 2**63]),
)
def test_count_following_is_the_plain_rule_for_each_message(rows, first):
    if first == 0:  # steps instead, so that more of them follow each other
        offsets = np.cumsum([abs(step) % 3 for step, _ in rows], dtype=np.int64).tolist()
        rows = [(offset, row[1]) for offset, row in zip(offsets, rows, strict=True)]
    parts = [encode(KAFKA, offset, None, b"", attributes=int(flag)) for offset, flag in rows]
    content = b"".join(parts)
    expected, next_offset = 0, first
    for _, message in scan(KAFKA, content):
        if not is_next_message(message, next_offset):
            break
        expected, next_offset = expected + 1, message.offset + 1
    found = check(KAFKA, content, find_beginnings(KAFKA, content))
    assert count_following(found, first) == expected


def test_scan_segment_beside_a_writer_that_finishes_a_message_reads_once_more(tmp_path):
    content = log_of(KAFKA, [(b"k", b"v" * 30)] * 9)

    class WatchedSegment(Segment):
        """A segment whose writer finishes its last message when somebody asks for its size."""

        @property
        def file_bytes(self) -> int:
            self.log_path.write_bytes(content)
            return len(content)

    segment = WatchedSegment(tmp_path, 0, KAFKA, 50)
    segment.index.path.touch()
    segment.log_path.write_bytes(content[:-5])
    found = scan_segment(segment)
    assert found == plain.scan_segment(segment)
    assert (found.next_offset, found.reason) == (9, None)


@both_dialects
def test_scan_segment_without_an_index_says_what_the_plain_one_says(tmp_path, dialect):
    segment = segment_of(str(tmp_path), dialect, log_of(dialect, [(b"k", b"v")] * 50))
    segment.index.path.unlink()
    assert scan_segment(segment) == plain.scan_segment(segment)
    assert len(scan_segment(segment).entries) > 5


def test_scan_segment_of_offsets_at_both_ends_of_what_fits_sees_disorder(tmp_path):
    content = encode(KAFKA, 2**63 - 1, None, b"") + encode(KAFKA, -(2**63), None, b"")
    segment = segment_of(str(tmp_path), KAFKA, content, 2**63 - 1)
    found = scan_segment(segment)
    assert found == plain.scan_segment(segment)
    assert "a whole message with offset -9223372036854775808" in found.reason


@both_dialects
def test_recovery_with_the_fast_examination_has_the_same_plan(tmp_path, dialect):
    topic_settings = TopicSettings(segment_bytes=600, index_interval_bytes=60)
    log = PartitionLog.open(tmp_path, ORDERS, dialect, topic_settings)
    log.append((b"k%d" % n, b"value %d" % n) for n in range(100))
    reader = PartitionReader(tmp_path, ORDERS, dialect, topic_settings)
    first, last = log.segments()[0], log.segments()[-1]

    def plans() -> list[tuple[object, ...]]:
        found = []
        for plan in (plan_recovery(reader), plan_recovery(reader, scanner=FAST)):
            damage = plan.damage and (plan.damage.segment.log_path, *plan.damage[1:])
            ends = plan.log_end_offset, plan.whole_end_offset
            found.append((describe(plan), *ends, damage, plan.is_valid))
        return found

    assert plans()[0] == plans()[1] == ([], 100, 0, None, True)
    last.index.path.write_bytes(b"not an index")
    with open(last.log_path, "ab") as file:
        file.write(b"torn")
    assert plans()[0] == plans()[1]
    assert not plans()[1][4]
    content = bytearray(first.log_path.read_bytes())
    content[40] ^= 1
    first.log_path.write_bytes(content)
    assert plans()[0] == plans()[1]
    assert plans()[1][3]
    assert plans()[1][2] == 100


@both_dialects
def test_writer_recovers_by_the_examination_that_is_handed_in(tmp_path, dialect):
    topic = Topic("orders", 1, dialect, TopicSettings(segment_bytes=600, index_interval_bytes=60))
    with LogDirWriter.open(tmp_path / "one", create=True) as writer:
        writer.create_topic(topic)
        writer.log(ORDERS).append((b"k%d" % n, b"value %d" % n) for n in range(60))
    directory = tmp_path / "one" / "orders-0"
    last = max(directory.glob("*.log"))
    last.write_bytes(last.read_bytes()[:-3])
    min(directory.glob("*.index")).write_bytes(b"")
    for name in (".clean-shutdown", "recovery-point-offset-checkpoint"):
        (tmp_path / "one" / name).unlink()  # as after a crash
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    scanned: list[str] = []

    def watched(segment: Segment) -> plain.SegmentScan:
        scanned.append(segment.name)
        return scan_segment(segment)

    with LogDirWriter.open(tmp_path / "one") as plainly:
        pass
    with LogDirWriter.open(
        tmp_path / "other", scanner=SegmentScanner(watched, count_whole_messages)
    ) as quickly:
        pass
    assert scanned == sorted(path.stem for path in directory.glob("*.log"))
    expected = [line.replace("/one/", "/other/") for line in plainly.warnings]
    assert quickly.warnings == expected != []
    files = [
        {path.name: path.read_bytes() for path in (tmp_path / name / "orders-0").iterdir()}
        for name in ("one", "other")
    ]
    assert files[0] == files[1]
