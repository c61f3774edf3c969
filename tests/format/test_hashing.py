import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.format.hashing import murmur2, to_int32, to_positive
from kminilog.format.java_hashing import (
    ABS_RULES,
    java_abs,
    java_bytes_hash,
    java_hash,
    java_remainder,
    java_string_hash,
)

M = 0x5BD1E995


def _int32(number: int) -> int:
    return struct.unpack(">i", struct.pack(">I", number & 0xFFFFFFFF))[0]


def _murmur2_as_in_java(data: bytes) -> int:
    """The same hash with signed numbers and one byte at a time, as Java has to write it."""

    def shift(number: int, bits: int) -> int:  # Java's >>>
        return (number & 0xFFFFFFFF) >> bits

    h = _int32(0x9747B28C ^ len(data))
    for start in range(0, len(data) // 4 * 4, 4):
        k = sum(data[start + i] << 8 * i for i in range(4))
        k = _int32(k * M)
        k = _int32((k ^ shift(k, 24)) * M)
        h = _int32(_int32(h * M) ^ k)
    rest = data[len(data) // 4 * 4 :]
    if rest:
        for i in reversed(range(len(rest))):
            h ^= rest[i] << 8 * i
        h = _int32(h * M)
    h = _int32((h ^ shift(h, 13)) * M)
    return _int32(h ^ shift(h, 15))


@given(st.binary(max_size=70))
def test_murmur2_equals_the_signed_bytewise_version(data):
    assert murmur2(data) == _murmur2_as_in_java(data)


@given(st.integers(-(2**31), 2**31 - 1))
def test_to_positive_clears_just_the_sign_bit(number):
    positive = to_positive(number)
    assert 0 <= positive < 2**31
    assert _int32(positive | (0x80000000 if number < 0 else 0)) == number


def test_murmur2_of_a_key_solved_for_it_is_the_lowest_number():
    assert murmur2(bytes.fromhex("a7d6506c")) == -(2**31)


@given(st.integers(-(2**70), 2**70))
def test_to_int32_wraps_as_four_bytes_do(number):
    assert to_int32(number) == _int32(number)


@pytest.mark.parametrize(
    ("number", "mask", "absolute"),
    [
        (0, 0, 0),
        (5, 5, 5),
        (2**31 - 1, 2**31 - 1, 2**31 - 1),
        (-1, 2**31 - 1, 1),
        (-5, 2**31 - 5, 5),
        (-(2**31) + 1, 1, 2**31 - 1),
        (-(2**31), 0, 0),
    ],
)
def test_abs_rules_agree_but_for_negative_numbers(number, mask, absolute):
    assert ABS_RULES["mask"](number) == mask
    assert ABS_RULES["abs"](number) == java_abs(number) == absolute
    assert list(ABS_RULES) == ["mask", "abs"]


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-100, 100).filter(bool))
def test_java_remainder_has_the_sign_of_the_number(number, divisor):
    assert java_remainder(number, divisor) == math.fmod(number, divisor)


def test_java_remainder_by_0_is_an_error():
    with pytest.raises(ZeroDivisionError):
        java_remainder(7, 0)


def _java_string_hash_as_a_sum(text: str) -> int:
    """The sum that Java's documentation gives: s[0]*31^(n-1) + ... + s[n-1]."""
    units = []
    for character in text:
        code = ord(character)
        if code < 0x10000:
            units.append(code)
        else:
            units += [0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF)]
    return _int32(sum(unit * 31 ** (len(units) - 1 - i) for i, unit in enumerate(units)))


@given(st.text(max_size=20))
def test_java_string_hash_equals_the_sum_over_code_units(text):
    assert java_string_hash(text) == _java_string_hash_as_a_sum(text) == java_hash(text)


def test_java_string_hash_takes_half_a_pair():
    assert java_string_hash("\ud83d") == 0xD83D


@given(st.binary(max_size=20))
def test_java_bytes_hash_equals_the_sum_over_signed_bytes(data):
    signed = [byte - 256 if byte > 127 else byte for byte in data]
    powers = sum(byte * 31 ** (len(data) - 1 - i) for i, byte in enumerate(signed))
    assert java_bytes_hash(data) == _int32(31 ** len(data) + powers) == java_hash(data)


@given(st.integers(-(2**63), 2**63 - 1))
def test_java_hash_of_a_number_is_itself_or_its_halves_combined(number):
    low, high = struct.unpack(">ii", struct.pack(">q", number))[::-1]
    expected = number if -(2**31) <= number < 2**31 else low ^ high
    assert java_hash(number) == expected


def test_java_hash_takes_all_nans_for_one():
    (other_nan,) = struct.unpack(">d", bytes.fromhex("fff0000000000001"))
    assert math.isnan(other_nan)
    assert java_hash(other_nan) == java_hash(math.nan) == 0x7FF80000


def test_java_hash_of_text_and_of_its_bytes_differ():
    assert java_hash("k1") != java_hash(b"k1")


@pytest.mark.parametrize("key", [2**63, -(2**63) - 1])
def test_java_hash_of_a_number_beyond_64_bits_is_refused(key):
    with pytest.raises(ValueError, match="more than 64 bits"):
        java_hash(key)


@pytest.mark.parametrize("key", [None, (1,), [1], bytearray(b"k"), object()])
def test_java_hash_of_another_type_is_refused_by_its_name(key):
    with pytest.raises(
        TypeError, match=f"no Java hash code for a key of type {type(key).__name__}"
    ):
        java_hash(key)
