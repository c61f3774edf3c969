"""What a job needs of its executors: real Python workers that lack it, each in its own way."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kminilog.errors import KMiniLogError, LogDirError
from kminilog.jobs.spark.runtime import executor_checks
from kminilog.jobs.spark.runtime.executor_checks import check_cluster
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.topics import Topic
from tests.damage import files_of

NO_KMINILOG = "import sys; sys.modules['kminilog'] = None"
NO_EXTRAS = "import sys; sys.modules.update(numpy=None, pyarrow=None)"
OTHER_KMINILOG = "import kminilog; kminilog.__version__ = '0.0.1'"
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

    monkeypatch.setattr(executor_checks, "is_local", lambda master: False)
    return use


def test_cluster_that_can_do_it_passes_and_nothing_is_left(spark, workers, log_dir):
    workers()
    before = files_of(log_dir)
    check_cluster(spark, log_dir)
    check_cluster(spark, log_dir, needed_bytes=1)
    assert files_of(log_dir) == before
    assert not list((log_dir / ".job-staging").iterdir())


@pytest.mark.parametrize(
    ("shell", "program", "error"),
    [
        (NO_FILES, "", r"log dir .*: the executor on .* cannot write there: File too large; let"),
        (NO_STAGING, "", "does not see .*/check-.* there; it must be the same directory, on a sh"),
        (NO_TOPIC, "", "does not see orders.json there; it must be the same directory"),
        ("", NO_KMINILOG, "Spark cannot run: the executor on .* has no kminilog in .*: type"),
        ("", NO_EXTRAS, r" no numpy and no pyarrow in .*: type pip install 'kminilog\[spark\]' "),
        ("", OTHER_KMINILOG, "has kminilog 0.0.1, the driver has .*: install the same one"),
        ("exit 3", "", "Spark cannot run: its executors cannot run Python tasks: "),
    ],
    ids=["write", "directory", "topic", "package", "extras", "version", "python"],
)
def test_cluster_that_cannot_do_it_is_one_clear_line(
    spark, workers, log_dir, shell, program, error
):
    workers(shell.format(log_dir=log_dir), program)
    with pytest.raises(KMiniLogError, match=error) as caught:
        check_cluster(spark, log_dir, needed_bytes=1)
    assert "\n" not in str(caught.value)
    assert not list((log_dir / ".job-staging").glob("*"))


def test_job_that_needs_more_space_than_there_is_is_one_clear_line(spark, log_dir):
    with pytest.raises(LogDirError, match=r"the job needs about 1152921504606846976 bytes, but "):
        check_cluster(spark, log_dir, needed_bytes=1 << 60)


def test_local_executors_are_not_asked(spark, log_dir, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/python")
    check_cluster(spark, log_dir, needed_bytes=1)
