"""What is served: a log dir, or the brokers of a cluster. The requests ask it what differs.

                    a log dir                a cluster
    who leads       broker 0, everything     one of the copies of each partition
    consumers see   all that is appended     what is below the high watermark
    acks -1         nothing to wait for      until all in-sync replicas have it
    topics          come, go and grow        come, and stay as they are

`cluster.py` has the other one. Source: ours; Kafka: ReplicaManager, MetadataCache.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from kminilog.clock import Chance
from kminilog.cluster.leadership import Leadership
from kminilog.cluster.requests import Produced
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.topics import Topic

NODE_ID = 0  # of a log dir
Result = TypeVar("Result")


class Address(NamedTuple):
    """Where clients reach a broker."""

    host: str
    port: int


class Led(NamedTuple):
    """A partition at its leader: its log, up to where consumers see it, the leader's epoch."""

    log: PartitionLog
    end: int
    epoch: int


class Served(Protocol):
    """What the requests need of what is served. `path` has the files of groups and producers."""

    path: Path

    @property
    def topics(self) -> Mapping[str, Topic]:
        """All topics by name."""
        ...

    def create(self, topic: Topic, replicas: int, chance: Chance) -> None:
        """Create a topic. Raises TopicExistsError, RefusedError for that many replicas."""
        ...

    def delete(self, name: str) -> None:
        """Delete a topic; RefusedError if topics stay."""
        ...

    def enlarge(self, name: str, partitions: int) -> None:
        """Let a topic have so many partitions; RefusedError if topics stay."""
        ...

    def nodes(self) -> Mapping[int, Address]:
        """Return the brokers that run."""
        ...

    def leadership(self, partition: TopicPartition) -> Leadership:
        """Return who leads a partition, and where its copies are."""
        ...

    def led(self, partition: TopicPartition, node: int) -> Led:
        """Return a partition that a broker leads.

        Raises NotLeaderForPartitionError if it does not, LeaderNotAvailableError if nobody does.
        """
        ...

    def append(self, partition: TopicPartition, write: Callable[[PartitionLog], Result]) -> Result:
        """Let `write` append to the log of the leader; return what it returns."""
        ...

    def is_replicated(self, partition: TopicPartition, produced: Produced) -> bool:
        """Tell if all in-sync replicas have it.

        NotLeaderForPartitionError if there is another leader, or epoch, since.
        """
        ...


class ServedLogDir:
    """A log dir, whose writer stays the caller's to close; nobody else changes its topics.

    `broken` has a line for each topic that is left out, because its settings cannot be read.
    """

    def __init__(self, log_dir: LogDirWriter, address: Address) -> None:
        self.path = log_dir.path
        self.broken: list[str] = []
        self._log_dir = log_dir
        self._nodes = {NODE_ID: address}
        self._topics = {topic.name: topic for topic in log_dir.topics(self._note_broken)}

    def _note_broken(self, error: Exception) -> None:
        self.broken.append(str(error))

    @property
    def topics(self) -> Mapping[str, Topic]:
        return self._topics

    def create(self, topic: Topic, replicas: int, chance: Chance) -> None:
        self._topics[topic.name] = self._log_dir.create_topic(topic, chance=chance)

    def delete(self, name: str) -> None:
        self._log_dir.delete_topic(name)
        del self._topics[name]

    def enlarge(self, name: str, partitions: int) -> None:
        self._topics[name] = self._log_dir.alter_topic(name, partitions=partitions)

    def nodes(self) -> Mapping[int, Address]:
        return self._nodes

    def leadership(self, partition: TopicPartition) -> Leadership:
        return Leadership.of_new_partition((NODE_ID,))

    def led(self, partition: TopicPartition, node: int) -> Led:
        log = self._log_dir.log(partition)
        return Led(log, log.log_end_offset, 0)

    def append(self, partition: TopicPartition, write: Callable[[PartitionLog], Result]) -> Result:
        return write(self._log_dir.log(partition))

    def is_replicated(self, partition: TopicPartition, produced: Produced) -> bool:
        return True
