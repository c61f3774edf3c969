"""One task for each item."""

import gc
import os
import sys
import time

from kminilog.jobs.spark.runtime.tasks import SparkTasks

MODULES_OBJECTS = 10_000  # fewer than pyspark's modules have


def test_each_item_has_its_task_and_results_are_in_order(spark):
    results = SparkTasks(spark).map([3, 1, 2], lambda item: (item, os.getpid()))
    assert [item for item, _ in results] == [3, 1, 2]
    assert os.getpid() not in {pid for _, pid in results}


def test_without_items_nothing_is_run(spark):
    assert SparkTasks(spark).map([], lambda item: 1 // 0) == []


def test_tasks_that_are_done_are_reported_while_others_still_run(spark, tmp_path):
    """The last task waits for a report; beside it another job runs in the session."""
    go, reports = tmp_path / "go", []

    def work(number):
        while number == 3 and not go.exists():
            time.sleep(0.02)
        return number

    def report(line):
        reports.append(line)
        if line.done == 3:
            go.touch()

    assert SparkTasks(spark, report).map(range(4), work, step="working", size_bytes=8) == [
        *range(4)
    ]
    assert {(line.step, line.tasks, line.bytes) for line in reports} == {("working", 4, 8)}
    assert reports[-1].done == 4
    assert str(reports[-1]) == "working: 4 of 4 tasks, 0 of 0 MB"
    assert not spark.sparkContext.getJobTags()


def test_tasks_without_a_named_step_are_not_reported(spark):
    reports = []
    assert SparkTasks(spark, reports.append).map([1], lambda item: item) == [1]
    assert reports == []


def test_garbage_collections_of_workers_pass_over_modules_but_not_over_what_tasks_leave(spark):
    def frozen(_):
        sys.left_behind = [getattr(sys, "left_behind", None)]
        return os.getpid(), gc.get_freeze_count()

    of_the_driver = gc.get_freeze_count()
    counts = {}
    # A worker's first task is gone after it, and what it held with it: so these do not count.
    for _ in range(2):
        before, counts = counts, {}
        for pid, count in SparkTasks(spark).map(range(8), frozen):
            counts.setdefault(pid, []).append(count)
    assert all(count > MODULES_OBJECTS for seen in counts.values() for count in seen)
    assert any(len(seen) > 1 for seen in counts.values())
    for pid in before.keys() & counts.keys():
        assert len(set(counts[pid])) == 1, "what a task leaves behind is left out too"
    assert gc.get_freeze_count() == of_the_driver, "the driver's too"
