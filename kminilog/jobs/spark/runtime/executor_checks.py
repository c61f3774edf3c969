"""Can the executors do what a job needs? One short Spark job asks them before the job starts.

    driver                                    a task for each core of the executors
    <log dir>/.spark-staging/check-<id>  -->  is it there? then a file of its own is written into it
    the topics that the driver sees      -->  are they there?
    are all those files here?            <--  ... and which kminilog, numpy and pyarrow there are

Spark sends the function that the tasks run by value. An executor without kminilog could not import
it, and must still report that kminilog is missing. Executors that join later are not asked. With a
local master the executors are threads of the driver, so only the free space is checked. This module
does not know what the job does.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kminilog.errors import KMiniLogError, LogDirError, SparkUnavailableError
from kminilog.jobs.ingest.job_writer import RUNS_DIR
from kminilog.jobs.spark.runtime.failures import translate
from kminilog.jobs.spark.runtime.session import is_local

PACKAGES = ("kminilog", "numpy", "pyarrow")


class Answer(NamedTuple):
    """What one task found on its executor.

    `versions` has None for a package that is missing. `unseen` names what the executor does not
    see. `written` is the file that the task wrote, `failure` says why it could not write one.
    """

    host: str
    python: str
    versions: dict[str, str | None]
    unseen: list[str]
    written: str | None
    failure: str | None


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
    names = [path.name for path in log_dir.glob("*.json")]
    if needed_bytes is None:
        _judge(log_dir, _ask(spark, question(log_dir, names, None)))
        return
    directory = log_dir / RUNS_DIR / f"check-{uuid4().hex}"
    try:
        directory.mkdir(parents=True)
        answers = _ask(spark, question(log_dir, names, directory))
        _judge(log_dir, answers)
        _check_seen(log_dir, directory, answers)
    except OSError as error:
        raise LogDirError(str(log_dir), reason=f"cannot write there: {error}") from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def question(
    log_dir: Path, names: Sequence[str], directory: Path | None
) -> Callable[[Iterable[object]], Iterator[tuple[object, ...]]]:
    """Return the function that a task runs; it yields the fields of one Answer.

    `names` are files of the log dir that the task must see. `directory` is where it writes a file;
    None if it writes none.
    """
    packages, seen = PACKAGES, {name: str(log_dir / name) for name in names}
    into = None if directory is None else str(directory)

    def ask(_: Iterable[object]) -> Iterator[tuple[object, ...]]:
        import os
        import socket
        import sys
        from importlib import import_module
        from uuid import uuid4

        versions: dict[str, str | None] = {}
        for package in packages:
            try:
                versions[package] = str(import_module(package).__version__)
            except ImportError:
                versions[package] = None
        unseen = [name for name, path in seen.items() if not os.path.exists(path)]
        written, failure = None, None
        if into is not None and not os.path.isdir(into):
            unseen.append(into)
        elif into is not None:
            written = uuid4().hex
            try:
                with open(os.path.join(into, written), "xb") as file:
                    file.write(b"can write")
            except OSError as error:
                failure = error.strerror or str(error)
        yield socket.gethostname(), sys.executable, versions, unseen, written, failure

    return ask


def _ask(
    spark: SparkSession, ask: Callable[[Iterable[object]], Iterator[tuple[object, ...]]]
) -> list[Answer]:
    context = spark.sparkContext
    tasks = max(context.defaultParallelism, 1)
    try:
        answers = context.parallelize(range(tasks), tasks).mapPartitions(ask).collect()
    except (Py4JError, PySparkException) as error:
        reason = f"its executors cannot run Python tasks: {translate(error, '')}"
        raise SparkUnavailableError(reason) from error
    return [Answer(*answer) for answer in answers]  # type: ignore[arg-type]


def _check_space(log_dir: Path, needed_bytes: int) -> None:
    free_bytes = shutil.disk_usage(log_dir).free
    if free_bytes < needed_bytes:
        reason = f"the job needs about {needed_bytes} bytes, but only {free_bytes} are free there"
        raise LogDirError(str(log_dir), reason=reason)


def _judge(log_dir: Path, answers: Sequence[Answer]) -> None:
    ours = str(import_module("kminilog").__version__)
    for answer in answers:
        who = f"the executor on {answer.host}"
        missing = [package for package, version in answer.versions.items() if version is None]
        if missing:
            reason = f"{who} has no {' and no '.join(missing)} in {answer.python}: install kminilog"
            raise SparkUnavailableError(f"{reason} there, or set PYSPARK_PYTHON to where it is")
        if answer.versions["kminilog"] != ours:
            reason = f"{who} has kminilog {answer.versions['kminilog']}, the driver has {ours}"
            raise SparkUnavailableError(f"{reason}: install the same one")
        if answer.unseen:
            raise _not_shared(log_dir, f"{who} does not see {answer.unseen[0]} there")
        if answer.failure is not None:
            reason = f"{who} cannot write there: {answer.failure}; let its user write"
            raise LogDirError(str(log_dir), reason=reason)


def _check_seen(log_dir: Path, directory: Path, answers: Sequence[Answer]) -> None:
    for answer in answers:
        if answer.written is not None and not (directory / answer.written).exists():
            what = f"the driver does not see what the executor on {answer.host} writes there"
            raise _not_shared(log_dir, what)


def _not_shared(log_dir: Path, what: str) -> KMiniLogError:
    remedy = "it must be the same directory, on a shared filesystem, under the same path everywhere"
    return LogDirError(str(log_dir), reason=f"{what}; {remedy}")
