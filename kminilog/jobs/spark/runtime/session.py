"""The one way to a Spark session: quiet, with what kminilog's jobs need, or one clear error.

If the process has a session already, it is used as it is. So the jobs run in notebooks and on
clusters. The JVM of a new session writes log lines and stack traces; these go to the file that
KMINILOG_SPARK_LOG names, or are dropped if it names none. No failure is lost with them, because
failures come back as exceptions too. This module does not know what the session is for. It loads
pyspark only when a function is called.
"""

import atexit
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kminilog.errors import SparkUnavailableError
from kminilog.storage.lock import LogDirLock, is_abandoned

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

MINIMUM_JAVA = 17
_starting = threading.Lock()  # starting redirects the stderr of the whole process
LOG_VARIABLE = "KMINILOG_SPARK_LOG"

_CONFIG = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The JVM talks to its Python workers by socket file: a third faster than TCP for short tasks.
    "spark.python.unix.domain.socket.enabled": "true",
    # A worker that crashes reports the signal: see failures.py.
    "spark.python.worker.faulthandler.enabled": "true",
    # A timestamp becomes the same text on every machine.
    "spark.sql.session.timeZone": "UTC",
    # Two columns whose names differ in case only are two columns.
    "spark.sql.caseSensitive": "true",
}
_MEMORY_VARIABLE = "SPARK_DRIVER_MEMORY"  # Spark's own; a configured value would overrule it
_MEMORY_CONFIG = {"spark.driver.memory": "2g"}
# The driver and its executors are on this machine: nobody else needs to reach it.
_HERE_CONFIG = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_TO_PYTHON = "spark.sql.execution.arrow.maxBytesPerBatch"  # 64 MiB, of which a worker makes copies
_BATCH_BYTES = 32 << 20
_LOCAL = re.compile(r"local(\[.*\])?")  # the executors are threads of the driver
_LOCAL_CLUSTER = re.compile(r"local-cluster\[.*\]")
_HERE = re.compile(
    rf"{_LOCAL.pattern}|{_LOCAL_CLUSTER.pattern}|spark://(localhost|127\.[\d.]+):\d+"
)


def spark_session(
    master: str | None = None,
    *,
    app_name: str = "kminilog",
    config: Mapping[str, str] | None = None,
) -> "SparkSession":
    """Return the session of this process if there is one, else a new session on `master`.

    The default master is local[*]. An existing session keeps its settings: `master`, `app_name` and
    `config` count for a new one only. Any thread may call this. Raises SparkUnavailableError, in
    one line, if pyspark or Java 17 is missing or the session does not start.
    """
    with _starting:
        return existing_session() or _start(master, app_name, config or {})


def existing_session() -> "SparkSession | None":
    """Return the active session of this thread, else the default session of the process, else None.

    Loads nothing. Spark's own `getOrCreate` is not used, because it changes the settings of the
    default session.
    """
    loaded = sys.modules.get("pyspark.sql")
    if not loaded:
        return None
    from pyspark.errors import PySparkRuntimeError

    try:
        session: SparkSession = loaded.SparkSession.active()
    except PySparkRuntimeError:
        return None
    return session if context_of(session)._jsc is not None else None  # else it was stopped


def context_of(session: "SparkSession") -> "SparkContext":
    """Return the SparkContext of a session. Raises SparkUnavailableError for Spark Connect."""
    try:
        return session.sparkContext
    except AttributeError:
        reason = "kminilog does not support Spark Connect: start a session with builder.master(...)"
        raise SparkUnavailableError(reason) from None


def _start(master: str | None, app_name: str, config: Mapping[str, str]) -> "SparkSession":
    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException
        from pyspark.logger import PySparkLogger
        from pyspark.sql import SparkSession
    except ImportError as error:
        reason = f"{error}; type: pip install 'kminilog[spark]'"
        raise SparkUnavailableError(reason) from None
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else spark-submit has started the JVM
        check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = master or "local[*]"
    is_here = is_local(master) and os.environ["PYSPARK_PYTHON"] == sys.executable
    if (is_here or _LOCAL_CLUSTER.fullmatch(master)) and "SPARK_HOME" not in os.environ:
        os.environ["SPARK_HOME"] = _linked_spark_home()
    builder = SparkSession.builder.appName(app_name).master(master)
    here = _HERE_CONFIG if _HERE.fullmatch(master) else {}
    memory = {} if os.environ.get(_MEMORY_VARIABLE) else _MEMORY_CONFIG
    for name, value in {**_CONFIG, **memory, **here, **config}.items():
        builder = builder.config(name, value)
    with _jvm_log() as log, _stderr_into(log):
        try:
            session = builder.getOrCreate()
        except (PySparkException, Py4JError, RuntimeError, ConnectionError) as error:
            from kminilog.jobs.spark.runtime.failures import told_by

            cause = _cause(f"{told_by(error)}\n{_text(log)}")
            reason = f"the session on {master} did not start: {cause}"
            raise SparkUnavailableError(reason) from error
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel("CRITICAL")
    # no tracebacks of py4j and pyspark when the end of the JVM breaks connections
    logging.getLogger().addFilter(_is_no_broken_connection)
    server = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, client_address: None
    return session


