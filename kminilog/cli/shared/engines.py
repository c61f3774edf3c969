"""Which engine runs a job, this process or Spark; and a command while Spark works for it.

local   this process reads the source
spark   tasks of Spark read it
auto    local if the source is small; spark if it is large, if --master is given, or if a session
        runs in this process already
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from kminilog.cli.shared.interrupts import handlers_kept, interruptible_wait, is_interrupted
from kminilog.cli.shared.output import warn
from kminilog.cli.shared.progress import is_line_moving, working
from kminilog.errors import SparkUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kminilog.jobs.source.description import Source

LOCAL_BYTES = 64 << 20
"""A source up to this size takes less time here than Spark takes to start."""

_STARTING = "starting Spark"
_COMPRESSED_FACTOR = 8  # a compressed file is about so many times as long

engine_option = click.option(
    "--engine",
    type=click.Choice(["auto", "local", "spark"]),
    default="auto",
    help="Engine that does the work: this process (local) or Spark. auto takes this process for a "
    "source of up to 64 MiB; a compressed file counts eight times its size.",
)

master_option = click.option(
    "--master",
    metavar="URL",
    help="URL of the Spark master.  [default: local[*], which is this machine]",
)


def engine_for(asked: str, source: "Source | None", master: str | None) -> str:
    """Return "local" or "spark"; without a source, auto is local.

    O(files). Raises SourceError for a source that is not there, and click's UsageError for
    --master beside --engine local.
    """
    if master is not None and asked == "local":
        raise click.UsageError("--master is about Spark: leave it out, or give --engine spark")
    if asked != "auto":
        return asked
    if source is None:
        return "local" if master is None else "spark"
    is_here = master is None and not _is_session_running() and _is_small(source)
    return "local" if is_here else "spark"


def _is_small(source: "Source") -> bool:
    from kminilog.jobs.source.compression import compression_of
    from kminilog.jobs.source.description import files_of

    files = files_of(source)
    is_plain = source.format in ("parquet", "kminilog")  # which have no compressed files
    total_bytes = sum(
        file.size_bytes * (1 if is_plain or not compression_of(file.path) else _COMPRESSED_FACTOR)
        for file in files
    )
    return total_bytes <= LOCAL_BYTES


def _is_session_running() -> bool:
    from kminilog.jobs.spark.runtime.session import existing_session

    return existing_session() is not None


@contextmanager
def spark_at_work(
    title: str, master: str | None, *, as_json: bool = False
) -> Iterator[tuple[Callable[[], "SparkSession"], Callable[[str], None]]]:
    """Show progress of Spark, as JSON if asked to; yields what starts it, and what takes the
    present step.

    An existing session is used and stays; a new one is stopped at the end. Starting raises
    SparkUnavailableError if Spark cannot start. From then on the command only waits for Spark, so
    Ctrl-C is raised at once. A start is said before anything else is done for it; the end says
    how long it took, and the work.
    """
    with working(title, as_json=as_json) as at, ExitStack() as in_the_end:
        started = _Start(title, master, at, in_the_end)
        try:
            yield started.session, at
            took = started.took()
        except KeyboardInterrupt:
            in_the_end.pop_all()  # Spark is at work: it ends, and its jobs do, with this process
            raise
        except Exception as error:
            if not _comes_of_an_interrupt(error):
                raise
            in_the_end.pop_all()
            raise KeyboardInterrupt from error
    if took:
        warn(f"{title}: {took}")


class _Start:
    def __init__(
        self, title: str, master: str | None, at: Callable[[str], None], in_the_end: ExitStack
    ) -> None:
        self._title, self._master = title, master
        self._at, self._in_the_end = at, in_the_end
        self._began_seconds = self._started_seconds = 0.0

    def session(self) -> "SparkSession":
        """Return the session of this process, or else a new one."""
        from kminilog.jobs.spark.runtime.session import existing_session, spark_session, stop

        before = existing_session()
        if before is None:
            self._at(_STARTING)
            if not is_line_moving():
                warn(f"{self._title}: {_STARTING}")
        began_seconds = time.monotonic()
        logging.getLogger().addFilter(_is_no_interrupt)
        logging.getLogger("py4j.clientserver").addFilter(_is_not_ending)
        # Not interrupted: a JVM whose parent ends while it starts would never end.
        with handlers_kept():  # pyspark takes SIGINT
            spark = spark_session(self._master)
        is_new = spark is not before
        if is_new:
            self._began_seconds, self._started_seconds = began_seconds, time.monotonic()
            self._in_the_end.callback(stop, spark)
        from kminilog.jobs.spark.datasource.door import register
        from kminilog.jobs.spark.runtime.failures import failures_of_a_dead_jvm

        self._in_the_end.enter_context(failures_of_a_dead_jvm())
        self._in_the_end.enter_context(interruptible_wait())
        if is_new:
            self._at("Spark is at work")
        register(spark)
        return spark

    def took(self) -> str | None:
        """Return how long the start and the work until now took; None if there was no start."""
        if not self._started_seconds:
            return None
        start = self._started_seconds - self._began_seconds
        work = time.monotonic() - self._started_seconds
        return f"Spark started in {start:.1f} s, the work took {work:.1f} s"


def _comes_of_an_interrupt(error: Exception) -> bool:
    """Tell if a signal is why Spark did not start, its connection broke, or its clean-up failed.

    A signal to the whole process group ends the JVM, too. One in the middle of an answer breaks
    the connection. After KeyboardInterrupt pyspark cleans up, and may raise an error of its own.
    That counts also if no signal is noted: while Spark starts, pyspark takes Ctrl-C for itself.
    """
    chain: list[BaseException] = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) and before not in chain:
        chain.append(before)
    if any(isinstance(one, KeyboardInterrupt) for one in chain):
        return True
    if not is_interrupted():
        return False
    from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

    broken = (SparkUnavailableError, Py4JNetworkError, ConnectionError, EOFError)
    return any(isinstance(one, broken) for one in chain)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """For the root logger, to which py4j writes a traceback when a wait is interrupted."""
    return not record.exc_info or record.exc_info[0] is not KeyboardInterrupt


def _is_not_ending(record: logging.LogRecord) -> bool:
    """For py4j's own logger, which then reports connections that it could not close."""
    return not is_interrupted()
