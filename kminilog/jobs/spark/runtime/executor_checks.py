"""Can the executors do what a job needs? One short Spark job asks them before the job starts.

    are all packages there, and new enough?                  install what is missing
    is there what the driver sees in the log dir?            share the directory
    can a file be written into the directory of the job?     let the user of the executor write

kminilog itself is brought there first (shipping.py). Each task looks at these in turn, and says
what is missing first. Executors that join later are not asked. With a local master the executors
are threads of the driver, so nothing is asked. This module does not know what the job does.
"""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from uuid import uuid4

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kminilog.errors import LogDirError, SparkUnavailableError
from kminilog.jobs.spark.runtime.failures import translate
from kminilog.jobs.spark.runtime.session import context_of, is_local
from kminilog.jobs.spark.runtime.shipping import ship
from kminilog.storage.publish.publication import JOB_STAGING_DIR

_PACKAGES = {
    "msgspec": "0.21",
    "numpy": "2.0",
    "pyarrow": "18",
    "sortedcontainers": "2.4",
    "xxhash": "3.5",
}
"""What tasks import, and the oldest version that will do; pyproject.toml has the same."""

_INSTALL = "type pip install {} there, or set PYSPARK_PYTHON to a Python that has them"
_SHARE = "it must be the same directory, on a shared filesystem, under the same path everywhere"
_SAME = "set PYSPARK_PYTHON to a Python {}.{} that is there on every machine"
_MOST = 5  # executors that an error names


def check_cluster(spark: SparkSession, log_dir: Path, *, is_writing: bool = False) -> None:
    """Raise a one-line error if a job could not work; leave no file behind.

    The log dir must exist. Raises LogDirError if an executor does not see the driver's directory,
    or cannot write there although the job `is_writing`. Raises SparkUnavailableError if an executor
    lacks a package, or if none can run the driver's Python. The error names each executor that
    lacks something. Costs one very short Spark job, and none with a local master.
    """
    log_dir = log_dir.resolve()
    if is_local(str(context_of(spark).master)):
        return
    ship(spark)
    directory = log_dir / JOB_STAGING_DIR / f"check-{uuid4().hex}" if is_writing else None
    try:
        if directory:
            directory.mkdir(parents=True)
        answers = _answers(spark, log_dir, directory)
    except OSError as error:
        raise LogDirError(str(log_dir), reason=f"cannot write there: {error}") from error
    finally:
        if directory:
            shutil.rmtree(directory, ignore_errors=True)
    for is_of_python in (True, False):
        told = sorted(reason for kind, reason in answers if kind == is_of_python)
        more = f"; and {len(told) - _MOST} more" if len(told) > _MOST else ""
        reason = "; ".join(told[:_MOST]) + more
        if told and is_of_python:
            raise SparkUnavailableError(reason)
        if told:
            raise LogDirError(str(log_dir), reason=reason)


def _answers(spark: SparkSession, log_dir: Path, directory: Path | None) -> set[tuple[bool, str]]:
    """Return what tasks say, one for each core: if it is of Python, and what is missing."""
    context = spark.sparkContext
    tasks, question = max(context.defaultParallelism, 1), _question(log_dir, directory)
    try:
        return {*context.parallelize(range(tasks), tasks).mapPartitions(question).collect()}
    except (Py4JError, PySparkException) as error:
        same = _SAME.format(*sys.version_info[:2])
        reason = f"its executors cannot run Python tasks: {translate(error, '')}; {same}"
        raise SparkUnavailableError(reason) from error


def _question(
    log_dir: Path, directory: Path | None
) -> Callable[[Iterable[object]], Iterator[tuple[bool, str]]]:
    """Return what a task runs: it yields nothing, or what is missing.

    `directory` is where it writes a file; None if the job only reads. Spark sends the function by
    value, with what it uses from here: an executor that lacks a package could not import it.
    """
    packages, install, share, root = _PACKAGES, _INSTALL, _SHARE, f"{log_dir}/"
    ours, into = str(import_module("kminilog").__version__), directory and str(directory)
    seen = [str(path) for path in [*log_dir.glob("*.json"), *([directory] if directory else [])]]

    def lacks(package: str) -> str | None:
        import re
        from importlib import import_module
        from importlib.metadata import PackageNotFoundError, version

        def numbers(text: str) -> list[int]:
            return [int(number) for number in re.findall(r"\d+", text)[:2]]

        try:
            import_module(package)
            found = version(package)
        except PackageNotFoundError:  # imported, but not installed: nobody knows its version
            return None
        except ImportError:
            return f"no {package}"
        is_old = numbers(found) < numbers(packages[package])
        return f"{package} {found}, older than {packages[package]}" if is_old else None

    def ask(_: Iterable[object]) -> Iterator[tuple[bool, str]]:
        import os
        import socket
        import sys
        from importlib import import_module

        who = f"the executor on {socket.gethostname()}"
        if wrong := {package: why for package in packages if (why := lacks(package))}:
            needed = " ".join(f"'{package}>={packages[package]}'" for package in wrong)
            told = f"has {' and '.join(wrong.values())} in {sys.executable}"
            yield True, f"{who} {told}: {install.format(needed)}"
            return
        try:
            theirs = import_module("kminilog").__version__
        except ImportError as error:
            yield True, f"{who} cannot import kminilog in {sys.executable}: {error}"
            return
        if theirs != ours:
            told = f"has kminilog {theirs}, the driver has {ours}: begin a new session"
            yield True, f"{who} {told}"
            return
        for path in seen:
            if not os.path.exists(path):
                yield False, f"{who} does not see {path.removeprefix(root)} there; {share}"
                return
        try:
            if into:
                with open(os.path.join(into, f"{who} {os.getpid()}"), "wb") as file:
                    file.write(b"can write")
        except OSError as error:
            yield False, f"{who} cannot write there: {error.strerror}; let its user write"

    return ask
