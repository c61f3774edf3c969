"""kill -9 of an ingest or a `df.write` at any moment, then the same job again: every row once.

Spark runs it again, even where the process without Spark was killed. Between the kill and that,
readers see the whole job or nothing of it.

A round counts only if something was killed, or a task failed, before the job was committed.
"""

import os
import random
import re
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.format.dialect import DIALECTS
from kminilog.format.names import TopicPartition
from kminilog.jobs.spark.runtime.session import existing_session
from kminilog.storage.lock import LockWait
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.system import SystemClock
from tests.jobs.spark.test_standalone import cluster, environments
from tests.support.cli.command_line import CommandLine
from tests.support.crash.failing_partitioner import FailsOnce
from tests.support.crash.killed_job import (
    AGAIN,
    ALONE,
    COMMITTER,
    DRIVER,
    EVERYTHING,
    EXECUTOR,
    FAILURE,
    JVM,
    MOVED,
    PUBLISHING,
    READING,
    STAGING,
    WORKER,
    Job,
    kill_all,
    start_ingest,
)
from tests.support.crash.plain_parser import messages_in
from tests.support.crash.writing_dataframes import write
from tests.support.jobs.spark.standalone import StandaloneCluster
from tests.support.log_content import content_of

__all__ = ["cluster", "environments"]

