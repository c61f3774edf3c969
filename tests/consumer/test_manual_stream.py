"""A stream without a thread: what it hands out, drops and commits, step by step."""

from random import Random

import pytest

from kminilog.clock import ManualClock
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.manual_stream import ManualStream
from kminilog.consumer.readers import LogDirSource
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic

pytestmark = pytest.mark.usefixtures("without_fsync")
PLACE = TopicPartition("orders", 0)
CONFIG = {"group.id": "readers", "auto.offset.reset": "earliest", "queued.max.messages": 3}


@pytest.fixture
def stream(tmp_path):
    with LogDirWriter.open(tmp_path) as writer:
        writer.create_topic(Topic("orders"))
        writer.log(PLACE).append([(None, b"%d" % number) for number in range(5)])
    clock, source = ManualClock(), LogDirSource(LogDir(tmp_path))
    coordinator = Coordinator(
        tmp_path, source.topics, source.topic_id, clock=clock, chance=Random(1)
    )

    def make(**on_change):
        own = {**CONFIG, "enable.auto.commit": False}
        consumer = Consumer(source, own, clock=clock, coordinator=coordinator, **on_change)
        consumer.subscribe(["orders"])
        return consumer

    made = ManualStream("s", make, CONFIG, clock)
    made.committed = lambda: coordinator.committed("readers").get(PLACE)
    return made


def test_manual_stream_fetches_in_step_only_and_not_more_than_its_queue_holds(stream):
    assert stream.take() is None
    stream.step()
    stream.step()
    assert [record.offset for record in stream.queued] == [0, 1, 2]
    assert (stream.take().offset, stream.queued_count) == (0, 2)


@pytest.mark.parametrize(("is_done", "committed"), [(True, 2), (False, 1)])
def test_manual_stream_closed_commits_what_was_read(stream, is_done, committed):
    stream.step()
    assert [stream.take().offset for _ in range(2)] == [0, 1]
    stream.close(is_done=is_done)
    assert stream.committed() == committed
    assert stream.take() is None


def test_manual_stream_whose_partition_is_taken_away_drops_what_it_has_queued(stream):
    stream.step()
    assert stream.take().offset == 0
    stream._on_revoked([PLACE])
    assert stream.queued == []
    assert stream.take() is None
