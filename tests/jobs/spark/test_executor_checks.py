"""What a job needs of its executors: real Python workers that lack it, each in its own way."""

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kminilog.errors import KMiniLogError, SparkUnavailableError
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.jobs.spark.runtime import executor_checks, shipping
from kminilog.jobs.spark.runtime.executor_checks import check_cluster
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.verification.account.spark import verify
from tests.support.damage import files_of
from tests.support.jobs.spark.standalone import NEEDED, make_environment
from tests.support.spark import CHECKOUT

NO_KMINILOG = "import sys; sys.modules['kminilog'] = None"
NO_EXTRAS = "import sys; sys.modules.update(numpy=None, pyarrow=None)"
OLD_EXTRA = """
from importlib import metadata
true = metadata.version
metadata.version = lambda name: "17.0.1" if name == "pyarrow" else true(name)
"""
OTHER_KMINILOG = "import kminilog; kminilog.__version__ = '0.0.1'"
OTHER_PYTHON = """
import sys
named = type("Version", (tuple,), {"major": 3, "minor": 99, "micro": 0})
sys.version_info = named((3, 99, 0, "final", 0))
"""
NO_FILES = "ulimit -f 0"
NO_STAGING = 'rm -rf "{log_dir}/.job-staging"'
NO_TOPIC = 'mv "{log_dir}/orders.json" "{log_dir}/gone"'
Workers = Callable[..., None]


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders"))
    return path


@pytest.fixture
def workers(spark: SparkSession, tmp_path: Path, monkeypatch, request) -> Workers:
    """Give the session's executors, as if they were elsewhere, a Python that fails as told.

    Spark keeps the process of a Python that it has started and knows it by its path; the path of a
    test that passed may come again as that of the next. So each Python has its test's name.
    """

    def use(shell: str = "", program: str = "") -> None:
        python = tmp_path / request.node.name
        (tmp_path / "sitecustomize.py").write_text(program)
        paths = f'PYTHONPATH="{tmp_path}:$PYTHONPATH"'
        python.write_text(f'#!/bin/sh\n{shell}\n{paths} exec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))

    for module in (executor_checks, shipping):
        monkeypatch.setattr(module, "is_local", lambda master: False)
    return use


def test_cluster_that_can_do_it_passes_and_nothing_is_left(spark, workers, log_dir):
    workers()
    before = files_of(log_dir)
    check_cluster(spark, log_dir)
    check_cluster(spark, log_dir, is_writing=True)
    assert files_of(log_dir) == before
    assert not list((log_dir / ".job-staging").iterdir())


@pytest.mark.parametrize(
    ("shell", "program", "error"),
    [
        (NO_FILES, "", r"log dir .*: the executor on .* cannot write there: File too large; let"),
        (NO_STAGING, "", "does not see .*/check-.* there; it must be the same directory, on a sh"),
        (NO_TOPIC, "", "does not see orders.json there; it must be the same directory"),
        ("", NO_KMINILOG, "Spark cannot run: the executor on .* cannot import kminilog in .*: "),
        ("", NO_EXTRAS, " no numpy and no pyarrow in .*: type pip install 'numpy>=.*' 'pyarrow>=1"),
        ("", OLD_EXTRA, "the executor on .* has pyarrow 17.0.1, older than 18 in .*: type pip "),
        ("", OTHER_KMINILOG, "has kminilog 0.0.1, the driver has .*: begin a new session"),
        ("", OTHER_PYTHON, r"its executors cannot run Python tasks: .*3\.99.*; set PYSPARK_PYTHON"),
        ("exit 3", "", "Spark cannot run: its executors cannot run Python tasks: "),
    ],
    ids=["write", "directory", "topic", "package", "extras", "old", "version", "other", "python"],
)
def test_cluster_that_cannot_do_it_is_one_clear_line(
    spark, workers, log_dir, shell, program, error
):
    workers(shell.format(log_dir=log_dir), program)
    with pytest.raises(KMiniLogError, match=error) as caught:
        check_cluster(spark, log_dir, is_writing=True)
    assert "\n" not in str(caught.value)
    assert not list((log_dir / ".job-staging").glob("*"))


def test_python_that_is_not_there_is_named(spark, workers, log_dir, monkeypatch):
    workers()
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/python")
    error = r'Cannot run program "/no/python": error=2, No such file or directory; set PYSPARK_'
    with pytest.raises(SparkUnavailableError, match=error):
        check_cluster(spark, log_dir)


def test_all_answers_are_in_the_error_but_of_many_executors_the_first_ones(
    spark, log_dir, monkeypatch
):
    found = {(True, f"the executor on {name} has no numpy") for name in "abcdefg"}
    found.add((False, "the executor on h does not see it"))
    monkeypatch.setattr(executor_checks, "is_local", lambda master: False)
    monkeypatch.setattr(executor_checks, "_answers", lambda *asked: found)
    with pytest.raises(SparkUnavailableError) as caught:
        check_cluster(spark, log_dir)
    named = "; ".join(f"the executor on {name} has no numpy" for name in "abcde")
    assert str(caught.value) == f"Spark cannot run: {named}; and 2 more"


def test_packages_that_are_asked_for_are_those_of_the_project():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["bulk"]
    least = dict(one.split(">=") for one in wanted)
    assert {name: least[name] for name in executor_checks._PACKAGES} == executor_checks._PACKAGES
    not_asked = set(least) - set(executor_checks._PACKAGES)
    # Without google-crc32c a slower function does the same; markdown-it-py is for the playground.
    assert not_asked == {"click", "Jinja2", "rich", "google-crc32c", "markdown-it-py"}


def test_executor_in_an_environment_without_kminilog_gets_it(
    spark, workers, log_dir, tmp_path, monkeypatch
):
    """Not the executors' Python alone: a virtual environment, with just what is asked for."""
    workers()
    bare = make_environment(tmp_path / "bare", (*NEEDED, "pyspark", "py4j"))
    python = tmp_path / "python-without-kminilog"
    python.write_text(f'#!/bin/sh\nexec env -u PYTHONPATH "{bare}/python3" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    check_cluster(spark, log_dir)
    (tmp_path / "t.txt").write_text("one\ntwo\nthree\n")
    source = Source((str(tmp_path / "t.txt"),))
    for plan in ("runs", "sorted"):
        done = ingest(spark, log_dir, source, topic=plan, partitions=2, plan=plan)
        assert done.manifest.facts["count"] == 3
        report = verify(spark, LogDir(log_dir), [plan], against=source)
        assert (report.verdict, report.to_json()["engine"]) == ("ok", "spark")


def test_local_executors_are_not_asked(spark, log_dir, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/python")
    check_cluster(spark, log_dir, is_writing=True)
