"""Medians of several rounds, and the rows they are printed in."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.process_memory import tree_cpu_seconds

ROUNDS = 7

Work = Callable[[], object]


def seconds(work: Work) -> float:
    """Return the median time of several rounds, after one that does not count."""
    return seconds_of_each([work])[0]


def seconds_of_each(works: Sequence[Work], rounds: int = ROUNDS) -> list[float]:
    """Return the median times of several works that take turns, so that all meet the same noise."""
    return [statistics.median(taken) for taken in rounds_of_each(works, rounds)]


def rounds_of_each(
    works: Sequence[Work],
    rounds: int = ROUNDS,
    *,
    tidy_up: Work = lambda: None,
    clock: Callable[[], Any] = time.perf_counter,
) -> list[list[Any]]:
    """Return the times of several works that take turns, round by round, by this clock.

    What `tidy_up` does before each of them takes no time.
    """
    times: list[list[Any]] = [[] for _ in works]
    for _ in range(rounds + 1):
        for work, taken in zip(works, times, strict=True):
            tidy_up()
            began = clock()
            work()
            taken.append(clock() - began)
    return [taken[1:] for taken in times]


def wall_and_cpu() -> NDArray[np.float64]:
    """Return seconds by the clock, and of processors: of this process and all below it."""
    return np.array([time.perf_counter(), tree_cpu_seconds()])


def by_clock(rounds: Sequence[Any]) -> list[list[float]]:
    """Return the times of rounds by `wall_and_cpu`: those by the clock, those of processors."""
    return [list(times) for times in zip(*rounds, strict=True)]


def ratio(times: Sequence[float], others: Sequence[float]) -> float:
    """Return the median of the ratios in each round.

    A machine that others use too is fast for some rounds and slow for others; what takes turns in
    one round has met about the same machine.
    """
    return statistics.median(one / other for one, other in zip(times, others, strict=True))


def row(name: str, taken: float, count: int, yardstick: str, yardstick_taken: float) -> None:
    microseconds = taken / count * 1e6
    print(f"{name:38}{microseconds:10.2f} us{taken / yardstick_taken:10.2f} x {yardstick}")
