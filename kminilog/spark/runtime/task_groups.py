"""How many files, or pieces of files, one Spark task gets.

Starting a Python task costs as much as reading some megabytes, so there should be few: enough to
keep all cores busy, and none that is tiny. Nothing here knows Spark. Source: ours.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeVar

LEAST_BYTES = 8 << 20
_OPENING_BYTES = 64 << 10  # opening a file takes as long as reading this
TASKS_PER_CORE = 4

Item = TypeVar("Item")


def task_groups(
    items: Sequence[Item], size_bytes: Callable[[Item], int], *, cores: int
) -> list[list[Item]]:
    """Return the items in their order, as groups of neighbours.

    The bytes of all are cut into equal stretches, of LEAST_BYTES at least if there are as many; an
    item belongs to the stretch in which it begins.

    >>> sizes = [3 << 20, 3 << 20, 3 << 20, 90 << 20, 1]
    >>> [[size >> 20 for size in group] for group in task_groups(sizes, int, cores=2)]
    [[3, 3, 3, 90], [0]]
    """
    costs = [size_bytes(item) + _OPENING_BYTES for item in items]
    total = sum(costs)
    count = max(min(cores * TASKS_PER_CORE, total // LEAST_BYTES), 1)
    groups: dict[int, list[Item]] = {}
    for item, cost, end in zip(items, costs, accumulate(costs), strict=True):
        groups.setdefault((end - cost) * count // total, []).append(item)
    return list(groups.values())
