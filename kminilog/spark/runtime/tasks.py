"""A task for each item, where Spark has nothing to read itself; what a Python worker does once.

After each task Spark has the worker collect garbage. That takes 25 to 35 ms, as long as checking
80 MB of a log: it visits some 50,000 objects, nearly all of which belong to the modules that are
loaded and live as long as the worker. So these are left out of it. What a task does is not known
here. Source: pyspark/daemon.py, Python's `gc.freeze`.
"""

import gc
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from pyspark.sql import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_tasks(
    spark: SparkSession, items: Sequence[Item], work: Callable[[Item], Result]
) -> list[Result]:
    """Return what `work` returns for each item, in their order. Raises Spark's exceptions."""
    if not items:
        return []

    def task(item: Item) -> Result:
        freeze_modules()
        return work(item)

    return spark.sparkContext.parallelize(items, len(items)).map(task).collect()


@cache  # once in the life of a process: what later tasks leave behind is garbage
def freeze_modules() -> None:
    """Have garbage collections of this process pass over all that is there by now.

    That is the modules, and the little that the first task holds: Spark has collected before it.
    """
    gc.freeze()
