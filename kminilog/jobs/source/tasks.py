"""Work in tasks: the interface, and a runner in this process.

A task runs a function for one item. `jobs.spark.runtime.tasks` has the runner that uses executors.
This module does not know what a task does.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Tasks(Protocol):
    """Runs tasks. Spark's may run twice, or at once; so a task writes only what is its own."""

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        ...

    def map(self, items: Sequence[Item], work: Callable[[Item], Result], /) -> list[Result]:
        """Return what `work` returns for each item, in the order of the items."""
        ...


class LocalTasks:
    """Runs tasks in this process, one after the other."""

    cores = 1

    def map(self, items: Sequence[Item], work: Callable[[Item], Result], /) -> list[Result]:
        """Return what `work` returns for each item, in the order of the items."""
        return [work(item) for item in items]
