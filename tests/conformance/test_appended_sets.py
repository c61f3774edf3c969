"""Segments that Kafka's own code has written, set by set: verification is silent about them."""

import random
from itertools import accumulate
from pathlib import Path

import pytest

from kminilog.clock import ManualClock
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.verification.account.engine import LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.report import verify_storage
from tests.support.conformance.kafka_oracle import run_java
from tests.verification.test_index_rule import kafkas_entries

pytestmark = pytest.mark.conformance

PROGRAM = Path(__file__).parents[1] / "support" / "conformance" / "SegmentOracle.java"
INTERVAL_BYTES = 4096


@pytest.mark.parametrize("largest", [1, 20, 400])
def test_segment_of_kafka_written_set_by_set_has_no_finding(tmp_path, largest):
    chance = random.Random(largest)
    sizes = [chance.randint(1, largest) for _ in range(3 + 2000 // largest)]
    firsts = [0, *accumulate(sizes)]
    messages = [encode(KAFKA, n, b"k", bytes(chance.randrange(80))) for n in range(firsts[-1])]
    sets = [
        b"".join(messages[first : first + size]) for first, size in zip(firsts, sizes, strict=False)
    ]
    settings = TopicSettings(index_interval_bytes=INTERVAL_BYTES)
    with LogDirWriter.open(tmp_path / "log", create=True) as writer:
        writer.create_topic(Topic("t", dialect=KAFKA, settings=settings))
    directory = tmp_path / "log" / "t-0"
    for path in directory.iterdir():
        path.unlink()
    (tmp_path / "sets").write_bytes(b"".join(sets))
    appends = [f"{first}:{len(data)}" for first, data in zip(firsts, sets, strict=False)]
    run_java(PROGRAM, " ".join([f"{tmp_path}/sets {directory} {INTERVAL_BYTES}", *appends]))

    (index,) = directory.glob("*.index")
    assert index.read_bytes() == kafkas_entries(index, sizes, INTERVAL_BYTES)
    report = verify_storage(LogDir(tmp_path / "log"))
    assert (report.tally.total(), report.verdict) == (0, "ok")
    assert report.partitions[0]["message_count"] == len(messages)
    log_dir = LogDir(tmp_path / "log")
    strict = verify_with(LocalEngine(), ManualClock(), log_dir, [], strict_index=True)
    assert bool(strict.tally.total()) == (largest > 1)
