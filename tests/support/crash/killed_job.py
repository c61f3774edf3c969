"""A job as a process of its own, watched from outside, and processes of it that are killed.

    starts    .job-staging/<job>* appears   reading: nothing is joined yet
              segments grow in it           staging, without the lock
              a partition is there twice    joining again, because others have appended
              it becomes .staging/<job>     moved, under the lock
              .manifests/.pending is there  publishing
              .manifests/<job>.json is      over

A process, its JVM, its Python workers and its executors are one session of the operating system's,
so they can be told from all others. Nothing of kminilog is imported here.
"""

import contextlib
import glob
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.processes import wait_until

PROJECT = Path(__file__).parents[3]
READING, STAGING, AGAIN, MOVED, PUBLISHING = "reading", "staging", "again", "moved", "publishing"
EVERYTHING, DRIVER, WORKER, EXECUTOR, FAILURE = "all", "driver", "worker", "executor", "failure"
JVM = "jvm"  # of the driver
COMMITTER = "committer"  # the worker in which a data source commits
ALONE = "process without Spark"  # the local engine
MARKER, WAITS_FOR = "KMINILOG_TEST_FAILS_ONCE", "KMINILOG_TEST_WAITS_FOR"
_TASK = re.compile(r"pyspark\.daemon pyspark\.worker$")
_COMMIT = re.compile(r"pyspark\.daemon pyspark\.sql\.\S+(commit_data_source_write|sink_runner)$")
_READING_SECONDS = 2.0  # about as long as it takes until the first segment


class Process(NamedTuple):
    pid: int
    parent: int
    session: int
    state: str
    command: str


def processes_of(session: int) -> list[Process]:
    """Return what lives in a session of the operating system's."""
    listed = subprocess.run(
        ["ps", "-e", "-ww", "-o", "pid=,ppid=,sess=,stat=,args="],
        capture_output=True,
        text=True,
        check=True,
    )
    found = []
    for line in listed.stdout.splitlines():
        pid, parent, its_session, state, command = line.split(maxsplit=4)
        if int(its_session) == session and not state.startswith("Z"):
            found.append(Process(int(pid), int(parent), int(its_session), state, command))
    return found


class Progress:
    """How far a job is, seen from outside; `is_alive` tells if whoever does it still lives."""

    def __init__(self, log_dir: Path, job_id: str, is_alive: Callable[[], bool]) -> None:
        self._working = log_dir / ".job-staging"
        self._of_this_job = f"{job_id}*"
        self._staging = log_dir / ".staging" / job_id
        self._pending = log_dir / ".manifests" / ".pending"
        self._committed = log_dir / ".manifests" / f"{job_id}.json"
        self._is_alive = is_alive

    @property
    def staged_bytes(self) -> int:
        """How many bytes of messages tasks have staged so far."""
        total = 0
        for directory in (self._staging, *self._working.glob(self._of_this_job)):
            for inner, _, names in os.walk(directory):
                for name in names:
                    if name.endswith(".log"):
                        with contextlib.suppress(FileNotFoundError):
                            total += os.stat(os.path.join(inner, name)).st_size
        return total

    def _has_begun(self) -> bool:
        return any(self._working.glob(self._of_this_job))

    def _joins_again(self) -> bool:
        # Unlike a Path, the module skips a directory that is deleted meanwhile.
        found = glob.glob(f"{self._working}/{self._of_this_job}/*/*-[0-9]")
        names = [os.path.basename(path) for path in found]
        return len(set(names)) < len(names)

    @property
    def is_over(self) -> bool:
        """Tell if the job is committed, or has ended without that."""
        return self._committed.exists() or not self._is_alive()

    def wait_for(self, phase: str, share: float, total_bytes: int) -> bool:
        """Wait until a share of a phase has passed; False if the job was over before."""
        if not self._until(self._has_begun):
            return False
        if phase == READING:
            end = time.monotonic() + share * _READING_SECONDS
            return self._until(lambda: time.monotonic() > end or self.staged_bytes > 0)
        if phase == STAGING:
            return self._until(lambda: self.staged_bytes > share * total_bytes)
        if phase == AGAIN:
            return self._until(self._joins_again)
        path = self._staging if phase == MOVED else self._pending
        return self._until(path.exists, pause_seconds=0)

    def _until(self, condition: Callable[[], bool], pause_seconds: float = 0.002) -> bool:
        while not condition():
            if self.is_over:
                return False
            time.sleep(pause_seconds)
        return True


