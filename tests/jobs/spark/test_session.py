"""The session: quiet, taken over if there is one, and one clear line if there cannot be any."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkAttributeError
from pyspark.sql import SparkSession

from kminilog.errors import SparkUnavailableError
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.datasource.door import register
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.jobs.spark.runtime.session import (
    _linked_spark_home,
    directory_of_process,
    spark_session,
    stop,
)
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.verification.account.spark import verify
from tests.support.spark_classes import ARCHIVE

START = """
import sys
from kminilog.errors import SparkUnavailableError
from kminilog.jobs.spark.runtime.session import spark_session
try:
    spark_session(*sys.argv[1:])
except SparkUnavailableError as error:
    print(error)
"""


def run(program: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | variables
    )


def fake_java(directory: Path, program: str) -> str:
    java = directory / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{program}\n")
    java.chmod(0o755)
    return str(directory)


def test_spark_session_that_is_there_is_used_in_any_thread_and_left_alone(spark: SparkSession):
    name = "spark.sql.session.timeZone"
    before = spark.conf.get(name)
    spark.conf.set(name, "Asia/Tokyo")
    try:
        assert spark_session("local[7]") is spark
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(spark_session).result() is spark
        assert spark.conf.get(name) == "Asia/Tokyo"
    finally:
        spark.conf.set(name, before)


@pytest.mark.processes
def test_spark_session_without_java_says_what_to_install(tmp_path):
    result = run(START, PATH=str(tmp_path), JAVA_HOME="")
    assert result.stdout.startswith("Spark cannot run: no java on PATH and JAVA_HOME is not set; ")
    assert "install Java 17 or newer" in result.stdout
    assert result.stdout.count("\n") == 1


@pytest.mark.processes
@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("""echo 'openjdk version "11.0.2" 2019-01-15' >&2""", "is Java 11; install Java 17"),
        ("""echo 'java version "1.8.0_292"' >&2""", "is Java 8; install Java 17"),
        ("echo nonsense", "is no Java; install Java 17"),
        ("exit 3", "does not run: "),
    ],
)
def test_spark_session_with_a_java_that_is_not_17_says_so(tmp_path, program, reason):
    result = run(START, JAVA_HOME=fake_java(tmp_path, program))
    assert reason in result.stdout
    assert result.stdout.count("\n") == 1


@pytest.mark.processes
def test_spark_session_without_pyspark_says_so():
    result = run("import sys; sys.modules['pyspark'] = None" + START)
    assert result.stdout.startswith("Spark cannot run: ")
    assert result.stdout.endswith("type: pip install 'kminilog[spark]'\n")


REFUSED = """
from pyspark.sql import SparkSession
def refuse(builder): raise ConnectionRefusedError(111, "Connection refused")
SparkSession.Builder.getOrCreate = refuse
"""


@pytest.mark.spark  # needs Java
def test_spark_session_whose_jvm_is_gone_before_it_answers_says_so():
    result = run(REFUSED + START, "local[1]")
    assert result.stdout == (
        "Spark cannot run: the session on local[1] did not start: [Errno 111] Connection refused\n"
    )


DIES = """
from pyspark import SparkContext
from pyspark.errors import PySparkAttributeError
from pyspark.sql import SparkSession
start = SparkSession.Builder.getOrCreate
def dies(builder):
    try:
        return start(builder)
    finally:
        SparkContext._gateway.proc.kill()
        SparkContext._gateway.proc.wait()
SparkSession.Builder.getOrCreate = dies
"""


@pytest.mark.spark
@pytest.mark.xdist_group("spark-cluster")  # a JVM beside the session's
def test_spark_session_whose_jvm_fails_and_cannot_be_asked_any_more_says_so():
    """A signal to the process group ended `demo` with exit code 2 and "Connection refused"."""
    result = run(DIES + START, "local[nonsense]")
    assert result.stdout == (
        "Spark cannot run: the session on local[nonsense] did not start: "
        "Could not parse Master URL: 'local[nonsense]'\n"
    )


@pytest.mark.spark  # needs Java
def test_spark_session_says_which_log_it_cannot_write(tmp_path):
    result = run(START, KMINILOG_SPARK_LOG=str(tmp_path))
    assert result.stdout == (f"Spark cannot run: KMINILOG_SPARK_LOG={tmp_path}: Is a directory\n")


STARTED = """
from kminilog.jobs.spark.runtime.session import spark_session
jvm = spark_session("local[1]")._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
print(*[argument for argument in jvm.getInputArguments() if argument.startswith("-Xmx")])
"""


@pytest.mark.spark
@pytest.mark.xdist_group("spark-cluster")  # a JVM beside the session's
@pytest.mark.parametrize(("given", "found"), [("", "-Xmx2g"), ("640m", "-Xmx640m")])
def test_spark_session_has_as_much_memory_as_the_environment_says(given, found):
    assert run(STARTED, SPARK_DRIVER_MEMORY=given).stdout.strip() == found


@pytest.mark.spark
@pytest.mark.xdist_group("spark-cluster")  # a JVM beside the session's
def test_jvm_of_the_tests_starts_with_their_archive_of_classes():
    """A JVM that cannot use the archive says nothing of it, and takes twice as long to start."""
    if not ARCHIVE.exists():
        pytest.skip("there is no archive; `make test` writes it")
    run(STARTED, SPARK_SUBMIT_OPTS=f"{os.environ['SPARK_SUBMIT_OPTS']} -Xshare:on")


FAIL_THEN_WORK = """
import os, signal, sys
from concurrent.futures import ThreadPoolExecutor
from kminilog.errors import KMiniLogError
from kminilog.errors import SourceError, SparkUnavailableError
from kminilog.jobs.spark.runtime.failures import spark_failures, told_by
from kminilog.jobs.spark.runtime.session import spark_session, stop
from py4j.protocol import Py4JJavaError
try:
    spark_session("local[nonsense]")