def stop(session: "SparkSession") -> None:
    """Stop a session. If its JVM has died already, or dies now, this says and raises nothing."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, ConnectionError), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unable to cleanly shutdown Spark", RuntimeWarning)
        session.stop()


def is_local(master: str) -> bool:
    """Tell if the executors of a master are threads of the driver's JVM.

    >>> is_local("local"), is_local("local[*]"), is_local("local-cluster[2,1,1024]")
    (True, True, False)
    """
    return _LOCAL.fullmatch(master) is not None


def _is_no_broken_connection(record: logging.LogRecord) -> bool:
    return record.msg != "Exception while sending command."  # py4j logs it and raises an error too


def _linked_spark_home() -> str:
    """Return a new SPARK_HOME of symbolic links; it is deleted when this process ends.

    A local cluster needs SPARK_HOME, which a pip-installed Spark does not set, and its executors
    leave files in it. This one lacks the archive of pyspark's sources, which Spark puts in front of
    its workers' path. Python keeps no compiled form of what it imports from an archive, and a first
    ingest starts some fifteen processes: with the installed pyspark it takes three seconds less.
    """
    import pyspark

    home, installed = directory_of_process("kminilog-spark-home-"), Path(pyspark.__file__).parent
    for name in ("bin", "jars", "conf"):
        if (installed / name).exists():  # `conf` is there if the user has made it
            (home / name).symlink_to(installed / name)
    return str(home)


def directory_of_process(prefix: str) -> Path:
    """Return a new temporary directory, which is deleted when this process ends.

    A process that is killed leaves its own: this deletes those that have this prefix.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # another user's
            if is_abandoned(left):
                shutil.rmtree(left, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=f".{prefix}"))
    LogDirLock(made)  # before it has the name by which others find it
    atexit.register(shutil.rmtree, home := made.with_name(made.name[1:]), ignore_errors=True)
    return made.rename(home)


def check_java() -> None:
    """Raise SparkUnavailableError, which says what to install, without Java 17 or newer."""
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


def _jvm_log() -> IO[bytes]:
    path = os.environ.get(LOG_VARIABLE)
    try:
        return open(path, "ab+") if path else tempfile.TemporaryFile()
    except OSError as error:
        where = f"{LOG_VARIABLE}={path}" if path else tempfile.gettempdir()
        raise SparkUnavailableError(f"{where}: {error.strerror}") from None


@contextmanager
def _stderr_into(log: IO[bytes]) -> Iterator[None]:
    """Redirect stderr to a log. A JVM that starts meanwhile writes to that log all its life.

    `sys.stderr` is redirected, too: it may be a stand-in that does not lead to file descriptor 2.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    try:
        os.dup2(log.fileno(), 2)
        with open(os.dup(2), "w", buffering=1) as text, redirect_stderr(text):
            yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _text(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")


def _cause(text: str) -> str:
    """Return why Spark gave up, else the message of the first exception, else the first line.

    >>> _cause("Error: stopped\\nApplication has been killed. Reason: no master answers")
    'no master answers'
    """
    reason = r"Application has been killed\. Reason: (.+)"
    found = re.search(reason, text) or re.search(r"(?:Exception|Error): (.+)", text)
    return found[1].strip() if found else text.strip().split("\n")[0]


@contextmanager
def own_session(spark: "SparkSession") -> Iterator["SparkSession"]:
    """Yield a session for one job, which hands at most 32 MiB of rows to Python at once.

    Other jobs may use `spark` at the same time, in other threads; nothing in it changes. The own
    session starts with the settings, views and functions that `spark` has now, and shares its
    SparkContext. It is the active session of the thread, because Spark looks for Python data
    sources there; at the end the active session is as before.
    """
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    sessions = SparkSession._get_j_spark_session_class(spark._jvm)
    before = sessions.getActiveSession()  # of this thread
    # Spark's own streaming queries do the same; `newSession` would not have those settings.
    own = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    sessions.setActiveSession(own._jsparkSession)
    try:
        own.conf.set(_TO_PYTHON, str(_BATCH_BYTES))
        yield own
    finally:
        # If the JVM has died meanwhile, only the error that says so is of interest.
        with suppress(Py4JError, OSError):
            if before.isDefined():
                sessions.setActiveSession(before.get())
            else:
                sessions.clearActiveSession()
