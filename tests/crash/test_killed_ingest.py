"""kill -9 of an ingest at any moment, then the same job again: every source row is there once.

Spark runs it again, even where the process without Spark was killed.

A round counts only if something was killed, or a task failed, before the job was committed.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Event

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.format.dialect import DIALECTS
from kminilog.format.names import TopicPartition
from kminilog.storage.lock import LockWait
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.system import SystemClock
from tests.cli.command_line import CommandLine
from tests.crash.failing_partitioner import FailsOnce
from tests.crash.killed_ingest import (
    ALONE,
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
    Ingest,
    kill_all,
)
from tests.crash.plain_parser import messages_in
from tests.jobs.spark.conftest import spark

__all__ = ["spark"]

ROWS, FILES, BEFORE = 40_000, 4, 500
PARTITIONS = 3
TEXT, COLUMNS = "text", "columns"
READING_OPTIONS = {
    TEXT: ["--key-regex", "^(k[0-9]+) "],
    COLUMNS: ["--format", "parquet", "--key", "key", "--value", "value"],
}
VICTIMS = [ALONE, EVERYTHING, DRIVER, WORKER, FAILURE, EXECUTOR, JVM]
TOLD = {
    WORKER: "a Python worker was killed (signal 9",
    JVM: "the JVM of Spark's driver was killed (signal 9)",
}
PLANS = ["sorted", "runs"]
ALLOWED = re.compile(
    r"\.lock|\.clean-shutdown|\.changes|(recovery-point|log-start)-offset-checkpoint"
    r"|\.last-jobs|t\.json"
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
    """One job that is killed and run again."""

    def __init__(self, number: int, tries: int, directory: Path, sources: dict[str, Path]) -> None:
        self.chance = random.Random(f"{number} {tries}")
        self.victim = VICTIMS[number % len(VICTIMS)]
        self.plan = PLANS[number % 2]
        self.dialect = list(DIALECTS.values())[number // 2 % 2]
        is_needed_to_the_end = self.victim in (ALONE, EVERYTHING, DRIVER)  # they publish
        ends = [MOVED, PUBLISHING] if is_needed_to_the_end else []
        phases = [READING, STAGING, *ends]
        self.phase = (
            "tasks" if self.victim == FAILURE else phases[number // len(VICTIMS) % len(phases)]
        )
        self.directory = directory / f"{number}-{tries}"
        self.log_dir = self.directory / "log"
        self.kminilog = CommandLine(self.log_dir)
        self.has_messages = number % 3 == 1
        self.is_beside_others = number % 5 in (0, 3)
        self.kind = TEXT if number % 3 else COLUMNS
        self.source = sources[self.kind]
        self.reading = READING_OPTIONS[self.kind]
        partitioner = f"{FailsOnce.__module__}.{FailsOnce.__qualname__}"
        self.arguments = [self.source, "--topic", "t", *self.reading, "--plan", self.plan]
        if self.victim == FAILURE:
            self.arguments += ["--partitioner", partitioner]

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
        scratch = self.directory / "scratch"
        ingest = Ingest(self.log_dir, "job", scratch, *self.arguments, *self.engine())
        try:
            if self.victim != FAILURE and not (
                ingest.progress.wait_for(self.phase, self.chance.random(), total_bytes)
                and ingest.strike(self.victim, self.chance)
            ):
                return False
            code = ingest.end()
            if self.victim in TOLD and code == 0:
                return False  # it had nothing to do just then, or no more
            self.assert_right_end(code, ingest.complaints)
            again = self.kminilog("ingest", *self.arguments, "--job-id", "job", "--json")
            assert again.code == 0, again
            assert again.document["count"] == ROWS
            ingest.assert_nobody_is_left()
        finally:
            kill_all(ingest.process.pid)
            ingest.end()  # a round that does not count has not waited for it
        return True

    def engine(self) -> list[str]:
        if self.victim == ALONE:
            return ["--engine", "local"]
        return ["--master", "local-cluster[2,1,1024]" if self.victim == EXECUTOR else "local[2]"]

    def create_topic(self) -> None:
        config = ["--config", "segment.bytes=70000", "--dialect", self.dialect.name]
        self.kminilog.ok("topic", "create", "t", "--partitions", PARTITIONS, *config)
        if self.has_messages:
            lines = b"".join(b"before %d\n" % n for n in range(BEFORE))
            self.kminilog.ok("produce", "t", stdin=lines)

    def assert_right_end(self, code: int, complaints: list[str]) -> None:
        if self.victim in (ALONE, EVERYTHING, DRIVER):
            assert code == -9
        elif self.victim == EXECUTOR:
            assert (code, complaints) == (0, [])
        else:
            assert (code, len(complaints)) == (2, 1), complaints
            assert complaints[0].startswith("kminilog: "), complaints
            assert TOLD.get(self.victim, "") in complaints[0]

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
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "rounds", [4, pytest.param(35, marks=pytest.mark.soak)], ids=["quick", "long"]
)
def test_ingest_that_is_killed_and_run_again_has_every_row_once(
    tmp_path, sources, rounds, record_property
):
    tried = 0
    killed: Counter[str] = Counter()
    for number in range(rounds):
        for tries in range(12):
            tried += 1
            this = Round(number, tries, tmp_path, sources)
            if this.run():
                killed[f"{this.victim} while {this.phase} ({this.plan}, {this.kind})"] += 1
                break
        else:
            pytest.fail(f"round {number}: {this.victim} while {this.phase} was never met")
    told = ", ".join(f"{count} x {what}" for what, count in sorted(killed.items()))
    record_property("counted", f"{rounds} of {tried} rounds count: {told}")
