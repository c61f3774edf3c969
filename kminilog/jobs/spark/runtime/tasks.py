"""One task for each item, where Spark itself reads nothing; and garbage collection in a worker.

After each task Spark makes the Python worker collect garbage. That takes 25 to 35 ms, as long as
checking 80 MB of a log, because the collector visits some 50,000 objects. Nearly all of them belong
to loaded modules and live as long as the worker. So the collector is told to leave them out. This
module does not know what a task does. Source: pyspark/daemon.py, Python's `gc.freeze`.
"""

import gc
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from pyspark.sql import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")


class SparkTasks:
    """Runs tasks on the executors of a session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        return int(self._spark.sparkContext.defaultParallelism)

    def map(self, items: Sequence[Item], work: Callable[[Item], Result], /) -> list[Result]:
        """Return what `work` returns for each item, in the order of the items.

        Without items no job starts. Spark pickles `work` and the items. Raises Spark's exceptions,
        also for an error of `work`: `failures.translate` finds that one.
        """
        if not items:
            return []

        def task(item: Item) -> Result:
            freeze_modules()
            return work(item)

        return self._spark.sparkContext.parallelize(items, len(items)).map(task).collect()


@cache  # once in the life of a process: what later tasks leave behind is garbage
def freeze_modules() -> None:
    """Exclude all objects that exist now from later garbage collections of this process.

    These are the loaded modules, and the few objects that the first task holds. Later calls do
    nothing.
    """
    gc.freeze()
