"""How far a segment is valid: one fault in each test, in a segment of ten messages."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kminilog.errors import CorruptLogError
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import encode
from kminilog.storage.segment.scan import (
    SegmentScan,
    has_due_entries,
    next_offset,
    quick_end,
    scan_segment,
)
from kminilog.storage.segment.segment import Segment
from tests.support.damage import cut_to, flip_byte
from tests.support.invariants import check_segment
from tests.support.storage.segments import BASE, COUNT, length_of, message, write_segment


def entry(segment: Segment, number: int) -> IndexEntry:
    """Return the entry of a message, which is counted from 0."""
    relative_offset = segment.first_offset - BASE + number
    return IndexEntry(relative_offset, number * length_of(segment.dialect))


def append(segment: Segment, data: bytes) -> None:
    with open(segment.log_path, "ab") as file:
        file.write(data)


def put_offset(segment: Segment, number: int, offset: int) -> None:
    """Change the offset of a message, which no crc covers."""
    with open(segment.log_path, "r+b") as file:
        file.seek(number * length_of(segment.dialect))
        file.write(offset.to_bytes(8))


def break_message(segment: Segment, number: int) -> None:
    """Change the last byte of a message, so that its crc is wrong."""
    flip_byte(segment.log_path, (number + 1) * length_of(segment.dialect) - 1, mask=1)


# ---- scan_segment


def test_scan_segment_of_valid_messages_gives_their_end_and_the_due_entries(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    entries = [entry(segment, number) for number in (3, 6, 9)]
    next_offset, valid_bytes = segment.first_offset + COUNT, COUNT * length_of(dialect)
    assert scan_segment(segment) == SegmentScan(next_offset, valid_bytes, entries, None)


def test_scan_segment_of_an_empty_one_expects_the_offset_that_its_name_gives(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect, 0)
    assert scan_segment(segment) == SegmentScan(dialect.first_offset(BASE), 0, [], None)


FAULTS: dict[str, tuple[Callable[[Segment], object], str]] = {
    "torn": (lambda segment: cut_to(segment.log_path, 5 * length_of(segment.dialect) - 1), "unfin"),
    "bad crc": (lambda segment: break_message(segment, 4), "bad-crc, "),
    "lower": (lambda segment: put_offset(segment, 4, BASE), f"a whole message with offset {BASE},"),
    "higher": (lambda segment: put_offset(segment, 4, 99), "a whole message with offset 99, "),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_scan_segment_ends_in_front_of_the_first_fault_and_says_what_it_is(tmp_path, dialect, kind):
    segment = write_segment(tmp_path, dialect)
    damage, reason = FAULTS[kind]
    damage(segment)
    found = scan_segment(segment)
    assert found.next_offset == segment.first_offset + 4
    assert found.valid_bytes == 4 * length_of(dialect)
    assert found.entries == [entry(segment, 3)]
    assert found.reason is not None
    assert found.reason.startswith(reason)


def test_scan_segment_whose_name_gives_another_first_offset_finds_nothing_valid(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    first = segment.first_offset
    put_offset(segment, 0, first + 1)
    reason = f"a whole message with offset {first + 1}, expected {first}"
    assert scan_segment(segment) == SegmentScan(first, 0, [], reason)


def test_scan_segment_lets_a_compressed_message_stand_for_several_offsets(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect, 1)
    first = segment.first_offset
    append(segment, encode(dialect, first + 3, None, b"three", attributes=1))
    append(segment, message(dialect, first + 4))
    found = scan_segment(segment)
    assert (found.next_offset, found.reason) == (first + 5, None)


def test_scan_segment_from_an_entry_finds_the_same_end(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    whole = scan_segment(segment)
    for number, start in enumerate(whole.entries):
        expected = whole._replace(entries=whole.entries[number + 1 :])
        assert scan_segment(segment, start) == expected


# ---- the index


INDEXES: dict[str, Callable[[Segment, list[IndexEntry]], object]] = {
    "one missing": lambda segment, due: segment.index.rewrite(due[:-1]),
    "one more": lambda segment, due: segment.index.rewrite([*due, IndexEntry(90, 9000)]),
    "one moved": lambda segment, due: segment.index.rewrite([*due[:-1], entry(segment, 8)]),
    "torn": lambda segment, due: cut_to(segment.index.path, 8 * len(due) - 1),
    "gone": lambda segment, due: segment.index.path.unlink(),
}


@pytest.mark.parametrize("kind", INDEXES)
def test_has_due_entries_only_if_the_index_has_just_those(tmp_path, dialect, kind):
    segment = write_segment(tmp_path, dialect)
    found = scan_segment(segment)
    assert has_due_entries(segment, found)
    INDEXES[kind](segment, found.entries)
    assert not has_due_entries(segment, found)


# ---- quick_end


@pytest.mark.parametrize("count", [0, 2, COUNT])
def test_quick_end_of_a_valid_segment_is_one_past_its_last_offset(tmp_path, dialect, count):
    segment = write_segment(tmp_path, dialect, count)
    assert quick_end(segment) == segment.first_offset + count


def point_last_entry_at(segment: Segment, number: int) -> None:
    """Let the last of three entries lead to another message."""
    position = number * length_of(segment.dialect)
    *others, last = [entry(segment, each) for each in (3, 6, 9)]
    segment.index.rewrite([*others, last._replace(position=position)])


WRONG: dict[str, Callable[[Segment], object]] = {
    "torn message": lambda segment: append(segment, b"torn"),
    "bad crc": lambda segment: break_message(segment, 10),
    "bad crc at the last entry": lambda segment: break_message(segment, 9),
    "false last entry": lambda segment: point_last_entry_at(segment, 8),
    "missing entry": lambda segment: cut_to(segment.index.path, 16),
    "torn index": lambda segment: segment.index.path.write_bytes(
        segment.index.path.read_bytes() + b"?"
    ),
    "entries that do not ascend": lambda segment: segment.index.path.write_bytes(
        segment.index.path.read_bytes() + bytes(8)
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_quick_end_with_something_wrong_at_the_end_is_unknown(tmp_path, dialect, kind):
    segment = write_segment(tmp_path, dialect, 11)
    WRONG[kind](segment)
    assert quick_end(segment) is None


def test_quick_end_with_an_entry_although_none_is_due_is_unknown(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect, 2)
    segment.index.rewrite([entry(segment, 3)])
    assert quick_end(segment) is None


def test_quick_end_does_not_look_in_front_of_the_last_entry(tmp_path, dialect):
    """It is for segments that were on the disk: verification reads them whole."""
    segment = write_segment(tmp_path, dialect)
    break_message(segment, 1)
    assert quick_end(segment) == segment.first_offset + COUNT


# ---- next_offset, and check_segment


@pytest.mark.parametrize("count", [0, 2, COUNT])
def test_next_offset_is_one_past_the_last_message(tmp_path, dialect, count):
    segment = write_segment(tmp_path, dialect, count)
    assert next_offset(segment) == segment.first_offset + count


def test_next_offset_with_a_false_last_entry_comes_from_the_messages(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    point_last_entry_at(segment, 8)
    assert next_offset(segment) == segment.first_offset + COUNT


def test_next_offset_with_a_fault_at_the_end_is_an_error_with_its_place(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    append(segment, b"torn")
    with pytest.raises(CorruptLogError, match="unfinished message") as caught:
        next_offset(segment)
    expected = (str(segment.log_path), COUNT * length_of(dialect))
    assert (caught.value.path, caught.value.position) == expected


def test_next_offset_does_not_look_in_front_of_the_last_entry(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    break_message(segment, 1)
    assert next_offset(segment) == segment.first_offset + COUNT


def test_check_segment_gives_the_scan_of_a_valid_one(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    assert check_segment(segment) == scan_segment(segment)


def checked(directory: Path, dialect: Dialect, damage: Callable[[Segment], object]) -> str:
    """Return what the check of a segment says once it is damaged."""
    segment = write_segment(directory, dialect)
    damage(segment)
    with pytest.raises(AssertionError) as caught:
        check_segment(segment)
    return str(caught.value)


def test_check_segment_with_a_fault_says_where_and_what(tmp_path, dialect):
    said = checked(tmp_path, dialect, lambda segment: append(segment, b"torn"))
    assert said.startswith(f"{BASE:020} at {COUNT * length_of(dialect)}: unfinished message")


def test_check_segment_without_a_due_entry_says_so(tmp_path, dialect):
    said = checked(tmp_path, dialect, lambda segment: cut_to(segment.index.path, 16))
    assert said.startswith(f"{BASE:020}: index entries")
