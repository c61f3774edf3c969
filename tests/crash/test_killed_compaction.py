"""`compact` killed with kill -9, while it stages and while it publishes: all of it, or nothing."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.storage.log_dir import LogDir
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.publish.manifests import pending_path
from kminilog.verification.report import verify_storage
from tests.support.log_content import Content, content_of

JOBS, PARTITIONS, LINES = 5, 60, 600
STAGING, PUBLISHING = "staging", "publishing"
PATIENCE_SECONDS = 60


@pytest.fixture
def log_dir(tmp_path: Path, dialect) -> Path:
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"".join(b"%d:value\n" % number for number in range(LINES)))
    source = Source((str(lines),), key_regex="^([^:]*):")
    for _ in range(JOBS):
        ingest_with(
            LocalIngest(),
            tmp_path / "log",
            source,
            topic="t",
            partitions=PARTITIONS,
            dialect=dialect,
        )
    return tmp_path / "log"


def assert_is_whole(log_dir: Path, content: Content) -> None:
    assert content_of(log_dir, "t") == content
    report = verify_storage(LogDir(log_dir))
    assert (report.verdict, report.tally.findings()) == ("ok", [])


def segment_count(log_dir: Path) -> int:
    return len(list(log_dir.glob("t-*/*.log")))


def killed_in(phase: str, log_dir: Path, chance: random.Random) -> bool:
    """Begin to compact, and kill the process in this phase; tell if it was killed."""
    command = [sys.executable, "-m", "kminilog", "--log-dir", str(log_dir), "compact", "t"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE_SECONDS
    sign = log_dir / ".staging" if phase == STAGING else pending_path(log_dir)
    while not os.path.lexists(sign) and process.poll() is None:
        assert time.monotonic() < deadline
    end = time.monotonic() + chance.random() * (0.03 if phase == STAGING else 0.01)
    while time.monotonic() < end:
        pass
    process.kill()
    return process.wait() != 0


@pytest.mark.parametrize("phase", [STAGING, PUBLISHING])
def test_compact_killed_at_any_moment_is_whole_or_nothing(tmp_path, log_dir, phase):
    chance = random.Random(phase)
    content, before, kills, pending = content_of(log_dir, "t"), segment_count(log_dir), 0, 0
    for number in range(6):
        copy = tmp_path / str(number)
        shutil.copytree(log_dir, copy)
        kills += killed_in(phase, copy, chance)
        pending += pending_path(copy).exists()
        assert_is_whole(copy, content)
        is_committed = pending_path(copy).exists() or segment_count(copy) != before
        LogDirWriter.open(copy).close()
        assert_is_whole(copy, content)
        assert segment_count(copy) == (PARTITIONS if is_committed else before)
        shutil.rmtree(copy)
    assert kills
    assert pending or phase == STAGING
