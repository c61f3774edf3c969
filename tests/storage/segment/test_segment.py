"""One pair of files: what is written when, where it ends, and which offset may stand where."""

import os
from collections.abc import Callable

import pytest

from kminilog.errors import CorruptLogError
from kminilog.format.dialect import KAFKA
from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import decode, encode
from kminilog.storage.segment.segment import Segment, damage_error
from tests.support.damage import cut_to, files_of, flip_byte
from tests.support.invariants import check_index
from tests.support.storage.segments import (
    BASE,
    COUNT,
    length_of,
    message,
    segment_in,
    write_segment,
)

# ---- writing


def test_added_messages_are_in_no_file_before_write_and_then_no_longer_added(tmp_path):
    segment = Segment(tmp_path, 5, KAFKA, 30)
    segment.open()
    encoded = [encode(KAFKA, offset, None, b"value") for offset in (5, 6, 7)]
    for offset, data in enumerate(encoded, start=5):
        segment.add(offset, data)
    assert segment.added == encoded
    assert segment.file_bytes == 0
    segment.write()
    assert segment.added == []
    assert segment.log_path.read_bytes() == b"".join(encoded)
    check_index(segment.index)
    assert segment.index.entries() == [(1, 31), (2, 62)]


def test_added_messages_are_dropped_by_a_truncation(tmp_path):
    segment = Segment(tmp_path, 0, KAFKA, 4096)
    segment.open()
    segment.add(0, encode(KAFKA, 0, None, b"value"))
    segment.truncate_to(0, 0)
    segment.write()
    assert segment.added == []
    assert segment.file_bytes == segment.size_bytes == 0


def test_write_after_a_reopening_gives_the_files_of_one_go(tmp_path, dialect):
    whole = write_segment(tmp_path / "whole", dialect)
    write_segment(tmp_path / "parts", dialect, 5)
    segment = segment_in(tmp_path / "parts", dialect)
    segment.open()
    for offset in range(segment.first_offset + 5, segment.first_offset + COUNT):
        segment.add(offset, message(dialect, offset))
        segment.write()
    check_index(segment.index)
    assert files_of(segment.directory) == files_of(whole.directory)


def test_write_writes_the_log_before_the_index(tmp_path, dialect):
    """So after a crash in between no entry points past the log."""
    segment = segment_in(tmp_path, dialect)
    segment.open()
    for offset in range(segment.first_offset, segment.first_offset + COUNT):
        segment.add(offset, message(dialect, offset))
    segment.index.path.unlink()
    segment.index.path.mkdir()  # writing to it fails
    with pytest.raises(OSError, match="a directory"):
        segment.write()
    assert segment.file_bytes == COUNT * length_of(dialect)


def test_truncate_to_keeps_so_many_bytes_and_entries_and_the_age(tmp_path, dialect):
    write_segment(tmp_path / "cut", dialect)
    segment = segment_in(tmp_path / "cut", dialect)
    segment.open()
    os.utime(segment.log_path, ns=(1_000_000, 2_000_000))
    segment.truncate_to(5 * length_of(dialect), 1)
    assert segment.last_append_ms == 2
    assert segment.size_bytes == 5 * length_of(dialect)
    check_index(segment.index)
    shorter = write_segment(tmp_path / "short", dialect, 5)
    assert files_of(segment.directory) == files_of(shorter.directory)


