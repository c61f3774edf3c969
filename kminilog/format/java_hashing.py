"""Java's hash codes, by which Kafka 0.8 placed key objects, and Java's remainder.

Kafka 0.8 takes the hashCode of the key object, and makes it non-negative by one of ABS_RULES. All
hash codes are signed 32-bit numbers.
Source: S3; Kafka: Utils.abs of 0.8; Java: String.hashCode, Arrays.hashCode, Boolean.hashCode,
Long.hashCode, Double.hashCode.
"""

import struct
from collections.abc import Callable

from kminilog.format.hashing import to_int32, to_positive


def java_remainder(number: int, divisor: int) -> int:
    """Return Java's `number % divisor`, which has the number's sign; Python's has the divisor's.

    Raises ZeroDivisionError for 0, where Java raises ArithmeticException.

    >>> java_remainder(-7, 3), -7 % 3
    (-1, 2)
    """
    remainder = abs(number) % abs(divisor)
    return -remainder if number < 0 else remainder


def java_abs(number: int) -> int:
    """Return the absolute value of a signed 32-bit number; 0 for -2**31, as 2**31 does not fit.

    >>> java_abs(-5), java_abs(-(2**31))
    (5, 0)
    """
    return 0 if number == -(2**31) else abs(number)


ABS_RULES: dict[str, Callable[[int], int]] = {"mask": to_positive, "abs": java_abs}
"""How 0.8 made a hash code non-negative: `mask` in 0.8.0 and 0.8.1, `abs` from 0.8.2 on.

They agree on non-negative numbers and on -2**31; all other hash codes get another result."""


def java_string_hash(text: str) -> int:
    """Return Java's String.hashCode: `31 * h + unit` over UTF-16 code units; O(length).

    >>> java_string_hash("hello"), java_string_hash("polygenelubricants"), java_string_hash("")
    (99162322, -2147483648, 0)
    """
    h = 0
    for (unit,) in struct.iter_unpack(">H", text.encode("utf-16-be", "surrogatepass")):
        h = 31 * h + unit & 0xFFFFFFFF
    return to_int32(h)


def java_bytes_hash(data: bytes) -> int:
    """Return Java's Arrays.hashCode: from 1, `31 * h + signed byte`; O(length).

    >>> java_bytes_hash(b"abc"), java_bytes_hash(b"")
    (126145, 1)
    """
    h = 1
    for (signed,) in struct.iter_unpack("b", data):
        h = 31 * h + signed & 0xFFFFFFFF
    return to_int32(h)


def java_hash(key: object) -> int:
    """Return the hashCode of the Java object that corresponds to a key.

    str is a String; bool a Boolean; int an Integer if it fits, else a Long; float a Double. bytes
    are hashed by content, as Kafka's ByteArrayPartitioner does: a Java array's own hashCode does
    not depend on its content. Raises ValueError for an int beyond 64 bits, TypeError for a key of
    any other type. O(length) for str and bytes.

    >>> java_hash("k1"), java_hash(b"k1"), java_hash(7), java_hash(2**32), java_hash(True)
    (3366, 4327, 7, 1, 1231)
    """
    if isinstance(key, str):
        return java_string_hash(key)
    if isinstance(key, bytes):
        return java_bytes_hash(key)
    if isinstance(key, bool):
        return 1231 if key else 1237
    if isinstance(key, int):
        if not -(2**63) <= key < 2**63:
            raise ValueError(f"the key {key} is no Java number: it has more than 64 bits")
        return key if key == to_int32(key) else _fold(key)
    if isinstance(key, float):
        # All NaNs are one to Java.
        bits = 0x7FF8 << 48 if key != key else int.from_bytes(struct.pack(">d", key), "big")
        return _fold(bits)
    raise TypeError(
        f"no Java hash code for a key of type {type(key).__name__}: use str, bytes, int, float or "
        "bool, or a partitioner that hashes the serialised key"
    )


def _fold(bits: int) -> int:
    """Return the exclusive or of the upper and the lower half of a 64-bit number."""
    return to_int32(bits ^ (bits & 0xFFFFFFFFFFFFFFFF) >> 32)
