"""A student's Spark job, judged by its result: the job runs twice, and `verify` reads the log.

    python -m kminilog.course.judging.spark_job RESULT ANSWERS …

    run 1   four tasks; the last one fails half way, each time it is tried: so the job fails
    run 2   three tasks, the same job id; the last one fails half way, once: so Spark tries it again
    verify  the log against the source: each record once, in its partition, in the order of its key

So what a failed job has left is there when it runs again, as after a driver that was killed. All
files are judged on one session. RESULT is a JSON file: for each file the class of the first
finding, its detail, and the seconds; or the error. This process has no limits: a JVM needs more
than they allow. Source: ours; SPARK-28650.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kminilog.course.judging.patching import load_answers
from kminilog.course.judging.sandbox import run_module
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.topics import Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONER = "default-2.4"
_TOPIC = Topic("orders", 3)
_RECORDS = [(f"k{number % 97}", f"k{number % 97}:value {number}") for number in range(2_000)]
_JOB_ID = "load-1"
_TRIES = 2
_MASTER = f"local[2,{_TRIES}]"
_CONFIG = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "3"}


def judge_job(spark: "SparkSession", answers: Path) -> dict[str, Any]:
    """Run the `ingest` of a file twice, and return what `verify` finds first; {} if nothing."""
    from pyspark import cloudpickle

    module = load_answers(answers)
    by_value: Any = cloudpickle.register_pickle_by_value
    by_value(module)  # no worker can import it
    with tempfile.TemporaryDirectory() as temporary:
        here = Path(temporary)
        log_dir, source = here / "kminilog-data", here / "lines.txt"
        source.write_text("".join(f"{value}\n" for _, value in _RECORDS))
        with LogDirWriter.open(log_dir, create=True) as writer:
            writer.create_topic(_TOPIC)
        with suppress(Exception):  # it must fail; what it leaves is judged
            module.ingest(_rows(spark, 4, None), str(log_dir), _JOB_ID)
        module.ingest(_rows(spark, 3, here / "has-failed"), str(log_dir), _JOB_ID)
        return _first_finding(here)


def _rows(spark: "SparkSession", tasks: int, mark: Path | None) -> "DataFrame":
    """Return the records in their order; the last task fails half way: once, or always."""

    def rows(task: int, records: Iterable[Any]) -> Iterator[Any]:
        every = list(records)
        yield from every[: len(every) // 2]
        if task == tasks - 1 and not (mark and mark.exists()):
            if mark:
                mark.touch()
            raise RuntimeError("this task fails, as the lab wants it")
        yield from every[len(every) // 2 :]

    data = spark.sparkContext.parallelize(_RECORDS, tasks).mapPartitionsWithIndex(rows)
    return spark.createDataFrame(data, "key string, value string")


def _first_finding(here: Path) -> dict[str, Any]:
    """Return the classes that `verify` finds, in a process without the student's code."""
    words = ["verify", _TOPIC.name, "--against", "lines.txt", "--key-regex", "^([^:]*):"]
    words += ["--partitioner", PARTITIONER, "--engine", "local", "--json"]
    ran = run_module("__main__", *words, folder=here)
    if not ran.output:
        return {"error": ran.errors.strip()[-100:]}
    found = json.loads(ran.output)["findings"]
    classes = {each["class"]: each["count"] for each in found}
    return {"classes": classes, "detail": found[0]["samples"][0]["detail"] if found else ""}


def main(result: str, *answers: str) -> None:
    """Judge the jobs of some files, and write the result."""
    from kminilog.jobs.spark.datasource.door import register
    from kminilog.jobs.spark.runtime.session import spark_session

    spark = spark_session(_MASTER, app_name="kminilog-lab", config=_CONFIG)
    register(spark)
    told = []
    for each in answers:
        began = time.monotonic()
        try:
            found = judge_job(spark, Path(each))
        except Exception as error:  # noqa: BLE001 - whatever the student's code raises
            lines = str(error).strip().splitlines() or [""]
            found = {"error": f"{type(error).__name__}: {lines[0][:60]}"}
        told.append(found | {"seconds": time.monotonic() - began})
    Path(result).write_text(json.dumps({"told": told}), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
