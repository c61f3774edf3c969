"""Kafka 0.8's way: key objects hashed as Java would, and one cached partition for all without key.

The checks, in the order of S4's getPartition, numbers as in the documented system:

    1. no such topic                     UnknownTopicOrPartitionError               P2
    2. no key: the cached partition,     its leader is not looked at again          P1
               else one at random        of those that have a leader, then cached;
                                         none has one: LeaderNotAvailableError
       a key:  the key partitioner       of all partitions; 0.8's own, or a user's  P1, P8
    3. out of range                      UnknownTopicOrPartitionError               P2
    4. `send.switch.broker.enable`, and the chosen partition has no leader:         P2
               another one at random     of those that have one, never cached;
                                         none has one: LeaderNotAvailableError

The cache is forgotten, for all topics, once it is older than topic.metadata.refresh.interval.ms
(-1: never), and with each `on_metadata_refresh`. Random, but not round robin: records without key
go to one partition for ten minutes.

Source: S1 6, S3, S4; Kafka: DefaultEventHandler.getPartition, DefaultPartitioner of 0.8. Differs:
S4's cache of leaders knows only the topic that came first, and goes stale; here the metadata is
asked (docs/differences.md).
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kminilog.clock import Chance, Clock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import LeaderNotAvailableError
from kminilog.format.java_hashing import ABS_RULES, java_hash
from kminilog.partitioners.interface import (
    Partitioner,
    check_partition,
    partitions_of,
)


class KeyPartitioner(Protocol):
    """0.8's interface of a partitioner: it sees keys only, and is made with all the settings."""

    def partition(self, key: Any, number_of_partitions: int) -> int:
        """Return the partition of a key, which is never None."""
        ...


class HashCodePartitioner:
    """0.8's own key partitioner: hash code, made non-negative, modulo all partitions.

    >>> HashCodePartitioner({"default-0.8.abs": "mask"}).partition("order4", 3)
    2
    >>> HashCodePartitioner({"default-0.8.abs": "abs"}).partition("order4", 3)
    0
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self._non_negative = ABS_RULES[properties["default-0.8.abs"]]

    def partition(self, key: Any, number_of_partitions: int) -> int:
        """Return the partition by Java's hash code; TypeError or ValueError for a key without."""
        return self._non_negative(java_hash(key)) % number_of_partitions


class Default08(Partitioner):
    """Kafka 0.8, and the frame for a user's partitioner in the old interface."""

    is_asked_again = False

    def __init__(
        self,
        chance: Chance,
        clock: Clock,
        make_key_partitioner: Callable[[Mapping[str, Any]], KeyPartitioner] | None = None,
    ) -> None:
        self._chance = chance
        self._clock = clock
        self._make_key_partitioner = make_key_partitioner or HashCodePartitioner
        self._cached: dict[str, int] = {}
        self._refreshed_ms: int | None = None

    def configure(self, config: Mapping[str, Any]) -> None:
        """Make the key partitioner with the settings, and take three of them."""
        self._key_partitioner = self._make_key_partitioner(config)
        self._is_switch_on: bool = config["send.switch.broker.enable"]
        self._refresh_interval_ms: int = config["topic.metadata.refresh.interval.ms"]

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return the partition of a record; raises as the module's table says."""
        chosen = self.before_switch(topic, key, cluster, self._clock.now_ms())
        check_partition(topic, chosen, cluster)
        if self._is_switch_on and cluster.leader_for(topic, chosen) is None:
            return self._random_available(topic, cluster)
        return chosen

    def before_switch(self, topic: str, key: Any, cluster: ClusterMetadata, now_ms: int) -> int:
        """Return the partition of a key, or the cached one of a record without a key.

        Forgets what is cached, for all topics, when it is older than the interval. Raises
        UnknownTopicOrPartitionError for a topic that is not there, with a key or without, and
        LeaderNotAvailableError if a draw finds no leader.
        """
        number_of_partitions = len(partitions_of(topic, cluster))
        if self._refreshed_ms is None:
            self._refreshed_ms = now_ms
        if 0 <= self._refresh_interval_ms < now_ms - self._refreshed_ms:
            self._refreshed_ms = now_ms
            self._cached.clear()
        if key is not None:
            return self._key_partitioner.partition(key, number_of_partitions)
        # A cached partition without leader is answered too: sending to it fails, and what
        # follows a failure is a refresh, which empties the cache.
        if topic not in self._cached:
            self._cached[topic] = self._random_available(topic, cluster)
        return self._cached[topic]

    def on_metadata_refresh(self) -> None:
        """Forget the cached partitions of all topics."""
        self._cached.clear()

    def _random_available(self, topic: str, cluster: ClusterMetadata) -> int:
        available = cluster.available_partitions_for_topic(topic)
        if not available:
            raise LeaderNotAvailableError(topic)
        return available[self._chance.randrange(len(available))].partition
