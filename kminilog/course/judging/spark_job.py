"""A student's Spark job, judged by its result: it runs three times, and `verify` reads the log.

    python -m kminilog.course.judging.spark_job killed RESULT PLACE ANSWERS
    python -m kminilog.course.judging.spark_job again RESULT PLACE ANSWERS …

    killed  four tasks; half way through the last one SIGKILL ends driver, JVM and workers
    again   three tasks, the same job id; the last one fails half way, once: Spark tries it again
            two tasks, the same job id; all is there already
    verify  the log against the source: each record once, in its partition, in the order of its key

So what a killed job has left is there when it runs again. Each job is killed in a process of its
own; all jobs run again on one session. PLACE is a directory with the source and the log. RESULT is
a JSON file: for each job {}, or what went wrong in it; or why Spark cannot run. These processes
limit only their time: a JVM needs more than others allow. Source: ours; SPARK-28650.
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

from kminilog.course.judging.judge import in_short, line_in
from kminilog.course.judging.limits import WALL_SECONDS
from kminilog.course.judging.patching import load_answers
from kminilog.course.judging.sandbox import run_module
from kminilog.errors import SparkUnavailableError
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KILLED, AGAIN = "killed", "again"
_LOG_DIR, _SOURCE = "kminilog-data", "lines.txt"
_PARTITIONER = "default-2.4"
_TOPIC = Topic("orders", 3)
_RECORDS = [(f"k{number % 97}", f"k{number % 97}:value {number}") for number in range(2_000)]
_JOB_ID = "load-1"
# One task after the other before the kill: so it finds the same each time.
_MASTERS = {KILLED: "local[1]", AGAIN: "local[2,2]"}
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
    (place / _SOURCE).write_text("".join(f"{value}\n" for _, value in _RECORDS))
    with LogDirWriter.open(place / _LOG_DIR, create=True) as writer:
        writer.create_topic(_TOPIC)


def first_finding(place: Path, program: str) -> dict[str, str]:
    """Return class and detail of what `verify` finds first, {} if nothing; or its error.

    `program` is the module that runs a command.
    """
    words = ["verify", _TOPIC.name, "--against", _SOURCE, "--key-regex", "^([^:]*):"]
    words += ["--partitioner", _PARTITIONER, "--engine", "local", "--json"]
    ran = run_module(program, *words, folder=place)
    if not ran.output:
        return {"error": ran.errors.strip()[-100:]}
    for found in json.loads(ran.output)["findings"]:
        return {"finding": found["class"], "detail": found["samples"][0]["detail"]}
    return {}


# ---- the job


def _run_until_killed(spark: "SparkSession", place: Path, ingest: Callable[..., Any]) -> None:
    accident = partial(_kill_all, os.getpgrp())
    ingest(_rows(spark, 4, accident), str(place / _LOG_DIR), _JOB_ID)


def _run_again(spark: "SparkSession", place: Path, ingest: Callable[..., Any]) -> None:
    accident = partial(_fail_once, place / "has-failed")
    ingest(_rows(spark, 3, accident), str(place / _LOG_DIR), _JOB_ID)
    ingest(_rows(spark, 2, None), str(place / _LOG_DIR), _JOB_ID)


def _rows(spark: "SparkSession", tasks: int, accident: Callable[[], None] | None) -> "DataFrame":
    """Return the records in their order; half way through the last task the accident happens."""

    def rows(task: int, records: Iterable[Any]) -> Iterator[Any]:
        every = list(records)
        yield from every[: len(every) // 2]
        if accident and task == tasks - 1:
            accident()
        yield from every[len(every) // 2 :]

    data = spark.sparkContext.parallelize(_RECORDS, tasks).mapPartitionsWithIndex(rows)
    return spark.createDataFrame(data, "key string, value string")


def _kill_all(driver: int) -> None:
    """Kill the driver and its JVM, which are one group of processes; then the workers, another."""
    os.killpg(driver, signal.SIGKILL)
    os.killpg(0, signal.SIGKILL)


def _fail_once(mark: Path) -> None:
    if not mark.exists():
        mark.touch()
        raise RuntimeError("this task fails, as the lab wants it")


_RUNS = {KILLED: _run_until_killed, AGAIN: _run_again}


def _tried(how: str, spark: "SparkSession", place: Path, answers: str) -> dict[str, Any]:
    """Run the `ingest` of a file; return {}, or the sentence about what it raised."""
    from pyspark import cloudpickle

    try:
        module = load_answers(Path(answers))
        by_value: Any = cloudpickle.register_pickle_by_value
        by_value(module)  # no worker can import it
        _RUNS[how](spark, place, module.ingest)
    except SystemExit as end:
        return {"name": "exits", "line": line_in(end, answers)}
    except Exception as error:  # noqa: BLE001 - whatever the student's code raises
        return {"name": "raised", "error": in_short(error), "line": line_in(error, answers)}
    return {}


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
    told = [_tried(how, spark, Path(place), answers) for place, answers in jobs]
    Path(result).write_text(json.dumps({"told": told}), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
