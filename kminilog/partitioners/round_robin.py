"""Round robin, whatever the key, with its known bug on request.

A counter for each topic, from 0. From 2.4 on the producer asks twice whenever a batch begins
(`interface`). If both times count, one turn is lost for each batch; when every record begins a
batch and the number of partitions is even, half of them never get any. That is Kafka 2.4 to 3.9
(KAFKA-9965), and S0's code; here with `round-robin.double-call-bug`. By default the second answer
repeats the first, as in Kafka 4.0 (KAFKA-17632).

Source: S0 4; Kafka: RoundRobinPartitioner.
"""

from collections.abc import Mapping
from typing import Any

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.format.hashing import to_int32
from kminilog.partitioners.default_0_9 import turn
from kminilog.partitioners.interface import Partitioner


class RoundRobin(Partitioner):
    """The available partitions in turn, or all if none is available.

    >>> cluster = ClusterMetadata.of_one_topic("orders", [0, 1, 2])
    >>> in_turn = RoundRobin()
    >>> [in_turn.partition("orders", None, None, None, None, cluster) for _ in range(4)]
    [0, 1, 2, 0]
    """

    def __init__(self) -> None:
        self._counters: dict[str, int] = {}
        self._has_bug = False
        # Topic and partition to answer once more.
        self._repeat: tuple[str, int] | None = None

    def configure(self, config: Mapping[str, Any]) -> None:
        """Read `round-robin.double-call-bug`: if true, on_new_batch does nothing (KAFKA-9965)."""
        self._has_bug = config["round-robin.double-call-bug"]

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return the next partition; UnknownTopicOrPartitionError for an unknown topic."""
        repeat, self._repeat = self._repeat, None
        if repeat and repeat[0] == topic:
            return repeat[1]
        count = self._counters.get(topic, 0)
        chosen = turn(count, topic, cluster)
        self._counters[topic] = to_int32(count + 1)
        return chosen

    def on_new_batch(self, topic: str, cluster: ClusterMetadata, previous_partition: int) -> None:
        """Have the next answer be the previous one again."""
        if not self._has_bug:
            self._repeat = topic, previous_partition
