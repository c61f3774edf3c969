"""A student's Spark job is killed for real, runs again, and is judged by what it has left."""

import csv
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.lab.judging import PROGRAM
from kminilog.cli.main import main
from kminilog.course.judging import checking, sandbox
from kminilog.course.judging.checking import hanging_seconds, most_seconds, run_judge_of_all
from kminilog.course.judging.limits import JOB_CPU_SECONDS
from kminilog.course.judging.outcome import ERROR, FAIL, TIMEOUT
from kminilog.course.judging.sandbox import ProcessResult, run_module
from kminilog.course.judging.spark_job import KILLED, first_finding, prepare
from kminilog.course.material import RIGHT, WRONG, exercise_of, lab_of
from kminilog.course.work_folder import WorkFolder
from tests.cli.test_lab import lab
from tests.support.course.student import outcomes_of, sentence_of, start_lab

JOB = exercise_of("9.2")
BY_SOURCE = lab_of(9).folder / RIGHT / "ingest_data_source.py"
IN_PLACE = lab_of(9).folder / WRONG / "ingest_in_place.py"
HEAD = "def ingest(rows, log_dir, job_id):\n"
WRITE = """\
    job = {rows}.write.format("kminilog").option("topic", "orders")
    job.option("job_id", job_id).mode("append").save(log_dir)
"""
COLLECTS = """\
from kminilog import LogDirWriter, TopicPartition
from kminilog.partitioners.keyed import murmur2_partition
def ingest(rows, log_dir, job_id):
    every = rows.collect()
    with LogDirWriter.open(log_dir) as writer:
        for row in every:
            place = TopicPartition("orders", murmur2_partition(row.key.encode(), 3))
            writer.log(place).append([(row.key.encode(), row.value.encode())])
"""
spark = [pytest.mark.spark, pytest.mark.xdist_group("spark-cluster")]


def marked(test):
    """Mark a test that starts a JVM."""
    for mark in spark:
        test = mark(test)
    return test


def wait_until_nothing_runs_in(directory: Path) -> None:
    """Wait until no process has its working directory there: a killed one needs a moment to end."""
    while any(place.startswith(str(directory)) for place in working_directories()):
        time.sleep(0.05)


def working_directories() -> Iterator[str]:
    """Yield the working directory of each process."""
    for path in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):  # it has ended meanwhile
            yield os.readlink(path)


@marked
def test_job_is_killed_half_way_with_its_jvm_and_workers(tmp_path):
    place = tmp_path / "place"
    prepare(place)
    words = ("kminilog.course.judging.spark_job", KILLED, "RESULT", str(place), str(BY_SOURCE))
    ran = run_module(*words, folder=tmp_path, cpu_seconds=JOB_CPU_SECONDS, needs_result=True)
    assert (ran.code, ran.result) == (-signal.SIGKILL, None), ran.errors
    wait_until_nothing_runs_in(tmp_path)
    runs = [*(place / "kminilog-data" / ".job-staging").rglob("spans.npy")]
    assert runs, "three of four tasks have written"
    assert first_finding(place, PROGRAM)["finding"] == "missing"


CASES = {
    "changed values": (
        HEAD + WRITE.format(rows="rows.selectExpr('key', \"concat(value, '!') AS value\")"),
        FAIL,
        None,
        "verify finds ",
    ),
    "half of the rows": (
        HEAD + WRITE.format(rows="rows.where('length(value) % 2 = 0')"),
        FAIL,
        "missing",
        "verify finds missing: ",
    ),
    "all rows at once": (COLLECTS, FAIL, "duplicate", "verify finds dupl"),
    "error": (
        f"\n{HEAD}    raise ValueError('no\\nway')\n",
        ERROR,
        None,
        "your ingest (lab 9.2, line 3) raised ValueError: no way",
    ),
    "end": (
        f"import sys\n{HEAD}    sys.exit(0)\n",
        ERROR,
        None,
        "your ingest (lab 9.2, line 3) calls sys.exit; return the result instead",
    ),
}


