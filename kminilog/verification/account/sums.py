"""Sums that tell if two sequences of records are the same, without one record beside the other.

Each record has a digest d of 128 bits, and falls into a cell. Its partition and its family choose
the cell, so all records of one key in one partition are in one cell. A cell with digests d0, d1, d2
and so on has three numbers:

    count   n                        how many records
    sum     d0 + d1 + d2 + ...       which records, in any order; modulo 2^128
    order   d0 + d1 r + d2 r^2 ...   which records, in this order; modulo a prime, for a fixed r

Parts of a sequence are summed by themselves. To append a part b to a part a:

    count  = n_a + n_b     sum = sum_a + sum_b     order = order_a + r^n_a * order_b

`order` is a polynomial, as in the string search of Rabin and Karp. A sum of each digest times its
place would not do: it is the same for A B B A and for B A A B.

If two cells hold different records, they have the same sum with a chance of 2^-128. If the order of
n records differs, they have the same order with a chance of at most n / 2^61: a polynomial that is
not zero has at most n roots. The sum is kept as two halves of 64 bits. The order takes the low half
of each digest. Its low and its high bits are added apart, so that no word overflows.

The prime is 2^61 - 1. Since 2^61 leaves 1, what stands above bit 61 of a number is added to what
stands below. A product of two words has up to 122 bits; it is put together from the products of
their halves of 32 bits. Source: ours; Mersenne primes.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kminilog.columns.digests import Digests, Words, cells_of

# ---- arithmetic modulo 2^61 - 1, on whole columns of 64-bit words


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


# ---- the sums


_COUNT, _SUM_LOW, _SUM_HIGH, _ORDER_LOW, _ORDER_HIGH = range(5)
_BASE = 0x243F6A8885A308D3 % PRIME  # digits of pi: nothing in the data depends on them
_LOW_BITS, _HALF = np.uint64((1 << 32) - 1), np.uint64(32)


class FilledCells(NamedTuple):
    """The cells of some sums that are not empty: what a task sends. 48 bytes each."""

    places: NDArray[np.int64]
    cells: Words

    def in_rows(self, rows: Sequence[int], cell_count: int) -> "FilledCells":
        """Return the cells as those of other rows, which ascend: the n-th row becomes `rows[n]`."""
        shifts = (np.asarray(rows) - np.arange(len(rows))) * cell_count
        return FilledCells(self.places + shifts[self.places // cell_count], self.cells)


class Sums:
    """The cells of some rows, one row for each partition; empty at first.

    Memory is 40 bytes for each cell.
    """

    def __init__(self, rows: int, cells: int, ordered: int | None = None) -> None:
        """Make `rows` rows of `cells` cells; `cells` is a power of 2.

        In rows from number `ordered` on, the order does not count.
        """
        self._cells = np.zeros((5, rows, cells), np.uint64)
        self._ordered = rows if ordered is None else ordered

    def add(self, rows: NDArray[Any], found: Digests) -> None:
        """Add records: row and digest of each, in their order. O(records)."""
        _, row_count, cell_count = self._cells.shape
        places = rows.astype(np.int64) * cell_count + cells_of(found.families, cell_count)
        cells = self._cells.reshape(5, -1)
        weights = powers(_BASE, cells[_COUNT, places] + _ranks(places, row_count * cell_count))
        terms = times(reduced(found.low), weights)
        np.add.at(cells[_SUM_LOW], places, found.low)
        np.add.at(cells[_SUM_HIGH], places, found.high)
        np.add.at(cells[_ORDER_LOW], places, terms & _LOW_BITS)
        np.add.at(cells[_ORDER_HIGH], places, terms >> _HALF)
        np.add.at(cells[_COUNT], places, np.uint64(1))

    def filled(self) -> FilledCells:
        """Return the cells that have a record. O(cells)."""
        cells = self._cells.reshape(5, -1)
        places = np.flatnonzero(cells[_COUNT])
        return FilledCells(places, cells[:, places])

    def append(self, other: FilledCells) -> None:
        """Append what follows. O(its cells)."""
        cells, places = self._cells.reshape(5, -1), other.places
        mine = cells[:, places]
        both = mine + other.cells
        both[_ORDER_LOW] = _orders(mine) + times(powers(_BASE, mine[_COUNT]), _orders(other.cells))
        both[_ORDER_HIGH] = 0
        cells[:, places] = both

    def differing(self, other: "Sums") -> NDArray[np.bool_]:
        """Return for each cell if it differs in any row."""
        is_other = (self._cells[:_ORDER_LOW] != other._cells[:_ORDER_LOW]).any(axis=0)
        ordered = slice(self._ordered)
        is_other[ordered] |= (_orders(self._cells) != _orders(other._cells))[ordered]
        found: NDArray[np.bool_] = is_other.any(axis=0)
        return found


def _orders(cells: Words) -> Words:
    """Return the order of each cell, below the prime."""
    high = times(reduced(cells[_ORDER_HIGH]), np.uint64(1 << 32))
    return reduced(reduced(cells[_ORDER_LOW]) + high)


def _ranks(places: NDArray[np.int64], place_count: int) -> Words:
    """Return how often each place has occurred before.

    >>> _ranks(np.array([7, 3, 7, 7]), 8).tolist()
    [0, 0, 1, 2]
    """
    small = np.uint16 if place_count <= 1 << 16 else np.int64  # numpy sorts these by radix
    order = np.argsort(places.astype(small), kind="stable")
    firsts = np.flatnonzero(np.diff(places[order], prepend=-1))
    ranks = np.empty(len(order), np.uint64)
    ranks[order] = np.arange(len(order)) - np.repeat(firsts, np.diff(firsts, append=len(order)))
    return ranks
