"""Sticking to one partition until its batch is full, and the cache that remembers it.

The records without key of a short time go to one partition, so batches are fuller than in turn. In
the long run all partitions get about as many, because the next one is drawn at random.

`next_partition` changes the cache only if nothing is cached, or if the previous partition, the one
whose batch is full, is the cached one. Several threads may find the same batch full: then one moves
on, and the others follow it. A drawn partition is stored only if the cache has not changed since
the draw began. The answer is what is stored in the end.

Source: S0 5; Kafka: StickyPartitionCache, UniformStickyPartitioner (KIP-480).
"""

from threading import Lock
from typing import Any

from kminilog.clock import Chance
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.partitioners.interface import Partitioner, partitions_of

_NO_PARTITION = -1


class StickyPartitionCache:
    """The partition that each topic sticks to; for any number of threads."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._lock = Lock()
        self._cached: dict[str, int] = {}

    def partition(self, topic: str, cluster: ClusterMetadata) -> int:
        """Return the cached partition; if there is none, draw one first.

        Raises UnknownTopicOrPartitionError if one must be drawn for an unknown topic.
        """
        cached = self._cached.get(topic)
        return self.next_partition(topic, cluster, _NO_PARTITION) if cached is None else cached

    def next_partition(self, topic: str, cluster: ClusterMetadata, previous: int) -> int:
        """Move on from `previous`, and return what is cached then.

        Nothing happens if another partition is cached. Else the next one is drawn:

            none is available       any of all partitions, perhaps the same again
            one is available        this one
            more are available      any available one but the cached

        Raises UnknownTopicOrPartitionError.
        """
        cached = self._cached.get(topic)
        if cached is not None and cached != previous:
            return cached
        drawn = self._draw(topic, cluster, cached)
        with self._lock:
            # The draw took time: somebody else may have moved on meanwhile.
            if self._cached.get(topic) == cached:
                self._cached[topic] = drawn
            return self._cached[topic]

    def _draw(self, topic: str, cluster: ClusterMetadata, cached: int | None) -> int:
        number_of_partitions = len(partitions_of(topic, cluster))
        available = [info.partition for info in cluster.available_partitions_for_topic(topic)]
        if not available:
            return self._chance.randrange(number_of_partitions)
        others = [partition for partition in available if partition != cached]
        candidates = available if len(available) == 1 else others
        return candidates[self._chance.randrange(len(candidates))]


class UniformSticky(Partitioner):
    """One partition for all records of a topic, with or without key, until a batch is full."""

    def __init__(self, chance: Chance) -> None:
        self._cache = StickyPartitionCache(chance)

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return the partition that the topic sticks to; raises as the cache does."""
        return self._cache.partition(topic, cluster)

    def on_new_batch(self, topic: str, cluster: ClusterMetadata, previous_partition: int) -> None:
        """Move on from the partition whose batch has no room."""
        self._cache.next_partition(topic, cluster, previous_partition)


class StickyCache(UniformSticky):
    """The cache alone, under its own name `sticky-cache`.

    The document describes the cache apart from its users. Coupled to a producer it does what
    `uniform-sticky` does, for that is nothing but the cache: same seed, same partitions.
    """
