"""The fast check of a segment against the plain one: the same summary, whatever is in the files."""

import pickle
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.storage.segment import scan as segment_scan
from kminilog.storage.segment.segment import Segment
from kminilog.verification import fast_segment_checks
from kminilog.verification import segment_checks as plain
from kminilog.verification.fast_segment_checks import check_segment
from kminilog.verification.summaries import KeyedPartition, PlacedRange, everywhere
from tests.support.columns.strategies import both_dialects, log_of, messages
from tests.support.damage import encode_entries, index_entries, message_positions

ORDERS_1 = TopicPartition("orders", 1)
WINDOWS = st.sampled_from([1, 40, 200, 1 << 16])
OFFSETS = st.integers(0, 70) | st.integers(2**40 - 5, 2**40 + 70)


def by_sum(key: bytes, partitions: int) -> int:
    return sum(key) % partitions


RULES = st.builds(
    KeyedPartition, st.sampled_from([murmur2_partition, by_sum]), st.sampled_from([1, 2, 3])
)


@st.composite
def placements(draw: st.DrawFn) -> list[PlacedRange]:
    """No range, one for all messages, or ranges with gaps between some of them."""
    if draw(st.booleans()):
        return [PlacedRange(0, 2**63, rule) for rule in draw(st.lists(RULES, max_size=1))]
    borders = draw(st.lists(OFFSETS, max_size=5).map(sorted))  # a range may be empty
    pairs = [pair for pair in pairwise(borders) if draw(st.booleans())]
    return [PlacedRange(*pair, draw(RULES)) for pair in pairs]


def segment_of(path: str, dialect: Dialect, content: bytes, base_offset: int, interval: int):
    segment = Segment(Path(path), base_offset, dialect, interval)
    segment.log_path.write_bytes(content)
    segment.index.rewrite(segment_scan.scan_segment(segment).entries)
    return segment


@st.composite
def segments(draw: st.DrawFn, dialect: Dialect, path: str) -> Segment:
    """A segment that is valid, or has something wrong in its log, its index or its name."""
    base_offset = draw(st.sampled_from([0, 6, 2**40]))
    rows = draw(messages(dialect, max_size=30))
    content = bytearray(log_of(dialect, rows, dialect.first_offset(base_offset)))
    interval = draw(st.sampled_from([0, 50, 200]))
    segment = segment_of(path, dialect, bytes(content), base_offset, interval)
    positions = message_positions(bytes(content))
    starts = st.sampled_from(positions)
    fault = draw(
        st.sampled_from(["none", "log", "moved", "cut", "index", "entry", "interval", "no index"])
    )
    if fault == "log" and content:
        for place in draw(st.lists(st.tuples(starts, st.integers(0, 21)), max_size=3)):
            content[min(sum(place), len(content) - 1)] ^= draw(st.integers(1, 255))
    elif fault == "moved":  # one message is missing, or there twice
        first, second = draw(st.sampled_from([*pairwise(positions)] or [(0, 0)]))
        content[first:second] = content[first:second] * draw(st.sampled_from([0, 2]))
    elif fault == "cut":
        del content[draw(st.integers(0, len(content))) :]
    elif fault == "interval":
        segment.index_interval_bytes = draw(st.sampled_from([0, 30, 100]))
    index = segment.index.path.read_bytes()
    entries = index_entries(index)
    if fault == "index":
        damaged = bytearray(index + draw(st.binary(max_size=9)))
        if damaged:
            damaged[draw(st.integers(0, len(damaged) - 1))] ^= draw(st.integers(0, 255))
        segment.index.path.write_bytes(damaged)
    elif fault == "entry":
        entries.append((draw(st.integers(-1, 60)), draw(starts | st.integers(-9, 5000))))
        segment.index.path.write_bytes(encode_entries(sorted(entries)))
    elif fault == "no index":
        segment.index.path.unlink()
    segment.log_path.write_bytes(content)
    return segment


