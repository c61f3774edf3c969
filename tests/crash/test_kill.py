"""kill -9 of a process that appends, at random moments: what a flush had acknowledged is there."""

import random
from pathlib import Path

import pytest

from kminilog.errors import LogDirLockedError
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from tests.support.crash.numbered_messages import numbered_message
from tests.support.invariants import check_log
from tests.support.processes import cpu_seconds, kill, read_line, start, wait_until

pytestmark = pytest.mark.processes

ORDERS_0 = TopicPartition("orders", 0)
# What the topic is like, and how large the values are (0: as numbered_messages likes them).
VARIANTS = [
    (TopicSettings(), 0),
    (TopicSettings(segment_bytes=2000, index_interval_bytes=100), 0),
    (TopicSettings(segment_bytes=5000, flush_messages=1), 0),
    (TopicSettings(segment_bytes=2**26), 100_000),
]
ROUNDS_PER_LOG = 5


@pytest.mark.first
@pytest.mark.parametrize(
    "rounds", [10, pytest.param(200, marks=pytest.mark.soak)], ids=["quick", "long"]
)
def test_kill_while_appending_loses_nothing_that_was_flushed(
    tmp_path, dialect, rounds, record_property
):
    """A round counts if the killed process had acknowledged something; some are killed before, so
    that recovery is interrupted too."""
    source = random.Random(rounds)
    counted = tried = torn = 0
    while counted < rounds:
        settings, value_bytes = VARIANTS[tried % len(VARIANTS)]
        log_dir = tmp_path / f"{tried // len(VARIANTS) // ROUNDS_PER_LOG}-{tried % len(VARIANTS)}"
        if not log_dir.exists():
            create(log_dir, dialect, settings)
        acknowledged = append_and_kill(log_dir, source, value_bytes)
        torn += assert_nothing_lost(log_dir, acknowledged, value_bytes)
        tried += 1
        counted += acknowledged > 0
    record_property("counted", f"{counted} of {tried} rounds count, {torn} left a torn tail")


def create(log_dir: Path, dialect: Dialect, settings: TopicSettings) -> None:
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic("orders", 1, dialect, settings))


def append_and_kill(log_dir: Path, source: random.Random, value_bytes: int) -> int:
    """Return the greatest log end offset that the killed process had acknowledged, 0 if none."""
    with start("crash.appending_process", log_dir, source.randrange(10**9), value_bytes) as process:
        acknowledged, moment = 0, source.uniform(0, 0.3)  # it starts, or recovers
        if source.random() < 0.85:
            acknowledged = int(read_line(process))
            moment = cpu_seconds(process.pid) + source.uniform(0, 0.03)
        wait_until(lambda: cpu_seconds(process.pid) >= moment, alive=process)
        return max(map(int, kill(process)), default=acknowledged)


def assert_nothing_lost(log_dir: Path, acknowledged: int, value_bytes: int) -> bool:
    """Recover, and find every message once, in order, as it was; tell if there was a torn tail."""
    with LogDirWriter.open(log_dir) as writer:
        log = writer.log(ORDERS_0)
        check_log(log)
        assert log.log_end_offset >= acknowledged
        offset = 0
        while messages := log.reader.read(offset, 10**6):
            for message in messages:
                expected = numbered_message(offset, value_bytes or None)
                assert (message.offset, message.key, message.value) == (offset, *expected)
                offset += 1
        assert offset == log.log_end_offset
        assert not any("it was on the disk" in line for line in writer.warnings)
        return any("torn-tail" in line for line in writer.warnings)


def test_second_writer_is_refused_in_one_line_until_the_first_is_killed(tmp_path, dialect):
    create(tmp_path, dialect, TopicSettings(flush_messages=1))
    with start("crash.appending_process", tmp_path, 1, 0) as process:
        read_line(process)
        with pytest.raises(LogDirLockedError) as caught:
            LogDirWriter.open(tmp_path)
        assert "\n" not in str(caught.value)
        assert f"process {process.pid} is writing to it" in str(caught.value)
        kill(process)
    with LogDirWriter.open(tmp_path) as writer:
        check_log(writer.log(ORDERS_0))
