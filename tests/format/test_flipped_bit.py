"""A flipped bit is named by the checksum, and two flipped bits are never taken for one."""

import random
from itertools import combinations
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.broker_files.crc32c import crc32c
from kminilog.format.flipped_bit import (
    CRC32,
    CRC32C,
    MAX_BYTES,
    MAX_BYTES_OF_MANY_BITS,
    WrongByte,
    flipped_bit,
    wrong_byte,
)

CHECKSUMS = {CRC32: crc32, CRC32C: crc32c}


def flipped(data: bytes, *bits: int) -> bytes:
    number = int.from_bytes(data)
    for bit in bits:
        number ^= 1 << 8 * len(data) - 1 - bit
    return number.to_bytes(len(data))


def named(data: bytes, polynomial: int) -> WrongByte | None:
    """What is said of bytes that begin with their checksum."""
    stored = int.from_bytes(data[:4])
    return flipped_bit(stored, CHECKSUMS[polynomial](data[4:]), len(data) - 4, polynomial)


@pytest.mark.parametrize("polynomial", CHECKSUMS)
@given(content=st.binary(max_size=300), which=st.floats(0, 1, exclude_max=True))
def test_each_single_bit_is_named(polynomial, content, which):
    data = CHECKSUMS[polynomial](content).to_bytes(4) + content
    bit = int(which * 8 * len(data))
    assert named(flipped(data, bit), polynomial) == (bit // 8, 128 >> bit % 8)


@pytest.mark.parametrize("polynomial", CHECKSUMS)
def test_two_bits_are_never_taken_for_one(polynomial):
    rng = random.Random(5)
    for _ in range(1000):
        content = rng.randbytes(rng.randrange(1, 300))
        data = CHECKSUMS[polynomial](content).to_bytes(4) + content
        bits = rng.sample(range(8 * len(data)), 2)
        assert named(flipped(data, *bits), polynomial) is None


def first_weight_of_three(polynomial: int, most: int) -> int | None:
    """Return the least distance of two bits whose checksum is that of a bit between them."""
    register, seen = 1, {1}
    for distance in range(1, most):
        register = register >> 1 ^ (polynomial if register & 1 else 0)
        if register ^ 1 in seen:
            return distance
        seen.add(register)
    return None


def test_two_bits_look_like_a_third_only_above_the_limit():
    assert first_weight_of_three(CRC32, 100_000) == 91_639 > 8 * (MAX_BYTES + 4)
    assert first_weight_of_three(CRC32C, 100_000) is None


def test_more_bytes_than_the_limit_are_not_looked_at():
    data = bytes(MAX_BYTES + 1)
    assert flipped_bit(crc32(data), crc32(flipped(data, 0)), len(data)) is None
    assert flipped_bit(crc32(data[1:]), crc32(flipped(data[1:], 0)), len(data) - 1) == (4, 128)


@pytest.mark.parametrize("polynomial", CHECKSUMS)
def test_in_few_bytes_each_wrong_byte_is_named_and_two_bits_elsewhere_never(polynomial):
    content = bytes(MAX_BYTES_OF_MANY_BITS)
    right = CHECKSUMS[polynomial](content)

    def named_byte(data: bytes) -> WrongByte | None:
        stored, actual = int.from_bytes(data[:4]), CHECKSUMS[polynomial](data[4:])
        return wrong_byte(stored, actual, len(content), polynomial)

    data = right.to_bytes(4) + content
    for at in range(4, len(data)):
        for mask in range(1, 256):
            assert named_byte(data[:at] + bytes([mask]) + data[at + 1 :]) == (at, mask)
    for one, other in combinations(range(8 * len(data)), 2):
        if one // 8 != other // 8:
            assert named_byte(flipped(data, one, other)) is None


def test_the_chance_of_a_false_byte_is_below_one_in_a_million():
    assert 255 * MAX_BYTES_OF_MANY_BITS / 2**32 < 1e-6 < 255 * (MAX_BYTES_OF_MANY_BITS + 1) / 2**32


def test_a_byte_with_several_wrong_bits_is_not_named_in_more_bytes():
    content = bytes(MAX_BYTES_OF_MANY_BITS + 1)
    assert wrong_byte(crc32(content), crc32(b"\3" + content[1:]), len(content)) is None
    assert wrong_byte(crc32(content), crc32(b"\2" + content[1:]), len(content)) == (4, 2)
