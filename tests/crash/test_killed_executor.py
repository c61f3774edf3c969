"""A cluster on this machine, with executors of their own, one of which is killed -9 in the middle.

Spark runs the tasks of a lost executor again: what the lost ones had staged must not count.
"""

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import rmtree

import pytest

from kminilog.format.dialect import DOCUMENTED, KAFKA
from tests.support.cli.command_line import Run, assert_one_line
from tests.support.crash.failing_partitioner import KillsItsExecutor
from tests.support.crash.killed_job import (
    EXECUTOR,
    STAGING,
    Progress,
    environment,
    kill_all,
    kill_one,
)
from tests.support.crash.plain_parser import messages_in
from tests.support.damage import files_of

MASTER = "local-cluster[2,1,1024]"
ROWS, FILES, PARTITIONS = 40_000, 4, 3
Command = Callable[..., Run]
pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark-cluster"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[str]"]:
    scratch = tmp_path_factory.mktemp("cluster")
    with open(scratch / "stderr", "w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.crash.cluster_process", MASTER],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(scratch),
            start_new_session=True,
        )
    with process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n", (scratch / "stderr").read_text()
            yield process
        finally:
            kill_all(process.pid)


@pytest.fixture
def kminilog(cluster: "subprocess.Popen[str]", tmp_path: Path) -> Command:
    """Run a command on the cluster; options of the cluster process come first."""

    def run(*arguments: object, python: Path | None = None) -> Run:
        words = ["--log-dir", tmp_path / "log", *arguments]
        words = ["--python", python, *words] if python else words
        assert cluster.stdin
        assert cluster.stdout
        cluster.stdin.write(json.dumps([str(word) for word in words]) + "\n")
        cluster.stdin.flush()
        code, out, err = json.loads(cluster.stdout.readline())
        said = [line for line in err.splitlines(keepends=True) if " … " not in line]
        return Run(code, out, "".join(said))

    return run


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("source")
    each = ROWS // FILES
    for file in range(FILES):
        numbers = range(file * each, (file + 1) * each)
        rows = (b"k%d: %d %s\n" % (n * 7919 % 1000, n, b"x" * (n % 90)) for n in numbers)
        (directory / f"{file}.txt").write_bytes(b"".join(rows))
    return directory


# Both plans, each in another dialect; one of them is enough for every day.
@pytest.mark.parametrize(
    ("plan", "dialect"),
    [
        pytest.param("sorted", DOCUMENTED, id="sorted-documented", marks=pytest.mark.soak),
        pytest.param("runs", KAFKA, id="runs-kafka"),
    ],
)
def test_executor_killed_in_the_middle_of_an_ingest_leaves_every_row_once(
    cluster, kminilog, source, tmp_path, plan, dialect
):
    reading = ["--key-regex", "^(k[0-9]+):"]
    to = ["--topic", "t", "--partitions", PARTITIONS, "--dialect", dialect.name, "--plan", plan]
    total_bytes = sum(path.stat().st_size for path in source.iterdir())
    is_met = False
    while not is_met:  # a busy machine may let the job end before
        rmtree(tmp_path / "log", ignore_errors=True)
        progress = Progress(tmp_path / "log", "job", lambda: cluster.poll() is None)
        with ThreadPoolExecutor(1) as pool:
            words = ["ingest", source, *to, *reading, "--job-id", "job", "--json"]
            ingest = pool.submit(kminilog, *words)
            if progress.wait_for(STAGING, 0.1, total_bytes):
                is_killed = kill_one(cluster.pid, EXECUTOR, random.Random(plan))
                is_met = is_killed and not progress.is_over
            done = ingest.result()
        assert (done.code, done.err) == (0, ""), done
    found: Counter[int] = Counter()
    for partition in range(PARTITIONS):
        directory = tmp_path / "log" / f"t-{partition}"
        messages = messages_in(directory, has_value_length=dialect.has_value_length)
        numbers = [int(value.split()[1]) for _, value in messages if value]
        assert numbers == sorted(numbers)
        found.update(numbers)
    assert found == Counter(range(ROWS))
    verified = kminilog("verify", "t", "--against", source, *reading, "--json")
    assert verified.code == 0, verified
    assert verified.document["verdict"] == "ok", verified
    assert not list((tmp_path / "log").glob(".*staging/*"))


@pytest.mark.soak  # four executors for each task; test_failures.py has what Spark says of it
def test_executors_that_are_killed_again_and_again_are_told_in_one_line(kminilog, source):
    partitioner = f"{KillsItsExecutor.__module__}.{KillsItsExecutor.__qualname__}"
    to = ["--topic", "t", "--partitions", PARTITIONS, "--partitioner", partitioner]
    run = kminilog("ingest", source, *to, "--key-regex", "^(k[0-9]+):")
    assert_one_line(run, 2, "an executor on ", " was killed (signal 9)")


def test_executors_that_cannot_write_the_log_dir_are_one_clear_line(kminilog, source, tmp_path):
    """Their Python may write no file at all, as if another user owned the log dir."""
    before = files_of(tmp_path)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nulimit -f 0\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    run = kminilog("ingest", source, "--topic", "t", python=python)
    assert_one_line(run, 2, f"log dir {tmp_path / 'log'}: the executor on ", "cannot write there")
    assert not list((tmp_path / "log").glob("t*"))
    assert before == {}
