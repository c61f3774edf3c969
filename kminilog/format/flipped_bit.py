"""Which bit of damaged bytes was flipped: the checksum alone tells.

A CRC is a register of 32 bits that all bits pass, of each byte the lowest first:

    register = register >> 1 ^ (polynomial if the bit that falls out is 1, else 0)

Take two messages that differ in one bit. Up to it their registers are equal, there they differ in
one bit, and from there on both make the same steps. So the difference of the stored and the
computed checksum, taken back step by step, becomes 1 at the flipped bit. Nothing is tried out.

Two flipped bits are never taken for one: that is impossible in less than 91,607 bits (CRC-32), so
longer bytes are not looked at. More than two may look like one, with a chance of their number of
bits in 2**32. Source: ours; Koopman, 32-Bit Cyclic Redundancy Codes for Internet Applications.
"""

from typing import NamedTuple

CRC32 = 0xEDB88320  # the polynomial of zlib's CRC-32, its lowest power in the highest bit
CRC32C = 0x82F63B78
CRC_BYTES = 4
MAX_BYTES = 91_606 // 8
_HIGHEST_BIT = 1 << 31


class FlippedBit(NamedTuple):
    """A byte by its place, and the bit in it that is wrong: 1, 2, 4 ... or 128."""

    at: int
    mask: int


def flipped_bit(
    stored_crc: int, actual_crc: int, size_bytes: int, polynomial: int = CRC32
) -> FlippedBit | None:
    """Return the one bit that makes a checksum of so many bytes wrong; None if it is not one bit.

    Its place counts from the first byte of the stored checksum: its 4 bytes are 0 to 3, the bytes
    that it covers begin at 4. None, too, for more than MAX_BYTES. O(size).

    >>> from zlib import crc32
    >>> flipped_bit(crc32(b"teapot"), crc32(b"teaPot"), 6)
    FlippedBit(at=7, mask=32)
    >>> flipped_bit(crc32(b"teapot"), crc32(b"TeaPot"), 6) is None
    True
    >>> flipped_bit(crc32(b"teapot") ^ 1, crc32(b"teapot"), 6)
    FlippedBit(at=3, mask=1)
    """
    difference = stored_crc ^ actual_crc
    if difference.bit_count() == 1:
        from_the_end, bit = divmod(difference.bit_length() - 1, 8)
        return FlippedBit(CRC_BYTES - 1 - from_the_end, 1 << bit)
    if size_bytes > MAX_BYTES:
        return None
    for at in reversed(range(CRC_BYTES, CRC_BYTES + size_bytes)):
        for bit in reversed(range(8)):
            if difference & _HIGHEST_BIT:  # the polynomial was added: a 1 had fallen out
                difference = (difference ^ polynomial) << 1 | 1
            else:
                difference <<= 1
            if difference == 1:
                return FlippedBit(at, 1 << bit)
    return None
