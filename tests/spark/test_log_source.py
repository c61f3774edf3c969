from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kminilog.format.message import Message
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.spark.verify.log_source import read_log
from kminilog.storage.log_dir import LogDir
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.publish.manifests import Manifest, StagedPartition
from kminilog.storage.topics import Topic, write_topic
from tests.damage import flip_byte, message_positions

MESSAGES = [(None, b"first"), (b"", b""), (b"k\xff", b"\0\xfe"), ("ключ".encode(), b"x" * 90)] * 5


@pytest.fixture
def log_dir(tmp_path: Path, dialect) -> LogDir:
    with LogDirWriter.open(tmp_path, create=True) as writer:
        for topic in ("orders", "others"):
            writer.create_topic(Topic(topic, 3, dialect, TopicSettings(segment_bytes=400)))
            writer.log(TopicPartition(topic, 0)).append(MESSAGES)
            writer.log(TopicPartition(topic, 1)).append([(b"k", topic.encode())])
    return LogDir(tmp_path)


def stored(log_dir: LogDir, topic: str) -> list[tuple[object, ...]]:
    """What the engine's own readers find, as rows."""
    return [
        (*topic_partition, outcome.offset, position, outcome.key, outcome.value, segment.name)
        for topic_partition in log_dir.topic(topic).all_partitions()
        for segment in log_dir.reader(topic_partition).segments()
        for position, outcome in segment.scan()
        if isinstance(outcome, Message)
    ]


def test_read_log_has_every_message_with_its_place(spark: SparkSession, log_dir):
    rows = read_log(spark, log_dir, "orders").orderBy("partition", "offset").collect()
    found = [tuple(row) for row in rows]
    assert len(found) == len(MESSAGES) + 1
    assert found == stored(log_dir, "orders")


def test_read_log_passes_over_damage(spark: SparkSession, log_dir):
    log = log_dir.path / "orders-0" / "00000000000000000000.log"
    flip_byte(log, message_positions(log.read_bytes())[2] + 13, mask=1)
    offsets = [
        row.offset for row in read_log(spark, log_dir, "orders").where("partition = 0").collect()
    ]
    assert sorted(offsets) == [0, 1, *range(3, len(MESSAGES))]


def test_read_log_without_messages_has_no_rows(spark: SparkSession, tmp_path):
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 2))
    assert read_log(spark, LogDir(tmp_path), "orders").count() == 0


def test_read_log_of_a_job_has_what_it_wrote_in_3000_partitions(spark, tmp_path):
    filled = range(0, 3000, 500)
    with LogDirWriter.open(tmp_path, create=True) as writer:
        write_topic(tmp_path, Topic("orders", 3000))
        for partition in range(3000):  # without segments: much faster than a topic that is created
            (tmp_path / f"orders-{partition}").mkdir()
        for partition in filled:
            writer.log(TopicPartition("orders", partition)).append(MESSAGES)
    staged = [StagedPartition(number, f"orders-{number}", 2, 4, 0, "") for number in range(1, 3001)]
    job = Manifest("j", "orders", staged, {})  # one of its partitions is not in the topic
    rows = read_log(spark, LogDir(tmp_path), "orders", job=job).select("partition", "offset")
    assert sorted(map(tuple, rows.collect())) == [(p, o) for p in filled[1:] for o in (2, 3)]
