"""`compact` killed with kill -9, while it stages and while it publishes: all of it, or nothing."""

import random
import shutil
import signal
from pathlib import Path

import pytest

from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import pending_path
from kminilog.verification.report import verify_storage
from tests.support.log_content import Content, content_of
from tests.support.processes import start

JOBS, PARTITIONS, LINES = 3, 12, 200
STAGING, PUBLISHING = "staging", "publishing"


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


def compact(phase: str, log_dir: Path, steps: int = -1) -> int:
    """Compact, and die after so many steps of a phase; return how many there were if it lives."""
    sign = log_dir / ".staging" if phase == STAGING else pending_path(log_dir)
    words = ["--log-dir", log_dir, "compact", "t"]
    with start("crash.dying_command", sign, steps, *words) as process:
        said, complaints = process.stdout.read(), process.stderr.read()
        assert (process.wait(), complaints) == (-signal.SIGKILL if steps >= 0 else 0, "")
    return int(said.split()[-1]) if said else 0


@pytest.mark.processes
@pytest.mark.parametrize("phase", [STAGING, PUBLISHING])
def test_compact_killed_at_any_step_is_whole_or_nothing(tmp_path, log_dir, phase):
    chance = random.Random(phase)
    content, before = content_of(log_dir, "t"), segment_count(log_dir)
    shutil.copytree(log_dir, tmp_path / "alive")
    steps = compact(phase, tmp_path / "alive")
    assert steps > 2 * PARTITIONS
    for number in range(6):
        copy = tmp_path / str(number)
        shutil.copytree(log_dir, copy)
        compact(phase, copy, chance.randrange(steps))
        assert pending_path(copy).exists() or phase == STAGING
        assert_is_whole(copy, content)
        is_committed = pending_path(copy).exists() or segment_count(copy) != before
        LogDirWriter.open(copy).close()
        assert_is_whole(copy, content)
        assert segment_count(copy) == (PARTITIONS if is_committed else before)
        shutil.rmtree(copy)
