"""The hash that Kafka's clients place keys with.

murmur2, 32 bit: the key in 4-byte little-endian words, a tail of 0 to 3 bytes, two final mixes; all
arithmetic modulo 2**32, the result read as a signed number, as Java does.
Source: S0 7, S2; Kafka: Utils.murmur2, Utils.toPositive.
"""

import struct

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the signed 32-bit murmur2 hash of some bytes; O(length).

    >>> murmur2(b"21"), murmur2(b"foobar"), murmur2(b"")
    (-973932308, -790332482, 275646681)
    """
    length = len(data)
    whole = length & ~3
    h = _SEED ^ length
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        k = word * _MULTIPLIER & _MASK
        k = (k ^ k >> 24) * _MULTIPLIER & _MASK
        h = h * _MULTIPLIER & _MASK ^ k
    tail = data[whole:]
    if tail:
        h = (h ^ int.from_bytes(tail, "little")) * _MULTIPLIER & _MASK
    h = (h ^ h >> 13) * _MULTIPLIER & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h & 0x80000000 else h


def to_positive(number: int) -> int:
    """Return the number without its sign bit: not its absolute value.

    >>> to_positive(-1), to_positive(-(2**31)), to_positive(5)
    (2147483647, 0, 5)
    """
    return number & 0x7FFFFFFF
