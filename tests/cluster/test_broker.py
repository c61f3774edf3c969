import shutil
from dataclasses import replace
from random import Random

import pytest

from kminilog.cluster.broker import HIGH_WATERMARK_FILE, Broker
from kminilog.errors import CorruptLogError, LogDirError, LogDirLockedError, TopicExistsError
from kminilog.format.dialect import KAFKA
from kminilog.format.names import TopicPartition
from kminilog.storage.checkpoint import read_checkpoint
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.topics import Topic, new_topic_id, write_topic
from tests.support.cluster.clusters import ORDERS, SETTINGS, request
from tests.support.damage import flip_byte
from tests.support.invariants import check_broker

TOPIC = Topic("orders", 2, KAFKA, SETTINGS, topic_id=new_topic_id(Random(0)))
OTHER = TopicPartition("orders", 1)


@pytest.fixture
def broker(tmp_path):
    one = Broker(4, tmp_path / "broker-4")
    one.start([])
    one.create_topic(TOPIC, [ORDERS])
    one.replica(ORDERS).append_request(request(b"a", b"b", b"c"), now_ms=0)
    one.replica(ORDERS).high_watermark = 2
    return one


def values(one: Broker) -> list[bytes | None]:
    return [message.value for message in one.replica(ORDERS).fetch(0)]


def test_stop_leaves_a_clean_shutdown_and_the_high_watermarks(broker):
    broker.stop()
    assert not broker.is_running
    assert (broker.path / CLEAN_SHUTDOWN_FILE).exists()
    assert read_checkpoint(broker.path, HIGH_WATERMARK_FILE) == {ORDERS: 2}
    broker.start([ORDERS])
    assert (values(broker), broker.replica(ORDERS).high_watermark) == ([b"a", b"b", b"c"], 2)
    check_broker(broker)


def test_crash_leaves_neither_but_all_that_was_appended(broker):
    broker.crash()
    assert not broker.is_running
    assert not (broker.path / CLEAN_SHUTDOWN_FILE).exists()
    assert read_checkpoint(broker.path, HIGH_WATERMARK_FILE) == {}
    broker.start([ORDERS])
    assert (values(broker), broker.replica(ORDERS).high_watermark) == ([b"a", b"b", b"c"], 0)


def test_crash_lets_go_of_the_lock(broker):
    with pytest.raises(LogDirLockedError):
        LogDirWriter.open(broker.path)
    broker.crash()
    LogDirWriter.open(broker.path).close()


def test_start_with_damage_is_an_error_and_the_broker_stays_down(broker):
    broker.crash()
    flip_byte(broker.path / "orders-0" / "00000000000000000000.log", 20, mask=1)
    for _ in range(2):
        with pytest.raises(CorruptLogError):
            broker.start([ORDERS])
        assert not broker.is_running


def test_start_takes_away_an_empty_last_segment_that_a_crash_has_left(broker):
    log = broker.replica(ORDERS).log
    names = sorted(path.name for path in log.directory.iterdir())
    assert log.roll()
    broker.crash()
    broker.start([ORDERS])
    assert sorted(path.name for path in log.directory.iterdir()) == names


@pytest.mark.parametrize("call", [Broker.stop, Broker.crash, Broker.checkpoint])
def test_broker_that_is_down_refuses(broker, call):
    broker.stop()
    with pytest.raises(ValueError, match="broker 4 is not running"):
        call(broker)


def test_create_topic_takes_over_an_empty_one_that_a_crash_has_left(tmp_path):
    one = Broker(0, tmp_path)
    one.start([])
    one.create_topic(TOPIC, [ORDERS])
    one.crash()
    one.start([])
    one.create_topic(TOPIC, [OTHER])
    assert one.replica(OTHER).log.log_end_offset == 0
    one.stop()


def test_create_topic_gives_an_empty_one_that_a_crash_has_left_the_id_of_this_attempt(tmp_path):
    one = Broker(0, tmp_path)
    for topic_id in (new_topic_id(Random(1)), new_topic_id(Random(2))):
        one.start([])
        one.create_topic(replace(TOPIC, topic_id=topic_id), [ORDERS])
        assert LogDir(tmp_path).topic_id("orders") == topic_id
        one.crash()


def test_create_topic_finishes_a_deletion_that_a_crash_has_interrupted(tmp_path):
    """So ends an interrupted attempt if its `take_back` is killed."""
    one = Broker(0, tmp_path)
    one.start([])
    one.create_topic(TOPIC, [ORDERS])
    write_topic(tmp_path, replace(TOPIC, is_marked_for_deletion=True))
    shutil.rmtree(tmp_path / "orders-0")
    one.crash()
    one.start([])
    assert not one.take_warnings()
    one.create_topic(replace(TOPIC, partitions=1), [ORDERS])
    assert one.replica(ORDERS).log.log_end_offset == 0
    assert sorted(path.name for path in tmp_path.glob("orders*")) == ["orders-0", "orders.json"]
    assert LogDir(tmp_path).topic("orders").partitions == 1
    one.stop()


def test_start_with_another_topic_of_that_name_is_refused_and_the_broker_stays_down(broker):
    """Its high watermark and its copies are those of the topic that was there before."""
    broker.stop()
    mine = replace(TOPIC, topic_id=new_topic_id(Random(1)))
    told = f"orders has the id {TOPIC.topic_id}, that of the cluster has {mine.topic_id}; put"
    with pytest.raises(LogDirError, match=told):
        broker.start([ORDERS], [mine])
    assert not broker.is_running
    broker.start([ORDERS], [TOPIC, Topic("others", topic_id=mine.topic_id)])
    broker.stop()


@pytest.mark.parametrize("topic", [TOPIC, Topic("orders", 3, KAFKA, SETTINGS)])
def test_create_topic_over_messages_or_another_topic_is_refused(broker, topic):
    if topic != TOPIC:
        broker.truncate_to(ORDERS, 0)
    with pytest.raises(TopicExistsError):
        broker.create_topic(topic, [ORDERS])


def test_truncate_to_lowers_what_is_on_record_at_once(broker):
    broker.stop()
    broker.start([ORDERS])
    assert read_checkpoint(broker.path)[ORDERS] == 3
    broker.truncate_to(ORDERS, 1)
    assert read_checkpoint(broker.path)[ORDERS] == 1
    assert (values(broker), broker.replica(ORDERS).high_watermark) == ([b"a"], 1)
