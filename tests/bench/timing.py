"""Medians of several rounds, and the rows they are printed in."""

import statistics
import time
from collections.abc import Callable, Sequence

ROUNDS = 7

Work = Callable[[], object]


def seconds(work: Work) -> float:
    """Return the median time of several rounds, after one that does not count."""
    return seconds_of_each([work])[0]


def seconds_of_each(works: Sequence[Work], rounds: int = ROUNDS) -> list[float]:
    """Return the median times of several works that take turns, so that all meet the same noise."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds + 1):
        for work, taken in zip(works, times, strict=True):
            began = time.perf_counter()
            work()
            taken.append(time.perf_counter() - began)
    return [statistics.median(taken[1:]) for taken in times]


def row(name: str, taken: float, count: int, yardstick: str, yardstick_taken: float) -> None:
    microseconds = taken / count * 1e6
    print(f"{name:38}{microseconds:10.2f} us{taken / yardstick_taken:10.2f} x {yardstick}")
