"""One task for each item, where Spark itself reads nothing; and garbage collection in a worker.

While tasks run, a thread looks now and then how many of them are done (`watched`).

After each task Spark makes the Python worker collect garbage. That takes 25 to 35 ms, as long as
checking 80 MB of a log, because the collector visits some 50,000 objects. Nearly all of them belong
to loaded modules and live as long as the worker. So the collector is told to leave them out. This
module does not know what a task does. Source: pyspark/daemon.py, Python's `gc.freeze`.
"""

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import TypeVar
from uuid import uuid4

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import InheritableThread, SparkContext, SparkStageInfo
from pyspark.sql import SparkSession

from kminilog.progress import Progress, TasksDone

Item = TypeVar("Item")
Result = TypeVar("Result")


class SparkTasks:
    """Runs tasks on the executors of a session."""

    def __init__(self, spark: SparkSession, report: Progress | None = None) -> None:
        """`report` gets how far the steps are that have a name."""
        self._spark = spark
        self._report = report

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        return int(self._spark.sparkContext.defaultParallelism)

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

        Without items no job starts. Spark pickles `work` and the items. Raises Spark's exceptions,
        also for an error of `work`: `failures.translate` finds that one.
        """
        if not items:
            return []

        def task(item: Item) -> Result:
            freeze_modules()
            return work(item)

        report = self._report if step else None
        with watched(self._spark, report, step, size_bytes):
            rows = self._spark.sparkContext.parallelize(items, len(items))
            results = rows.map(task).collect()
        if report:
            report(TasksDone(step, len(items), len(items), size_bytes))
        return results


_SECONDS_BETWEEN_LOOKS = 0.5


@contextmanager
def watched(
    spark: SparkSession, report: Progress | None, step: str, size_bytes: int
) -> Iterator[None]:
    """Report how many tasks are done of the Spark jobs that this thread starts in the block.

    These are the tasks of the latest stage; each stage handles about `size_bytes` bytes.
    """
    if report is None:
        yield
        return
    context, tag, is_over = spark.sparkContext, f"kminilog-{uuid4().hex}", threading.Event()

    def look() -> None:
        # The JVM may have ended, or the user ends the command: the other thread will say so.
        with suppress(Py4JError, OSError, KeyboardInterrupt):
            while not is_over.wait(_SECONDS_BETWEEN_LOOKS):
                stage = _latest_stage(context, tag)
                if stage and stage.numTasks and not is_over.is_set():  # a look may take long
                    done = stage.numCompletedTasks
                    report(TasksDone(step, done, stage.numTasks, size_bytes))

    context.addJobTag(tag)
    looking = InheritableThread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        is_over.set()
        looking.join(2 * _SECONDS_BETWEEN_LOOKS)
        with suppress(Py4JError, OSError):
            context.removeJobTag(tag)


def _latest_stage(context: SparkContext, tag: str) -> SparkStageInfo | None:
    tracker = context.statusTracker()
    jobs = map(tracker.getJobInfo, context._jsc.sc().statusTracker().getJobIdsForTag(tag))
    stages = [stage for job in jobs if job for stage in job.stageIds]
    found = filter(None, map(tracker.getStageInfo, sorted(stages, reverse=True)))
    begun = (stage for stage in found if stage.numActiveTasks or stage.numCompletedTasks)
    return next(begun, None)


@cache  # once in the life of a process: what later tasks leave behind is garbage
def freeze_modules() -> None:
    """Exclude all objects that exist now from later garbage collections of this process.

    These are the loaded modules, and the few objects that the first task holds. Later calls do
    nothing.
    """
    gc.freeze()