@both_dialects
@given(
    data=st.data(), placement=placements(), few=st.sampled_from([1, 3, 100]), window_bytes=WINDOWS
)
def test_check_segment_says_what_the_plain_one_says(dialect, data, placement, few, window_bytes):
    borders = data.draw(st.lists(OFFSETS, unique=True, max_size=5).map(sorted))
    with TemporaryDirectory() as path:
        segment = data.draw(segments(dialect, path))
        expected = plain.check_segment(ORDERS_1, segment, placement, borders)
        found = check_segment(
            ORDERS_1, segment, placement, borders, few=few, window_bytes=window_bytes
        )
        assert found == expected


# ---- what is valid is not left to the plain one


@pytest.fixture
def without_second_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("not perfectly valid")

    monkeypatch.setattr(fast_segment_checks, "_SecondReading", refuse)


@pytest.mark.usefixtures("without_second_reading")
@pytest.mark.parametrize("rule", [None, murmur2_partition, by_sum])
@pytest.mark.parametrize("window_bytes", [64, 1 << 16])
def test_check_segment_of_a_sound_one_is_fast(tmp_path, dialect, rule, window_bytes):
    keys = [key for key in (b"%d" % n for n in range(400)) if not rule or rule(key, 3) == 1]
    rows = [(keys[n] if n % 4 else None, b"v" * (n % 9)) for n in range(len(keys))]
    content = log_of(dialect, rows, dialect.first_offset(30))
    segment = segment_of(str(tmp_path), dialect, content, 30, 100)
    placement = everywhere(KeyedPartition(rule, 3)) if rule else ()
    summary = check_segment(
        ORDERS_1, segment, placement, [0, 50, 60, 10**6], window_bytes=window_bytes
    )
    assert summary.index_entries > 10
    assert summary == plain.check_segment(ORDERS_1, segment, placement, [0, 50, 60, 10**6])
    assert [count for _, count, _ in summary.fingerprints][1] == 10


@pytest.mark.usefixtures("without_second_reading")
class Searched(tuple):
    """Ascending ranges of very many jobs: nobody walks through them for one segment."""

    def __iter__(self):
        raise AssertionError("every range of the partition is visited")


@pytest.mark.parametrize("check", [check_segment, plain.check_segment])
@pytest.mark.parametrize("is_valid", [True, False])
def test_check_segment_looks_only_at_ranges_of_its_own_messages(tmp_path, dialect, check, is_valid):
    placement = [PlacedRange(n, n + 1, KeyedPartition(by_sum, 1 + n % 2)) for n in range(1000)]
    content = bytearray(log_of(dialect, [(b"\1", b"value")] * 10, 500))
    if not is_valid:
        content[-1] ^= 1
    segment = segment_of(str(tmp_path), dialect, bytes(content), dialect.base_offset_for(500), 50)
    borders = range(0, 1000, 3)
    summary = check(ORDERS_1, segment, Searched(placement), Searched(borders))
    assert summary == plain.check_segment(ORDERS_1, segment, placement, borders)
    wrong = [f.offset for f in summary.findings if f.kind == "wrong-partition"]
    assert (wrong, [row[0] for row in summary.fingerprints]) == (
        [500, 502, 504, 506, 508],
        [498, 501, 504, 507],
    )


def test_check_segment_of_an_empty_one_is_fast(tmp_path, dialect):
    segment = segment_of(str(tmp_path), dialect, b"", 30, 100)
    assert check_segment(ORDERS_1, segment) == plain.check_segment(ORDERS_1, segment)


# ---- what is not valid is left to the plain one, whose words are taken


def flip(segment: Segment, slot: int) -> None:
    content = bytearray(segment.log_path.read_bytes())
    content[message_positions(bytes(content))[slot] + 20] ^= 1
    segment.log_path.write_bytes(content)


def cut(segment: Segment) -> None:
    segment.log_path.write_bytes(segment.log_path.read_bytes()[:-1])


def keep_entries(segment: Segment, kept: slice) -> None:
    entries = index_entries(segment.index.path.read_bytes())
    segment.index.path.write_bytes(encode_entries(entries[kept]))


