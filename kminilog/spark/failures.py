"""Spark's exceptions as ours: one line that says what, where and what to do.

A failure in a Python worker comes back as text that ends with the worker's own error; if that is
one of kminilog's, its text is taken as it is. The rest of a traceback is there for --debug, as the
cause of the error. Nothing here knows what the job was.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException, PythonException

from kminilog.errors import KMiniLogError, SourceError

_OURS = re.compile(r"^kminilog\.errors\.(\w+): (.*)$", re.MULTILINE)
_OF_SPARK = re.compile(r"\[[A-Z][A-Z0-9_.]+\] .*?(?= SQLSTATE:|\s*$)", re.MULTILINE)
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
_LAST_OF_TRACEBACK = re.compile(r"^[\w.]+(?:Error|Exception|Interrupt)\b.*$", re.MULTILINE)


@contextmanager
def spark_failures(source: str) -> Iterator[None]:
    """Raise a KMiniLogError in place of Spark's exceptions; a SourceError if the source is why."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise translate(error, source) from error


def translate(error: Exception, source: str) -> KMiniLogError:
    """Return the one-line error for an exception of Spark."""
    text = str(error)
    ours = _OURS.findall(text)
    if ours:
        return _rebuild(*ours[-1])
    of_spark = _OF_SPARK.search(text)
    if of_spark and (
        isinstance(error, AnalysisException) or not isinstance(error, PythonException)
    ):
        return SourceError(source, reason=of_spark[0])
    if _OUT_OF_MEMORY in text:
        reason = "give it more (SPARK_DRIVER_MEMORY=4g; with a cluster, spark.executor.memory)"
        return KMiniLogError(f"a Spark job failed: the JVM has too little memory; {reason}")
    lines = _LAST_OF_TRACEBACK.findall(text) or text.strip().splitlines() or [repr(error)]
    return KMiniLogError(f"a Spark job failed: {lines[-1].strip()}")


def _rebuild(name: str, text: str) -> KMiniLogError:
    if name == SourceError.__name__:
        source, _, reason = text.removeprefix("source ").partition(": ")
        return SourceError(source, reason=reason)
    return KMiniLogError(text)
