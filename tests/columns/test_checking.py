import zlib
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns import checking
from kminilog.columns.boundaries import NO_HINTS, find_beginnings
from kminilog.columns.checking import check
from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.message import CODECS, Message, encode, scan
from tests.support.columns.strategies import both_dialects, crc_of, each_library, log_of, messages
from tests.support.damage import message_positions


def assert_same_as_scan(dialect: Dialect, data: bytes, hints: np.ndarray = NO_HINTS) -> None:
    """Compare every field of every message."""
    found = check(dialect, data, find_beginnings(dialect, data, hints))
    scanned = [step for step in scan(dialect, data) if isinstance(step[1], Message)]
    assert len(found) == len(scanned)
    assert found.positions.tolist() == [position for position, _ in scanned]
    plain = [message for _, message in scanned]
    assert found.end == sum(message.length_bytes for message in plain)
    assert found.offsets.tolist() == [message.offset for message in plain]
    assert found.crcs.tolist() == [message.crc for message in plain]
    assert found.is_compressed.tolist() == [message.codec != CODECS[0] for message in plain]
    assert found.is_key_null.tolist() == [message.key is None for message in plain]
    assert found.is_value_null.tolist() == [message.value is None for message in plain]
    for row, message in enumerate(plain):
        start = int(found.positions[row])
        assert data[start + 22 : found.key_ends[row]] == (message.key or b"")
        assert data[found.value_starts[row] : found.boundaries[row + 1]] == (message.value or b"")


@each_library
@both_dialects
@given(data=st.data())
def test_check_of_sound_bytes_is_the_plain_scan(library, dialect, data):
    content = log_of(dialect, data.draw(messages(dialect)), data.draw(st.integers(0, 2**62)))
    with crc_of(library):
        assert_same_as_scan(dialect, content, np.array(message_positions(content)))


@each_library
@both_dialects
@given(data=st.data())
def test_check_of_bytes_with_damage_is_the_plain_scan(library, dialect, data):
    rows = data.draw(messages(dialect).filter(bool))
    content = bytearray(log_of(dialect, rows))
    positions = message_positions(bytes(content))
    for _ in range(data.draw(st.integers(1, 3))):
        in_header = st.sampled_from(positions[:-1]).flatmap(lambda p: st.integers(p, p + 21))
        place = data.draw(in_header | st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
    end = data.draw(st.integers(0, len(content)) | st.just(len(content)))
    hints = np.unique(data.draw(st.lists(st.sampled_from(positions))))
    with crc_of(library):
        assert_same_as_scan(dialect, bytes(content[:end]), hints.astype(np.int64))


NUMBERS = [-(2**31), -2, -1, 0, 1, 2, 3, 9, 10, 13, 14, 15, 40, 2**31 - 1]
FIELDS = {"size": (8, 4), "magic": (16, 1), "attributes": (17, 1), "key length": (18, 4)}


def with_field(message: bytes, field: str, number: int) -> bytes:
    """Change a field, and make the crc right again: so the field alone must tell."""
    key_end = 22 + max(int.from_bytes(message[18:22], signed=True), 0)
    place, width = FIELDS.get(field, (key_end, 4))  # the value length, or bytes of the value
    changed = bytearray(message)
    changed[place : place + width] = (number & (256**width - 1)).to_bytes(width)
    changed = changed[: len(message)]
    changed[12:16] = zlib.crc32(changed[16:]).to_bytes(4)
    return bytes(changed)


@both_dialects
@pytest.mark.parametrize("field", [*FIELDS, "value length"])
@pytest.mark.parametrize("lengths", [(3, 3, 2, 2), (0, 5, 1, 9)], ids=["equal", "mixed"])
def test_check_of_a_field_with_a_mended_crc_is_the_plain_scan(dialect, field, lengths):
    rows = [(b"k" * lengths[n % 2], b"v" * lengths[2 + n % 2]) for n in range(50)]
    content = log_of(dialect, rows)
    positions = message_positions(content)
    for start, end in list(pairwise(positions))[::7]:
        for number in NUMBERS:
            changed = with_field(content[start:end], field, number)
            damaged = content[:start] + changed + content[end:]
            assert_same_as_scan(dialect, damaged, np.array(positions))


@both_dialects
@pytest.mark.parametrize("longest", [30, 300])
def test_check_of_many_windows_finds_the_one_bad_message(dialect, monkeypatch, longest):
    """Some of them larger than a window: the first, ones in the middle, the last."""
    monkeypatch.setattr(checking, "_WINDOW_BYTES", 100)
    rows = [(None, b"v" * ((n * 23 + 250) % longest)) for n in range(60)]
    sound = log_of(dialect, rows)
    assert_same_as_scan(dialect, sound)
    for start in message_positions(sound)[:-1]:
        damaged = bytearray(sound)
        damaged[start + 12] ^= 1  # the crc, so that only the crc can tell
        assert_same_as_scan(dialect, bytes(damaged))


def test_check_of_two_bad_messages_ends_at_the_first():
    data = bytearray(b"".join(encode(KAFKA, n, None, b"value") for n in range(5)))
    for n in (3, 1):
        data[n * 31 + 30] ^= 1
    assert len(check(KAFKA, data, find_beginnings(KAFKA, data))) == 1


@given(data=st.binary(max_size=200))
def test_check_of_any_bytes_is_the_plain_scan(data):
    assert_same_as_scan(KAFKA, data)
