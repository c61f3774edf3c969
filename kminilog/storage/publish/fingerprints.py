"""Fingerprints of ranges of messages: a few numbers that show if somebody altered a message.

    of a message   64 bits, mixed from its offset, size and crc
    of a range     how many messages, and the sum of their fingerprints modulo 2^64

A crc detects accidents, but not a person who alters a value and computes a new crc. So a job writes
fingerprints of its messages into its manifest, one for each RANGE_MESSAGES messages from its first
offset on. Verification computes them again: without the source, it finds the range that holds an
altered message. The sum allows any order, and parts. For one offset, another size or crc always
gives another fingerprint, because each step of the mixing is invertible. An exclusive or instead of
the sum would not do: two equal alterations would cancel each other.

*Borders* are ascending offsets that separate the ranges: a range goes from one border to the next.
Offsets below the first border, or not below the last, belong to no range. This module knows no
manifests. Source: ours; the mixing is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
"""

from bisect import bisect_right
from collections.abc import Sequence

RANGE_MESSAGES = 1 << 14
OFFSET_FACTOR = 0x9E3779B97F4A7C15
MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
LAST_SHIFT = 31
_ALL_ONES = (1 << 64) - 1


class RangeSums:
    """The fingerprints of ranges between `borders`, summed message by message.

    Memory O(ranges that hold a message).
    """

    def __init__(self, borders: Sequence[int]) -> None:
        self.borders = borders
        self._rows: dict[int, list[int]] = {}

    def add(self, offset: int, size: int, crc: int) -> None:
        """Add a message by the fields of its header. O(log ranges)."""
        for slot in self.slots(offset, offset):
            self.add_to(slot, 1, message_fingerprint(offset, size, crc))

    def slots(self, lowest: int, highest: int) -> range:
        """Return the numbers of the ranges that hold the offsets `lowest` to `highest`. O(log n).

        >>> sums = RangeSums([10, 20, 30])
        >>> [list(sums.slots(*pair)) for pair in ((9, 9), (10, 10), (9, 20), (20, 99), (30, 30))]
        [[], [0], [0, 1], [1], []]
        """
        first, last = (bisect_right(self.borders, offset) - 1 for offset in (lowest, highest))
        return range(max(first, 0), min(last, len(self.borders) - 2) + 1)

    def add_to(self, slot: int, count: int, fingerprints: int) -> None:
        """Add `count` messages to a range, with the sum of their fingerprints modulo 2^64. O(1)."""
        row = self._rows.setdefault(slot, [self.borders[slot], 0, 0])
        row[1] += count
        row[2] = (row[2] + fingerprints) & _ALL_ONES

    def rows(self) -> list[list[int]]:
        """Return a row for each range with messages: first offset, number of messages, sum."""
        return [row for _, row in sorted(self._rows.items()) if row[1]]


def range_borders(first_offset: int, next_offset: int) -> list[int]:
    """Return the borders of a job that wrote `first_offset` to `next_offset` - 1 to a partition.

    >>> range_borders(5, 16_390), range_borders(5, 5)
    ([5, 16389, 16390], [5])
    """
    return [*range(first_offset, next_offset, RANGE_MESSAGES), next_offset]


def message_fingerprint(offset: int, size: int, crc: int) -> int:
    """Return the 64-bit fingerprint of a message, from three fields of its header. O(1).

    >>> hex(message_fingerprint(7, 18, 0x4B41698D)), hex(message_fingerprint(7, 18, 0x4B41698C))
    ('0xbc7ed98f066dc73c', '0x6a87f201c6c7c045')
    """
    word = (offset * OFFSET_FACTOR ^ size << 32 ^ crc) & _ALL_ONES
    for shift, factor in MIXING:
        word = (word ^ word >> shift) * factor & _ALL_ONES
    return word ^ word >> LAST_SHIFT
