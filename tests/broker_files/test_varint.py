"""Varints: at their bounds, cut, too long, and there and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.broker_files.varint import (
    CorruptVarint,
    Varint,
    decode_unsigned,
    decode_varint,
    encode_unsigned,
    unzigzag,
    zigzag,
)
from kminilog.format.message import NeedMoreBytes


@pytest.mark.parametrize(
    "encoded, number",
    [
        ("00", 0),
        ("01", -1),
        ("7f", -64),
        ("8001", 64),
        ("fe7f", 8191),
        ("feffffff0f", 2**31 - 1),
        ("ffffffff0f", -(2**31)),
    ],
)
def test_signed_numbers_of_kafkas_own_tests(encoded, number):
    """Source: Kafka: ByteUtilsTest.testSerialization of 32-bit varints."""
    data = bytes.fromhex(encoded)
    assert decode_varint(data) == Varint(number, len(data))
    assert encode_unsigned(zigzag(number)) == data


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=3))
def test_varlong_there_and_back(number, before):
    data = before + encode_unsigned(zigzag(number))
    assert unzigzag(zigzag(number)) == number
    assert decode_varint(data + b"x", len(before), bits=64) == Varint(number, len(data))


@given(st.integers(0, 2**32 - 1))
def test_cut_number_needs_one_byte_more(number):
    data = encode_unsigned(number)
    for length in range(len(data)):
        assert decode_unsigned(data[:length]) == NeedMoreBytes(length + 1)


@pytest.mark.parametrize("bits, max_bytes", [(32, 5), (64, 10)])
def test_number_without_a_last_byte_is_damage(bits, max_bytes):
    assert decode_varint(b"\x80" * max_bytes, bits=bits) == CorruptVarint(0, max_bytes)
    assert isinstance(decode_varint(b"\x80" * (max_bytes - 1), bits=bits), NeedMoreBytes)


def test_bits_above_the_type_are_dropped_as_java_does():
    assert decode_unsigned(b"\xff\xff\xff\xff\x7f") == Varint(2**32 - 1, 5)


@given(st.binary(max_size=12), st.integers(0, 15), st.sampled_from([32, 64]))
def test_no_bytes_raise(data, position, bits):
    outcome = decode_varint(data, position, bits=bits)
    assert isinstance(outcome, Varint | NeedMoreBytes | CorruptVarint)
