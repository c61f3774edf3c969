"""Kafka 3.3 and later: the hash of a key, else a partition for about a batch's worth of bytes.

Without key, or with `partitioner.ignore.keys`, records stick to a partition until it has got
`batch.size` bytes and its last batch is full, or until it has got twice as many bytes. If the last
batch has room when the bytes are reached, the switch is postponed. It then comes before the first
record that finds that batch full or sent. So batches are seldom left half empty:

    batch.size 100       30 30 30 | 30 ...      the fourth does not fit, but 90 bytes are too few
                         sent after 80 | 80 -   80 + 80 bytes: the next one goes elsewhere

The next partition is drawn, and may be the same again:

    evenly      of the available partitions, or of all if none is available
    adaptively  once every partition of the topic has a queue: shorter queues are likelier. From the
                queues [0, 3, 1] come the weights [4, 1, 3], longest + 1 - own, and their running
                sums [4, 5, 8]; a draw of 0 to 7 falls to the first sum above it

An adaptive draw leaves out partitions without leader, and stalled ones if
`partitioner.availability.timeout.ms` is set. The draw is even if no partition is left, or if none
was left out and all queues are equal. A partition stays chosen until it has got its bytes, whatever
happens to it.

Not in the documents. Source: Kafka: BuiltInPartitioner, RecordAccumulator.partitionReady (KIP-794).
"""

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from kminilog.clock import Chance
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.partitioners.interface import Partitioner, partitions_of
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.partitioners.random_choice import any_partition


class Load(NamedTuple):
    """The partitions to draw from, and the running sums of their weights."""

    partitions: tuple[int, ...]
    sums: tuple[int, ...]

    @classmethod
    def of_queues(cls, queue_sizes: Mapping[int, int]) -> "Load":
        """Return the load for these lengths of queues, at least one.

        >>> Load.of_queues({0: 0, 1: 3, 2: 1})
        Load(partitions=(0, 1, 2), sums=(4, 5, 8))
        """
        longest = max(queue_sizes.values())
        weights = (longest + 1 - size for size in queue_sizes.values())
        return cls(tuple(queue_sizes), tuple(accumulate(weights)))

    def pick(self, drawn: int) -> int:
        """Return the partition of a drawn number, which is at least 0 and below the last sum.

        >>> load = Load.of_queues({0: 0, 1: 3, 2: 1})
        >>> [load.pick(drawn) for drawn in range(8)]
        [0, 0, 0, 0, 1, 2, 2, 2]
        """
        return self.partitions[bisect_right(self.sums, drawn)]


@dataclass
class _Current:
    """The current partition, and how many bytes went there since it was drawn."""

    partition: int
    produced_bytes: int = 0


class BuiltIn(Partitioner):
    """Murmur2 for keys; for the rest, a partition that changes with the bytes produced."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._needs_new_batch = False
        self._current: dict[str, _Current] = {}
        self._loads: dict[str, Load] = {}

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take the settings that the module names."""
        # Kafka too takes a batch.size of 0 for 1.
        self._batch_size_bytes: int = max(1, config["batch.size"])
        self._ignores_keys: bool = config["partitioner.ignore.keys"]
        self._is_adaptive: bool = config["partitioner.adaptive.partitioning.enable"]
        self._leaves_out_stalled = config["partitioner.availability.timeout.ms"] > 0

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return the partition of a record; UnknownTopicOrPartitionError for an unknown topic."""
        number_of_partitions = len(partitions_of(topic, cluster))
        needs_new_batch, self._needs_new_batch = self._needs_new_batch, False
        if key_bytes is not None and not self._ignores_keys:
            return murmur2_partition(key_bytes, number_of_partitions)
        current = self._current.get(topic)
        if current and needs_new_batch and current.produced_bytes >= self._batch_size_bytes:
            current = None
        return (current or self._switch(topic, cluster)).partition

    def on_new_batch(self, topic: str, cluster: ClusterMetadata, previous_partition: int) -> None:
        """Allow a postponed switch in the call of `partition` that follows."""
        self._needs_new_batch = True

    def on_appended(
        self,
        topic: str,
        partition: int,
        size_bytes: int,
        *,
        has_key: bool,
        is_batch_full: bool,
        cluster: ClusterMetadata,
    ) -> None:
        """Count the bytes of a record that was not placed by its key, and switch if it is time."""
        current = self._current.get(topic)
        is_placed_by_key = has_key and not self._ignores_keys
        if current is None or current.partition != partition or is_placed_by_key:
            return
        current.produced_bytes += size_bytes
        least = self._batch_size_bytes if is_batch_full else 2 * self._batch_size_bytes
        if current.produced_bytes >= least:
            self._switch(topic, cluster)

    def on_queues(
        self,
        topic: str,
        queue_sizes: Mapping[int, int],
        cluster: ClusterMetadata,
        *,
        stalled: Collection[int] = (),
    ) -> None:
        """Store the lengths of the queues for later draws."""
        self._loads.pop(topic, None)
        all_have_one = len(queue_sizes) >= len(cluster.partitions_for_topic(topic))
        if not self._is_adaptive or not all_have_one:
            return
        left_out = stalled if self._leaves_out_stalled else ()
        counting = {
            partition: size
            for partition, size in queue_sizes.items()
            if partition not in left_out and cluster.leader_for(topic, partition)
        }
        is_even = len(counting) == len(queue_sizes) and len(set(counting.values())) == 1
        if counting and not is_even:
            self._loads[topic] = Load.of_queues(counting)

    def _switch(self, topic: str, cluster: ClusterMetadata) -> _Current:
        load = self._loads.get(topic)
        if load is None:
            drawn = any_partition(self._chance, topic, cluster)
        else:
            drawn = load.pick(self._chance.randrange(load.sums[-1]))
        self._current[topic] = _Current(drawn)
        return self._current[topic]
