"""A command line with an empty log dir, and one whose log dir has a topic."""

from pathlib import Path

import pytest

from tests.cli.command_line import CommandLine
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
