"""How many files, or pieces of files, one Spark task gets.

Starting a Python task costs as much as reading some megabytes, so there should be few: enough to
keep all cores busy, and none that is tiny. Nothing here knows Spark. Source: ours.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

LEAST_BYTES = 8 << 20
_OPENING_BYTES = 64 << 10  # opening a file takes as long as reading this
TASKS_PER_CORE = 4

Item = TypeVar("Item")


def task_groups(
    items: Sequence[Item], size_bytes: Callable[[Item], int], *, cores: int
) -> list[list[Item]]:
    """Return the items in their order, as groups of about the same size, at least LEAST_BYTES.

    >>> sizes = [3 << 20, 3 << 20, 3 << 20, 90 << 20, 1]
    >>> [[size >> 20 for size in group] for group in task_groups(sizes, int, cores=2)]
    [[3, 3, 3, 90], [0]]
    """
    costs = [size_bytes(item) + _OPENING_BYTES for item in items]
    limit_bytes = max(sum(costs) // (cores * TASKS_PER_CORE), LEAST_BYTES)
    groups: list[list[Item]] = []
    group_bytes = limit_bytes
    for item, cost in zip(items, costs, strict=True):
        if group_bytes >= limit_bytes:
            groups.append([])
            group_bytes = 0
        groups[-1].append(item)
        group_bytes += cost
    return groups
