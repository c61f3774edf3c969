"""Jobs in any Python thread, two at once in one session, whose settings stay what the user set."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import ingest
from kminilog.jobs.spark.runtime.session import spark_session
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.verification.account.spark import verify
from tests.support.log_content import content_of

TIME_ZONE, CASE = "spark.sql.session.timeZone", "spark.sql.caseSensitive"
TO_PYTHON = "spark.sql.execution.arrow.maxBytesPerBatch"
MINE = {TIME_ZONE: "Asia/Tokyo", CASE: "false", TO_PYTHON: "54321k"}


@pytest.fixture
def settings(spark: SparkSession) -> Iterator[None]:
    """Settings that a user has made in the session, other than kminilog would."""
    before = {name: spark.conf.get(name) for name in MINE}
    for name, value in MINE.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@contextmanager
def settings_seen(spark: SparkSession) -> Iterator[list[dict[str, Any]]]:
    """Look at the session's settings all the time, in a thread; yields the different ones seen."""
    over, seen = Event(), list[dict[str, Any]]()

    def look() -> None:
        while not over.wait(0.005):
            now = {name: spark.conf.get(name) for name in MINE}
            if now not in seen:
                seen.append(now)

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        try:
            yield seen
        finally:
            over.set()
            looking.result()


def at_once(*jobs: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(jobs)) as pool:
        return [job.result() for job in [pool.submit(job) for job in jobs]]


@pytest.mark.usefixtures("settings")
def test_jobs_of_two_threads_are_exact_and_leave_the_settings_of_the_session_alone(spark, tmp_path):
    lines = [b"k%d:%d" % (n % 5, n) for n in range(2_000)]
    (tmp_path / "s.txt").write_bytes(b"\n".join(lines) + b"\n")
    text = Source((str(tmp_path / "s.txt"),), key_regex="^([^:]*):")
    rows = [b"%d " % n + b"x" * 20_000 for n in range(200)]
    pq.write_table(pa.table({"value": rows}), tmp_path / "s.parquet", use_dictionary=False)
    wide = Source((str(tmp_path / "s.parquet"),), "parquet", value="value")
    here, there = tmp_path / "here", tmp_path / "there"

    def load(log_dir: Path, source: Source, topic: str) -> int:
        # As in a script that has no session at hand.
        result = ingest(spark_session, log_dir, source, topic=topic, lock_timeout_ms=250_000)
        return result.manifest.facts["count"]

    def check(log_dir: Path, source: Source, topic: str) -> str:
        return verify(spark, LogDir(log_dir), [topic], against=source).verdict

    with settings_seen(spark) as seen:
        loads = (lambda: load(here, wide, "wide"), lambda: load(there, text, "text"))
        assert at_once(*loads) == [200, 2_000]
        # Two writers of one log dir, of which one waits, and a reader of it.
        beside = (
            lambda: load(here, text, "text"),
            lambda: load(here, text, "other"),
            lambda: check(here, wide, "wide"),
        )
        assert at_once(*beside) == [2_000, 2_000, "ok"]
    assert seen == [MINE]
    assert SparkSession.active() is spark
    assert {name: spark.conf.get(name) for name in MINE} == MINE
    assert sorted(value for _, value in content_of(here, "wide")[0]) == sorted(rows)
    for log_dir, topic in ((there, "text"), (here, "text"), (here, "other")):
        assert [value for _, value in content_of(log_dir, topic)[0]] == lines
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []
