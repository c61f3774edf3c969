"""The one way to a Spark session: quiet, with what kminilog's jobs need, or one clear error.

A session that exists already is used as it is, so that the jobs run in notebooks and on clusters.
What the JVM of a new session says (log lines and the stack traces of tasks; failures come back as
exceptions as well) goes to the file that KMINILOG_SPARK_LOG names, and is dropped if it names none.
Nothing here knows what the session is for. This module loads pyspark only when it is called.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kminilog.errors import SparkUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINIMUM_JAVA = 17
LOG_VARIABLE = "KMINILOG_SPARK_LOG"

_CONFIG = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Between the JVM and the Python workers: a third faster than TCP for short tasks.
    "spark.python.unix.domain.socket.enabled": "true",
    # A timestamp becomes the same text on every machine.
    "spark.sql.session.timeZone": "UTC",
    # Two columns whose names differ in case only are two columns.
    "spark.sql.caseSensitive": "true",
    "spark.driver.memory": "2g",
}
# The driver and its executors are one process: nobody else needs to reach it.
_LOCAL_CONFIG = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def spark_session(
    master: str | None = None,
    *,
    app_name: str = "kminilog",
    config: Mapping[str, str] | None = None,
) -> "SparkSession":
    """Return the active session if there is one, else a new one on `master` (default: local[*]).

    Raises SparkUnavailableError, in one line, if pyspark or Java 17 is missing or the session does
    not start.
    """
    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException
        from pyspark.logger import PySparkLogger
        from pyspark.sql import SparkSession
    except ImportError as error:
        reason = f"{error}; install kminilog with its dependencies"
        raise SparkUnavailableError(reason) from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else spark-submit has started the JVM
        _check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = master or "local[*]"
    is_local = re.fullmatch(r"local(\[.*\])?", master) is not None
    builder = SparkSession.builder.appName(app_name).master(master)
    for name, value in {**_CONFIG, **(_LOCAL_CONFIG if is_local else {}), **(config or {})}.items():
        builder = builder.config(name, value)
    with _jvm_log() as log, _stderr_into(log):
        try:
            session = builder.getOrCreate()
        except (PySparkException, Py4JError, RuntimeError) as error:
            reason = f"the session on {master} did not start: {_cause(f'{error}{_text(log)}')}"
            raise SparkUnavailableError(reason) from error
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel("CRITICAL")
    return session


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    wanted = (
        f"install Java {MINIMUM_JAVA} or newer (Debian: apt-get install openjdk-17-jre-headless)"
    )
    if java is None:
        raise SparkUnavailableError(f"no java on PATH and JAVA_HOME is not set; {wanted}")
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SparkUnavailableError(f"{java} does not run: {error}; {wanted}") from None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    if version is None or int(version[1]) < MINIMUM_JAVA:
        found = f"Java {version[1]}" if version else "no Java"
        raise SparkUnavailableError(f"{java} is {found}; {wanted}, or set JAVA_HOME to one")


@contextmanager
def _jvm_log() -> Iterator[IO[bytes]]:
    path = os.environ.get(LOG_VARIABLE)
    try:
        with open(path, "ab+") if path else tempfile.TemporaryFile() as log:
            yield log
    except OSError as error:
        raise SparkUnavailableError(f"{LOG_VARIABLE}={path}: {error.strerror}") from None


@contextmanager
def _stderr_into(log: IO[bytes]) -> Iterator[None]:
    """The JVM inherits, for its whole life, what is stderr when it starts."""
    sys.stderr.flush()
    saved = os.dup(2)
    try:
        os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _text(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")


def _cause(text: str) -> str:
    """The message of the first exception that the JVM tells of, else the first line."""
    of_exception = re.search(r"(?:Exception|Error): (.+)", text)
    return of_exception[1].strip() if of_exception else text.strip().split("\n")[0]