def kill_one(session: int, victim: str, chance: random.Random) -> bool:
    """Kill -9 the driver's JVM or one executor of a session, one worker at work in a task, or one
    that commits, if there is one.
    """
    alive = processes_of(session)
    daemons = {process.pid for process in alive if "pyspark.daemon" in process.command}
    targets = {
        WORKER: [
            p for p in alive if p.parent in daemons and _TASK.search(p.command) and "R" in p.state
        ],
        COMMITTER: [p for p in alive if p.parent in daemons and _COMMIT.search(p.command)],
        EXECUTOR: [p for p in alive if "CoarseGrainedExecutorBackend" in p.command],
        JVM: [p for p in alive if "org.apache.spark.deploy.SparkSubmit" in p.command],
    }[victim]
    if targets:
        os.kill(chance.choice(targets).pid, signal.SIGKILL)
    return bool(targets)


def kill_all(session: int) -> None:
    """Kill -9 all that lives in a session."""
    while alive := processes_of(session):
        for process in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.01)


def environment(scratch: Path) -> dict[str, str]:
    """Return the environment of a process that finds this checkout and litters only in a place of
    its own."""
    return os.environ | {
        "PYTHONPATH": str(PROJECT),
        "SPARK_LOCAL_DIRS": str(scratch),
        "TMPDIR": str(scratch),
        MARKER: str(scratch / "failed-once"),
        WAITS_FOR: str(scratch / "go-on"),
    }


class Job:
    """A module with these arguments, at work on a job in a process of its own."""

    def __init__(self, log_dir: Path, job_id: str, scratch: Path, *module: object) -> None:
        scratch.mkdir(parents=True)
        self.scratch, self._errors = scratch, scratch / "stderr"
        with open(self._errors, "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *map(str, module)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd=scratch,
                env=environment(scratch),
                start_new_session=True,
            )
        self.progress = Progress(log_dir, job_id, lambda: self.process.poll() is None)

    def strike(
        self, victim: str, chance: random.Random, executors: Sequence[int] | None = None
    ) -> bool:
        """Kill -9 what is named, as soon as it is there; False if the job is over before.

        `executors` are the sessions in which these live, if it is not that of the job.
        """
        sessions = executors if executors and victim in (WORKER, EXECUTOR) else [self.process.pid]
        while not self.progress.is_over:
            if victim in (EVERYTHING, DRIVER, ALONE):
                self.process.kill()
                if victim == EVERYTHING:
                    kill_all(self.process.pid)
                return True
            if any(kill_one(session, victim, chance) for session in sessions):
                return True
            time.sleep(0.002)
        return False

    def end(self) -> int:
        """Wait for its end and return its exit code."""
        return self.process.wait()

    def assert_nobody_is_left(self) -> None:
        """Wait until its JVMs and workers have ended by themselves; else pytest ends the test."""
        wait_until(lambda: not processes_of(self.process.pid))

    @property
    def complaints(self) -> list[str]:
        """What it has said to stderr, without its signs of life."""
        lines = self._errors.read_text(errors="replace").splitlines()
        return [line for line in lines if " … " not in line and "Spark: " not in line]


def start_ingest(log_dir: Path, job_id: str, scratch: Path, *arguments: object) -> Job:
    """Start `kminilog ingest` with these arguments."""
    words = ["kminilog.cli.main", "--log-dir", log_dir, "ingest", "--job-id", job_id, *arguments]
    return Job(log_dir, job_id, scratch, *words)
