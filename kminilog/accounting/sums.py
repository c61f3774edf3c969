"""Sums that tell if two sequences of records are the same, without one record beside the other.

Each record has a digest d of 128 bits, and falls into a cell. Its partition and its family choose
the cell, so all records of one key in one partition are in one cell. A cell has three numbers,
modulo 2^128:

    count   n                     how many records
    sum     d1 + d2 + ... + dn    which records, in any order
    order   1 d1 + 2 d2 + ...     which records, in this order

Parts of a sequence are summed by themselves. To append a part b to a part a:

    count  = n_a + n_b     sum = sum_a + sum_b     order = order_a + order_b + n_a * sum_b

Each number is kept as two halves of 64 bits, which are added apart. If two cells hold different
records, they have the same sum with a chance of 2^-128. If two records that stand i - j apart are
exchanged, the chance is greater: 2^-128 times the square of the greatest power of 2 in i - j. That
is below 2^-68 for cells of less than 2^30 records. Source: ours.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kminilog.accounting.digests import Digests, Words, cells_of

_COUNT, _SUM, _ORDER = 0, slice(1, 3), slice(3, 5)


class Sums:
    """The cells of some rows, one row for each partition and a last one; empty at first.

    In the last row the order does not count. Memory is 40 bytes for each cell.
    """

    def __init__(self, rows: int, cells: int) -> None:
        """Make `rows` rows of `cells` cells; `cells` is a power of 2."""
        self._cells = np.zeros((5, rows, cells), np.uint64)

    def add(self, rows: NDArray[Any], found: Digests) -> None:
        """Add records: row and digest of each, in their order."""
        _, row_count, cell_count = self._cells.shape
        places = rows.astype(np.int64) * cell_count + cells_of(found.families, cell_count)
        count, sum_low, sum_high, order_low, order_high = self._cells.reshape(5, -1)
        weights = count[places] + _ranks(places, row_count * cell_count)
        np.add.at(sum_low, places, found.low)
        np.add.at(sum_high, places, found.high)
        np.add.at(order_low, places, found.low * weights)
        np.add.at(order_high, places, found.high * weights)
        np.add.at(count, places, np.uint64(1))
        self._cells[_ORDER, -1] = 0

    def append(self, other: "Sums", rows: Any = slice(None)) -> None:
        """Append what follows: `other` has the sums of these rows."""
        mine = self._cells[:, rows]
        theirs = other._cells
        theirs[_ORDER] += mine[_COUNT] * theirs[_SUM]
        self._cells[:, rows] = mine + theirs
        self._cells[_ORDER, -1] = 0

    def differing(self, other: "Sums") -> NDArray[np.bool_]:
        """Return for each cell if it differs in any row."""
        found: NDArray[np.bool_] = (self._cells != other._cells).any(axis=(0, 1))
        return found


def _ranks(places: NDArray[np.int64], place_count: int) -> Words:
    """Return how often each place has occurred so far, itself included.

    >>> _ranks(np.array([7, 3, 7, 7]), 8).tolist()
    [1, 1, 2, 3]
    """
    small = np.uint16 if place_count <= 1 << 16 else np.int64  # numpy sorts these by radix
    order = np.argsort(places.astype(small), kind="stable")
    ordered = places[order]
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    numbers = np.arange(1, len(ordered) + 1)
    firsts = np.flatnonzero(is_first)
    ranks = np.empty(len(ordered), np.uint64)
    ranks[order] = numbers - np.repeat(firsts, np.diff(firsts, append=len(ordered)))
    return ranks