except SparkUnavailableError as error:
    print(error)
with ThreadPoolExecutor(2) as pool:
    spark, other = pool.map(spark_session, ["local[1]"] * 2)
assert spark is other
print("stderr is back", file=sys.stderr)
for sql in ("cast(id || 'x' AS int)", "nosuch(1)"):
    try:
        with spark_failures("S"):
            spark.range(9).selectExpr(sql).write.format("noop").mode("append").save()
    except SourceError as error:
        print(error)
spark.sparkContext.parallelize([1], 1).map(abs).collect()  # a worker is connected
try:
    spark._jvm.java.util.ArrayList().get(0)
except Py4JJavaError as error:
    of_java = error
os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)
try:
    with spark_failures("S"):
        spark.range(9).count()
except KMiniLogError as error:
    print(error)
print(told_by(of_java))
stop(spark)
"""


@pytest.mark.spark
@pytest.mark.xdist_group("spark-cluster")  # a JVM beside the session's
def test_spark_session_that_two_threads_start_is_one_and_says_nothing_but_our_errors(tmp_path):
    log = tmp_path / "spark.log"
    result = run(FAIL_THEN_WORK, KMINILOG_SPARK_LOG=str(log))
    lines = result.stdout.splitlines()
    assert len(lines) == 5
    where = "Spark cannot run: the session on local[nonsense] did not start: "
    assert lines[0] == where + "Could not parse Master URL: 'local[nonsense]'"
    assert lines[1].startswith("source S: [CAST_INVALID_INPUT]")
    assert lines[2].startswith("source S: [UNRESOLVED_ROUTINE]")
    killed = "the JVM of Spark's driver was killed (signal 9)"
    assert lines[3:] == [f"a Spark job failed: {killed}", killed]
    assert result.stderr == "stderr is back\n"
    assert "CAST_INVALID_INPUT" in log.read_text()


def test_stop_says_nothing_if_the_jvm_dies_meanwhile(monkeypatch):
    """As when a signal ends a command and its JVM in the moment in which the work is done."""

    def dies() -> None:
        raise Py4JNetworkError("Error while receiving")

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)  # put back at the end
    context = object.__new__(SparkContext)
    context._jsc = SimpleNamespace(stop=dies)
    stop(context)
    assert context._jsc is None


def test_python_workers_of_a_local_session_use_the_installed_pyspark(spark):
    def places(_: int) -> tuple[str, list[str]]:
        import pyspark

        return pyspark.__file__, [path for path in sys.path if path.endswith("pyspark.zip")]

    ((file, archives),) = spark.sparkContext.parallelize([0], 1).map(places).collect()
    assert ".zip" not in file, archives  # else each worker compiles all of pyspark


def test_spark_home_of_links_has_the_settings_that_a_user_keeps_beside_pyspark(
    tmp_path, monkeypatch
):
    for name in ("bin", "jars", "conf", "python"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("pyspark.__file__", str(tmp_path / "__init__.py"))
    home = Path(_linked_spark_home())
    assert sorted(path.name for path in home.iterdir()) == [".lock", "bin", "conf", "jars"]
    (tmp_path / "conf").rmdir()  # pip installs none
    home = Path(_linked_spark_home())
    assert sorted(path.name for path in home.iterdir()) == [".lock", "bin", "jars"]


MAKE_AND_DIE = """
import os, signal, sys, tempfile
from kminilog.jobs.spark.runtime.session import directory_of_process
tempfile.tempdir = sys.argv[1]
(directory_of_process("mine-") / "file").touch()
if sys.argv[2:]:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.processes
def test_directory_of_a_process_that_was_killed_is_deleted_by_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "mine-of-another-program").mkdir()
    mine = directory_of_process("mine-")
    with pytest.raises(subprocess.CalledProcessError):
        run(MAKE_AND_DIE, str(tmp_path), "killed")
    assert len(list(tmp_path.iterdir())) == 3
    run(MAKE_AND_DIE, str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {mine.name, "mine-of-another-program"}


class ConnectSession:
    """As a session of Spark Connect does, it says that it has no JVM."""

    @property
    def sparkContext(self) -> None:  # noqa: N802
        raise PySparkAttributeError(
            errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED",
            messageParameters={"attr_name": "sparkContext"},
        )


def test_session_of_spark_connect_is_refused_in_a_line_by_all_that_take_a_session(tmp_path):
    session: Any = ConnectSession()
    frame: Any = SimpleNamespace(sparkSession=session)
    (tmp_path / "a.txt").write_text("one\n")
    source = Source((str(tmp_path / "a.txt"),))
    with LogDirWriter.open(tmp_path / "log", create=True) as writer:
        writer.create_topic(Topic("t"))
    log_dir = LogDir(tmp_path / "log")
    for call in (
        lambda: register(session),
        lambda: ingest(session, log_dir.path, source, topic="new"),
        lambda: ingest(session, log_dir.path, frame, topic="new"),
        lambda: verify(session, log_dir, ["t"]).verdict,
    ):
        with pytest.raises(SparkUnavailableError, match="kminilog does not support Spark Connect"):
            call()
    assert [topic.name for topic in log_dir.topics()] == ["t"]
