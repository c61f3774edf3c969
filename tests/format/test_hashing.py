import struct

from hypothesis import given
from hypothesis import strategies as st

from kminilog.format.hashing import murmur2, to_positive

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
