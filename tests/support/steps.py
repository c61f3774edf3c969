"""Work in steps, which a busy machine does not change: how many functions were called."""

import sys
from collections.abc import Callable


def steps_of(work: Callable[[], object]) -> int:
    """Return how many functions were called, those written in C too."""
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return steps
