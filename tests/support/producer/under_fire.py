"""Many keyed messages through a producer into a cluster that loses a broker on the way.

Three brokers, six partitions, three copies, acks -1. A third of the way one broker crashes, just
when its followers have copied what it has not acknowledged yet; at two thirds it comes back. Then
everything is read from the files, not from the cluster.
"""

import filecmp
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from kminilog.cluster.metadata import ClusterMetadata, Node
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.cluster.requests import Cluster, Produced
from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.message import Message, scan
from kminilog.format.names import TopicPartition
from kminilog.producer.delivery import DeliveryReport
from kminilog.producer.record import ProducerRecord
from kminilog.producer.sender import Producer, replicating
from kminilog.settings import TopicSettings
from kminilog.storage.topics import Topic
from kminilog.system import SystemClock

BROKERS, PARTITIONS, KEYS = 3, 6, 1000
TOPIC = "orders"


class Repeats:
    """A cluster that takes note of the messages of requests that came more than once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen: set[tuple[TopicPartition, bytes]] = set()
        self.numbers: Counter[int] = Counter()
        self.requests: Counter[TopicPartition] = Counter()

    def metadata(self) -> ClusterMetadata:
        return self._cluster.metadata()

    def is_replicated(self, topic_partition: TopicPartition, produced: Produced) -> bool:
        return self._cluster.is_replicated(topic_partition, produced)

    def produce(self, topic_partition: TopicPartition, data: bytes, *, acks: int) -> Produced:
        if (topic_partition, data) in self._seen:
            self.numbers.update(numbers_in(KAFKA, data))
        self._seen.add((topic_partition, data))
        produced = self._cluster.produce(topic_partition, data, acks=acks)
        self.requests[topic_partition] += 1
        return produced


class Outcome(NamedTuple):
    """What was found in the files; `seconds` is the time from the first to the last message."""

    report: DeliveryReport
    lost: set[int]
    repeated: Counter[int]
    sent_again: Counter[int]
    out_of_order: int
    differing: list[str]
    seconds: float


def numbers_in(dialect: Dialect, data: bytes) -> list[int]:
    messages = [outcome for _, outcome in scan(dialect, data)]
    assert all(isinstance(message, Message) for message in messages)
    return [int(message.value) for message in messages]


def send_under_fire(path: Path, messages: int, dialect: Dialect) -> Outcome:
    clock = SystemClock()
    cluster = MiniCluster.open(path, brokers=BROKERS, clock=clock)
    settings = TopicSettings(segment_bytes=max(100_000, messages * 4))
    cluster.create_topic(Topic(TOPIC, PARTITIONS, dialect, settings), replication_factor=BROKERS)
    repeats = Repeats(cluster)
    began_ms = clock.now_ms()
    with Producer(repeats, {"acks": -1}, clock=clock, chance=Random(1)) as producer:

        def send(numbers: range) -> None:
            for number in numbers:
                key = b"key-%d" % (number % KEYS)
                producer.send(ProducerRecord(TOPIC, key, b"%d" % number))

        third = messages // 3
        with replicating(cluster.replicate):
            send(range(third))
            producer.flush()
        crash_in_doubt(cluster, repeats, lambda: send(range(third, third + KEYS)))
        with replicating(cluster.replicate):
            send(range(third + KEYS, 2 * third))
            cluster.start(1)
            send(range(2 * third, messages))
            producer.flush()
    seconds = (clock.now_ms() - began_ms) / 1000
    while cluster.replicate():
        pass
    cluster.replicate()
    directories = [
        [path / f"broker-{node}" / str(place) for node in range(BROKERS)]
        for place in Topic(TOPIC, PARTITIONS).all_partitions()
    ]
    cluster.close()
    return judge(directories, messages, dialect, producer.report, repeats.numbers, seconds)


def crash_in_doubt(cluster: MiniCluster, repeats: Repeats, send: Callable[[], None]) -> None:
    """Crash broker 1 when its followers have copied a batch, and it has not heard of it."""
    led = {
        TopicPartition(TOPIC, number)
        for number in range(PARTITIONS)
        if cluster.metadata().leader_for(TOPIC, number) == Node(1, port=9093)
    }
    assert led
    before = dict(repeats.requests)
    send()
    while not all(repeats.requests[place] > before.get(place, 0) for place in led):
        time.sleep(0.001)
    cluster.replicate()
    cluster.crash(1)


def judge(
    directories: list[list[Path]],
    messages: int,
    dialect: Dialect,
    report: DeliveryReport,
    sent_again: Counter[int],
    seconds: float,
) -> Outcome:
    counts: Counter[int] = Counter()
    out_of_order = 0
    for first, *_ in directories:
        last_of_key: dict[int, int] = defaultdict(lambda: -1)
        for log in sorted(first.glob("*.log")):
            for number in numbers_in(dialect, log.read_bytes()):
                counts[number] += 1
                if counts[number] == 1:
                    out_of_order += number < last_of_key[number % KEYS]
                    last_of_key[number % KEYS] = number
    repeated = Counter({number: count - 1 for number, count in counts.items() if count > 1})
    lost = set(range(messages)) - set(counts)
    differing = [line for copies in directories for line in differences(copies)]
    return Outcome(report, lost, repeated, sent_again, out_of_order, differing, seconds)


def differences(copies: list[Path]) -> list[str]:
    """Name the files in which copies of a partition differ."""
    first, *others = copies
    names = sorted(path.name for path in first.iterdir())
    found = []
    for other in others:
        if names != sorted(path.name for path in other.iterdir()):
            found.append(f"{other}: other files than {first}")
            continue
        _, mismatch, errors = filecmp.cmpfiles(first, other, names, shallow=False)
        found += [str(other / name) for name in (*mismatch, *errors)]
    return found
