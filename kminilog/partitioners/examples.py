"""Custom partitioners, those of the documents and two more, to name in `partitioner.class`.

`AlwaysTwo` is written for the old interface. `DocumentedExample` is written for the new
one and has four faults, kept as a lesson; `CorrectedExample` is what it meant:

    it takes to_positive after Java's remainder    a negative hash gives a number near 2**31
    it divides by the number of available          a key moves whenever a broker comes or goes
    it answers the place in the list               which is not the number of the partition
    it counts when it is asked a second time       every new batch skips a turn

`ByTime` places a record by the time when it was created. S0 names this as a possibility, but the
arguments of `partition` do not have the time: the hook `on_timestamp` does.

`ByCustomer08` and `ByCustomer` are one rule in both interfaces: the orders of a customer stay
together. The old one gets key objects only, and never a record without a key.

Source: S1 6, S0 2 and 3.
"""

from collections.abc import Mapping
from typing import Any

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.format.hashing import murmur2, to_int32, to_positive
from kminilog.format.java_hashing import java_remainder
from kminilog.partitioners.default_0_8 import HashCodePartitioner
from kminilog.partitioners.interface import partitions_of
from kminilog.partitioners.keyed import murmur2_partition


class AlwaysTwo:
    """S1's MyPartitioner: made with the settings, and every key goes to partition 2.

    >>> AlwaysTwo({}).partition("zhang", 3)
    2
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.properties = properties

    def partition(self, key: Any, number_of_partitions: int) -> int:
        """Return 2; with two partitions or fewer there is no such one."""
        return 2


class DocumentedExample:
    """S0's MyPartitioner, to the letter.

    >>> cluster = ClusterMetadata.of_one_topic("orders", [0, 1, 2])
    >>> DocumentedExample().partition("orders", "21", b"21", None, None, cluster)
    2147483646
    """

    def __init__(self) -> None:
        self._counter = 0

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take nothing."""

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return a place in the list of available partitions, or a number near 2**31.

        Raises ZeroDivisionError if none is available.
        """
        size = len(cluster.available_partitions_for_topic(topic))
        if key_bytes is None:
            count = self._counter
            self._counter = to_int32(count + 1)
            return java_remainder(count, size)
        return to_positive(java_remainder(murmur2(key_bytes), size))

    def close(self) -> None:
        """Do nothing."""


class CorrectedExample:
    """What S0's MyPartitioner is meant to do: in turn without key, by the hash with one.

    Asked once only, it loses no turn when a batch begins (KAFKA-9965).

    >>> cluster = ClusterMetadata.of_one_topic("orders", [0, 1, 2])
    >>> CorrectedExample().partition("orders", "21", b"21", None, None, cluster)
    0
    """

    is_asked_again = False

    def __init__(self) -> None:
        self._counter = 0

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return a partition: of all for a key; without one, of the available if there are any."""
        every = cluster.partitions_for_topic(topic)
        if key_bytes is not None:
            return to_positive(murmur2(key_bytes)) % len(every)
        candidates = cluster.available_partitions_for_topic(topic) or every
        place = to_positive(self._counter) % len(candidates)
        self._counter = to_int32(self._counter + 1)
        return candidates[place].partition


class ByTime:
    """All records of one hour go to one partition, those of the next hour to the next one.

    So a consumer can read one hour alone. In return, only one partition is written at a time.

    >>> cluster = ClusterMetadata.of_one_topic("orders", [0, 1, 2])
    >>> by_time = ByTime()
    >>> for at_ms in (0, 3_599_999, 3_600_000, 10_800_000):
    ...     by_time.on_timestamp(at_ms)
    ...     print(by_time.partition("orders", None, None, None, None, cluster))
    0
    0
    1
    0
    """

    period_ms = 3_600_000
    is_asked_again = False
    _at_ms: int | None = None

    def on_timestamp(self, timestamp_ms: int) -> None:
        """Note the time of the record that `partition` is asked about next."""
        self._at_ms = timestamp_ms

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return the partition of the hour; ValueError if nobody has said when it was created."""
        if self._at_ms is None:
            raise ValueError("these records have no time")
        return self._at_ms // self.period_ms % len(cluster.partitions_for_topic(topic))


class ByCustomer08:
    """Keys `customer:order`: all orders of a customer in one partition; the interface of 0.8.

    >>> by_customer = ByCustomer08({"default-0.8.abs": "mask"})
    >>> [by_customer.partition(key, 7) for key in ("alice:1", "alice:2:b", "alice", "bob:1")]
    [6, 6, 6, 4]
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self._by_hash_code = HashCodePartitioner(properties)

    def partition(self, key: str, number_of_partitions: int) -> int:
        """Return the partition of the customer, by the rule of 0.8."""
        customer, _, _ = key.partition(":")
        return self._by_hash_code.partition(customer, number_of_partitions)


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
        every = partitions_of(topic, cluster)
        if key_bytes is None:
            return (cluster.available_partitions_for_topic(topic) or every)[0].partition
        customer, _, _ = key_bytes.partition(b":")
        return murmur2_partition(customer, len(every))
