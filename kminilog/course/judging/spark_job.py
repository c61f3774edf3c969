"""A student's Spark job, judged by its result: it runs three times, and `verify` reads the log.

    python -m kminilog.course.judging.spark_job killed RESULT PLACE ANSWERS
    python -m kminilog.course.judging.spark_job failed RESULT PLACE ANSWERS …
    python -m kminilog.course.judging.spark_job done RESULT PLACE ANSWERS …

    killed  four tasks; half way through the last one SIGKILL ends driver, JVM and workers
    failed  three tasks, the same job id; the last one fails half way, once: Spark tries it again.
            If the driver itself makes messages visible, SIGKILL ends all at the first of them
    done    two tasks, the same job id; if nothing was killed again, all is there already
            then jobs of other ids: one with other rows, one with the same rows
    verify  the log against the source: each record once, in its partition, in the order of its key

So what a killed job has left is there when it runs again. Each run is a process of its own; all
answers share it, but for those that are killed. PLACE is a directory with the source and the log.
RESULT is a JSON file: for each answer {}, or what went wrong; or why Spark cannot run. After a kill
it has what came before. These processes limit only their time: a JVM needs more than others allow.
Source: ours; SPARK-28650.
"""

import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kminilog.course.comparing import of_file
from kminilog.course.judging.judge import in_short, line_in
from kminilog.course.judging.limits import WALL_SECONDS
from kminilog.course.judging.patching import load_answers
from kminilog.course.judging.sandbox import run_module
from kminilog.errors import SparkUnavailableError
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.verification.findings import FindingClass

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KILLED, FAILED, DONE = RUNS = ("killed", "failed", "done")
"""A job runs three times; each is another accident."""

_LOG_DIR = "kminilog-data"
_PARTITIONER = "default-2.4"
_TOPIC = Topic("orders", 3)
_KEYS = ["", "кофе", *(f"k{number}" for number in range(95))]


def _records(first: int) -> list[tuple[str, str]]:
    """Return records that begin with value `first`; the last ten are copies of the first ten."""
    numbers = [first + number % 1_990 for number in range(2_000)]
    return [(key, f"{key}:value {n}") for n in numbers for key in [_KEYS[n % len(_KEYS)]]]


_JOBS = {"load-1": _records(0), "load-2": _records(7_000), "load-3": _records(0)}
_FIRST_JOB = "load-1"
# One task after the other before the kill: so it finds the same each time.
_MASTERS = {KILLED: "local[1]", FAILED: "local[2,2]", DONE: "local[2,2]"}
_CONFIG = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.python.unix.domain.socket.enabled": "false",  # it may have too long a path
    "spark.sql.codegen.wholeStage": "false",  # to compile does not pay for few rows
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# ---- around the job, in a process without the student's code


def prepare(place: Path) -> None:
    """Make a directory with the source of a job, and a log dir with an empty topic."""
    place.mkdir()
    for job_id, records in _JOBS.items():
        lines = [f"{value}\n" for _, value in records]
        (place / f"{job_id}.txt").write_text("".join(lines), encoding="utf-8")
    with LogDirWriter.open(place / _LOG_DIR, create=True) as writer:
        writer.create_topic(_TOPIC)


def first_finding(place: Path, program: str) -> dict[str, str]:
    """Return class and detail of what `verify` finds first, {} if nothing; or its error.

    There is a code, too, if the first jobs are whole and no other has written anything. `program`
    is the module that runs a command.
    """
    found = _first_finding(place, program, len(_JOBS))
    is_missing = found.get("finding") == FindingClass.MISSING.value
    if is_missing and not all(_first_finding(place, program, n) for n in range(1, len(_JOBS))):
        found["code"] = "job-left-out"
    return found


def _first_finding(place: Path, program: str, jobs: int) -> dict[str, str]:
    """Compare the log with the sources of the first jobs."""
    sources = [f"{job_id}.txt" for job_id in list(_JOBS)[:jobs]]
    words = ["verify", _TOPIC.name, "--against", *sources, "--key-regex", "^([^:]*):"]
    words += ["--partitioner", _PARTITIONER, "--engine", "local", "--json"]
    ran = run_module(program, *words, folder=place)
    if not ran.output:
        return {"error": ran.errors.strip()[-100:]}
    for found in json.loads(ran.output)["findings"]:
        return {"finding": found["class"], "detail": found["samples"][0]["detail"]}
    return {}


# ---- the job


