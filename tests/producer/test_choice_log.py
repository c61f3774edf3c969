"""S4's line for each choice of a partition, through Python's logging."""

import logging

from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.producer.record import ProducerRecord
from kminilog.producer.sender import LOGGER, Producer, log_choice
from kminilog.storage.topics import Topic
from kminilog.system import SystemClock


def test_producer_with_a_thread_logs_each_choice_at_the_level_debug(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, LOGGER.name)
    cluster = MiniCluster.open(tmp_path, brokers=1, clock=SystemClock())
    cluster.create_topic(Topic("orders", partitions=3), replication_factor=1)
    config = {"partitioner.class": "round-robin", "key.serializer": "string"}
    with Producer(cluster, config) as producer:
        for key in ("alice", None):
            producer.send(ProducerRecord("orders", key, b"book"))
    cluster.close()
    assert caplog.record_tuples == [
        (
            "kminilog.producer",
            logging.DEBUG,
            f"Assigning message of topic orders and key {key} to a selected partition {number}",
        )
        for number, key in enumerate(["alice", "[none]"])
    ]


def test_log_choice_makes_no_text_of_a_key_that_nobody_wants_to_see(caplog):
    class Key:
        def __str__(self) -> str:
            raise AssertionError("asked for a text")

    caplog.set_level(logging.INFO, LOGGER.name)
    log_choice(ProducerRecord("orders", Key()), 1)
    assert caplog.records == []
