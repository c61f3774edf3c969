from functools import partial

import pytest
from hypothesis import given

from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.message import Message, NeedMoreBytes, decode, encode
from kminilog.storage.segment.segment import Segment
from kminilog.storage.segment.whole_messages import (
    WholeMessages,
    count_whole_messages,
    decode_any,
    find_message,
    whole_messages,
)
from tests.support.damage import flip_byte, later_message
from tests.support.format.messages import messages as any_messages
from tests.support.storage.segments import COUNT, length_of, message, write_segment

other_formats = pytest.mark.parametrize("magic", [1, 3, 127])
both_dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)


def messages(dialect, count: int, first_offset: int = 0) -> list[bytes]:
    offsets = range(first_offset, first_offset + count)
    return [encode(dialect, offset, b"k", b"value %d" % offset) for offset in offsets]


# ---- decode_any


@given(any_messages())
def test_decode_any_takes_messages_of_both_dialects(case):
    encoded = encode(*case)
    whole = decode_any(encoded)
    assert isinstance(whole, Message)
    assert whole._replace(key=None, value=None) == whole
    assert whole.offset == case[1]
    assert whole.length_bytes == len(encoded)


@other_formats
def test_decode_any_takes_a_message_of_another_format_only_if_its_crc_is_right(magic):
    encoded = later_message(magic, 5, b"hi")
    whole = decode_any(b"front" + encoded, 5)
    assert isinstance(whole, Message)
    assert (whole.offset, whole.magic, whole.length_bytes) == (5, magic, len(encoded))
    for position in range(16, len(encoded)):
        damaged = bytearray(encoded)
        damaged[position] ^= 1
        assert not isinstance(decode_any(bytes(damaged)), Message), position
    for kept_bytes in range(len(encoded)):
        assert isinstance(decode_any(encoded[:kept_bytes]), NeedMoreBytes)


# ---- find_message, and whole_messages


@both_dialects
def test_find_message_behind_rubbish_finds_it_wherever_it_starts(tmp_path, dialect):
    path = tmp_path / "log"
    (message,) = messages(dialect, 1, first_offset=77)
    for rubbish in (b"", b"\0", b"\xff" * 13, bytes(100)):
        path.write_bytes(rubbish + message + b"tail")
        found = find_message(partial(decode, dialect), path)
        assert found is not None
        position, outcome = found
        assert (position, outcome.offset) == (len(rubbish), 77)


@both_dialects
def test_find_message_leaves_out_lower_offsets_and_earlier_positions(tmp_path, dialect):
    path = tmp_path / "log"
    encoded = messages(dialect, 3, first_offset=5)
    path.write_bytes(b"".join(encoded))
    assert find_message(partial(decode, dialect), path, 0, 7)[1].offset == 7
    assert find_message(partial(decode, dialect), path, 1)[1].offset == 6
    assert find_message(partial(decode, dialect), path, 0, 8) is None


@both_dialects
def test_find_message_across_windows_finds_one_larger_than_a_window(tmp_path, dialect):
    path = tmp_path / "log"
    large = encode(dialect, 9, b"k", bytes(3 << 20))
    path.write_bytes(b"\x01" * ((1 << 20) - 5) + large)
    found = find_message(partial(decode, dialect), path)
    assert found is not None
    assert (found[0], found[1].offset) == ((1 << 20) - 5, 9)


@both_dialects
def test_whole_messages_are_those_around_damage(tmp_path, dialect):
    path = tmp_path / "log"
    encoded = messages(dialect, 5)
    path.write_bytes(encoded[0] + b"rubbish" + encoded[1] + encoded[2] + b"?" + encoded[3][:-1])
    assert [message.offset for _, message in whole_messages(path)] == [0, 1, 2]
    assert [message.offset for _, message in whole_messages(path, len(encoded[0]))] == [1, 2]
    assert [message.offset for _, message in whole_messages(path, 0, 2)] == [2]
    path.write_bytes(b"")
    assert len(list(whole_messages(path))) == 0


@pytest.mark.parametrize("rubbish", [b"", b"rubbish", bytes(100), b"\0" * 8 + b"\xff" * 8])
def test_whole_messages_of_any_format_are_found_behind_rubbish(tmp_path, rubbish):
    path = tmp_path / "log"
    encoded = [later_message(magic, 7 + magic, b"hi") for magic in (1, 3)]
    encoded += [encode(KAFKA, 20, b"k", None), encode(DOCUMENTED, 21, None, b"v")]
    path.write_bytes(b"".join(rubbish + message for message in encoded))
    found = list(whole_messages(path))
    assert [message.offset for _, message in found] == [8, 10, 20, 21]
    assert [path.read_bytes()[at:][: m.length_bytes] for at, m in found] == encoded


@pytest.mark.parametrize("offset", [2**62, -1])
def test_whole_messages_at_a_position_may_have_any_offset(tmp_path, offset):
    path = tmp_path / "log"
    path.write_bytes(later_message(1, offset, b"hi"))
    assert [(at, message.offset) for at, message in whole_messages(path)] == [(0, offset)]


# ---- count_whole_messages


def append(segment: Segment, data: bytes) -> None:
    with open(segment.log_path, "ab") as file:
        file.write(data)


def break_message(segment: Segment, number: int) -> None:
    """Change the last byte of a message, so that its crc is wrong."""
    flip_byte(segment.log_path, (number + 1) * length_of(segment.dialect) - 1, mask=1)


def test_count_whole_messages_skips_the_damage_between_them(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    break_message(segment, 2)
    break_message(segment, 5)
    expected = WholeMessages(6, segment.first_offset + COUNT)
    assert count_whole_messages(segment, 2 * length_of(dialect)) == expected


def test_count_whole_messages_at_the_end_of_a_segment_finds_none(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    append(segment, message(dialect, segment.first_offset + COUNT)[:-1])
    assert count_whole_messages(segment, COUNT * length_of(dialect)) == WholeMessages(0, 0)


@pytest.mark.parametrize("magic", [1, 3])
def test_count_whole_messages_counts_those_of_another_format(tmp_path, dialect, magic):
    segment = write_segment(tmp_path, dialect, 1)
    append(segment, later_message(magic, segment.first_offset + 1, b"later"))
    assert count_whole_messages(segment) == WholeMessages(2, segment.first_offset + 2)


@pytest.mark.parametrize("is_reachable", [True, False])
def test_count_whole_messages_takes_no_end_from_an_offset_that_is_out_of_reach(
    tmp_path, dialect, is_reachable
):
    """Each message has more than one byte, so the offset is damaged itself."""
    segment = write_segment(tmp_path, dialect)
    end, limit = segment.first_offset + COUNT, segment.first_offset + 11 * length_of(dialect)
    append(segment, message(dialect, limit - 1 if is_reachable else limit))
    assert count_whole_messages(segment) == WholeMessages(11, limit if is_reachable else end)


def test_count_whole_messages_takes_the_end_from_the_greatest_offset(tmp_path, dialect):
    segment = write_segment(tmp_path, dialect)
    append(segment, message(dialect, segment.first_offset))
    assert count_whole_messages(segment) == WholeMessages(11, segment.first_offset + COUNT)
