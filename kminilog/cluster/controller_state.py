"""What a cluster stores besides the brokers' logs: topics, replicas, leaders, in-sync lists.

    cluster.json      topics with their settings, and the leadership of each partition
    .lock             held while the cluster is open
    broker-0/         the log dir of broker 0
    broker-1/ ...

    {"topics": [{"topic": "orders", "partitions": 1, "dialect": "documented", "config": {}}],
     "partitions": {"orders-0": {"replicas": [0, 1], "leader": 0, "leader_epoch": 0,
                                 "in_sync": [0, 1]}}}

Each change is on the disk before it takes effect. `leadership` decides who leads. Source: ours;
Kafka keeps the same facts in ZooKeeper, under /brokers/topics.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kminilog.client_errors import UnknownTopicOrPartitionError
from kminilog.cluster.leadership import Leadership
from kminilog.format.names import TopicPartition
from kminilog.format.topic_names import parse_topic_partition
from kminilog.storage.durable_file import replace_file
from kminilog.storage.json_file import number, read_json, typed
from kminilog.storage.lock import LogDirLock
from kminilog.storage.topics import Topic

STATE_FILE = "cluster.json"
AnyPath = Path | str


class ControllerState:
    """The stored state of a cluster in a directory, which is locked until `close`."""

    def __init__(self, path: AnyPath, lock: LogDirLock) -> None:
        self.path = Path(path)
        self._lock = lock
        self.topics: dict[str, Topic] = {}
        self.partitions: dict[TopicPartition, Leadership] = {}

    @classmethod
    def open(cls, path: AnyPath) -> "ControllerState":
        """Read the state in a directory; a new or empty directory has no state yet.

        Raises LogDirLockedError, and LogDirError if the file is broken.
        """
        Path(path).mkdir(parents=True, exist_ok=True)
        state = cls(path, LogDirLock(Path(path)))
        try:
            state._read()
        except BaseException:
            state.close()
            raise
        return state

    def broker_path(self, node: int) -> Path:
        """Return the log dir of a broker."""
        return self.path / f"broker-{node}"

    def add_topic(self, topic: Topic, partitions: Mapping[TopicPartition, Leadership]) -> None:
        """Store a topic and its partitions; once it returns, they survive a power failure.

        The topic exists from then on.
        """
        self._write({**self.topics, topic.name: topic}, {**self.partitions, **partitions})

    def record(self, partitions: Mapping[TopicPartition, Leadership]) -> None:
        """Store a new leadership of some partitions; once it returns, it survives."""
        self._write(self.topics, {**self.partitions, **partitions})

    def _write(
        self, topics: dict[str, Topic], partitions: dict[TopicPartition, Leadership]
    ) -> None:
        state = {
            "topics": [topic.to_json() for topic in topics.values()],
            "partitions": {
                str(topic_partition): leadership._asdict()
                for topic_partition, leadership in partitions.items()
            },
        }
        replace_file(self.path / STATE_FILE, (json.dumps(state, indent=2) + "\n").encode())
        self.topics, self.partitions = topics, partitions  # only what is on the disk counts

    def leadership(self, topic_partition: TopicPartition) -> Leadership:
        """Return who leads a partition; UnknownTopicOrPartitionError if there is no such one."""
        found = self.partitions.get(topic_partition)
        if found is None:
            topic = self.topics.get(topic_partition.topic)
            if topic:
                topic.partition(topic_partition.partition)
            raise UnknownTopicOrPartitionError(topic_partition.topic)
        return found

    def close(self) -> None:
        """Release the lock; everything is stored already."""
        self._lock.release()

    def _read(self) -> None:
        path = self.path / STATE_FILE
        with suppress(FileNotFoundError):  # a new cluster
            self.topics, self.partitions = read_json(path, _parse, what="state of a cluster")


def _parse(document: Any) -> tuple[dict[str, Topic], dict[TopicPartition, Leadership]]:
    state = typed(document, dict)
    topics = [Topic.from_json(typed(facts, dict)) for facts in typed(state["topics"], list)]
    partitions = dict(map(_partition, typed(state["partitions"], dict).items()))
    if sorted(partitions) != sorted(tp for topic in topics for tp in topic.all_partitions()):
        raise ValueError("the partitions are not those of the topics")
    return {topic.name: topic for topic in topics}, partitions


def _partition(item: tuple[str, Any]) -> tuple[TopicPartition, Leadership]:
    name, facts = item
    topic_partition = parse_topic_partition(name)
    if topic_partition is None:
        raise ValueError(f"{name!r} names no partition")
    replicas, leader = _nodes(facts["replicas"]), facts["leader"]
    in_sync, epoch = _nodes(facts["in_sync"]), number(facts["leader_epoch"])
    if not set(in_sync) <= set(replicas) or not in_sync:
        raise ValueError(f"{name}: in_sync is not some of its replicas")
    if leader is not None and number(leader) not in in_sync:
        raise ValueError(f"{name}: the leader is none of in_sync")
    return topic_partition, Leadership(replicas, leader, epoch, in_sync)


def _nodes(value: Any) -> tuple[int, ...]:
    nodes = tuple(map(number, typed(value, list)))
    if len(set(nodes)) < len(nodes):
        raise ValueError(f"{list(nodes)} names a broker twice")
    return nodes
