"""How many files, or pieces of files, one task gets.

Starting a Python task costs as much as reading some megabytes. So there should be few tasks: enough
to keep all cores busy, and none that is tiny. This module does not know Spark. Source: ours.
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
    """Return the items in their order, as groups of neighbours; no group is empty.

    The bytes of all items together are cut into equal stretches. There are at most TASKS_PER_CORE
    stretches for each core, and a stretch has at least LEAST_BYTES unless it is the only one. An
    item belongs to the stretch in which it begins. O(items).

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
