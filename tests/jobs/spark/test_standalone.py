"""A standalone master and two workers, with Pythons in which kminilog is not installed.

Each command is a process of its own, as of a user.
"""

import itertools
import os
import random
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cli.command_line import CommandLine, Run
from tests.support.crash.killed_job import STAGING, kill_all, start_ingest
from tests.support.jobs.spark.standalone import StandaloneCluster, make_environment

pytestmark = [
    pytest.mark.spark,
    pytest.mark.soak,
    pytest.mark.xdist_group("spark-standalone"),
]
LINES = "".join(f"k{n % 7}:{n}\n" if n % 5 else f"none {n}\n" for n in range(5000))
Environments = tuple[Path, Path]
Command = Callable[..., Run]


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Environments:
    directory = tmp_path_factory.mktemp("environments")
    return make_environment(directory / "one"), make_environment(directory / "other")


@pytest.fixture(scope="module")
def cluster(
    environments: Environments, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StandaloneCluster]:
    cluster = StandaloneCluster(tmp_path_factory.mktemp("standalone"), environments)
    yield cluster
    cluster.stop()


def search_path() -> str:
    return f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture
def program(cluster: StandaloneCluster, tmp_path: Path) -> Command:
    """Run Python with the packages of these tests, in which `python3` is that Python."""

    def run(*words: object) -> Run:
        found = subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=tmp_path,
            capture_output=True,
            env={**os.environ, "PATH": search_path(), "PYSPARK_PYTHON": "python3"},
        )
        return Run(found.returncode, found.stdout.decode(), found.stderr.decode(), found.stdout)

    return run


@pytest.fixture
def kminilog(program: Command, cluster: StandaloneCluster) -> Command:
    script = Path(sysconfig.get_path("scripts"), "kminilog")

    def run(*words: object) -> Run:
        return program(script, "--log-dir", "log", *words, "--master", cluster.url)

    return run


@pytest.mark.parametrize(("dialect", "plan"), [("documented", "runs"), ("kafka", "sorted")])
def test_ingest_and_verify_bring_kminilog_to_a_cluster_that_has_none(
    kminilog, tmp_path, dialect, plan
):
    (tmp_path / "orders.txt").write_text(LINES)
    reading = ["--key-regex", "^([^:]*):"]
    ingest = ["ingest", "orders.txt", *reading, "--topic", "t", "--plan", plan, "--json"]
    run = kminilog(*ingest, "--partitions", 3, "--dialect", dialect)
    assert (run.code, run.document["count"]) == (0, 5000), run.err
    run = kminilog("verify", "t", "--against", "orders.txt", *reading, "--json")
    assert (run.code, run.document["engine"]) == (0, "spark"), run.err
    assert run.document["conservation"]["stored"] == 5000


def test_tour_of_the_page_and_a_write_of_the_data_source_run_there(program, cluster):
    run = program(
        "-c",
        f"""
from pathlib import Path
from kminilog.jobs.spark.runtime.session import spark_session
from tests.docs.test_spark_page import PAGE, run_examples
spark = spark_session({cluster.url!r})
run_examples(PAGE.read_text().partition("## A tour")[2].partition("\\n## ")[0])
visits = spark.read.format("kminilog").option("topic", "visits").load(str(Path("log").absolute()))
rows = visits.select("key", "value").write.format("kminilog").option("topic", "visits")
rows.mode("append").save(str(Path("log").absolute()))
print(visits.count())
""",
    )
    assert (run.code, run.out) == (0, "8\n"), run.err


@pytest.mark.parametrize(("plan", "dialect"), [("runs", "kafka"), ("sorted", "documented")])
def test_ingest_goes_on_if_a_machine_of_the_cluster_is_gone(
    cluster, tmp_path, monkeypatch, record_property, plan, dialect
):
    """Spark's worker there and its executor are killed. (crash/test_killed_ingest kills others.)"""
    monkeypatch.setenv("PATH", search_path())
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    rows, count = tmp_path / "rows.txt", 400_000
    rows.write_text("".join(f"k{n % 1000}: {n} {'x' * (n % 150)}\n" for n in range(count)))
    loading = [rows, "--topic", "t", "--key-regex", "^(k[0-9]+):", "--plan", plan]
    loading += ["--partitions", 3, "--dialect", dialect, "--master", cluster.url]
    for tries in itertools.count():  # a busy machine may let the job end before
        cluster.mend()
        log_dir, scratch = tmp_path / f"log-{tries}", tmp_path / f"scratch-{tries}"
        job = start_ingest(log_dir, "job", scratch, *loading)
        if is_met := job.progress.wait_for(STAGING, random.random() / 2, rows.stat().st_size):
            kill_all(cluster.sessions[tries % 2])
            is_met = not job.progress.is_over
        assert job.end() == 0, job.complaints
        if is_met:
            break
    cluster.mend()
    account = ["verify", "t", "--against", rows, "--key-regex", "^(k[0-9]+):", "--json"]
    verified = CommandLine(log_dir).ok(*account, "--engine", "local", "--job", "job")
    assert verified.document["conservation"]["stored"] == count
    record_property("counted", f"a machine killed while staging ({plan}), attempt {tries + 1}")


CHECK = """
import sys, time
from pathlib import Path
from kminilog.errors import KMiniLogError
from kminilog.jobs.spark.runtime.executor_checks import check_cluster
from kminilog.jobs.spark.runtime.session import spark_session
spark = spark_session(sys.argv[1])
while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3: time.sleep(0.1)
try:
    check_cluster(spark, Path("log"))
except KMiniLogError as error:
    print(error)
"""


def without_packages(python: Path, directory: Path) -> None:
    bare = make_environment(directory / "bare", ["pyarrow", "sortedcontainers"])
    write_script(python, f'exec "{bare}/python3" "$@"')


def write_script(path: Path, command: str) -> None:
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)


def test_executor_that_lacks_something_is_named(program, environments, cluster, tmp_path):
    """The other executor lacks nothing, and Spark would run all tasks there."""
    (tmp_path / "log").mkdir()
    python = environments[1] / "python3"
    link = os.readlink(python)
    try:
        python.unlink()
        without_packages(python, tmp_path)
        run = program("-c", CHECK, cluster.url)
    finally:
        python.unlink()
        python.symlink_to(link)
    lines = run.out.splitlines()
    told = "has no msgspec and no numpy and no xxhash in .*: type pip install "
    assert re.fullmatch(f"Spark cannot run: the executor on [^ ]+ {told}.*", *lines), run
