"""Can the executors do what a job needs? One short Spark job asks them before the job starts.

    is it the driver's Python, and has it all packages?      install what is missing
    is there what the driver sees in the log dir?            share the directory
    can a file be written into the directory of the job?     let the user of the executor write

kminilog itself is brought there first (shipping.py). Each task looks at these in turn. It says all
that is missing of the first kind, and the error names each executor that lacks something. Executors
that join later are not asked. With a local master the executors are threads of the driver, so
nothing is asked. This module does not know what the job does.
"""

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
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

_OTHER_PYTHON = re.compile(r"\[PYTHON_VERSION_MISMATCH\] .*?: (\d+\.\d+)")
_NO_PYTHON = re.compile(r'Cannot run program "([^"]*)": error=\d+, ([^\n;]*)')
_MOST = 5  # executors that an error names
_MOST_TASKS = 10_000
_WAIT_MS = 5000

Answer = tuple[bool, str]
"""Whether Python is wrong, and what is wrong."""

Question = Callable[[Iterable[object]], Iterator[Answer]]


def check_cluster(spark: SparkSession, log_dir: Path, *, is_writing: bool = False) -> None:
    """Raise a one-line error if a job could not work; leave no file behind.

    The log dir must exist. Raises LogDirError if an executor does not see the driver's directory,
    or cannot write there although the job `is_writing`. Raises SparkUnavailableError if an executor
    has no Python, another one than the driver, or lacks a package. The error names each such
    executor.
    Costs one very short Spark job, and none with a local master. kminilog is brought to the
    executors first.
    """
    log_dir = log_dir.resolve()
    if is_local(str(context_of(spark).master)):
        return
    ship(spark)
    if not is_writing:
        _ask(spark.sparkContext, log_dir, None)
        return
    directory = log_dir / JOB_STAGING_DIR / f"check-{uuid4().hex}"
    try:
        directory.mkdir(parents=True)
        _ask(spark.sparkContext, log_dir, directory)
    except OSError as error:
        raise LogDirError(str(log_dir), reason=f"cannot write there: {error}") from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _ask(context: SparkContext, log_dir: Path, directory: Path | None) -> None:
    """Raise an error that names each executor that lacks something.

    While executors come, Spark has more cores each time: then it asks once more.
    """
    asked, answers = 0, set[Answer]()
    while not answers and asked < (tasks := max(context.defaultParallelism, 1)):
        asked, answers = tasks, _answers(context, tasks, _question(log_dir, directory))
    for is_of_python in (True, False):
        told = sorted(reason for kind, reason in answers if kind == is_of_python)
        more = f"; and {len(told) - _MOST} more" if len(told) > _MOST else ""
        reason = "; ".join(told[:_MOST]) + more
        if told and is_of_python:
            raise SparkUnavailableError(reason)
        if told:
            raise LogDirError(str(log_dir), reason=reason)


def _answers(context: SparkContext, tasks: int, question: Question) -> set[Answer]:
    """Return what tasks say, one for each core, and what keeps executors from running any.

    Spark tries a task elsewhere if an executor cannot run it: then only the task's state tells.
    """
    tag = f"kminilog-check-{uuid4().hex}"
    context.addJobTag(tag)
    try:
        found = context.parallelize(range(tasks), tasks).mapPartitions(question).collect()
        return {*found, *_unable(context, tag)}
    except (Py4JError, PySparkException) as error:
        if answers := _unable(context, tag):
            return answers
        reason = f"its executors cannot run Python tasks: {translate(error, '')}"
        raise SparkUnavailableError(reason) from error
    finally:
        context.removeJobTag(tag)


def _unable(context: SparkContext, tag: str) -> set[Answer]:
    """Return which executors have no Python, or another one than the driver, by failed tasks."""
    spark: Any = context._jsc.sc()
    answers = set()
    with suppress(Py4JError):  # states lag behind
        spark.listenerBus().waitUntilEmpty(_WAIT_MS)
    for job in spark.statusTracker().getJobIdsForTag(tag):
        info = context.statusTracker().getJobInfo(job)
        for stage in info.stageIds if info else ():
            states = spark.statusStore().taskList(stage, 0, _MOST_TASKS)
            for state in (states.apply(number) for number in range(states.size())):
                text = state.errorMessage().get() if state.errorMessage().isDefined() else ""
                if why := _why_unable(text):
                    answers.add((True, f"the executor on {state.host()} {why}"))
    return answers


def _why_unable(text: str) -> str | None:
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    everywhere = f"set PYSPARK_PYTHON to a Python {ours} that is there on every machine"
    if other := _OTHER_PYTHON.search(text):
        return f"has Python {other[1]}, the driver has {ours}: {everywhere}"
    if absent := _NO_PYTHON.search(text):
        return f"cannot run {absent[1]} ({absent[2]}): {everywhere}"
    return None


def _question(log_dir: Path, directory: Path | None) -> Question:
    """Return what a task runs: it yields nothing, or an answer.

    `directory` is where it writes a file; None if the job only reads. Spark sends the function by
    value, with what it uses from here: an executor that lacks a package could not import it.
    """
    fault_of_python, fault_of_files = _python_check(), _files_check(log_dir, directory)

    def ask(_: Iterable[object]) -> Iterator[Answer]:
        import socket

        who = f"the executor on {socket.gethostname()}"
        if fault := fault_of_python():
            yield True, f"{who} {fault}"
        elif fault := fault_of_files(who):
            yield False, f"{who} {fault}"

    return ask


def _python_check() -> Callable[[], str | None]:
    packages, install = _PACKAGES, _INSTALL
    ours = str(import_module("kminilog").__version__)

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

    def fault() -> str | None:
        import sys
        from importlib import import_module

        wrong = {package: why for package in packages if (why := lacks(package))}
        if wrong:
            needed = " ".join(f"'{package}>={packages[package]}'" for package in wrong)
            told = f"has {' and '.join(wrong.values())} in {sys.executable}"
            return f"{told}: {install.format(needed)}"
        try:
            theirs = import_module("kminilog").__version__
        except ImportError as error:
            return f"cannot import kminilog in {sys.executable}: {error}"
        told = f"has kminilog {theirs}, the driver has {ours}: begin a new session"
        return None if theirs == ours else told

    return fault


def _files_check(log_dir: Path, directory: Path | None) -> Callable[[str], str | None]:
    share, root, into = _SHARE, f"{log_dir}/", directory and str(directory)
    seen = [str(path) for path in [*log_dir.glob("*.json"), *([directory] if directory else [])]]

    def fault(who: str) -> str | None:
        import os

        for path in seen:
            if not os.path.exists(path):
                return f"does not see {path.removeprefix(root)} there; {share}"
        try:
            if into:
                with open(os.path.join(into, f"{who} {os.getpid()}"), "wb") as file:
                    file.write(b"can write")
        except OSError as error:
            return f"cannot write there: {error.strerror}; let its user write"
        return None

    return fault
