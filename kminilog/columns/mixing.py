"""Mix the bits of numbers, so that they spread evenly.

Each bit of a number changes about half of the bits of the result.

Source: SplitMix64 (Steele, Lea, Flood 2014).
"""

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STEPS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)
_LAST_SHIFT = np.uint64(31)


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each number with its bits spread; different numbers stay different. O(numbers).

    >>> mixed(np.array([0, 1], np.uint64)).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    numbers = numbers + _GOLDEN
    for shift, factor in _STEPS:
        numbers ^= numbers >> shift
        numbers *= factor
    numbers ^= numbers >> _LAST_SHIFT
    return numbers
