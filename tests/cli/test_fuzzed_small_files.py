"""Whatever stands in the small files of a log dir: no traceback, no hang, nothing outside touched.

A failure prints its seed and the mutant: `mutant(path, SEED)` makes it again.
"""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kminilog.clock import ManualClock
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.columns.staged_logs import seal
from kminilog.errors import KMiniLogError
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import Manifest
from kminilog.storage.publish.publication import open_staged_log, publish, staging_path
from kminilog.storage.topics import Topic
from tests.support.cli.command_line import CommandLine, Run
from tests.support.cli.mutants import GONE, mutate
from tests.support.trees import tree_of

READ_TO_THE_END = ("--config", "consumer.timeout.ms=1")
DELETE = ("topic", "delete", "orders", "--yes")
SEGMENT = "orders-0/00000000000000000000.log"
PAGE = "page.html"
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("topic", "list"),
    ("topic", "describe", "orders"),
    ("ls",),
    ("ls", "--json"),
    ("ls", "--html", PAGE),
    ("find", "orders-0", "3", "--explain"),
    ("consume", "orders", *READ_TO_THE_END),
    ("consume", "orders", "--group", "readers", *READ_TO_THE_END),
    ("verify",),
    ("verify", "orders", "--json"),
    ("group", "list"),
    ("group", "describe", "readers"),
    ("dump", SEGMENT),
    ("produce", "orders"),
    ("recover", "orders-0", "--dry-run"),
    ("recover", "orders-1"),
    ("retain",),
    ("compact", "orders"),
    ("topic", "alter", "orders", "--config", "retention.ms=-1"),
    ("topic", "create", "other", "--partitions", "1"),
    DELETE,
)
LOG_DIR_FILES = (
    "orders.json",
    "kept.json",
    ".manifests/job-1.json",
    ".manifests/.pending",
    ".quarantine/job-1.jsonl",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    ".last-jobs",
    ".cuts",
    ".groups/readers.json",
    ".groups/members.json",
    ".groups/readers.lock",
    ".changes",
    ".reserve",
    ".clean-shutdown",
    ".lock",
    "orders-0/00000000000000000000.log",
    "orders-0/00000000000000000000.index",
)
CLUSTER_FILES = (
    "cluster.json",
    ".lock",
    "broker-0/replication-offset-checkpoint",
    "broker-1/recovery-point-offset-checkpoint",
    "broker-1/orders.json",
)


