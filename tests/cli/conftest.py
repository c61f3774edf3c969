"""A command line with an empty log dir, one whose log dir has a topic, and an installed one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli.command_line import PROJECT, CommandLine


@pytest.fixture
def kminilog(tmp_path: Path) -> CommandLine:
    """`kminilog` with a log dir that is not there yet."""
    return CommandLine(tmp_path / "log-dir")


@pytest.fixture
def orders(kminilog: CommandLine) -> CommandLine:
    """`kminilog` with a topic `orders`: one partition, 20 messages in several tiny segments."""
    config = ["--config", "segment.bytes=200", "--config", "index.interval.bytes=60"]
    kminilog.ok("topic", "create", "orders", "--partitions", 1, *config)
    lines = b"".join(b"key%d:value%d\n" % (number, number) for number in range(20))
    kminilog.ok("produce", "orders", "--key-separator", ":", stdin=lines)
    return kminilog


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark session that is asked for is a failure."""

    def started(master: str | None) -> None:
        pytest.fail("Spark was started")

    monkeypatch.setattr("kminilog.jobs.spark.runtime.session.spark_session", started)
    monkeypatch.setattr("kminilog.jobs.spark.runtime.session.existing_session", lambda: None)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment, whose path has a space, with a wheel of this project.

    pip fetches what the wheel needs without extras.
    """
    pytest.importorskip("hatchling", reason="NOT TESTED: hatchling is not installed")
    directory = tmp_path_factory.mktemp("a wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)
    (wheel,) = directory.glob("*.whl")
    environment = [sys.executable, "-m", "venv", "--without-pip", directory / "venv"]
    subprocess.run(environment, check=True)
    python = directory / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", wheel]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        is_wanted = os.environ.get("KMINILOG_REQUIRE_ORACLES") == "1"
        (pytest.fail if is_wanted else pytest.skip)(f"NOT TESTED: a wheel: {done.stderr}")
    return python
