"""Varints: whole numbers in as few bytes as they need, as batches of format v2 have them.

    byte   1xxxxxxx  1xxxxxxx  0xxxxxxx      7 bits of the number in each, the lowest first;
           ^ another byte follows ^ the last

    unsigned   0 1 2 3 ... as they are
    zigzag     0 -1 1 -2 2 ... become 0 1 2 3 4 ..., so that -1 needs one byte and not five

A varint has 32 bits and 5 bytes at most, a varlong 64 bits and 10 bytes. Bits above are dropped, as
Kafka does. Decoding has three outcomes: a `Varint`, `NeedMoreBytes` or a `CorruptVarint`.
Source: Kafka: ByteUtils.readUnsignedVarint, readVarint, readVarlong; Protocol Buffers, encoding.
"""

from typing import NamedTuple

from kminilog.format.message import NeedMoreBytes

_MAX_BYTES = {32: 5, 64: 10}


class Varint(NamedTuple):
    """A decoded number; `end` is the position after its last byte."""

    value: int
    end: int


class CorruptVarint(NamedTuple):
    """A varint whose last byte does not come in time; more bytes would not help."""

    position: int
    max_bytes: int

    def __str__(self) -> str:
        """Return what is wrong, in a few words.

        >>> print(decode_varint(b"\\xff" * 9))
        varint at byte 0 has more than 5 bytes
        """
        return f"varint at byte {self.position} has more than {self.max_bytes} bytes"


VarintOutcome = Varint | NeedMoreBytes | CorruptVarint


def decode_unsigned(data: bytes, position: int = 0, *, bits: int = 32) -> VarintOutcome:
    """Return the unsigned number that begins at `position`; `bits` is 32 or 64. O(1).

    >>> decode_unsigned(bytes.fromhex("ac 02"))
    Varint(value=300, end=2)
    >>> decode_unsigned(bytes.fromhex("ac"))
    NeedMoreBytes(needed_bytes=2)
    """
    max_bytes = _MAX_BYTES[bits]
    value = 0
    for number, byte in enumerate(data[position : position + max_bytes]):
        value |= (byte & 0x7F) << (7 * number)
        if byte < 0x80:
            return Varint(value & ((1 << bits) - 1), position + number + 1)
    available_bytes = max(len(data) - position, 0)
    if available_bytes < max_bytes:
        return NeedMoreBytes(available_bytes + 1)
    return CorruptVarint(position, max_bytes)


def decode_varint(data: bytes, position: int = 0, *, bits: int = 32) -> VarintOutcome:
    """Return the signed number that begins at `position`, in zigzag; `bits` is 32 or 64. O(1).

    >>> [decode_varint(bytes([byte])).value for byte in range(5)]
    [0, -1, 1, -2, 2]
    """
    found = decode_unsigned(data, position, bits=bits)
    return Varint(unzigzag(found.value), found.end) if isinstance(found, Varint) else found


def unzigzag(number: int) -> int:
    """Return the signed number behind an unsigned one: 0, 1, 2, 3 are 0, -1, 1, -2. O(1).

    >>> unzigzag(2**32 - 1) == -(2**31)
    True
    """
    return (number >> 1) ^ -(number & 1)


def zigzag(number: int) -> int:
    """Return the unsigned number for a signed one: 0, -1, 1, -2 become 0, 1, 2, 3. O(1).

    >>> [zigzag(number) for number in (0, -1, 1, -2)]
    [0, 1, 2, 3]
    """
    return 2 * number if number >= 0 else -2 * number - 1


def encode_unsigned(number: int) -> bytes:
    """Return the fewest bytes for a number that is not negative. O(bytes).

    >>> encode_unsigned(300).hex(" "), encode_unsigned(zigzag(-1)).hex()
    ('ac 02', '01')
    """
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
