"""Which byte of damaged bytes is wrong, and which of its bits: the checksum alone tells.

A CRC is a register of 32 bits that all bits pass, of each byte the lowest first:

    register = register >> 1 ^ (polynomial if the bit that falls out is 1, else 0)

Take two messages that differ in one byte. Up to it their registers are equal. A byte is added to
the lowest 8 bits of the register, so there they differ in these, and from there on both make the
same steps. So the difference of the stored and the computed checksum, taken back byte by byte,
becomes less than 256 in front of the wrong byte: what is left of it are the wrong bits. Nothing is
tried out.

A checksum proves nothing: other damage may have the same difference. So a byte is named only where
that is hardly possible.

    one bit     in MAX_BYTES. In less than 91,607 bits (CRC-32) two flipped bits never look like
                one. What has more of them does, with a chance of the number of bits in 2**32.
    more bits   in MAX_BYTES_OF_MANY_BITS. Other damage looks like a wrong byte with a chance of
                255 * bytes / 2**32: in 16 bytes below one in a million, in 2,000 one in 8,400.

Source: ours; Koopman, 32-Bit Cyclic Redundancy Codes for Internet Applications.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

CRC32 = 0xEDB88320  # the polynomial of zlib's CRC-32, its lowest power in the highest bit
CRC32C = 0x82F63B78
CRC_BYTES = 4
MAX_BYTES = 91_606 // 8
MAX_BYTES_OF_MANY_BITS = 16
_HIGHEST_BIT = 1 << 31
_LOW_BITS = (1 << 24) - 1


class WrongByte(NamedTuple):
    """A byte by its place, and which bits of it are wrong: 1, 2, 4 ... or 128 is a single one."""

    at: int
    mask: int

    def said(self, data: bytes, position: int, crc_at: int) -> str:
        """Return what is said of it in a message that begins at a position of its file.

        `data` is the message, at least up to this byte.

        >>> WrongByte(3, 32).said(b"teaPot", 100, crc_at=12)
        'if only one bit is wrong: byte 103, 50 was 70'
        """
        what = "bit" if self.is_one_bit else "byte"
        in_crc = " (in the crc)" if crc_at <= self.at < crc_at + CRC_BYTES else ""
        now = data[self.at]
        return (
            f"if only one {what} is wrong: byte {position + self.at}{in_crc}, "
            f"{now:02x} was {now ^ self.mask:02x}"
        )

    @property
    def is_one_bit(self) -> bool:
        """Whether one bit alone is wrong."""
        return self.mask.bit_count() == 1

    def repaired(self, data: bytes) -> bytes:
        """Return the bytes as they were.

        >>> WrongByte(3, 32).repaired(b"teaPot")
        b'teapot'
        """
        return data[: self.at] + bytes([data[self.at] ^ self.mask]) + data[self.at + 1 :]


def wrong_byte(
    stored_crc: int, actual_crc: int, size_bytes: int, polynomial: int = CRC32
) -> WrongByte | None:
    """Return the one byte that makes a checksum of so many bytes wrong; None if none is likely.

    Its place counts from the first byte of the stored checksum: its 4 bytes are 0 to 3, the bytes
    that it covers begin at 4. In the checksum itself it is one bit. O(size).

    >>> from zlib import crc32
    >>> wrong_byte(crc32(b"teapot"), crc32(b"teaPot"), 6)
    WrongByte(at=7, mask=32)
    >>> wrong_byte(crc32(b"teapot"), crc32(b"teaXot"), 6)
    WrongByte(at=7, mask=40)
    >>> wrong_byte(crc32(b"teapot") ^ 1, crc32(b"teapot"), 6)
    WrongByte(at=3, mask=1)
    >>> wrong_byte(crc32(b"teapot"), crc32(b"TeaPot"), 6) is None
    True
    """
    difference = stored_crc ^ actual_crc
    if difference.bit_count() == 1:
        return only_byte(0, difference)
    if not difference or size_bytes > MAX_BYTES:
        return None
    are_many_named = size_bytes <= MAX_BYTES_OF_MANY_BITS
    back = _steps_back(polynomial)
    for at in reversed(range(CRC_BYTES, CRC_BYTES + size_bytes)):
        difference = (difference & _LOW_BITS) << 8 ^ back[difference >> 24]
        if difference < 256 and (are_many_named or difference.bit_count() == 1):
            return WrongByte(at, difference)
    return None


def flipped_bit(
    stored_crc: int, actual_crc: int, size_bytes: int, polynomial: int = CRC32
) -> WrongByte | None:
    """Return the wrong byte if one bit of it is wrong; else None.

    >>> from zlib import crc32
    >>> flipped_bit(crc32(b"teapot"), crc32(b"teaXot"), 6) is None
    True
    """
    found = wrong_byte(stored_crc, actual_crc, size_bytes, polynomial)
    return found if found and found.is_one_bit else None


def wrong_byte_of(
    frame: bytes,
    crc_at: int,
    actual_crc: int,
    is_whole: Callable[[bytes], bool],
    polynomial: int = CRC32,
) -> WrongByte | None:
    """Return the likely wrong byte of a message whose checksum stands at a byte of it.

    `is_whole` tells if these bytes, repaired, are a message: a wrong byte explains nothing else.
    """
    crc_end = crc_at + CRC_BYTES
    stored_crc = int.from_bytes(frame[crc_at:crc_end])
    found = wrong_byte(stored_crc, actual_crc, len(frame) - crc_end, polynomial)
    if found is None:
        return None
    found = found._replace(at=crc_at + found.at)
    return found if is_whole(found.repaired(frame)) else None


def only_byte(at: int, difference: int) -> WrongByte | None:
    """Return the byte in which two fields of 4 bytes differ; None if it is not exactly one.

    >>> only_byte(8, 0x300), only_byte(8, 0x303)
    (WrongByte(at=10, mask=3), None)
    """
    masks = difference.to_bytes(CRC_BYTES)
    wrong = [WrongByte(at + slot, mask) for slot, mask in enumerate(masks) if mask]
    return wrong[0] if len(wrong) == 1 else None


@cache
def _steps_back(polynomial: int) -> list[int]:
    """Return, for each highest byte of a register, what 8 steps back make of it alone."""
    found = []
    for highest in range(256):
        register = highest << 24
        for _ in range(8):
            if register & _HIGHEST_BIT:  # the polynomial was added: a 1 had fallen out
                register = (register ^ polynomial) << 1 | 1
            else:
                register <<= 1
        found.append(register)
    return found
