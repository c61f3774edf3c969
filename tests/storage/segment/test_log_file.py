import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.format.dialect import DIALECTS, KAFKA
from kminilog.format.message import CorruptMessage, Message, NeedMoreBytes, encode
from kminilog.storage.segment.log_file import scan_file

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
def test_scan_file_of_a_file_that_shrinks_meanwhile_ends_with_a_torn_message(tmp_path, dialect):
    path = tmp_path / "log"
    encoded = messages(dialect, 2)
    path.write_bytes(b"".join(encoded))
    scanned = scan_file(dialect, path, window_bytes=len(encoded[0]))
    assert isinstance(next(scanned)[1], Message)
    with open(path, "r+b") as file:
        file.truncate(len(encoded[0]) + 3)
    assert isinstance(next(scanned)[1], NeedMoreBytes)
