"""Spark's exceptions become errors of kminilog: one line that says what, where and what to do.

    a process died     which one (a Python worker, an executor, the driver's JVM), where and why
    Python code        an error of kminilog stays as it is; any other one is reported with its type
                       and its message
    the JVM            Spark's own text, without stack traces

A dead process raises no exception itself. The processes that are left report its death, each in its
own words. The whole traceback stays the cause of the error, and --debug prints it. This module does
not know what the job does.
"""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import AnalysisException, PySparkException, PythonException

from kminilog.errors import KMiniLogError, RetriableError, SourceChangedError, SourceError

_OURS = re.compile(r"(?:^|: )kminilog\.(?:\w+\.)*\w*errors\.(\w+): (.*)$", re.MULTILINE)
_OF_SPARK = re.compile(r"\[[A-Z][A-Z0-9_.]+\] .*?(?= SQLSTATE:|\s*$)", re.MULTILINE)
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
_LOST_TASK = re.compile(
    r"most recent failure: Lost task \S+ in stage \S+ \(TID \d+\) "
    r"\((?P<host>\S+) executor (?P<executor>\S+)\): (?P<reason>.*)"
)
_LOST_EXECUTOR = re.compile(r"ExecutorLostFailure \(executor \S+ [^)]*\) Reason: (.*)")
_LOST_WORKER = "Python worker exited unexpectedly"
_SILENT_WORKER = "java.io.EOFException"  # it died before it said a word; a file's end says more
_FAULT = re.compile(r"Fatal Python error: ([^\n]+)")
_EXIT_CODE = re.compile(r"exited with code (\d+)")
_TRACEBACK = "Traceback (most recent call last):\n"
_RAISED = re.compile(r"^(?=\S)(.+?)(?=\n\s*\n|\n\s*at |\nCaused by: |\Z)", re.MULTILINE | re.DOTALL)
_SECONDS_TO_END = 5.0
_EXIT_CODE_OUT_OF_MEMORY = 52  # SparkExitCode.OOM
_MORE_MEMORY = "give it more (SPARK_DRIVER_MEMORY=4g; with a cluster, spark.executor.memory)"


@contextmanager
def spark_failures(source: str) -> Iterator[None]:
    """Raise a KMiniLogError in place of an exception of Spark's.

    It is a SourceError for `source` if Spark itself names an error, as it does for a DataFrame of a
    file that is gone. See `translate`.
    """
    with failures_of_a_dead_jvm():
        try:
            yield
        except (Py4JError, PySparkException) as error:
            raise translate(error, source) from error


@contextmanager
def failures_of_a_dead_jvm() -> Iterator[None]:
    """Raise a RetriableError in place of a broken connection to a JVM that has ended.

    Other ConnectionErrors and EOFErrors pass through. Waits a few seconds for the JVM to end.
    """
    try:
        yield
    except (ConnectionError, EOFError) as error:
        ended = _end_of_jvm()
        if ended is None:
            raise
        raise RetriableError(f"a Spark job failed: {ended}") from error


def translate(error: Exception, source: str) -> KMiniLogError:
    """Return the one-line error for an exception of Spark's.

    An error that kminilog raised in a task keeps its text, and a SourceError stays one. It is a
    RetriableError if a process died, though not for lack of memory as far as that is known.
    """
    text = told_by(error)
    ours = _OURS.findall(text)
    if ours:
        return _rebuild(*ours[-1])
    died = _dead_process(text)
    of_spark = None if died else _OF_SPARK.search(text)
    if of_spark and (
        isinstance(error, AnalysisException) or not isinstance(error, PythonException)
    ):
        return SourceError(source, reason=of_spark[0])
    if not died and _OUT_OF_MEMORY in text:
        died = f"the JVM has too little memory; {_MORE_MEMORY}"
    if not died and isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError):
        died = _end_of_jvm()
    reason = died or _raised(text) or _told_by_the_jvm(text) or repr(error)
    kind = RetriableError if died and _MORE_MEMORY not in died else KMiniLogError
    return kind(f"a Spark job failed: {reason}")


def told_by(error: Exception) -> str:
    """Return the text of an exception of Spark's.

    For the text of a Java exception py4j asks the JVM. If that has ended, this returns how.
    """
    try:
        return str(error)
    except (Py4JError, ConnectionError, EOFError) as broken:
        return _end_of_jvm() or str(broken)


def _end_of_jvm() -> str | None:
    """Return how the driver's JVM ended; None if it still runs, or another process started it."""
    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return None
    with suppress(subprocess.TimeoutExpired):  # a JVM closes its connections before it has ended
        code = process.wait(_SECONDS_TO_END)
        return f"the JVM of Spark's driver {_ended(code if code >= 0 else 128 - code)}"
    return None


def _dead_process(text: str) -> str | None:
    """Return which process of a task died, and how, if Spark says so."""
    lost = _LOST_TASK.search(text)
    where = f" on {lost['host']}" if lost and lost["executor"] != "driver" else ""
    if executor := _LOST_EXECUTOR.search(text):
        code = _EXIT_CODE.search(executor[1])
        ended = _ended(int(code[1])) if code else f"was lost: {executor[1].strip()}"
        return f"an executor{where} {ended}"
    if _LOST_WORKER in text or (lost and lost["reason"].strip() == _SILENT_WORKER):
        fault = _FAULT.search(text)
        ended = (
            f"crashed: {fault[1].strip()}" if fault else "was killed, by hand or for lack of memory"
        )
        return f"a Python worker{where} {ended}"
    return None


def _ended(code: int) -> str:
    """Say in words how a process ended, by its exit code as a shell would give it."""
    if code == _EXIT_CODE_OUT_OF_MEMORY:
        return f"has too little memory; {_MORE_MEMORY}"
    return f"was killed (signal {code - 128})" if code > 128 else f"ended with exit code {code}"


def _raised(text: str) -> str | None:
    """Return the exception at the end of the last Python traceback in a text."""
    _, is_there, traceback = text.rpartition(_TRACEBACK)
    raised = _RAISED.search(traceback) if is_there else None
    return " ".join(raised[1].split()) if raised else None


def _told_by_the_jvm(text: str) -> str | None:
    """Return what the JVM says failed, without the stack."""
    if lost := _LOST_TASK.search(text):
        return lost["reason"].strip()
    lines = [line.removeprefix(": ").strip() for line in text.splitlines()]
    told = [line for line in lines if line and not line.startswith(("An error occurred", "at "))]
    return told[0] if told else None


def _rebuild(name: str, text: str) -> KMiniLogError:
    for kind in (SourceError, SourceChangedError):
        if name == kind.__name__:
            source, _, reason = text.removeprefix("source ").partition(": ")
            return kind(source, reason=reason)
    return KMiniLogError(text)
