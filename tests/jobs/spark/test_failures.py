"""Spark's exceptions in one line. Those of real jobs are met where the jobs are tested."""

import os
import signal

import pytest

from kminilog.errors import (
    KMiniLogError,
    LogDirError,
    PublicationError,
    RetriableError,
    SourceChangedError,
)
from kminilog.jobs.source.source_files import changed
from kminilog.jobs.spark.runtime.failures import spark_failures, translate

LOST = """An error occurred while calling o42.save.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 8.0 failed \
4 times, most recent failure: Lost task 1.3 in stage 8.0 (TID 69) (192.0.2.2 executor 6): {}
\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1136)

Driver stacktrace:
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: java.io.EOFException
\t... 22 more
"""
WORKER = "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"
EXECUTOR = "ExecutorLostFailure (executor 6 exited caused by one of the running tasks) Reason: {}"
KILLED = "was killed, by hand or for lack of memory"
MEMORY = "give it more (SPARK_DRIVER_MEMORY=4g; with a cluster, spark.executor.memory)"
TRACEBACK = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/lib/first.py", line 3, in look
    return {}["k"]
           ~~^^^^^
KeyError: 'k'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/lib/worker.py", line 4327, in invoke_udf
    run_process()
  File "/lib/reader.py", line 39, in read
    raise ArrowInvalid(text)
pyarrow.lib.ArrowInvalid: Not a Parquet file:
  no magic bytes
"""
RAISED = "pyarrow.lib.ArrowInvalid: Not a Parquet file: no magic bytes"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LOST.format(WORKER), f"a Python worker on 192.0.2.2 {KILLED}"),
        (LOST.format("java.io.EOFException"), f"a Python worker on 192.0.2.2 {KILLED}"),
        (
            LOST.format("java.io.EOFException: Unexpected end of input stream"),
            "java.io.EOFException: Unexpected end of input stream",
        ),
        (
            LOST.format(WORKER + ": Fatal Python error: Segmentation fault\n\nCurrent thread"),
            "a Python worker on 192.0.2.2 crashed: Segmentation fault",
        ),
        (
            LOST.format(EXECUTOR.format("Command exited with code 137")),
            "an executor on 192.0.2.2 was killed (signal 9)",
        ),
        (
            LOST.format(EXECUTOR.format("Command exited with code 52")),
            f"an executor on 192.0.2.2 has too little memory; {MEMORY}",
        ),
        (
            LOST.format(EXECUTOR.format("Executor heartbeat timed out after 125000 ms")),
            "an executor on 192.0.2.2 was lost: Executor heartbeat timed out after 125000 ms",
        ),
        (
            LOST.format("java.io.IOException: No space left on device"),
            "java.io.IOException: No space left on device",
        ),
        (
            LOST.format("java.lang.OutOfMemoryError: Java heap space"),
            f"the JVM has too little memory; {MEMORY}",
        ),
        (TRACEBACK, RAISED),
        (TRACEBACK + "\n\tat org.apache.spark.X.y(X.scala:1)\n", RAISED),
        (
            "An error occurred while calling o1.save.\n: java.io.IOException: no\n\tat X.y(X:1)",
            "java.io.IOException: no",
        ),
        ("", "RuntimeError('')"),
    ],
)
def test_failure_is_told_in_one_line_never_by_the_end_of_a_stack(text, told):
    error = translate(RuntimeError(text), "s")
    assert str(error) == f"a Spark job failed: {told}"
    has_died = any(word in told for word in ("was killed", "crashed", "was lost"))
    assert isinstance(error, RetriableError) == has_died


def test_source_that_has_changed_is_the_same_error_in_a_worker():
    text = f"{SourceChangedError.__module__}.SourceChangedError: {changed('/a b')}"
    error = translate(RuntimeError(TRACEBACK + text), "s")
    assert isinstance(error, SourceChangedError)
    assert str(error) == str(changed("/a b"))


@pytest.mark.parametrize("error", [LogDirError, PublicationError], ids=lambda kind: kind.__name__)
def test_error_of_ours_in_a_worker_is_taken_as_it_is(error):
    name = f"{error.__module__}.{error.__name__}"
    text = TRACEBACK.replace("pyarrow.lib.ArrowInvalid: Not", f"{name}: Not")
    assert str(translate(RuntimeError(text), "s")) == "Not a Parquet file:"


def kill(number):
    def task(_):
        os.kill(os.getpid(), number)

    return task


def raise_of_a_library(_):
    raise UnicodeError("two\nlines")


def raise_ours(_):
    raise LogDirError("/data", reason="there is none")


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (kill(signal.SIGKILL), f"a Spark job failed: a Python worker {KILLED}"),
        (kill(signal.SIGSEGV), "a Spark job failed: a Python worker crashed: Segmentation fault"),
        (raise_of_a_library, "a Spark job failed: UnicodeError: two lines"),
        (raise_ours, "log dir /data: there is none"),
    ],
    ids=["killed", "crashed", "a library's", "ours"],
)
def test_failure_of_a_real_worker_is_told_in_one_line(spark, capfd, task, told):
    with pytest.raises(KMiniLogError) as caught, spark_failures("s"):
        spark.sparkContext.parallelize([0], 1).map(task).collect()
    assert str(caught.value) == told
    assert capfd.readouterr() == ("", "")
