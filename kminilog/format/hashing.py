"""The hash murmur2, and how its result becomes non-negative, as Java computes them.

Since 0.9 Kafka's clients place a key by murmur2 of the serialised key, then `to_positive`. A hash
is a signed 32-bit number, as in Java. The algorithm mixes the key in 4-byte little-endian words,
then a tail of 0 to 3 bytes, then mixes twice more; all arithmetic is modulo 2**32.
Source: S0 7, S2 3; Kafka: Utils.murmur2, Utils.toPositive.
"""

import struct

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF
_WORD = struct.Struct("<I")


def murmur2(data: bytes) -> int:
    """Return the signed 32-bit murmur2 hash of some bytes; O(length).

    >>> murmur2(b"21"), murmur2(b"foobar"), murmur2(b"")
    (-973932308, -790332482, 275646681)
    """
    length = len(data)
    whole = length & ~3
    h = _SEED ^ length
    for (word,) in _WORD.iter_unpack(data[:whole]):
        k = word * _MULTIPLIER & _MASK
        h = (h * _MULTIPLIER ^ (k ^ k >> 24) * _MULTIPLIER) & _MASK
    tail = data[whole:]
    if tail:
        h = (h ^ int.from_bytes(tail, "little")) * _MULTIPLIER & _MASK
    h = (h ^ h >> 13) * _MULTIPLIER & _MASK
    return to_int32(h ^ h >> 15)


def to_positive(number: int) -> int:
    """Return the number with its sign bit cleared; this is not the absolute value.

    >>> to_positive(-1), to_positive(-(2**31)), to_positive(5)
    (2147483647, 0, 5)
    """
    return number & 0x7FFFFFFF


def to_int32(number: int) -> int:
    """Return the lowest 32 bits as a signed number: Java's int arithmetic wraps like this.

    >>> to_int32(2**31 - 1), to_int32(2**31), to_int32(-1), to_int32(2**32 + 5)
    (2147483647, -2147483648, -1, 5)
    """
    return (number & _MASK ^ 0x80000000) - 0x80000000  # a set sign bit counts as -2**31
