"""How a producer asks its partitioner: once, and a second time if a batch must begin.

    partition ----> an open batch there has room -----------------------------> that partition
        |
        +---------> none has: on_new_batch, then partition again -------------> what it says now

So the very first record makes a sticky partitioner move on once. The second answer holds even if
there is no open batch there either. Partitioners from before 2.4 are asked once only
(`is_asked_again`). Whoever tells that a batch has no room closes it: nothing goes into it any more.

`OpenBatches` stands for a producer's batches where nothing is sent. Source: S0 5; Kafka:
KafkaProducer.doSend, RecordAccumulator.append (abortOnNewBatch; partitionChanged from 3.3 on).
"""

from collections.abc import Callable
from typing import Any

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.partitioners.interface import Partitioner, checked_partition

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
        """Return the partition for a record of `size_bytes`, and have the partitioner's state move.

        Raises UnknownTopicOrPartitionError for an unknown topic or an answer out of range, and
        whatever the partitioner raises.
        """
        asked = (topic, key, key_bytes, value, value_bytes, cluster)
        chosen = checked_partition(self._partitioner, *asked)
        if not self._partitioner.is_asked_again or self._has_room(topic, chosen, size_bytes):
            return chosen
        self._partitioner.on_new_batch(topic, cluster, chosen)
        return checked_partition(self._partitioner, *asked)


class OpenBatches:
    """The size of the open batch of each partition, where none is ever sent.

    >>> batches = OpenBatches(batch_size_bytes=100)
    >>> batches.has_room("orders", 0, 60)
    False
    >>> batches.append("orders", 0, 60), batches.has_room("orders", 0, 40)
    (False, True)
    >>> batches.append("orders", 0, 40), batches.has_room("orders", 0, 1)
    (True, False)
    """

    def __init__(self, batch_size_bytes: int) -> None:
        # As in a producer: batches of no bytes are batches of one record.
        self._batch_size_bytes = max(1, batch_size_bytes)
        self._size_bytes: dict[tuple[str, int], int] = {}

    def has_room(self, topic: str, partition: int, size_bytes: int) -> bool:
        """Tell if the open batch, if there is one, takes a record of this size; else close it."""
        open_bytes = self._size_bytes.get((topic, partition))
        if open_bytes is not None and open_bytes + size_bytes <= self._batch_size_bytes:
            return True
        self._size_bytes.pop((topic, partition), None)
        return False

    def append(self, topic: str, partition: int, size_bytes: int) -> bool:
        """Put a record into the open batch or a new one; return whether that is full now."""
        if not self.has_room(topic, partition, size_bytes):
            self._size_bytes[topic, partition] = 0
        self._size_bytes[topic, partition] += size_bytes
        return self._size_bytes[topic, partition] >= self._batch_size_bytes
