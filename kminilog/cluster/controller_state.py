"""What a cluster must remember besides the brokers' logs: topics, replicas, leaders, in-sync lists.

    cluster.json      topics with their settings, and the leadership of each partition
    .lock             held while the cluster is open
    broker-0/         the log dir of broker 0
    broker-1/ ...

    {"topics": [{"topic": "orders", "partitions": 1, "dialect": "documented", "config": {}}],
     "partitions": {"orders-0": {"replicas": [0, 1], "leader": 0, "leader_epoch": 0,
                                 "in_sync": [0, 1]}}}

Each change is on the disk before anybody acts on it. Who leads is decided elsewhere. Source: ours;
Kafka keeps the same facts in ZooKeeper, under /brokers/topics.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kminilog.cluster.leadership import Leadership
from kminilog.errors import KMiniLogError, LogDirError, UnknownTopicOrPartitionError
from kminilog.format.names import TopicPartition, parse_topic_partition
from kminilog.storage.durable_file import replace_file
from kminilog.storage.lock import LogDirLock
from kminilog.storage.topics import Topic

STATE_FILE = "cluster.json"
AnyPath = Path | str


class ControllerState:
    """The memory of a cluster in a directory, which is locked until `close`."""

    def __init__(self, path: AnyPath, lock: LogDirLock) -> None:
        self.path = Path(path)
        self._lock = lock
        self.topics: dict[str, Topic] = {}
        self.partitions: dict[TopicPartition, Leadership] = {}

    @classmethod
    def open(cls, path: AnyPath) -> "ControllerState":
        """Read the state in a directory; there is none yet in one that is new or empty.

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
        """Put a topic and its partitions on record; once it returns, they survive a power failure.

        The topic exists from then on.
        """
        self._write({**self.topics, topic.name: topic}, {**self.partitions, **partitions})

    def record(self, partitions: Mapping[TopicPartition, Leadership]) -> None:
        """Put a new leadership of some partitions on record; once it returns, it survives."""
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
        """Let the next one open the cluster; everything is on record already."""
        self._lock.release()

    def _read(self) -> None:
        path = self.path / STATE_FILE
        if not path.exists():
            return
        try:
            state = json.loads(path.read_bytes())
            self.topics = {facts["topic"]: Topic.from_json(facts) for facts in state["topics"]}
            self.partitions = dict(map(_partition, state["partitions"].items()))
        except (ValueError, KeyError, TypeError, AttributeError, KMiniLogError) as error:
            reason = f"{STATE_FILE} holds no state of a cluster ({error}); mend it or move it away"
            raise LogDirError(str(self.path), reason=reason) from None


def _partition(item: tuple[str, dict[str, Any]]) -> tuple[TopicPartition, Leadership]:
    name, facts = item
    topic_partition = parse_topic_partition(name)
    if topic_partition is None:
        raise ValueError(f"{name} is no partition")
    return topic_partition, Leadership(
        tuple(facts["replicas"]), facts["leader"], facts["leader_epoch"], tuple(facts["in_sync"])
    )