def sound(tmp_path: Path, dialect: Dialect, count: int = 60) -> Segment:
    rows = [(b"k%d" % (n % 3), b"v" * (n % 9)) for n in range(count)]
    return segment_of(str(tmp_path), dialect, log_of(dialect, rows), 0, 100)


@pytest.mark.parametrize(
    "damage",
    [
        lambda segment: flip(segment, 0),
        lambda segment: flip(segment, 1500),
        cut,
        lambda segment: segment.index.path.unlink(),
        lambda segment: keep_entries(segment, slice(0)),
        lambda segment: keep_entries(segment, slice(5, None)),
        lambda segment: keep_entries(segment, slice(None, None, 2)),
    ],
    ids=["first", "middle", "torn", "no index", "empty index", "late index", "half an index"],
)
def test_check_segment_reads_one_by_one_only_around_a_fault(tmp_path, dialect, monkeypatch, damage):
    """A message that was torn at the end of 10,000,000 took `recover` 34 s."""
    segment = sound(tmp_path, dialect, 3000)
    damage(segment)
    expected = plain.check_segment(ORDERS_1, segment)
    steps = []
    real = plain.walk

    def count(*arguments):
        for step in real(*arguments):
            steps.append(step)
            yield step

    monkeypatch.setattr(plain, "walk", count)
    assert check_segment(ORDERS_1, segment) == expected
    assert len(expected.findings) == 1
    assert len(steps) < 300


def test_check_segment_of_a_damaged_message_alone_has_no_offsets(tmp_path, dialect):
    segment = sound(tmp_path, dialect, 1)
    flip(segment, 0)
    assert same(segment) == ["bad-length"]  # of its key


@pytest.mark.parametrize("few", [1, 2, 3])
def test_check_segment_sees_each_of_several_faults(tmp_path, dialect, monkeypatch, few):
    segment = sound(tmp_path, dialect)
    for slot in (10, 12, 14, 17, 40):
        flip(segment, slot)
    looks = []
    real = fast_segment_checks.index_hints
    monkeypatch.setattr(
        fast_segment_checks, "index_hints", lambda path: looks.append(path) or real(path)
    )
    summary = check_segment(ORDERS_1, segment, few=few)
    assert summary == plain.check_segment(ORDERS_1, segment)
    assert len(summary.findings) == 5
    assert len(looks) == 1  # else frequent faults would cost an index each


def test_check_segment_rarely_tries_windows_among_frequent_faults(tmp_path, dialect, monkeypatch):
    segment = sound(tmp_path, dialect, 3000)
    for slot in range(5, 3000, 15):
        flip(segment, slot)
    tries = []
    real = fast_segment_checks.checked_windows

    def count(*arguments, **options):
        tries.append(arguments)
        return real(*arguments, **options)

    monkeypatch.setattr(fast_segment_checks, "checked_windows", count)
    same(segment, few=10)
    assert len(tries) < 12  # each time twice as many messages are read one by one


@pytest.mark.parametrize("times", [0, 2])
def test_check_segment_sees_an_entry_that_is_missing_where_all_others_are_shifted(
    tmp_path, dialect, times
):
    segment = sound(tmp_path, dialect)
    content = segment.log_path.read_bytes()
    first, second = message_positions(content)[5:7]
    changed = content[:first] + content[first:second] * times + content[second:]
    segment.log_path.write_bytes(changed)
    entries = index_entries(segment.index.path.read_bytes())
    for slot in range(6, len(entries)):
        segment.index.path.write_bytes(encode_entries(entries[:slot] + entries[slot + 1 :]))
        assert "index-sparse" in same(segment, few=1)


def same(segment: Segment, *, few: int = 100, window_bytes: int = 1 << 16) -> list[str]:
    summary = check_segment(ORDERS_1, segment, few=few, window_bytes=window_bytes)
    assert summary == plain.check_segment(ORDERS_1, segment)
    return [finding.kind.value for finding in summary.findings]


