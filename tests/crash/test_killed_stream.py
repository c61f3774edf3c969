"""A stream and a bulk load that write to one topic at once; one of them is killed with kill -9.

The load stages, without the lock, until it is let go on. Meanwhile the stream goes on.
"""

import random
import time
from pathlib import Path

import pytest

from kminilog.format.dialect import DIALECTS
from kminilog.storage.log_dir.log_dir import LogDir
from tests.support.cli.command_line import CommandLine
from tests.support.crash.failing_partitioner import Waits
from tests.support.crash.killed_job import (
    ALONE,
    COMMITTER,
    DRIVER,
    EVERYTHING,
    JVM,
    READING,
    WORKER,
    Job,
    kill_all,
    start_ingest,
)
from tests.support.crash.writing_dataframes import ROWS_A_BATCH
from tests.support.log_content import content_of

pytestmark = pytest.mark.spark
LOAD = [b"k: load %d" % n for n in range(200)]
BATCHES = 3
OF_A_STREAM = [EVERYTHING, DRIVER, JVM, WORKER]


class Both:
    """A stream and a load at work on one topic."""

    def __init__(self, directory: Path, dialect: str) -> None:
        self.directory, self.log_dir = directory, directory / "log"
        self.kminilog = CommandLine(self.log_dir)
        self.kminilog.ok("topic", "create", "t", "--partitions", 3, "--dialect", dialect)
        source = directory / "load.txt"
        source.write_bytes(b"\n".join(LOAD))
        partitioner = f"{Waits.__module__}.{Waits.__qualname__}"
        reading = ["--key-regex", "^k", "--partitioner", partitioner]
        self.load_words = [source, "--topic", "t", *reading]
        self.stream = self.begin_stream("stream")
        self.load: Job | None = None

    def begin_stream(self, name: str) -> Job:
        words = ["stream", self.log_dir, self.directory / "checkpoint", self.directory / "stop"]
        scratch = self.directory / name
        return Job(self.log_dir, name, scratch, "tests.support.crash.writing_dataframes", *words)

    def wait_for_batches(self) -> None:
        """Wait until the stream has written BATCHES more."""
        wanted = self.streamed() + BATCHES * ROWS_A_BATCH
        while self.streamed() < wanted:
            assert self.stream.process.poll() is None, self.stream.complaints
            time.sleep(0.02)

    def streamed(self) -> int:
        """How many rows of the stream readers see; while the load works, there are no others."""
        log_dir = LogDir(self.log_dir)
        return sum(reader.log_end_offset for reader in log_dir.readers(log_dir.topic("t")))

    def begin_load(self, name: str, engine: list[str]) -> Job:
        scratch = self.directory / name
        return start_ingest(self.log_dir, "job", scratch, *self.load_words, *engine)

    def kill(self) -> None:
        for job in filter(None, (self.stream, self.load)):
            kill_all(job.process.pid)
            job.end()

    def end(self) -> None:
        """Let the load go on, stop the stream, and assert that all rows are there once."""
        (self.load.scratch / "go-on").touch()
        assert self.load.end() == 0, self.load.complaints
        self.wait_for_batches()
        (self.directory / "stop").touch()
        assert self.stream.end() == 0, self.stream.complaints
        content = content_of(self.log_dir, "t")
        values = [value.decode() for pairs in content.values() for _, value in pairs]
        streamed = sorted(int(value.split()[1]) for value in values if value[0] == "s")
        assert streamed == list(range(len(streamed)))
        assert len(streamed) % ROWS_A_BATCH == 0
        assert [value for _, value in content[0] if value[:1] == b"k"] == LOAD
        assert len(values) == len(streamed) + len(LOAD)
        self.kminilog.ok("verify", "t")


@pytest.mark.parametrize(
    ("victim", "dialect"),
    [(ALONE, "kafka"), *(pytest.param(EVERYTHING, d, marks=pytest.mark.soak) for d in DIALECTS)],
)
def test_stream_goes_on_beside_a_load_that_works_and_that_is_killed(tmp_path, victim, dialect):
    engine = ["--engine", "local"] if victim == ALONE else ["--master", "local[2]"]
    both = Both(tmp_path, dialect)
    try:
        both.wait_for_batches()
        both.load = both.begin_load("load", engine)
        assert both.load.progress.wait_for(READING, 0, 0)
        both.wait_for_batches()
        assert not both.load.progress.is_over
        assert both.load.strike(victim, random.Random(0))
        both.load.end()
        both.wait_for_batches()
        both.load = both.begin_load("again", engine)
        both.end()
    finally:
        both.kill()


@pytest.mark.parametrize(
    "victim", [COMMITTER, *(pytest.param(v, marks=pytest.mark.soak) for v in OF_A_STREAM)]
)
def test_stream_that_is_killed_beside_a_load_goes_on_where_it_was(tmp_path, victim):
    both = Both(tmp_path, "documented")
    try:
        both.wait_for_batches()
        both.load = both.begin_load("load", ["--engine", "local"])
        assert both.load.progress.wait_for(READING, 0, 0)
        chance = random.Random(victim)
        while both.stream.process.poll() is None:  # a worker that waits for work is replaced
            both.stream.strike(victim, chance)
            time.sleep(chance.random() / 5)
        assert both.stream.end() != 0
        both.stream.assert_nobody_is_left()
        assert both.streamed() % ROWS_A_BATCH == 0
        both.stream = both.begin_stream("again")
        both.wait_for_batches()
        assert not both.load.progress.is_over
        both.end()
    finally:
        both.kill()
