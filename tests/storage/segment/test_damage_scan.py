"""Damage that one wrong byte explains says which byte it is."""

import random
from pathlib import Path
from zlib import crc32

import pytest

from kminilog.format.dialect import Dialect
from kminilog.format.flipped_bit import MAX_BYTES
from kminilog.format.message import CRC_END, SIZE_END, encode
from kminilog.storage.segment.damage_scan import Damage, walk
from kminilog.storage.segment.segment import Segment

FLIPS = 1000
NEIGHBOUR = b"between two others"


def damage_of(directory: Path, dialect: Dialect, *messages: bytes) -> Damage:
    """What the scan says of the one damage in a file of these messages."""
    segment = Segment(directory, 0, dialect, 4096)
    segment.log_path.write_bytes(b"".join(messages))
    (damage,) = (step.damage for step in walk(segment, segment.file_bytes) if step.damage)
    return damage


def random_message(rng: random.Random, dialect: Dialect) -> bytes:
    """A message of 26 to 2,000 bytes; of one in four, the key is null."""
    while True:
        key = None if rng.random() < 0.25 else rng.randbytes(rng.randrange(40))
        message = encode(dialect, 1, key, rng.randbytes(rng.randrange(1980)))
        if len(message) <= 2000:
            return message


def flipped(data: bytes, *bits: int) -> bytes:
    found = bytearray(data)
    for bit in bits:
        found[bit // 8] ^= 1 << bit % 8
    return bytes(found)


def test_1000_single_bits_are_all_named_and_1000_pairs_never(dialect, tmp_path):
    rng = random.Random(61)
    front = encode(dialect, 0, None, NEIGHBOUR)
    after = encode(dialect, 2, None, NEIGHBOUR)
    for _ in range(FLIPS):
        message = random_message(rng, dialect)
        bits = range(8 * SIZE_END, 8 * len(message))
        bit = rng.choice(bits)
        now = flipped(message, bit)
        at = bit // 8
        said = damage_of(tmp_path, dialect, front, now, after).detail
        in_crc = " (in the crc)" * (at < CRC_END)
        place = f"byte {len(front) + at}{in_crc}, {now[at]:02x} was {message[at]:02x}"
        assert said.endswith(f"; if only one bit is wrong: {place}")
        one, other = rng.sample(bits, 2)
        if one // 8 != other // 8:
            said = damage_of(tmp_path, dialect, front, flipped(message, one, other), after).detail
            assert "if only one" not in said


def test_a_wrong_bit_of_the_size_is_named(dialect, tmp_path):
    front, message = (encode(dialect, offset, b"k", NEIGHBOUR) for offset in range(2))
    for bit in range(8 * 8, 8 * SIZE_END):
        now = flipped(message, bit)
        said = damage_of(tmp_path, dialect, front, now, encode(dialect, 2, None, b"v")).detail
        at = bit // 8
        assert said.endswith(f"byte {len(front) + at}, {now[at]:02x} was {message[at]:02x}")


@pytest.mark.parametrize(("value", "is_named"), [(b"abc", True), (b"a longer value", False)])
def test_a_byte_with_several_wrong_bits_is_named_in_few_bytes(value, is_named, dialect, tmp_path):
    message = encode(dialect, 0, None, value)
    said = damage_of(tmp_path, dialect, message[:-1] + b"X").detail
    place = f"byte {len(message) - 1}, 58 was {value[-1]:02x}"
    assert said.endswith(f"; if only one byte is wrong: {place}") is is_named
    assert ("if only one" in said) is is_named


def test_nothing_is_said_where_the_repaired_bytes_are_no_message(dialect, tmp_path):
    message = encode(dialect, 0, b"key", b"value")
    content = b"\1" + message[CRC_END + 1 :]  # another magic, with a right crc
    other = message[:SIZE_END] + crc32(content).to_bytes(4) + content
    said = damage_of(tmp_path, dialect, flipped(other, 8 * len(other) - 1)).detail
    assert "if only one" not in said


def test_nothing_is_said_of_a_message_that_is_too_long(dialect, tmp_path):
    message = encode(dialect, 0, None, bytes(MAX_BYTES))
    assert "if only one" not in damage_of(tmp_path, dialect, flipped(message, 999)).detail
