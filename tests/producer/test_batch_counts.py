"""Batches are counted once they are done: each once, however often it was sent."""

from random import Random

from kminilog.clock import ManualClock
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.format.names import TopicPartition
from kminilog.producer.batch_counts import Counts
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.record import ProducerRecord
from kminilog.storage.topics import Topic


def test_batch_that_is_sent_again_counts_once_and_one_that_is_never_sent_does_not(tmp_path):
    clock = ManualClock()
    cluster = MiniCluster.open(tmp_path, brokers=1, clock=clock)
    cluster.create_topic(Topic("orders", partitions=2), replication_factor=1)
    config = {"batch.size": 100, "linger.ms": 0}
    producer = ManualProducer(cluster, config, clock=clock, chance=Random(1))
    for _ in range(2):
        producer.send(ProducerRecord("orders", None, bytes(24), partition=1))  # 50 bytes each
    cluster.crash(0)
    producer.step()
    assert producer.batch_counts.total() == Counts(), "its fate is not known"
    cluster.start(0)
    clock.sleep_ms(100)
    producer.step()
    assert producer.report.retries == 1
    assert producer.batch_counts.of(TopicPartition("orders", 1)) == Counts(1, 2, 1.0)
    producer.send(ProducerRecord("orders", None, bytes(24), partition=0))
    producer.close(timeout_ms=0)
    assert producer.batch_counts.of(TopicPartition("orders", 0)) == Counts()
    assert producer.batch_counts.total() == Counts(1, 2, 1.0)
    cluster.close()
