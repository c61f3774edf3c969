"""A command line with an empty log dir, one whose log dir has a topic, and an installed one."""

import subprocess
import sys
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

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

    What the wheel says that it needs without extras is linked from this environment.
    """
    directory = tmp_path_factory.mktemp("a wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)
    (wheel,) = directory.glob("*.whl")
    environment = [sys.executable, "-m", "venv", "--without-pip", directory / "venv"]
    subprocess.run(environment, check=True)
    python = directory / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--quiet", wheel], check=True)
    (packages,) = directory.glob("venv/lib/python*/site-packages")
    (metadata,) = packages.glob("kminilog-*.dist-info")
    link_needed(PathDistribution(metadata), packages)
    return python


def link_needed(package: Distribution, packages: Path) -> None:
    """Link what a package needs, and what that needs, into the folder of another environment."""
    for requirement in map(Requirement, package.requires or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            needed = distribution(requirement.name)
            assert requirement.specifier.contains(needed.version)
            for name in {file.parts[0] for file in needed.files or ()} - {"..", "__pycache__"}:
                if not (packages / name).exists():
                    (packages / name).symlink_to(str(needed.locate_file(name)))
            link_needed(needed, packages)
