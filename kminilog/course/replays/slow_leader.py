"""One leader is slow: which partition gets how many of the records without a key.

Each partition has a leader of its own. That of partition 0 takes 20 ms for a batch, the others take
1 ms; a record is sent each ms. The producer is the real one, its cluster is a toy.

A partitioner that changes its partition with each *batch* (KIP-480) stays long where a batch stays
open long. A fast leader takes a batch with one record in it, and the next record begins another
one. At a slow leader the batch waits, and fills up. So the slowest broker gets the most records
(KAFKA-10888). Kafka 3.3 counts bytes instead (KIP-794). Time is simulated. Source: ours.
"""

from collections import Counter
from collections.abc import Mapping

from kminilog.clock import Chance, Clock, ManualClock
from kminilog.cluster.metadata import ClusterMetadata, Node, PartitionInfo
from kminilog.cluster.requests import Produced, decode_request
from kminilog.format.names import TopicPartition
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.record import ProducerRecord

RECORDS = 300
SLOW_MS = 20
FAST_MS = 1
_TOPIC = "orders"


class SlowCluster:
    """Leaders that keep only counts, and answer after a while."""

    def __init__(self, partitions: int, clock: Clock) -> None:
        nodes = [Node(number) for number in range(partitions)]
        infos = [PartitionInfo(_TOPIC, node.id, node) for node in nodes]
        self._metadata = ClusterMetadata(nodes, infos)
        self._clock = clock
        self._answers_ms: dict[TopicPartition, int] = {}
        self.counts: Counter[int] = Counter()

    def metadata(self) -> ClusterMetadata:
        """Return the same each time: no leader ever fails."""
        return self._metadata

    def produce(self, topic_partition: TopicPartition, data: bytes, *, acks: int) -> Produced:
        """Count the records of a batch; its answer takes the leader's time."""
        partition = topic_partition.partition
        duration_ms = FAST_MS if partition else SLOW_MS
        self._answers_ms[topic_partition] = self._clock.now_ms() + duration_ms
        first = self.counts[partition]
        self.counts[partition] += len(decode_request(data))
        return Produced(first, self.counts[partition], leader=partition, leader_epoch=0)

    def is_replicated(self, topic_partition: TopicPartition, produced: Produced) -> bool:
        """Tell if the leader's time is over; it has one batch at a time."""
        return self._clock.now_ms() >= self._answers_ms[topic_partition]


def replay_slow_leader(
    config: Mapping[str, object], partitions: int, chance: Chance, records: int = RECORDS
) -> list[int]:
    """Return how many of the records each partition gets, with these settings of the producer.

    >>> from random import Random
    >>> config = {"partitioner.class": "uniform-sticky", "batch.size": 78}
    >>> replay_slow_leader(config, 4, Random(0))
    [157, 48, 38, 57]
    """
    clock = ManualClock()
    cluster = SlowCluster(partitions, clock)
    settings = {**config, "acks": -1}
    with ManualProducer(cluster, settings, clock=clock, chance=chance) as producer:
        for _ in range(records):
            producer.send(ProducerRecord(_TOPIC, None, b""))
            producer.step()
            clock.sleep_ms(1)
    return [cluster.counts[partition] for partition in range(partitions)]
