"""A command line with an empty log dir, one whose log dir has a topic, and an installed one."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command_line import PROJECT, CommandLine
from tests.spark.conftest import spark

__all__ = ["kminilog", "orders", "spark"]


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

    monkeypatch.setattr("kminilog.spark.runtime.session.spark_session", started)
    monkeypatch.setattr("kminilog.spark.runtime.session.existing_session", lambda: None)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment, whose path has a space, with a wheel of this project."""
    pytest.importorskip("hatchling", reason="NOT TESTED: hatchling is not installed")
    directory = tmp_path_factory.mktemp("a wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)
    (wheel,) = directory.glob("*.whl")
    environment = [sys.executable, "-m", "venv", "--without-pip", directory / "venv"]
    subprocess.run(environment, check=True)
    python = directory / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--quiet", wheel], check=True)
    libraries = next(Path(each) for each in sys.path if each.endswith("site-packages"))
    (here,) = (directory / "venv" / "lib").glob("python*/site-packages")
    # Only what kminilog needs: a .pth of all would bring the checkout, which is editable there.
    for name in ("click", "sortedcontainers", "numpy", "numpy.libs", "pyarrow", "rich"):
        if (libraries / name).exists():
            (here / name).symlink_to(libraries / name)
    return python
