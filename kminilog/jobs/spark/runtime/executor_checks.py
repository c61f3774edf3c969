"""Can the executors do what a job needs? One short Spark job asks them before the job starts.

    which kminilog, numpy and pyarrow are there?             install them, or the same kminilog
    is there what the driver sees in the log dir?            share the directory
    can a file be written into the directory of the job?     let the user of the executor write

Each task looks at these in turn, and says the first thing that somebody has to change. Executors
that join later are not asked. With a local master the executors are threads of the driver, so only
the free space is checked. This module does not know what the job does.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from uuid import uuid4

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kminilog.errors import LogDirError, SparkUnavailableError
from kminilog.jobs.spark.runtime.failures import translate
from kminilog.jobs.spark.runtime.session import is_local
from kminilog.storage.publish.publication import JOB_STAGING_DIR

_PACKAGES = ("kminilog", "numpy", "pyarrow")
_INSTALL = "type pip install 'kminilog[spark]' there, or set PYSPARK_PYTHON to where it is"
_SHARE = "it must be the same directory, on a shared filesystem, under the same path everywhere"

Question = Callable[[Iterable[object]], Iterator[tuple[bool, str]]]


def check_cluster(spark: SparkSession, log_dir: Path, needed_bytes: int | None = None) -> None:
    """Raise a one-line error if a job could not work; leave no file behind.

    `needed_bytes` is what the job will write into the log dir, which must exist; None if the job
    only reads. Raises LogDirError if an executor does not see the driver's directory or cannot
    write there, or if too little space is free. Raises SparkUnavailableError if an executor has no
    Python, lacks a package, or has another version of kminilog. Costs one very short Spark job, and
    none with a local master.
    """
    log_dir = log_dir.resolve()
    if needed_bytes is not None:
        _check_space(log_dir, needed_bytes)
    if is_local(str(spark.sparkContext.master)):
        return
    if needed_bytes is None:
        _ask(spark, log_dir, None)
        return
    directory = log_dir / JOB_STAGING_DIR / f"check-{uuid4().hex}"
    try:
        directory.mkdir(parents=True)
        _ask(spark, log_dir, directory)
    except OSError as error:
        raise LogDirError(str(log_dir), reason=f"cannot write there: {error}") from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _ask(spark: SparkSession, log_dir: Path, directory: Path | None) -> None:
    context = spark.sparkContext
    tasks = max(context.defaultParallelism, 1)
    try:
        rows = context.parallelize(range(tasks), tasks)
        answers = rows.mapPartitions(_question(log_dir, directory)).collect()
    except (Py4JError, PySparkException) as error:
        reason = f"its executors cannot run Python tasks: {translate(error, '')}"
        raise SparkUnavailableError(reason) from error
    for is_of_python, reason in answers:
        if is_of_python:
            raise SparkUnavailableError(reason)
        raise LogDirError(str(log_dir), reason=reason)


def _question(log_dir: Path, directory: Path | None) -> Question:
    """Return what a task runs: it yields nothing, or what is wrong, and whether Python is.

    `directory` is where it writes a file; None if the job only reads. Spark sends the function by
    value, with what it uses from here: an executor without kminilog could not import it.
    """
    packages, install, share = _PACKAGES, _INSTALL, _SHARE
    ours = str(import_module("kminilog").__version__)
    seen = [str(path) for path in [*log_dir.glob("*.json"), *([directory] if directory else [])]]
    root, into = f"{log_dir}/", directory and str(directory)

    def ask(_: Iterable[object]) -> Iterator[tuple[bool, str]]:
        import os
        import socket
        import sys
        from contextlib import suppress
        from importlib import import_module

        who = f"the executor on {socket.gethostname()}"
        versions: dict[str, str] = {}
        for package in packages:
            with suppress(ImportError):
                versions[package] = import_module(package).__version__
        if missing := [package for package in packages if package not in versions]:
            yield True, f"{who} has no {' and no '.join(missing)} in {sys.executable}: {install}"
            return
        if versions["kminilog"] != ours:
            told = f"has kminilog {versions['kminilog']}, the driver has {ours}"
            yield True, f"{who} {told}: install the same one"
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


def _check_space(log_dir: Path, needed_bytes: int) -> None:
    free_bytes = shutil.disk_usage(log_dir).free
    if free_bytes < needed_bytes:
        reason = f"the job needs about {needed_bytes} bytes, but only {free_bytes} are free there"
        raise LogDirError(str(log_dir), reason=reason)