@marked
def test_jobs_are_judged_by_what_they_leave(tmp_path):
    files = []
    for number, (answers, *_) in enumerate(CASES.values()):
        files.append(tmp_path / f"{number}.py")
        files[-1].write_text(answers)
    outcomes = run_judge_of_all(JOB, tmp_path, list(map(str, files)), PROGRAM)
    for (name, case), outcome in zip(CASES.items(), outcomes, strict=True):
        _, status, code, sentence = case
        said = sentence_of(outcome)
        assert (name, outcome.status, outcome.code) == (name, status, code), said
        assert said.startswith(sentence), name


@marked
def test_jobs_are_graded_and_the_others_go_on(tmp_path):
    for name, answers in (("ada", BY_SOURCE), ("bob", IN_PLACE)):
        folder = WorkFolder.start(lab_of(9), tmp_path / "submissions" / name, name)
        folder.answers_path.write_text(answers.read_text())
    marks = tmp_path / "marks.csv"
    words = ["course", "grade", str(tmp_path / "submissions"), "--csv", str(marks)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.stderr
    with marks.open(newline="", encoding="utf-8") as opened:
        rows = {row["student"]: row for row in csv.DictReader(opened) if row["exercise"] == "2"}
    columns = ("status", "points", "reason_code")
    told = {name: [row[column] for column in columns] for name, row in rows.items()}
    assert told == {"ada": ["pass", "40", ""], "bob": ["fail", "0", "duplicate"]}
    assert rows["ada"]["reason"] == ""
    assert rows["bob"]["reason"].startswith("verify finds duplicate: ")


@marked
def test_job_that_ends_its_process_or_hangs_says_so(tmp_path, monkeypatch):
    folder = start_lab(tmp_path / "work", number=9)
    folder.answers_path.write_text(f"import os\n{HEAD}    os._exit(0)\n")
    outcome = outcomes_of(folder, "9.2")["9.2"]
    assert (outcome.status, outcome.code) == (ERROR, None)
    assert sentence_of(outcome) == "your ingest (lab 9.2, line 2) ended the whole process"
    monkeypatch.setattr(sandbox, "IDLE_SECONDS", 5)
    folder.answers_path.write_text(f"import time\n{HEAD}    time.sleep(10**6)\n")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    outcome = outcomes_of(folder, "9.2")["9.2"]
    assert (outcome.status, outcome.code) == (TIMEOUT, None)
    assert sentence_of(outcome) == "your ingest (lab 9.2, line 2) does not end"
    wait_until_nothing_runs_in(tmp_path / "temporary")


@pytest.mark.processes
def test_time_that_a_job_may_take_is_in_the_limits_of_its_exercise(tmp_path, monkeypatch):
    pytest.importorskip("pyspark")
    computing, waiting = [], []

    def run(*words: str, cpu_seconds: int, wall_seconds: float, **options: object) -> ProcessResult:
        computing.append(cpu_seconds)
        waiting.append(wall_seconds)
        return ProcessResult(0, "", "", {"told": [{}]})

    monkeypatch.setattr(checking, "run_module", run)
    monkeypatch.setattr(checking, "first_finding", lambda place, program: {})
    run_judge_of_all(JOB, tmp_path, ["answers.py"], PROGRAM)
    assert len(computing) == 3
    assert 100 < sum(computing) <= hanging_seconds(JOB)
    assert sum(waiting) < most_seconds([JOB])


@pytest.mark.processes
def test_spark_that_cannot_start_is_no_fault_of_the_student(tmp_path, monkeypatch):
    pytest.importorskip("pyspark")
    folder = start_lab(tmp_path, number=9)
    folder.answers_path.write_text(BY_SOURCE.read_text())
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    monkeypatch.chdir(folder.path)
    run = lab("check", "9.2")
    assert run.code == 2
    assert "ingest" not in run.err
    assert run.err.startswith("9.2 was not checked: Spark cannot run: ")