@pytest.mark.parametrize("window_bytes", [1, 1 << 16])
@pytest.mark.parametrize("end", [0, -1])
def test_check_segment_sees_an_entry_inside_any_message(tmp_path, dialect, window_bytes, end):
    segment = sound(tmp_path, dialect)
    entries = index_entries(segment.index.path.read_bytes())
    positions = message_positions(segment.log_path.read_bytes())
    for start, following in pairwise(positions):
        wrong = start + 1 if end == 0 else following - 1
        others = [entry for entry in entries if entry[1] != wrong]
        changed = sorted([*others, (positions.index(start), wrong)], key=lambda entry: entry[1])
        segment.index.path.write_bytes(encode_entries(changed))
        assert same(segment, window_bytes=window_bytes) != []


@pytest.mark.parametrize("relative", [-1, 1])
def test_check_segment_sees_an_entry_with_a_neighbours_offset(tmp_path, dialect, relative):
    segment = sound(tmp_path, dialect)
    entries = index_entries(segment.index.path.read_bytes())
    for slot, (offset, position) in enumerate(entries):
        changed = [*entries]
        changed[slot] = (offset + relative, position)
        segment.index.path.write_bytes(encode_entries(changed))
        assert same(segment) == ["index-position"]


def test_check_segment_sees_entries_in_front_of_and_behind_the_log(tmp_path, dialect):
    segment = sound(tmp_path, dialect)
    entries = index_entries(segment.index.path.read_bytes())
    for added in ((0, -5), (-3, -9), (60, segment.file_bytes), (70, segment.file_bytes + 30)):
        changed = sorted([*entries, added], key=lambda entry: entry[1])
        segment.index.path.write_bytes(encode_entries(changed))
        assert len(same(segment)) == 1


def test_check_segment_leaves_compressed_messages_to_the_plain_one(tmp_path):
    content = b"".join(encode(KAFKA, n, None, b"v", attributes=n == 1) for n in range(3))
    segment = segment_of(str(tmp_path), KAFKA, content, 0, 100)
    assert same(segment) == []
    assert check_segment(ORDERS_1, segment).compressed_count == 1


def test_check_segment_without_index_or_log_says_what_the_plain_one_says(tmp_path, dialect):
    segment = sound(tmp_path, dialect)
    segment.index.path.unlink()
    assert same(segment) == ["index-sparse"]
    segment.log_path.unlink()
    segment.log_path.mkdir()
    assert same(segment) == []  # nothing is said of what is no log
    (line,) = check_segment(ORDERS_1, segment).unchecked
    assert f"{segment.log_path}: a directory, not a regular file" in line


def test_check_segment_does_not_read_what_a_writer_adds_meanwhile(tmp_path, dialect):
    segment = sound(tmp_path, dialect)
    added = log_of(dialect, [(b"k", b"v" * 300)] * 3, 60)

    def append(key: bytes) -> int:
        with open(segment.log_path, "ab") as file:
            file.write(added)
        return 1

    summary = check_segment(ORDERS_1, segment, everywhere(append))
    assert (summary.message_count, summary.findings) == (60, [])


def test_keyed_partition_can_be_called_compared_and_pickled():
    partition_of = KeyedPartition(murmur2_partition, 15)
    assert partition_of(b"TT0124") == 10
    assert pickle.loads(pickle.dumps(partition_of)) == partition_of


def test_check_segment_sees_damage_that_no_index_entry_stands_behind(tmp_path, dialect):
    rows = [(b"k", b"value %d" % n) for n in range(8)]
    segment = segment_of(str(tmp_path), dialect, log_of(dialect, rows), 0, 10**6)
    content = segment.log_path.read_bytes()
    for end in message_positions(content)[1:]:
        damaged = bytearray(content)
        damaged[end - 1] ^= 1
        segment.log_path.write_bytes(damaged)
        assert same(segment) == ["bad-crc"]
    segment.log_path.write_bytes(content[:-1])
    assert same(segment) == ["torn-tail"]
