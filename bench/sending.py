"""Processor time of a message from `send` to its future, beside kafka-python's own producer.

Both have a thread that sends, batches of 16 KiB that linger until they are full, the same keyed
messages and three partitions. What stands for the brokers acknowledges each batch at once and keeps
nothing. kafka-python writes the old message format, too. It is fetched, and left out if it cannot
be had.
"""

import gc
import random
import threading
import time
from typing import Any

from bench.timing import ratio, rounds_of_each
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.cluster.requests import Produced
from kminilog.format.names import TopicPartition
from kminilog.producer.record import ProducerRecord
from kminilog.producer.sender import Producer
from tests.support.conformance.wheel_oracles import OracleAbsentError, kafka_python

MESSAGES = 20_000
ROUNDS = 9
LINGER_MS = 60_000
TOPIC = "orders"
PARTITIONS = 3


def measure() -> None:
    rng = random.Random(1)
    pairs = [(rng.randbytes(10), rng.randbytes(100)) for _ in range(MESSAGES)]
    try:
        theirs = KafkaPython()
    except OracleAbsentError as error:
        return print(f"send: not compared with kafka-python: {error}")
    works = [lambda: send_all(pairs), lambda: theirs.send_all(pairs)]
    gc.collect()
    gc.freeze()  # what other sections have loaded: a program that sends need not have it
    our_times, their_times = rounds_of_each(works, ROUNDS, clock=time.process_time)
    gc.unfreeze()
    print(f"\nsend: {MESSAGES} keyed messages, acknowledged at once; processor time")
    for name, times in (("kminilog", our_times), ("kafka-python", their_times)):
        microseconds = sorted(times)[len(times) // 2] / MESSAGES * 1e6
        print(f"{name:14}{microseconds:8.1f} us a message")
    print(f"kminilog takes {ratio(our_times, their_times):.2f} x the time of kafka-python")
    return None


class Acknowledging:
    """A cluster that acknowledges each batch at once, and keeps nothing."""

    def __init__(self) -> None:
        self._metadata = ClusterMetadata.of_one_topic(TOPIC, range(PARTITIONS))

    def metadata(self) -> ClusterMetadata:
        return self._metadata

    def produce(self, topic_partition: TopicPartition, data: bytes, *, acks: int) -> Produced:
        return Produced(0, 0, leader=0, leader_epoch=0)

    def is_replicated(self, topic_partition: TopicPartition, produced: Produced) -> bool:
        return True


def send_all(pairs: list[tuple[bytes, bytes]]) -> None:
    with Producer(Acknowledging(), {"linger.ms": LINGER_MS}, chance=random.Random(1)) as producer:
        for pair in pairs:
            last = producer.send(ProducerRecord(TOPIC, *pair))
        producer.flush()
    assert last.result(timeout=0)
    assert producer.report.acknowledged == len(pairs)


class KafkaPython:
    """kafka-python's producer, with a client that acknowledges each request at once."""

    def __init__(self) -> None:
        names = ("producer.kafka", "cluster", "future", "protocol.metadata", "protocol.produce")
        found = kafka_python(*(f"kafka.{name}" for name in names))
        self._kafka, cluster, future, metadata, produce = found
        self._kafka.KafkaClient = _client_class(cluster, future, metadata, produce)

    def send_all(self, pairs: list[tuple[bytes, bytes]]) -> None:
        producer = self._kafka.KafkaProducer(api_version=(0, 9), acks=1, linger_ms=LINGER_MS)
        for key, value in pairs:
            last = producer.send(TOPIC, value, key)
        producer.flush()
        assert last.succeeded()
        producer.close()


def _client_class(cluster: Any, future: Any, metadata: Any, produce: Any) -> type[Any]:
    brokers = [(0, "none", 9092)]
    partitions = [(0, number, 0, [0], [0]) for number in range(PARTITIONS)]
    known = metadata.MetadataResponse[0](brokers, [(0, TOPIC, partitions)])

    class Client:
        """What kafka-python's sender asks of its client."""

        def __init__(self, **config: Any) -> None:
            self.config = config
            self.cluster = cluster.ClusterMetadata(bootstrap_servers=[])
            self.cluster.update_metadata(known)
            self._topics = {TOPIC}
            self._is_woken = threading.Event()

        def is_ready(self, node: int) -> bool:
            return True

        def send(self, node: int, request: Any, wakeup: bool) -> Any:
            topics = [(t, [(p, 0, 0) for p, _ in data]) for t, data in request.topics]
            return future.Future().success(produce.ProduceResponse[1](topics, 0))

        def poll(self, timeout_ms: float) -> None:
            self._is_woken.wait(min(timeout_ms / 1000, 1))
            self._is_woken.clear()

        def wakeup(self) -> None:
            self._is_woken.set()

        def in_flight_request_count(self, node: int | None = None) -> int:
            return 0

        def close(self) -> None:
            pass

    return Client
