"""Lab 6, partitioners: your answers. README.md says what to do."""

from collections.abc import Mapping
from typing import Any

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.partitioners.interface import Partitioner


# 6.1  murmur2, word by word
def murmur2(data: bytes) -> int:
    """Return the signed 32-bit murmur2 hash of some bytes; O(length).

    >>> murmur2(b"21"), murmur2(b"foobar"), murmur2(b"")
    (-973932308, -790332482, 275646681)
    """
    raise NotImplementedError


# 6.2  A hash that is not negative
def to_positive(number: int) -> int:
    """Return the number with its sign bit cleared; this is not the absolute value.

    >>> to_positive(-1), to_positive(-(2**31)), to_positive(5)
    (2147483647, 0, 5)
    """
    raise NotImplementedError


# 6.3  No key, an empty key, and any other
def partition(
    self,
    topic: str,
    key: Any,
    key_bytes: bytes | None,
    value: Any,
    value_bytes: bytes | None,
    cluster: ClusterMetadata,
    number_of_partitions: int | None = None,
) -> int:
    """Return the partition of a record; UnknownTopicOrPartitionError for an unknown topic.

    The documents show a second form of this method: with `number_of_partitions`, 1 at least,
    a key goes to one of so many.
    """
    raise NotImplementedError


# 6.4  Round robin, and the call that skips
class RoundRobin(Partitioner):
    """The available partitions in turn, or all if none is available.

    >>> cluster = ClusterMetadata.of_one_topic("orders", [0, 1, 2])
    >>> in_turn = RoundRobin()
    >>> [in_turn.partition("orders", None, None, None, None, cluster) for _ in range(4)]
    [0, 1, 2, 0]
    """

    def __init__(self) -> None:
        raise NotImplementedError

    def configure(self, config: Mapping[str, Any]) -> None:
        """Read `round-robin.double-call-bug`: if true, on_new_batch does nothing (KAFKA-9965)."""
        raise NotImplementedError

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
        raise NotImplementedError

    def on_new_batch(self, topic: str, cluster: ClusterMetadata, previous_partition: int) -> None:
        """Have the next answer be the previous one again."""
        raise NotImplementedError


# 6.5  Sticky: when to move on
def next_partition(self, topic: str, cluster: ClusterMetadata, previous: int) -> int:
    """Move on from `previous`, and return what is cached then.

    Nothing happens if another partition is cached. Else the next one is drawn:

        none is available       any of all partitions, perhaps the same again
        one is available        this one
        more are available      any available one but the cached

    Raises UnknownTopicOrPartitionError.
    """
    raise NotImplementedError


# 6.6  Count bytes, not batches
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
    raise NotImplementedError


# 6.7  One key under every partitioner
EMPTY_KEY_OFFSET = ...
FIRST_WORD = ...
BY_DEFAULT_2_4 = ...
BY_DEFAULT_0_8 = ...


# 6.11  Which message does not belong here?
DIAGNOSIS = ...


# 6.12  Inputs that expose a wrong murmur2
EXPOSE_MURMUR2 = ...


# 6.13  hashCode, as 0.8 took it
class HashCodePartitioner:
    """0.8's own key partitioner: hash code, made non-negative, modulo all partitions.

    >>> HashCodePartitioner({"default-0.8.abs": "mask"}).partition("order4", 3)
    2
    >>> HashCodePartitioner({"default-0.8.abs": "abs"}).partition("order4", 3)
    0
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def partition(self, key: Any, number_of_partitions: int) -> int:
        """Return the partition by Java's hash code; TypeError or ValueError for a key without."""
        raise NotImplementedError


# 6.14  One partition for ten minutes
def before_switch(self, topic: str, key: Any, cluster: ClusterMetadata, now_ms: int) -> int:
    """Return the partition of a key, or the cached one of a record without a key.

    Forgets what is cached, for all topics, when it is older than the interval. Raises
    UnknownTopicOrPartitionError for a topic that is not there, with a key or without, and
    LeaderNotAvailableError if a draw finds no leader.
    """
    raise NotImplementedError


# 6.15  Your own rule, for 0.8
class ByCustomer08:
    """Keys `customer:order`: all orders of a customer in one partition; the interface of 0.8.

    >>> by_customer = ByCustomer08({"default-0.8.abs": "mask"})
    >>> [by_customer.partition(key, 7) for key in ("alice:1", "alice:2:b", "alice", "bob:1")]
    [6, 6, 6, 4]
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def partition(self, key: str, number_of_partitions: int) -> int:
        """Return the partition of the customer, by the rule of 0.8."""
        raise NotImplementedError


# 6.16  The same rule, from 0.9 on
class ByCustomer:
    """Keys `customer:order`: all orders of a customer in one partition; the interface of 0.9.

    >>> cluster = ClusterMetadata.of_one_topic("orders", range(7), [0, 1])
    >>> keys = [b"alice:1", b"alice:2:b", b"alice", b"bob:1", None]
    >>> [ByCustomer().partition("orders", key, key, None, None, cluster) for key in keys]
    [1, 1, 1, 5, 2]
    """

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return the partition of the customer, by murmur2.

        Without a key, the first available one in the order of the metadata, or the first of all.
        """
        raise NotImplementedError