def _run_until_killed(spark: "SparkSession", place: Path, ingest: Callable[..., Any]) -> None:
    _run(spark, place, ingest, _FIRST_JOB, 4, partial(_kill_all, os.getpgrp()))


def _run_with_failure(spark: "SparkSession", place: Path, ingest: Callable[..., Any]) -> None:
    _watched.append(place)
    try:
        _run(spark, place, ingest, _FIRST_JOB, 3, partial(_fail_once, place / "has-failed"))
    finally:
        _watched.clear()


def _run_all(spark: "SparkSession", place: Path, ingest: Callable[..., Any]) -> None:
    for job_id in _JOBS:
        _run(spark, place, ingest, job_id, 2)


def _run(
    spark: "SparkSession",
    place: Path,
    ingest: Callable[..., Any],
    job_id: str,
    tasks: int,
    accident: Callable[[], None] | None = None,
) -> None:
    """Call the student's function; half way through the last task the accident happens."""

    def rows(task: int, given: Iterable[Any]) -> Iterator[Any]:
        every = list(given)
        yield from every[: len(every) // 2]
        if accident and task == tasks - 1:
            accident()
        yield from every[len(every) // 2 :]

    data = spark.sparkContext.parallelize(_JOBS[job_id], tasks).mapPartitionsWithIndex(rows)
    ingest(spark.createDataFrame(data, "key string, value string"), str(place / _LOG_DIR), job_id)


_watched: list[Path] = []
"""The place of the job that is to be killed while its driver makes messages visible, if any."""
_FILE_EVENTS = {"open", "os.rename", "os.link", "os.truncate", "os.remove"}


def _kill_in_publication(event: str, _: Any) -> None:
    """Kill all at the driver's first step with a file after a message has become visible.

    An audit hook: Python calls it for each such step of this process.
    """
    if event in _FILE_EVENTS and _watched:
        logs = Path(_watched[0], _LOG_DIR).glob(f"{_TOPIC.name}-*/*.log")
        if any(path.stat().st_size for path in logs):
            os.killpg(os.getpgrp(), signal.SIGKILL)


def _kill_all(driver: int) -> None:
    """Kill the driver and its JVM, which are one group of processes; then the workers, another."""
    os.killpg(driver, signal.SIGKILL)
    os.killpg(0, signal.SIGKILL)


def _fail_once(mark: Path) -> None:
    if not mark.exists():
        mark.touch()
        raise RuntimeError("this task fails, as the lab wants it")


_RUNS = {KILLED: _run_until_killed, FAILED: _run_with_failure, DONE: _run_all}


def _tried(how: str, spark: "SparkSession", place: Path, answers: str) -> dict[str, Any]:
    """Run the `ingest` of a file; return {}, or the sentence about what it raised."""
    from pyspark import cloudpickle

    module = None
    try:
        module = load_answers(Path(answers))
        by_value: Any = cloudpickle.register_pickle_by_value
        by_value(module)  # no worker can import it
        _RUNS[how](spark, place, module.ingest)
    except SystemExit as end:
        told = {"name": "exits", "line": line_in(end, answers)}
    except Exception as error:  # noqa: BLE001 - whatever the student's code raises
        told = {"name": "raised", "error": in_short(error), "line": line_in(error, answers)}
    else:
        return {}
    return told if module else told | {"name": of_file(str(told["name"]))}


def main(how: str, result: str, *words: str) -> None:
    """Run the jobs of some files, and write the result. Leaves files in the first PLACE only."""
    jobs = list(zip(words[::2], words[1::2], strict=True))
    signal.alarm(WALL_SECONDS * len(jobs))  # even if whoever started this is gone
    tempfile.tempdir = here = words[0]
    java_options = f'{_JAVA_OPTIONS} "-Djava.io.tmpdir={here}"'
    config = {**_CONFIG, "spark.driver.extraJavaOptions": java_options}
    from kminilog.jobs.spark.datasource.door import register
    from kminilog.jobs.spark.runtime.session import spark_session

    try:
        spark = spark_session(_MASTERS[how], app_name="kminilog-lab", config=config)
    except SparkUnavailableError as error:
        Path(result).write_text(json.dumps({"unavailable": error.reason}), encoding="utf-8")
        return
    register(spark)
    sys.addaudithook(_kill_in_publication)
    told: list[dict[str, Any]] = []
    for place, answers in jobs:
        told.append(_tried(how, spark, Path(place), answers))
        Path(result).write_text(json.dumps({"told": told}), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
