"""CRC-32 of many messages: one call for each, or one call for all of them.

    crc32_of_each   the CRC of each slice, crc32_of_rows the CRC of each row: for writing
    crcs_match      are all stored CRCs right? one CRC over the whole buffer: for checking

CRC-32 is linear. Think of its register as starting at 0, without the inversions at the beginning
and at the end. The register takes in four bytes by xor, and is then shifted by four bytes. So four
bytes that equal the register make it 0. The CRC of a message does not cover its first 16 bytes. To
check many messages, these bytes are replaced:

    4 bytes     ~crc of the message before: if that CRC is right, the register becomes 0
    8 bytes     zeros: it stays 0
    4 bytes     the word that takes a register of 0 to all ones, the start of a fresh CRC

So after each message the register is its ~crc, and the last one is compared. Shifting is
reversible. So a single wrong CRC is always found; several wrong ones could cancel each other, with
a probability of 2^-32.

isal computes CRC-32 several times as fast as zlib. Only this module decides which one is used: isal
if it is installed. This module does not know messages. Source: ours.
"""

from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from isal.isal_zlib import crc32 as _fast_crc32
except ImportError:  # it is optional
    from zlib import crc32 as _fast_crc32

Words = NDArray[np.uint32]

crc32: Callable[..., int] = _fast_crc32
UNCOVERED_BYTES = 16
_ALL_ONES = 0xFFFFFFFF
_POLYNOMIAL = 0xEDB88320
_IN_PLACE = np.dtype([("ends_before", "<u4"), ("zeros", "<u8"), ("starts", "<u4")])


def crc32_of_each(data: Any, lengths: list[int]) -> Words:
    """Return the CRC-32 of consecutive slices of some bytes, by their lengths; O(bytes).

    >>> crc32_of_each(b"abcxyz", [3, 0, 3]).tolist() == [crc32(b"abc"), 0, crc32(b"xyz")]
    True
    """
    return _crcs(map(BytesIO(data).read, lengths), len(lengths))


def crc32_of_rows(table: NDArray[np.uint8]) -> Words:
    """Return the CRC-32 of each row of a table, whose rows may have gaps between them; O(bytes).

    >>> crc32_of_rows(np.frombuffer(b"abcxyz", np.uint8).reshape(2, 3)).tolist()
    [891568578, 3951999591]
    """
    count, length = table.shape
    if not length:
        return np.zeros(count, np.uint32)
    return _crcs(table.view(f"V{length}")[:, 0].tolist(), count)


def _crcs(pieces: Iterable[bytes], count: int) -> Words:
    return np.fromiter(map(crc32, pieces), np.uint32, count)


def replacements_for_first_bytes(crcs: Words) -> NDArray[np.void]:
    """Return the 16 bytes that replace the first ones of each message for `crcs_match`.

    >>> replacements_for_first_bytes(np.array([0x12345678, 0], np.uint32))[1].tobytes()[:12].hex()
    '87a9cbed0000000000000000'
    """
    table = np.zeros(len(crcs), _IN_PLACE)
    table["ends_before"][1:] = ~crcs[:-1]
    table["starts"] = _FRESH_START
    return table.view(f"V{UNCOVERED_BYTES}")


def crcs_match(data: Any, crcs: Words) -> bool:
    """Tell if the stored CRCs of all messages in a buffer are right; O(bytes), in one call.

    `data` holds the messages back to back, at least one. The first 16 bytes of each must be
    replaced by `replacements_for_first_bytes(crcs)`.
    """
    return crc32(data, _ALL_ONES) == int(crcs[-1])


def _inverse_of_four_bytes(register: int) -> int:
    """Return the word whose 4 bytes, lowest first, take the register from 0 to `register`."""
    for _ in range(32):
        carry = register >> 31
        register = (register ^ (_POLYNOMIAL if carry else 0)) << 1 & _ALL_ONES | carry
    return register


_FRESH_START = _inverse_of_four_bytes(_ALL_ONES)
# Put before other bytes, they do not change the CRC of these: the register is all ones again.
NEUTRAL_BYTES = np.array((_ALL_ONES, 0, _FRESH_START), _IN_PLACE).tobytes()
