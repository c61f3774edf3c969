"""A real cluster in a directory of its own, with a clock that is moved by hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from kminilog.clock import ManualClock
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.names import TopicPartition
from kminilog.producer.manual_producer import ManualProducer
from kminilog.storage.topics import Topic

TOPIC = "orders"


class SmallCluster:
    """Three brokers, one topic; and producers for it, which let the followers pull."""

    def __init__(
        self, path: Path, *, partitions: int, replication_factor: int, dialect: Dialect
    ) -> None:
        self.clock = ManualClock(1_000_000)
        self.cluster = MiniCluster.open(path, brokers=3, clock=self.clock)
        topic = Topic(TOPIC, partitions, dialect)
        self.cluster.create_topic(topic, replication_factor=replication_factor)

    def producer(self, *, is_replicating: bool = True, **options: Any) -> ManualProducer:
        config = {
            name.replace("_", "."): value for name, value in options.pop("config", {}).items()
        }
        alongside = self.cluster.replicate if is_replicating else lambda: False
        options = {"clock": self.clock, "chance": Random(1), "alongside": alongside, **options}
        return ManualProducer(self.cluster, config, **options)

    def leader(self, partition: int = 0) -> int:
        node = self.cluster.metadata().leader_for(TOPIC, partition)
        assert node
        return node.id

    def values(self, partition: int = 0) -> list[bytes | None]:
        """What a consumer finds in a partition, once the followers have all."""
        while self.cluster.replicate():
            pass
        self.cluster.replicate()
        place, found = TopicPartition(TOPIC, partition), []
        while messages := self.cluster.fetch(place, len(found)).messages:
            found += [message.value for message in messages]
        return found

    def all_values(self) -> list[list[bytes | None]]:
        infos = self.cluster.metadata().partitions_for_topic(TOPIC)
        return [self.values(info.partition) for info in infos]


@contextmanager
def small_cluster(
    path: Path, *, partitions: int = 1, replication_factor: int = 1, dialect: Dialect = KAFKA
) -> Iterator[SmallCluster]:
    small = SmallCluster(
        path, partitions=partitions, replication_factor=replication_factor, dialect=dialect
    )
    try:
        yield small
    finally:
        small.cluster.close()
