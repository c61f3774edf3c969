"""A topic and its settings file."""

import json
from random import Random

import pytest

from kminilog.errors import InvalidTopicError, LogDirError
from kminilog.format.dialect import KAFKA
from kminilog.settings import TopicSettings
from kminilog.storage.changes import change_count
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic, new_topic_id


def test_create_topic_is_read_back_with_its_settings(log_dir):
    topic_id = LogDir(log_dir).topic_id("orders")
    assert LogDir(log_dir).topic("orders") == Topic(
        "orders", 2, KAFKA, TopicSettings(segment_bytes=100), topic_id=topic_id
    )
    assert json.loads((log_dir / "orders.json").read_text()) == {
        "topic": "orders",
        "topic_id": topic_id,
        "partitions": 2,
        "dialect": "kafka",
        "config": {"segment.bytes": 100},
    }


@pytest.mark.parametrize("partitions", [0, -1, 100_001])
def test_topic_with_a_number_of_partitions_out_of_bounds_is_refused(partitions):
    with pytest.raises(ValueError, match=str(partitions)):
        Topic("orders", partitions)


def test_topic_with_an_illegal_name_is_refused():
    with pytest.raises(InvalidTopicError):
        Topic("a/b")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"topic": "x", "partitions": 1, "dialect": "kafka", "config": {}}',
        '{"topic": "orders", "partitions": 2.5, "dialect": "kafka", "config": {}}',
        '{"topic": "orders", "partitions": true, "dialect": "kafka", "config": {}}',
        '{"topic": "orders", "partitions": 2, "dialect": ["kafka"], "config": {}}',
        '{"topic": "orders", "partitions": 2, "dialect": "old", "config": {}}',
        '{"topic": "orders", "partitions": 2, "dialect": "kafka", "config": []}',
        '{"topic": "orders", "partitions": 2, "dialect": "kafka", "config": null}',
        '{"topic": "orders", "partitions": 2, "partitions": 3, "dialect": "kafka", "config": {}}',
        '{"topic": "orders", "topic_id": 5, "partitions": 2, "dialect": "kafka", "config": {}}',
        '{"topic": "orders", "topic_id": "..", "partitions": 2, "dialect": "kafka", "config": {}}',
        '{"topic": "orders", "partitions": 2, "dialect": "kafka", "config": {}, '
        '"marked_for_deletion": 1}',
        pytest.param("[" * 100_000, id="too deep"),
    ],
)
def test_settings_file_that_is_broken_is_named(log_dir, text):
    (log_dir / "orders.json").write_text(text)
    with pytest.raises(LogDirError, match=r"orders\.json holds no topic settings"):
        LogDir(log_dir).topic("orders")


def test_create_topic_gives_each_topic_an_id_and_a_seed_repeats_it(tmp_path):
    ids = []
    with LogDirWriter.open(tmp_path) as writer:
        for chances in [{}, {}, {"chance": Random(1)}, {"chance": Random(1)}]:
            made = writer.create_topic(Topic("orders"), **chances)
            assert made == writer.topic("orders")
            ids.append(made.topic_id)
            writer.delete_topic("orders")
    assert None not in ids
    assert len({*ids}) == 3
    assert ids[2:] == [new_topic_id(Random(1))] * 2


def test_topic_keeps_its_id_and_each_new_one_counts_as_a_change_for_readers(tmp_path):
    topic_id = new_topic_id(Random(1))
    with LogDirWriter.open(tmp_path) as writer:
        before = change_count(tmp_path)
        writer.create_topic(Topic("orders", topic_id=topic_id))
        assert change_count(tmp_path) == before + 1
        writer.alter_topic("orders", partitions=2, settings=TopicSettings(segment_bytes=100))
    assert LogDir(tmp_path).topic_id("orders") == topic_id
    assert json.loads((tmp_path / "orders.json").read_text())["topic_id"] == topic_id
