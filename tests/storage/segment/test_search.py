"""The search for one message of a segment: what it finds, what is the end, and what is damage."""

import os
from collections.abc import Callable

import pytest

from kminilog.errors import CompressedMessageError, CorruptLogError
from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import encode
from kminilog.storage.segment.search import (
    Found,
    find_in_segment,
    misplaced_segment_error,
    refuse_compressed,
)
from kminilog.storage.segment.segment import Segment
from tests.support.damage import flip_byte, later_message
from tests.support.storage.segments import (
    BASE,
    COUNT,
    length_of,
    message,
    segment_in,
    write_segment,
)


def found(segment: Segment, offset: int, following_offset: int | None = None) -> Found:
    """Locate a message that is there."""
    located = find_in_segment(segment, offset, following_offset=following_offset)
    assert located is not None
    return located


def append(segment: Segment, data: bytes) -> None:
    with open(segment.log_path, "ab") as file:
        file.write(data)


def put(segment: Segment, position: int, data: bytes) -> None:
    with open(segment.log_path, "r+b") as file:
        file.seek(position)
        file.write(data)


# ---- the message and the way to it


def test_find_each_offset_walks_to_its_message_from_the_entry_before_it(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    length = length_of(dialect)
    for number in range(COUNT):
        offset, walked = segment.first_offset + number, number % 3 + 1
        located = found(segment, offset)
        entry = (offset - BASE - number % 3, (number - number % 3) * length)
        assert (located.position, located.message.offset) == (number * length, offset)
        assert located.index_entry == (entry if number >= 3 else None)
        assert (located.scanned_messages, located.scanned_bytes) == (walked, walked * length)


def test_find_an_offset_below_the_first_message_gives_that_message(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    assert found(segment, BASE - 1).message.offset == segment.first_offset


@pytest.mark.parametrize("following", [None, 99])
@pytest.mark.parametrize("count", [0, 2, COUNT])
def test_find_an_offset_behind_the_last_message_finds_none(tmp_path, dialect, count, following):
    segment = write_segment(tmp_path, dialect, count)
    end = segment.first_offset + count
    assert find_in_segment(segment, end, following_offset=following and end) is None


@pytest.mark.parametrize("value_bytes", [9_000, 20_000, 3 << 20])
def test_find_reads_on_for_a_message_that_is_larger_than_what_it_reads_at_once(
    tmp_path, dialect, value_bytes
):
    segment = write_segment(tmp_path, dialect, 2)
    first = segment.first_offset
    append(segment, encode(dialect, first + 2, None, bytes(value_bytes)))
    assert len(found(segment, first + 2).message.value or b"") == value_bytes
    append(segment, message(dialect, first + 3))
    located = found(segment, first + 3)
    assert located.position == segment.file_bytes - length_of(dialect)
    assert (located.message.offset, located.scanned_messages) == (first + 3, 4)


@pytest.mark.parametrize("bytes_of_the_next", range(24))
def test_find_reads_on_where_its_bytes_end_inside_the_next_message(
    tmp_path, dialect, bytes_of_the_next
):
    segment = write_segment(tmp_path, dialect, 0)
    window_bytes = segment.index_interval_bytes + (1 << 13)
    large = encode(dialect, segment.first_offset, None, b"")
    value = bytes(window_bytes - bytes_of_the_next - len(large))
    append(segment, encode(dialect, segment.first_offset, None, value))
    append(segment, message(dialect, segment.first_offset + 1))
    located = found(segment, segment.first_offset + 1)
    assert located.position == window_bytes - bytes_of_the_next


@pytest.mark.parametrize(
    "entry",
    [
        lambda n, length: (n, 4 * length + 3),  # inside of a message
        lambda n, length: (n, 90 * length),  # behind the end
        lambda n, length: (n, 3 * length),  # a message before it
        lambda n, length: (n, 5 * length),  # a message after it
    ],
    ids=["inside", "behind the end", "before", "after"],
)
def test_find_with_a_lying_index_walks_from_the_first_message(tmp_path, dialect, entry):
    segment = write_segment(tmp_path, dialect)
    lying = entry(segment.first_offset + 4 - BASE, length_of(dialect))
    segment.index.rewrite([IndexEntry(*lying)])
    for number in range(COUNT):
        located = found(segment, segment.first_offset + number)
        assert located.position == number * length_of(dialect)
        assert (located.index_entry, located.scanned_messages) == (None, number + 1)


def test_find_without_an_index_walks_from_the_first_message(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    segment.index.path.unlink()
    assert found(segment, segment.first_offset + 9).scanned_messages == COUNT


def test_find_loads_the_index_each_time_and_leaves_no_file_open(tmp_path, dialect):
    write_segment(tmp_path, dialect, 5)
    reader = segment_in(tmp_path, dialect)
    open_before, entry_counts = os.listdir("/dev/fd"), []
    for count in (5, COUNT):
        write_on(reader, count)
        found(reader, reader.first_offset)
        entry_counts.append(len(reader.index))
    assert entry_counts == [1, 3]
    assert len(os.listdir("/dev/fd")) == len(open_before)


def write_on(reader: Segment, count: int) -> None:
    """Write messages as another process does, until there are as many."""
    writer = segment_in(reader.directory, reader.dialect)
    writer.open()
    there = writer.size_bytes // length_of(writer.dialect)
    for offset in range(writer.first_offset + there, writer.first_offset + count):
        writer.add(offset, message(writer.dialect, offset))
    writer.write()


# ---- a descriptor that is handed in


def test_find_in_an_open_file_finds_a_message_of_a_segment_that_was_deleted(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    offset = segment.first_offset + 7
    with open(segment.log_path, "rb") as file:
        segment.remove()
        located = find_in_segment(segment, offset, descriptor=file.fileno())
        assert located is not None
        assert located.message.offset == offset
        os.fstat(file.fileno())  # still open
    with pytest.raises(FileNotFoundError):
        find_in_segment(segment, offset)


def test_find_in_an_open_file_loads_the_index_only_for_what_comes_after_its_entries(
    tmp_path, dialect
):
    write_segment(tmp_path, dialect, 5)
    reader = segment_in(tmp_path, dialect)
    reader.index.load()
    write_on(reader, COUNT)
    with open(reader.log_path, "rb") as file:
        entry_counts = []
        for number in (2, 8):
            located = find_in_segment(
                reader, reader.first_offset + number, descriptor=file.fileno()
            )
            assert located is not None
            entry_counts.append(len(reader.index))
    assert entry_counts == [1, 3]
    assert located.index_entry == (reader.first_offset + 6 - BASE, 6 * length_of(dialect))


# ---- an unfinished message


@pytest.mark.parametrize("kept_bytes", [1, 8, 11, 12, 16, 22, -1])
def test_find_an_unfinished_message_at_the_end_of_the_last_segment_finds_none(
    tmp_path, dialect, kept_bytes
):
    segment = write_segment(tmp_path, dialect)
    end = segment.first_offset + COUNT
    append(segment, message(dialect, end)[:kept_bytes])
    assert find_in_segment(segment, end) is None
    assert found(segment, end - 1).message.offset == end - 1


def check_damage(
    segment: Segment, number: int, reason: str, following_offset: int | None = None
) -> CorruptLogError:
    """The messages in front of it are found; it and all others are damage at its place."""
    for before in range(number):
        offset = segment.first_offset + before
        assert found(segment, offset, following_offset).message.offset == offset
    for offset in range(segment.first_offset + number, segment.first_offset + COUNT):
        with pytest.raises(CorruptLogError, match=reason) as caught:
            find_in_segment(segment, offset, following_offset=following_offset)
        position = number * length_of(segment.dialect)
        assert (caught.value.path, caught.value.position) == (str(segment.log_path), position)
    return caught.value


def test_find_an_unfinished_message_in_front_of_another_segment_is_damage(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect, 4)
    end = segment.first_offset + 4
    append(segment, message(dialect, end)[:-1])
    check_damage(segment, 4, "an unfinished message, and others after it", end + 1)


def test_find_behind_a_last_message_whose_size_reaches_past_the_end_is_damage(tmp_path, dialect):
    """Its checksum is right for the bytes that are there."""
    segment = write_segment(tmp_path, dialect)
    segment.index.rewrite([])
    put(segment, (COUNT - 1) * length_of(dialect) + 8, b"\x10")
    check_damage(segment, COUNT - 1, "an unfinished message", segment.first_offset + COUNT)
    end = segment.first_offset + COUNT
    with pytest.raises(CorruptLogError) as caught:
        find_in_segment(segment, end, following_offset=end)
    assert caught.value.position == (COUNT - 1) * length_of(dialect)


def test_find_an_unfinished_message_with_whole_ones_after_it_is_damage(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    segment.index.rewrite([])
    put(segment, 4 * length_of(dialect) + 8, b"\x10")  # its size is more than the file has
    check_damage(segment, 4, "an unfinished message, and others after it")


def test_find_an_unfinished_message_in_front_of_a_later_format_is_damage(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect, 4)
    end = segment.first_offset + 4
    append(segment, encode(dialect, end, None, bytes(500))[:40])
    append(segment, later_message(1, end + 1, b"value"))
    check_damage(segment, 4, "an unfinished message, and others after it")


def test_find_an_unfinished_message_that_holds_an_older_one_finds_none(tmp_path, dialect):
    """Its value is a copy of a message, which says nothing of this log."""
    segment = write_segment(tmp_path, dialect)
    end = segment.first_offset + COUNT
    append(segment, encode(dialect, end, None, message(dialect, end - 1) + b"tail")[:-1])
    assert find_in_segment(segment, end) is None


def test_find_a_message_that_its_writer_finishes_meanwhile_finds_it(tmp_path, dialect):
    first = dialect.first_offset(BASE)
    whole = b"".join(message(dialect, first + number) for number in range(COUNT))

    class WatchedSegment(Segment):
        """Its writer finishes the last two messages when somebody asks for the size."""

        @property
        def file_bytes(self) -> int:
            self.log_path.write_bytes(whole)
            return len(whole)

    segment = WatchedSegment(tmp_path, BASE, dialect, 4096)
    segment.log_path.write_bytes(whole[: -length_of(dialect) - 1])
    assert found(segment, first + 8).position == 8 * length_of(dialect)


# ---- other damage, and gaps


DAMAGE: dict[str, tuple[Callable[[Segment], object], str]] = {
    "crc": (lambda s: flip_byte(s.log_path, 5 * length_of(s.dialect) - 1, mask=1), "bad-crc, "),
    "lower": (
        lambda s: put(s, 4 * length_of(s.dialect), BASE.to_bytes(8)),
        f"a whole message with offset {BASE}, expected",
    ),
    "higher": (
        lambda s: put(s, 4 * length_of(s.dialect), (99).to_bytes(8)),
        "a whole message with offset 99, expected",
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_find_behind_damage_without_entries_is_an_error_with_its_place(tmp_path, dialect, kind):
    segment = write_segment(tmp_path, dialect)
    segment.index.rewrite([])
    damage, reason = DAMAGE[kind]
    damage(segment)
    error = check_damage(segment, 4, reason)
    assert ("allow gaps only if" in str(error)) == (kind == "higher")


def test_find_from_an_entry_behind_damage_finds_the_message(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    flip_byte(segment.log_path, 5 * length_of(dialect) - 1, mask=1)
    assert found(segment, segment.first_offset + 7).message.offset == segment.first_offset + 7


def test_find_in_or_behind_an_allowed_gap_gives_the_next_message_that_is_there(tmp_path, dialect):
    write_segment(tmp_path, dialect, 4)
    segment = segment_in(tmp_path, dialect, allows_gaps=True)
    end = segment.first_offset + 4
    for offset in (end + 10, end + 11, end + 20):
        append(segment, message(dialect, offset))
    asked = [end - 1, end, end + 10, end + 11, end + 12, end + 20]
    there = [found(segment, offset).message.offset for offset in asked]
    assert there == [end - 1, end + 10, end + 10, end + 11, end + 20, end + 20]
    assert find_in_segment(segment, end + 21) is None


@pytest.mark.parametrize("following", [6, 7, 8])
def test_find_behind_an_allowed_gap_that_the_next_segment_denies_is_damage(
    tmp_path, dialect, following
):
    write_segment(tmp_path, dialect, 4)
    segment = segment_in(tmp_path, dialect, allows_gaps=True)
    append(segment, message(dialect, segment.first_offset + 7))
    if following == 8:
        assert found(segment, segment.first_offset + 4, segment.first_offset + following)
    else:
        check_damage(segment, 4, "a whole message with", segment.first_offset + following)


def test_find_a_message_whose_offset_the_one_after_it_denies_is_damage(tmp_path, dialect):
    write_segment(tmp_path, dialect)
    segment = segment_in(tmp_path, dialect, allows_gaps=True)
    segment.index.rewrite([])
    put(segment, 4 * length_of(dialect), (1 << 40).to_bytes(8))
    check_damage(segment, 4, f"a whole message with offset {1 << 40}, expected")


# ---- compressed messages


def test_find_an_offset_inside_of_a_compressed_message_gives_it_and_it_is_refused(
    tmp_path, dialect
):
    segment = write_segment(tmp_path, dialect, 2)
    end = segment.first_offset + 2
    append(segment, encode(dialect, end + 2, None, b"three", attributes=1))
    append(segment, message(dialect, end + 3))
    for offset in (end, end + 1, end + 2):
        located = found(segment, offset)
        assert (located.message.offset, located.scanned_messages) == (end + 2, 3)
        place = f"{segment.log_path}, byte {2 * length_of(dialect)}"
        with pytest.raises(CompressedMessageError, match=f"^{place}: .* compressed with gzip; "):
            refuse_compressed(located)
    plain = found(segment, end + 3)
    assert plain.message.offset == end + 3
    refuse_compressed(plain)


# ---- two segments that do not follow each other


@pytest.mark.parametrize("step", [-1, 1])
def test_misplaced_segment_is_told_with_the_offset_that_should_come(tmp_path, dialect, step):
    before = write_segment(tmp_path, dialect)
    end = before.first_offset + COUNT
    after = segment_in(tmp_path, dialect, dialect.base_offset_for(end + step))
    error = misplaced_segment_error(after, before)
    assert (error.path, error.position) == (str(after.log_path), 0)
    assert error.reason == (
        f"its name says offset {end + step}, but {end} comes next, after {before.log_path.name}"
    )
    assert ("allow gaps only if" in str(error)) == (step == 1)
