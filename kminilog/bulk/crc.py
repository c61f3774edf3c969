"""CRC-32 of many messages: one call for each, or one call for all of them.

    crc32_of_each   the crc of each slice, crc32_of_rows that of each row: for writing
    crcs_match      are all stored crcs right? one crc over the whole buffer: for checking

CRC-32 is linear. Let L(x) be the register after the bytes x if it starts at 0 and is not inverted
at the end, and S the step that one zero byte makes it take, a linear map of 32 bits. Then

    L(a b) = S^len(b) L(a)  xor  L(b)         crc(x) = ~ (S^len(x) ~0  xor  L(x))

A message's first 16 bytes are not covered by its crc. Put 16 bytes in their place whose L is ~0,
the start of a fresh crc; then a message contributes S^len(tail) ~0 xor L(tail) = ~crc, and the
whole buffer's L must be the sum (xor) of S^r ~crc over all messages, r being the bytes behind each.
S can be inverted, so one wrong crc always shows; wrong ones could cancel each other, by 2^-32.

isal computes CRC-32 several times as fast as zlib; it is used if it is installed, and that is
decided here only. Nothing here knows what a message is. Source: ours, after zlib's crc32_combine.
"""

from collections.abc import Callable, Iterable
from functools import cache
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
_STRIDE_BITS = 8  # distances are split into whole strides of 256 bytes and a rest
_STRIDE_BYTES = 1 << _STRIDE_BITS


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


@cache
def fresh_start() -> bytes:
    """Return what must stand in place of the 16 uncovered bytes when `crcs_match` is asked.

    >>> fresh_start()[:12] == bytes(12) and linear_crc(fresh_start()) == 0xFFFFFFFF
    True
    """
    return bytes(UNCOVERED_BYTES - 4) + _inverse_of_four_bytes(_ALL_ONES).to_bytes(4, "little")


def linear_crc(data: Any) -> int:
    """Return the register after some bytes if it starts at 0 and is not inverted: L above.

    >>> linear_crc(bytes(100))
    0
    """
    return crc32(data, _ALL_ONES) ^ _ALL_ONES


def crcs_match(data: Any, crcs: Words, bytes_behind: NDArray[np.int64]) -> bool:
    """Tell if the stored crcs of all messages in a buffer are right; O(bytes), one crc call.

    `data` are the messages, `fresh_start` in place of each one's first 16 bytes; `bytes_behind`
    says how many bytes of it stand behind each message, in descending order down to 0.
    """
    return linear_crc(data) == _sum_of_shifted(crcs ^ np.uint32(_ALL_ONES), bytes_behind)


def _sum_of_shifted(words: Words, distances: NDArray[np.int64]) -> int:
    """Return the xor of S^distance word over all words; the distances descend to 0.

    Distances are numbers to the base 256: one digit is done at a time, and words that agree in the
    other digits become one.
    """
    digit = 0
    while len(words) > 1:
        tables = _shift_tables(digit)
        rows = (distances & 255) << 4
        wide = words.astype(np.int64)
        shifted = np.zeros(len(words), np.uint32)
        for place in range(8):
            shifted ^= tables[place].take(rows + (wide >> 4 * place & 15))
        digits_left = distances >> 8
        lasts = np.append(np.flatnonzero(digits_left[1:] != digits_left[:-1]), len(words) - 1)
        words = np.bitwise_xor.accumulate(shifted)[lasts]  # up to the last one of each group
        words[1:] ^= words[:-1]
        distances = digits_left[lasts]
        digit += 1
    return int(words[0]) if len(words) else 0


@cache
def _shift_tables(digit: int) -> Words:
    """Return S^(r * 256^digit) for r = 0 to 255 as tables[place of a nibble][r * 16 + nibble].

    128 KiB each, so that they stay in the cache beside the messages; made when first needed.
    """
    tables = np.empty((256, 8, 16), np.uint32)
    in_place = np.arange(16, dtype=np.uint32)
    tables[0] = [in_place << 4 * place for place in range(8)]
    if digit:
        half = _shift_tables(digit - 1)[:, 128 << 4 : 129 << 4]
        step = _apply(half, _apply(half, tables[0]))
    else:
        step = (tables[0] >> 8) ^ _step_table()[tables[0] & 255]
    for power in range(1, 256):
        tables[power] = _apply(step, tables[power - 1])
    return np.ascontiguousarray(tables.transpose(1, 0, 2)).reshape(8, -1)


def _apply(step: Words, words: Words) -> Words:
    """Return what a linear map, given as its values for each of the 8 nibbles, makes of words."""
    by_nibble = (step[place][words >> 4 * place & 15] for place in range(8))
    result: Words = np.bitwise_xor.reduce(list(by_nibble))
    return result


@cache
def _step_table() -> Words:
    """Return what the lowest byte of the register becomes in one step, for each of its values."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


def _inverse_of_four_bytes(register: int) -> int:
    """Return the word whose 4 bytes, the lowest first, take the register from 0 to `register`."""
    for _ in range(32):
        carry = register >> 31
        register = (register ^ (_POLYNOMIAL if carry else 0)) << 1 & _ALL_ONES | carry
    return register
