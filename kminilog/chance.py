"""Randomness as an argument: the interface of a random generator.

`random.Random(seed)` implements it; with the same seed, every run draws the same numbers.
"""

from typing import Protocol


class Chance(Protocol):
    """A random generator."""

    def randrange(self, stop: int, /) -> int:
        """Return a number from 0 to `stop` - 1; all are equally likely."""
        ...

    def getrandbits(self, count: int, /) -> int:
        """Return a number of `count` random bits: 0 to 2**count - 1."""
        ...