def test_remove_leaves_no_file_however_many_were_there(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    for _ in range(2):
        segment.remove()
        assert files_of(tmp_path) == {}


def test_last_append_of_a_segment_without_messages_is_unknown(tmp_path, dialect):
    assert write_segment(tmp_path, dialect, 0).last_append_ms is None


# ---- the last entry, and the end


@pytest.mark.parametrize(("count", "number"), [(0, None), (3, None), (4, 3), (COUNT, 9)])
def test_last_true_entry_is_the_last_one_that_was_due(tmp_path, dialect, count, number):
    segment = write_segment(tmp_path, dialect, count)
    entry = (segment.first_offset - BASE + (number or 0), (number or 0) * length_of(dialect))
    assert segment.last_true_entry() == (entry if number else None)


UNTRUE: dict[str, Callable[[Segment], object]] = {
    "damaged": lambda s: flip_byte(s.log_path, s.file_bytes - 1, mask=1),
    "gone": lambda s: cut_to(s.log_path, 9 * length_of(s.dialect)),
    "torn": lambda s: cut_to(s.log_path, s.file_bytes - 1),
    "another": lambda s: s.index.rewrite([IndexEntry(4, 9 * length_of(s.dialect))]),
    "inside": lambda s: s.index.rewrite([IndexEntry(9, 9 * length_of(s.dialect) - 1)]),
}


@pytest.mark.parametrize("kind", UNTRUE)
def test_last_true_entry_whose_message_is_not_there_is_none(tmp_path, dialect, kind):
    segment = write_segment(tmp_path, dialect)
    UNTRUE[kind](segment)
    assert segment.last_true_entry() is None


@pytest.mark.parametrize("count", [0, 2, COUNT])
def test_end_offset_is_one_past_the_last_message(tmp_path, dialect, count):
    segment = write_segment(tmp_path, dialect, count)
    assert segment.end_offset() == segment.first_offset + count


@pytest.mark.parametrize("kind", ["damaged", "gone", "torn"])
def test_end_offset_is_in_front_of_a_fault(tmp_path, dialect, kind):
    segment = write_segment(tmp_path, dialect)
    UNTRUE[kind](segment)
    assert segment.end_offset() == segment.first_offset + 9


@pytest.mark.parametrize("allows_gaps", [False, True])
def test_end_offset_is_in_front_of_a_gap_unless_gaps_are_allowed(tmp_path, dialect, allows_gaps):
    write_segment(tmp_path, dialect)
    segment = segment_in(tmp_path, dialect, allows_gaps=allows_gaps)
    with open(segment.log_path, "ab") as file:
        file.write(message(dialect, 50))
    assert segment.end_offset() == (51 if allows_gaps else segment.first_offset + COUNT)


@pytest.mark.parametrize("kind", ["another", "inside"])
def test_end_offset_with_a_false_entry_comes_from_the_messages(tmp_path, dialect, kind):
    segment = write_segment(tmp_path, dialect)
    UNTRUE[kind](segment)
    assert segment.end_offset() == segment.first_offset + COUNT


# ---- order


@pytest.mark.parametrize(
    ("offset", "after", "following", "is_allowed"),
    [
        (20, None, None, True),  # the end of the log: nothing can deny it
        (20, 21, None, True),
        (20, 20, None, False),
        (20, 19, 99, False),  # what comes next in the file, not the next segment
        (20, None, 21, True),
        (20, None, 20, False),
        (14, None, None, False),  # never lower than expected
        (15, 3, None, True),  # expected: whatever comes after it
    ],
)
def test_offset_is_in_order_if_it_is_expected_or_in_an_allowed_gap_that_nothing_denies(
    tmp_path, dialect, offset, after, following, is_allowed
):
    data = message(dialect, offset) + (b"" if after is None else message(dialect, after))
    for allows_gaps in (False, True):
        segment = segment_in(tmp_path, dialect, allows_gaps=allows_gaps)
        segment.log_path.write_bytes(data)
        found = decode(dialect, data, 0)
        expected = is_allowed and (allows_gaps or offset == 15)
        assert segment.is_in_order(0, found, 15, following) == expected


# ---- the error


@pytest.mark.parametrize("is_gap", [False, True])
def test_damage_error_names_the_place_and_speaks_of_gaps_only_at_one(tmp_path, dialect, is_gap):
    segment = segment_in(tmp_path, dialect)
    error = damage_error(segment, 30, "bad", is_gap=is_gap)
    assert isinstance(error, CorruptLogError)
    assert (error.path, error.position, error.reason) == (str(segment.log_path), 30, "bad")
    assert ("allow gaps only if" in str(error)) == is_gap
