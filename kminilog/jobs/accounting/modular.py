"""Arithmetic modulo the prime 2^61 - 1, on whole columns of 64-bit words.

2^61 leaves 1, so what stands above bit 61 of a number is added to what stands below. A product of
two words has up to 122 bits; it is put together from the products of their halves of 32 bits.
Source: ours; Mersenne primes.
"""

from functools import cache

import numpy as np

from kminilog.jobs.accounting.digests import Words

PRIME = (1 << 61) - 1
_PRIME = np.uint64(PRIME)
_BITS_29, _BITS_32 = np.uint64((1 << 29) - 1), np.uint64((1 << 32) - 1)
_3, _29, _32, _61 = map(np.uint64, (3, 29, 32, 61))
_TABLE_BITS = 16


def reduced(words: Words) -> Words:
    """Return words of any size, below the prime.

    >>> reduced(np.array([PRIME, PRIME + 5, 3], np.uint64)).tolist()
    [0, 5, 3]
    """
    words = (words & _PRIME) + (words >> _61)
    return np.where(words >= _PRIME, words - _PRIME, words)


def times(one: Words, other: Words | np.uint64) -> Words:
    """Return the products of words below 2^61.

    >>> times(np.array([PRIME - 1, 1 << 60], np.uint64), np.uint64(4)).tolist()
    [2305843009213693947, 2]
    """
    one_high, one_low = one >> _32, one & _BITS_32
    other_high, other_low = other >> _32, other & _BITS_32
    middle = one_high * other_low + one_low * other_high  # of 2^32; below 2^62
    low = one_low * other_low
    total = ((one_high * other_high) << _3) + (middle >> _29) + ((middle & _BITS_29) << _32)
    return reduced(total + (low & _PRIME) + (low >> _61))


def powers(base: int, exponents: Words) -> Words:
    """Return a power of the base, which is below the prime, for each exponent. O(exponents).

    >>> powers(3, np.array([0, 4, 1 << 40], np.uint64)).tolist() == [1, 81, pow(3, 1 << 40, PRIME)]
    True
    """
    mask = np.uint64((1 << _TABLE_BITS) - 1)
    found: Words = _table(base, 0)[exponents & mask]
    number = 1
    while (exponents := exponents >> np.uint64(_TABLE_BITS)).any():
        found = times(found, _table(base, number)[exponents & mask])
        number += 1
    return found


@cache
def _table(base: int, number: int) -> Words:
    """Return the first 2^16 powers of base ^ 2^(16 number): 512 KiB."""
    step = pow(base, 1 << _TABLE_BITS * number, PRIME)
    table = np.ones(1, np.uint64)
    while len(table) < 1 << _TABLE_BITS:
        factor = np.uint64(pow(step, len(table), PRIME))
        table = np.concatenate((table, times(table, factor)))
    return table
