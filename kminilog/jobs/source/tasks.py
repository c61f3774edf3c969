"""Work in tasks: the interface, a runner in this process, and how many items one task gets.

A task runs a function for one item. `jobs.spark.runtime.tasks` has the runner that uses executors.
Starting a Python task costs as much as reading some megabytes. So there should be few tasks: enough
to keep all cores busy, and none that is tiny. How many cores there are is known only for this
moment, because a cluster may add more as long as tasks wait. So the work counts; cores give the
least number of tasks. This module does not know what a task does. Source: ours.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Protocol, TypeVar

from kminilog.progress import Progress, TasksDone, untold

# ---- who runs tasks


Item = TypeVar("Item")
Result = TypeVar("Result")


class Tasks(Protocol):
    """Runs tasks. Spark's may run twice, or at once; so a task writes only what is its own."""

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        ...

    def map(
        self,
        items: Sequence[Item],
        work: Callable[[Item], Result],
        /,
        *,
        step: str = "",
        size_bytes: int = 0,
    ) -> list[Result]:
        """Return what `work` returns for each item, in the order of the items.

        If the step has a name, the user who waits is told how far it is; `size_bytes` is how many
        bytes all items have.
        """
        ...


class LocalTasks:
    """Runs tasks in this process, one after the other."""

    cores = 1

    def __init__(self, report: Progress = untold) -> None:
        self._report = report

    def map(
        self,
        items: Sequence[Item],
        work: Callable[[Item], Result],
        /,
        *,
        step: str = "",
        size_bytes: int = 0,
    ) -> list[Result]:
        """Return what `work` returns for each item, in the order of the items."""
        results = []
        for result in self._each(work, items):
            results.append(result)
            if step:
                self._report(TasksDone(step, len(results), len(items), size_bytes))
        return results

    def _each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """Yield what `work` returns for each item, in their order."""
        return map(work, items)


# ---- how many items one task gets


LEAST_BYTES = 8 << 20
MOST_BYTES = 256 << 20
_OPENING_BYTES = 64 << 10  # opening a file takes as long as reading this
TASKS_PER_CORE = 4


def task_groups(
    items: Sequence[Item], size_bytes: Callable[[Item], int], *, cores: int
) -> list[list[Item]]:
    """Return the items in their order, as groups of neighbours; no group is empty.

    The bytes of all items together are cut into equal stretches of at most about MOST_BYTES. There
    are TASKS_PER_CORE stretches for each core, unless a stretch would have less than LEAST_BYTES.
    An item belongs to the stretch in which it begins. O(items).

    >>> sizes = [3 << 20, 3 << 20, 3 << 20, 90 << 20, 1]
    >>> [[size >> 20 for size in group] for group in task_groups(sizes, int, cores=2)]
    [[3, 3, 3, 90], [0]]
    >>> [len(task_groups([16 << 20] * 1000, int, cores=cores)) for cores in (2, 100)]
    [62, 400]
    """
    costs = [size_bytes(item) + _OPENING_BYTES for item in items]
    total = sum(costs)
    count = max(total // MOST_BYTES, min(cores * TASKS_PER_CORE, total // LEAST_BYTES), 1)
    groups: dict[int, list[Item]] = {}
    for item, cost, end in zip(items, costs, accumulate(costs), strict=True):
        groups.setdefault((end - cost) * count // total, []).append(item)
    return list(groups.values())