class Attempt(NamedTuple):
    """How a failure names a command, and how it is run."""

    name: str
    run: Callable[[Path], Run]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log dir with all kinds of small files, another with a pending job, and a cluster."""
    base = tmp_path_factory.mktemp("scenes")
    make_log_dir(base / "log")
    shutil.copytree(base / "log", base / "pending")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("kminilog.storage.publish.publication._finish", lambda *arguments: None)
        with LogDirWriter.open(base / "pending") as writer:
            publish_job(writer, "job-2")
    with_cluster(base / "cluster", lambda cluster: cluster.create_topic(Topic("orders", 2), 2))
    return base


def make_log_dir(path: Path) -> None:
    settings = TopicSettings(segment_bytes=300, index_interval_bytes=60)
    with LogDirWriter.open(path, create=True) as writer:
        writer.create_topic(Topic("orders", 2, DOCUMENTED, settings))
        writer.create_topic(Topic("kept", 1, KAFKA))
        for number in range(2):
            log = writer.log(TopicPartition("orders", number))
            log.append((b"k%d" % n, b"value %d" % n) for n in range(20))
        publish_job(writer, "job-1")
        (path / ".quarantine").mkdir()
        (path / ".quarantine" / "job-1.jsonl").write_text('{"file": "f", "line": 1}\n')
    group = {
        "group": "members",
        "state": "Stable",
        "generation": 1,
        "strategy": "range",
        "partitions": {"orders": 2},
        "members": [
            {
                "id": "consumer-1",
                "topics": ["orders"],
                "session_timeout_ms": 10_000,
                "heard_ms": 10**15,
                "instance_id": None,
                "owned": [],
                "is_waiting": False,
                "is_told": False,
            }
        ],
        "assignment": {"consumer-1": ["orders-0", "orders-1"]},
        "committed": {"orders-0": 7},
    }
    beginning = ("--config", "auto.offset.reset=earliest", *READ_TO_THE_END)
    CommandLine(path).ok("consume", "orders", "--group", "readers", *beginning)
    (path / ".groups" / "members.json").write_text(json.dumps(group))
    cut = {
        "topic": "orders",
        "partition": 1,
        "first_offset": 20,
        "next_offset": 25,
        "reason": "lost",
        "jobs": ["job-1"],
        "is_done": False,
    }
    (path / ".cuts").write_text(json.dumps({"cuts": [cut]}))


def publish_job(writer: LogDirWriter, job_id: str) -> None:
    partition, topic = TopicPartition("orders", 0), writer.topic("orders")
    start = writer.log(partition).log_end_offset
    writer.release(partition)
    (staging_path(writer.path, job_id) / "attempt").mkdir(parents=True, exist_ok=True)
    log = open_staged_log(
        staging_path(writer.path, job_id) / "attempt",
        topic,
        0,
        target=writer.directory(partition),
        first_offset=start,
    )
    log.append((None, b"job %d" % n) for n in range(20))
    staged = seal(log, staging_path(writer.path, job_id), start)
    publish(writer.path, Manifest(job_id, "orders", [staged], {"count": 20, "partitioner": None}))


def with_cluster(path: Path, work: Callable[[MiniCluster], object]) -> None:
    cluster = MiniCluster.open(path, brokers=2, clock=ManualClock())
    try:
        work(cluster)
    finally:
        cluster.close()


def open_cluster(path: Path) -> Run:
    """Open a cluster as a command would, with errors as the command line tells them."""
    try:
        with_cluster(path, lambda cluster: cluster.metadata())
    except (KMiniLogError, OSError, ValueError) as error:
        return Run(2, "", f"kminilog: {error}\n")
    return Run(0, "", "")


def command_attempts(count: int, chance: random.Random) -> list[Attempt]:
    """Return some commands in any order; one that deletes comes last."""

    def attempt(command: tuple[str, ...]) -> Attempt:
        def run(log_dir: Path) -> Run:
            places = {SEGMENT: log_dir / SEGMENT, PAGE: log_dir.parent / PAGE}
            words = [str(places.get(word, word)) for word in command]
            return CommandLine(log_dir)(*words, stdin=b"line\n")

        return Attempt(" ".join(command), run)

    chosen = chance.sample(COMMANDS, count)
    return [attempt(command) for command in sorted(chosen, key=DELETE.__eq__)]


def check_run(run: Run, name: str | None) -> None:
    """A command that met a mutant has said what is wrong in one line, or has done its work.

    `name` must be named where it could not be done; None if the file is not there at all.
    """
    faults = {
        "exit code": run.code not in (0, 1, 2),
        "traceback": "Traceback" in run.err,
        "an error that nobody expected": "--debug" in run.err,
        "a line that is none of ours": any(
            not line.startswith("kminilog: ") for line in run.err.split("\n")[:-1]
        ),
        f"{name} is not named": run.code == 2 and name and name not in run.err + run.out,
    }
    found = [fault for fault, is_there in faults.items() if is_there]
    if found:
        raise AssertionError(f"{found}: {run.code} {run.err!r} {run.out[-300:]!r}")


def fuzz(
    base: Path, directory: Path, name: str, attempts: list[Attempt], chance: random.Random
) -> str | None:
    """Run some commands on one mutant of one file; `directory` is for this alone.

    Return what went wrong.
    """
    shutil.copytree(base, directory / "scene", symlinks=True)
    outside = directory / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    path = directory / "scene" / name
    if chance.random() < 0.3:
        (directory / "scene" / ".clean-shutdown").unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    path.touch()
    mutant = mutate(path, chance, outside)
    before = tree_of(outside)
    for attempt in attempts:
        try:
            print(f"{name}, seed {directory.name}, {attempt.name}: {mutant}")  # told if it hangs
            run = attempt.run(directory / "scene")
            check_run(run, None if mutant == GONE else path.name)
            assert tree_of(outside) == before, "something outside of the log dir was touched"
            (directory / PAGE).unlink(missing_ok=True)
            assert sorted(p.name for p in directory.iterdir()) == ["outside", "scene"]
        except AssertionError as error:
            return f"{name}, seed {directory.name}, {attempt.name}: {mutant}\n    {error!r}"
    shutil.rmtree(directory)
    return None


def fuzz_file(scenes: Path, tmp_path: Path, name: str, seeds: range, commands: int) -> None:
    failures = []
    for seed in seeds:
        chance = random.Random(f"{name} {seed}")
        is_of_cluster = name.startswith("cluster/")
        attempts = [Attempt("open the cluster", open_cluster)] * (1 + (commands > 4))
        if not is_of_cluster:
            attempts = command_attempts(commands, chance)
        file = name.removeprefix("cluster/")
        is_pending = name.endswith(".pending") or chance.random() < 0.2
        base = scenes / ("cluster" if is_of_cluster else "pending" if is_pending else "log")
        failures.append(fuzz(base, tmp_path / str(seed), file, attempts, chance))
    found = [failure for failure in failures if failure]
    assert not found, "\n".join(found)


ALL_FILES = [*LOG_DIR_FILES, *(f"cluster/{name}" for name in CLUSTER_FILES)]


@pytest.mark.parametrize("name", ALL_FILES)
@pytest.mark.usefixtures("without_fsync")
def test_small_file_that_is_anything_is_named_and_nothing_else_is_touched(scenes, tmp_path, name):
    fuzz_file(scenes, tmp_path, name, range(16), commands=3)


@pytest.mark.soak
@pytest.mark.parametrize("name", ALL_FILES)
@pytest.mark.usefixtures("without_fsync")
def test_small_file_that_is_anything_is_named_by_all_commands(scenes, tmp_path, name):
    fuzz_file(scenes, tmp_path, name, range(1000, 1270), commands=len(COMMANDS))
