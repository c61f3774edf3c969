"""How a producer asks its partitioner: once, and a second time if a batch must begin.

    partition ----> an open batch there has room -----------------------------> that partition
        |
        +---------> none has: on_new_batch, then partition again -------------> what it says now

So the very first record makes a sticky partitioner move on once. The second answer counts even if
that partition has no open batch either. Partitioners from before 2.4 are asked only once
(`is_asked_again`). If `has_room` answers no, it also closes the batch: no more records go into it.

Source: S0 5; Kafka: KafkaProducer.doSend, RecordAccumulator.append (abortOnNewBatch;
partitionChanged from 3.3 on).
"""

from collections.abc import Callable
from typing import Any

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.partitioners.interface import Partitioner, ask_partitioner

HasRoom = Callable[[str, int, int], bool]


class Placement:
    """A partitioner, and a way to ask if a partition has an open batch with room for a record."""

    def __init__(self, partitioner: Partitioner, has_room: HasRoom) -> None:
        self._partitioner = partitioner
        self._has_room = has_room

    def place(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
        size_bytes: int,
    ) -> int:
        """Return the partition for a record of `size_bytes`; the partitioner's state moves on.

        Raises UnknownTopicOrPartitionError for an unknown topic or an answer out of range, and
        whatever the partitioner raises.
        """
        asked = (topic, key, key_bytes, value, value_bytes, cluster)
        chosen = ask_partitioner(self._partitioner, *asked)
        if not self._partitioner.is_asked_again or self._has_room(topic, chosen, size_bytes):
            return chosen
        self._partitioner.on_new_batch(topic, cluster, chosen)
        return ask_partitioner(self._partitioner, *asked)
