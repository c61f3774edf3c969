from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.message import CorruptMessage, Message, NeedMoreBytes, decode, encode
from kminilog.storage.log_file import find_message, scan_file, whole_messages
from tests.support.damage import later_message

both_dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)


def messages(dialect, count: int, first_offset: int = 0) -> list[bytes]:
    offsets = range(first_offset, first_offset + count)
    return [encode(dialect, offset, b"k", b"value %d" % offset) for offset in offsets]


@given(st.lists(st.integers(0, 200), max_size=20), st.integers(1, 300))
def test_scan_file_with_any_window_yields_the_same(tmp_path_factory, lengths, window_bytes):
    path = tmp_path_factory.mktemp("scan") / "log"
    encoded = [encode(KAFKA, offset, None, bytes(n)) for offset, n in enumerate(lengths)]
    path.write_bytes(b"".join(encoded))
    scanned = list(scan_file(KAFKA, path, window_bytes=window_bytes))
    assert [p for p, _ in scanned] == [sum(map(len, encoded[:n])) for n in range(len(encoded))]
    assert [len(m.value) for _, m in scanned] == lengths


@both_dialects
def test_scan_file_stops_at_damage_and_says_what_it_is(tmp_path, dialect):
    path = tmp_path / "log"
    first, second, third = messages(dialect, 3)
    path.write_bytes(first + second[:-1] + b"!" + third)
    *_, (position, outcome) = scan_file(dialect, path)
    assert position == len(first)
    assert isinstance(outcome, CorruptMessage)


@both_dialects
@pytest.mark.parametrize("kept_bytes", [1, 11, 12, 21, 25])
@pytest.mark.parametrize("is_at_the_end", [True, False])
@pytest.mark.parametrize("window_bytes", [1, 1 << 20])
def test_scan_file_that_ends_inside_a_message_needs_more_wherever_it_starts(
    tmp_path, dialect, kept_bytes, is_at_the_end, window_bytes
):
    path = tmp_path / "log"
    first, second = messages(dialect, 2)
    path.write_bytes(first + second[:kept_bytes])
    position = len(first) if is_at_the_end else 0
    *_, found = scan_file(dialect, path, position, window_bytes)
    needed_bytes = 12 if kept_bytes < 12 else len(second)
    assert found == (len(first), NeedMoreBytes(needed_bytes))


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
    encoded = [later_message(magic, 7 + magic, b"hi") for magic in (1, 2, 3)]
    encoded += [encode(KAFKA, 20, b"k", None), encode(DOCUMENTED, 21, None, b"v")]
    path.write_bytes(b"".join(rubbish + message for message in encoded))
    found = list(whole_messages(path))
    assert [message.offset for _, message in found] == [8, 9, 10, 20, 21]
    assert [path.read_bytes()[at:][: m.length_bytes] for at, m in found] == encoded


@pytest.mark.parametrize("rubbish", [b"", bytes(30)])
def test_whole_messages_count_a_batch_by_its_last_offset(tmp_path, rubbish):
    path = tmp_path / "log"
    path.write_bytes(rubbish + later_message(2, 5, b"hi", last_offset_delta=4))
    for minimum_offset, is_found in ((7, True), (9, True), (10, False)):
        found = [message.offset for _, message in whole_messages(path, 0, minimum_offset)]
        assert found == [9] * is_found


@pytest.mark.parametrize("offset", [2**62, -1])
def test_whole_messages_at_a_position_may_have_any_offset(tmp_path, offset):
    path = tmp_path / "log"
    path.write_bytes(later_message(1, offset, b"hi"))
    assert [(at, message.offset) for at, message in whole_messages(path)] == [(0, offset)]


@both_dialects
def test_scan_file_of_a_file_that_shrinks_meanwhile_ends_with_a_torn_message(tmp_path, dialect):
    path = tmp_path / "log"
    encoded = messages(dialect, 2)
    path.write_bytes(b"".join(encoded))
    scanned = scan_file(dialect, path, window_bytes=len(encoded[0]))
    assert isinstance(next(scanned)[1], Message)
    with open(path, "r+b") as file:
        file.truncate(len(encoded[0]) + 3)
    assert isinstance(next(scanned)[1], NeedMoreBytes)