ROWS, FILES, BEFORE = 40_000, 4, 500
PARTITIONS = 3
TEXT, COLUMNS = "text", "columns"
READING_OPTIONS = {
    TEXT: ["--key-regex", "^(k[0-9]+) "],
    COLUMNS: ["--format", "parquet", "--key", "key", "--value", "value"],
}
VICTIMS = [ALONE, EVERYTHING, DRIVER, WORKER, FAILURE, EXECUTOR, JVM]
VICTIMS_OF_A_WRITE = [COMMITTER, EVERYTHING, DRIVER, WORKER, EXECUTOR, JVM]
TOLD = {
    WORKER: "a Python worker was killed, by hand or for lack of memory",
    JVM: r"the JVM of Spark's driver was killed \(signal 9\)|the session .* did not start",
}
PLANS = ["sorted", "runs"]
ALLOWED = re.compile(
    r"\.lock|\.clean-shutdown|\.changes|\.reserve|(recovery-point|log-start)-offset-checkpoint"
    r"|\.last-jobs|\.verified/t\.json|t\.json"
    r"|\.manifests/job\.json|t-[0-2]/\d{20}\.(log|index)"
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Numbered rows in several files, as text and as columns; each seventh row has no key."""
    found = {kind: tmp_path_factory.mktemp(kind) for kind in READING_OPTIONS}
    each = ROWS // FILES
    for file in range(FILES):
        rows = [row(n) for n in range(file * each, (file + 1) * each)]
        (found[TEXT] / f"{file}.txt").write_bytes(b"".join(line + b"\n" for line in rows))
        table = pa.table({"key": pa.array(map(key_of, rows), pa.binary()), "value": rows})
        path = found[COLUMNS] / f"{file}.parquet"
        pq.write_table(table, path, row_group_size=2000, compression="none")
    return found


def row(number: int) -> bytes:
    name = b"k%d" % (number * 7919 % 1000) if number % 7 else b"nobody"
    return b"%s says %d %s" % (name, number, b"x" * (number % 90))


class Round:
    """One ingest that is killed and run again."""

    victims = VICTIMS
    executors: Sequence[int] | None = None  # their sessions, if they do not live in the job's
    survived = (EXECUTOR,)

    def __init__(self, number: int, tries: int, directory: Path, sources: dict[str, Path]) -> None:
        self.chance = random.Random(f"{number} {tries}")
        self.victim = self.victims[number % len(self.victims)]
        self.plan = PLANS[number % 2]
        self.dialect = list(DIALECTS.values())[number // 2 % 2]
        phases = self.phases_of(self.victim)
        self.phase = phases[number // len(self.victims) % len(phases)]
        self.directory = directory / f"{number}-{tries}"
        self.log_dir = self.directory / "log"
        self.kminilog = CommandLine(self.log_dir)
        self.has_messages = number % 3 == 1
        self.is_beside_others = number % 5 in (0, 3) or self.phase == AGAIN
        self.kind = TEXT if number % 3 else COLUMNS
        self.source = sources[self.kind]
        self.reading = READING_OPTIONS[self.kind]
        partitioner = f"{FailsOnce.__module__}.{FailsOnce.__qualname__}"
        self.arguments = [self.source, "--topic", "t", *self.reading, "--plan", self.plan]
        if self.victim == FAILURE:
            self.arguments += ["--partitioner", partitioner]

    @staticmethod
    def phases_of(victim: str) -> list[str]:
        """Return the phases in which the job needs it."""
        if victim in (ALONE, EVERYTHING, DRIVER):  # they publish
            return [READING, STAGING, AGAIN, MOVED, PUBLISHING]
        return ["tasks"] if victim == FAILURE else [READING, STAGING]

    def run(self) -> bool:
        """Kill it and run it again; False if it was over too early to be killed."""
        self.create_topic()
        with others_that_append(self.log_dir) if self.is_beside_others else nullcontext([]) as own:
            if not self.was_killed_and_ran_again():
                return False
        self.assert_every_row_once(own)
        return True

    def was_killed_and_ran_again(self) -> bool:
        total_bytes = sum(path.stat().st_size for path in self.source.iterdir())
        job = self.start(self.directory / "scratch")
        try:
            if self.victim != FAILURE and not (
                job.progress.wait_for(self.phase, self.chance.random(), total_bytes)
                and job.strike(self.victim, self.chance, self.executors)
            ):
                return False
            code = job.end()
            if code == 0 and self.victim not in (*self.survived, FAILURE):
                return False  # it had nothing to do just then, or no more
            self.assert_right_end(code, job)
            self.assert_readers_see_all_or_nothing()
            self.run_again()
            job.assert_nobody_is_left()
        finally:
            kill_all(job.process.pid)
            job.end()  # a round that does not count has not waited for it
        return True

    def start(self, scratch: Path) -> Job:
        engine = ["--engine", "local"] if self.victim == ALONE else ["--master", self.master]
        return start_ingest(self.log_dir, "job", scratch, *self.arguments, *engine)

    @property
    def master(self) -> str:
        return "local-cluster[2,1,1024]" if self.victim == EXECUTOR else "local[2]"

    def run_again(self) -> None:
        again = self.kminilog("ingest", *self.arguments, "--job-id", "job", "--json")
        assert again.code == 0, again
        assert again.document["count"] == ROWS

    def assert_readers_see_all_or_nothing(self) -> None:
        seen = self.rows_seen()
        if self.is_beside_others and seen:
            seen = self.rows_seen()  # another writer may have finished the job between partitions
        assert seen in (0, ROWS)

    def rows_seen(self) -> int:
        content = content_of(self.log_dir, "t")
        values = [value or b"" for pairs in content.values() for _, value in pairs]
        return sum(b" says " in value for value in values)

    def create_topic(self) -> None:
        config = ["--config", "segment.bytes=70000", "--dialect", self.dialect.name]
        self.kminilog.ok("topic", "create", "t", "--partitions", PARTITIONS, *config)
        if self.has_messages:
            lines = b"".join(b"before %d\n" % n for n in range(BEFORE))
            self.kminilog.ok("produce", "t", stdin=lines)

    def assert_right_end(self, code: int, job: Job) -> None:
        complaints = job.complaints
        if self.victim in (ALONE, EVERYTHING, DRIVER):
            assert code == -9
        elif self.victim in self.survived:
            assert (code, complaints) == (0, [])
        else:
            assert (code, len(complaints)) == (2, 1), complaints
            assert complaints[0].startswith("kminilog: "), complaints
            assert re.search(TOLD.get(self.victim, ""), complaints[0])

    def assert_every_row_once(self, of_others: list[bytes]) -> None:
        numbers, strange = [], []
        for partition in range(PARTITIONS):
            directory = self.log_dir / f"t-{partition}"
            messages = messages_in(directory, has_value_length=self.dialect.has_value_length)
            is_own = [v is not None and b" says " in v for _, v in messages]
            rows = [message for message, own in zip(messages, is_own, strict=True) if own]
            first = is_own.index(True)
            assert messages[first : first + len(rows)] == rows  # nothing stands between them
            strange += [v for (_, v), own in zip(messages, is_own, strict=True) if not own]
            own = [int(value.split()[2]) for _, value in rows]
            assert own == sorted(own)
            assert rows == [(key_of(value), value) for value in map(row, own)]
            numbers += own
        before = [b"before %d" % n for n in range(BEFORE)] if self.has_messages else []
        assert Counter(strange) == Counter(before + of_others)
        assert Counter(numbers) == Counter(range(ROWS))
        against = ["--against", self.source, *self.reading, "--job", "job", "--json"]
        verified = self.kminilog("verify", "t", *against)
        assert verified.code == 0, verified
        assert verified.document["verdict"] == "ok", verified.out
        assert [name for name in files_in(self.log_dir) if not ALLOWED.fullmatch(name)] == []
        assert not list(self.log_dir.glob(".*staging/*"))


class WriteRound(Round):
    """One write of a DataFrame that is killed and run again. A worker of Spark's publishes it."""

    victims = VICTIMS_OF_A_WRITE

    def __init__(self, number: int, tries: int, directory: Path, sources: dict[str, Path]) -> None:
        super().__init__(number, tries, directory, sources)
        self.kind, self.plan = COLUMNS, "runs"
        self.source, self.reading = sources[COLUMNS], READING_OPTIONS[COLUMNS]

    @staticmethod
    def phases_of(victim: str) -> list[str]:
        if victim in (WORKER, EXECUTOR):
            return [READING]
        to_the_end = [STAGING, AGAIN, MOVED, PUBLISHING]
        return to_the_end if victim == COMMITTER else [*to_the_end, READING]

    def start(self, scratch: Path) -> Job:
        words = ["write", self.log_dir, "job", self.source, self.master]
        return Job(self.log_dir, "job", scratch, "tests.support.crash.writing_dataframes", *words)

    def run_again(self) -> None:
        session = existing_session()
        assert session
        write(session, self.log_dir, "job", self.source)

    def assert_right_end(self, code: int, job: Job) -> None:
        job.assert_nobody_is_left()  # the worker may still publish
        assert code == {DRIVER: -9, EVERYTHING: -9, EXECUTOR: 0}.get(self.victim, 1)


class StandaloneRound(Round):
    """One ingest on a standalone cluster, which runs the tasks of what is killed again."""

    victims = (EXECUTOR, WORKER, JVM, DRIVER)
    survived = (EXECUTOR, WORKER)

    def __init__(self, cluster: StandaloneCluster, **where: Any) -> None:
        super().__init__(**where)
        self._cluster, self.executors = cluster, cluster.sessions

    @property
    def master(self) -> str:
        return self._cluster.url


@contextmanager
def others_that_append(log_dir: Path) -> Iterator[list[bytes]]:
    """Append a message now and then, as a stream does; yields those that were appended."""
    appended: list[bytes] = []
    is_over = Event()

    def append() -> None:
        while not is_over.wait(0.02):
            wait = LockWait(60_000, SystemClock(), lambda line: None)
            with LogDirWriter.open(log_dir, lock_wait=wait) as writer:
                value = b"other %d" % len(appended)
                writer.log(TopicPartition("t", len(appended) % PARTITIONS)).append([(None, value)])
                appended.append(value)

    with ThreadPoolExecutor(1) as pool:
        appending = pool.submit(append)
        try:
            yield appended
        finally:
            is_over.set()
            appending.result()


def key_of(value: bytes) -> bytes | None:
    name = value.split()[0]
    return None if name == b"nobody" else name


def files_in(directory: Path) -> list[str]:
    paths = directory.rglob("*")
    return [path.relative_to(directory).as_posix() for path in paths if path.is_file()]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("kind", "rounds"),
    [
        pytest.param(Round, 1, id="ingest-first", marks=pytest.mark.first),
        pytest.param(Round, 4, id="ingest-quick"),
        pytest.param(WriteRound, 1, id="write-quick"),
        pytest.param(Round, 35, id="ingest-long", marks=pytest.mark.soak),
        pytest.param(WriteRound, 30, id="write-long", marks=pytest.mark.soak),
    ],
)
def test_job_that_is_killed_and_run_again_has_every_row_once(
    tmp_path, sources, kind, rounds, record_property
):
    record_property("counted", kill(partial(kind, directory=tmp_path, sources=sources), rounds))


@pytest.mark.soak
@pytest.mark.usefixtures("spark")
def test_ingest_on_a_standalone_cluster_that_is_killed_and_run_again_has_every_row_once(
    tmp_path, sources, cluster, monkeypatch, record_property
):
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")  # on each machine its own
    new_round = partial(StandaloneRound, cluster, directory=tmp_path, sources=sources)
    record_property("counted", kill(new_round, 12))


def kill(new_round: Callable[..., Round], rounds: int) -> str:
    """Run rounds until so many count, and return what was killed."""
    tried = 0
    killed: Counter[str] = Counter()
    for number in range(rounds):
        for tries in count():  # a busy machine may let a phase pass unseen
            tried += 1
            this = new_round(number=number, tries=tries)
            if this.run():
                killed[f"{this.victim} while {this.phase} ({this.plan}, {this.kind})"] += 1
                break
    told = ", ".join(f"{times} x {what}" for what, times in sorted(killed.items()))
    return f"{rounds} of {tried} rounds count: {told}"
