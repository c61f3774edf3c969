"""Randomness as an argument: the interface of a random generator.

`random.Random(seed)` implements it; with the same seed, every run draws the same numbers.
"""

from typing import Protocol


class Chance(Protocol):
    """A source of random whole numbers."""

    def randrange(self, stop: int, /) -> int:
        """Return a number from 0 to before `stop`, each as likely as the others."""
        ...

    def getrandbits(self, count: int, /) -> int:
        """Return a number of that many random bits."""
        ...
