"""The stored state of a cluster, and the lock of the one process that may change it.

    cluster.json      brokers, topics, and the leadership of each partition; see `state_file`
    .lock             held while the cluster is open
    broker-0/         the log dir of broker 0
    broker-1/ ...

Each change is on the disk before it takes effect. `leadership` decides who leads. Source: ours;
Kafka: ZkUtils.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kminilog.cluster.leadership import Leadership
from kminilog.cluster.state_file import (
    NEW_CLUSTER,
    STATE_FILE,
    StoredState,
    broker_path,
    read_state,
    write_state,
)
from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.format.names import TopicPartition
from kminilog.storage.durable_files import make_directory
from kminilog.storage.lock import LockWait, LogDirLock
from kminilog.storage.reserve import keep_reserve
from kminilog.storage.topics import Topic

__all__ = ["STATE_FILE", "AnyPath", "ControllerState"]
AnyPath = Path | str


class ControllerState:
    """The stored state of a cluster in a directory, which is locked until `close`."""

    def __init__(self, path: AnyPath, lock: LogDirLock) -> None:
        self.path = Path(path)
        self._lock = lock
        self._stored = NEW_CLUSTER

    @classmethod
    def open(cls, path: AnyPath, lock_wait: LockWait | None = None) -> "ControllerState":
        """Read the state in a directory; a new or empty directory has no state yet.

        Raises LogDirLockedError, at once or at the time-out of `lock_wait`, and LogDirError if the
        file is broken.
        """
        make_directory(Path(path))
        lock = lock_wait.take(Path(path)) if lock_wait else LogDirLock(Path(path))
        state = cls(path, lock)
        keep_reserve(state.path)
        try:
            with suppress(FileNotFoundError):  # a new cluster
                state._stored = read_state(state.path)
        except BaseException:
            state.close()
            raise
        return state

    @property
    def brokers(self) -> Mapping[int, bool]:
        """For each broker, whether it is live."""
        return self._stored.brokers

    @property
    def topics(self) -> Mapping[str, Topic]:
        """All topics by name."""
        return self._stored.topics

    @property
    def partitions(self) -> Mapping[TopicPartition, Leadership]:
        """The leadership of each partition."""
        return self._stored.partitions

    def broker_path(self, node: int) -> Path:
        """Return the log dir of a broker."""
        return broker_path(self.path, node)

    def add_topic(self, topic: Topic, partitions: Mapping[TopicPartition, Leadership]) -> None:
        """Store a topic and its partitions; once it returns, they survive a power failure.

        The topic exists from then on.
        """
        topics = {**self.topics, topic.name: topic}
        self._write(StoredState(self.brokers, topics, {**self.partitions, **partitions}))

    def record(
        self,
        partitions: Mapping[TopicPartition, Leadership],
        brokers: Mapping[int, bool] | None = None,
    ) -> None:
        """Store a new leadership of some partitions, and which brokers are live, in one write.

        Without `brokers` they stay as they are. Once it returns, all of it survives.
        """
        known = self.brokers if brokers is None else brokers
        self._write(StoredState(known, self.topics, {**self.partitions, **partitions}))

    def _write(self, state: StoredState) -> None:
        if state != self._stored:
            write_state(self.path, state)
            self._stored = state  # only what is on the disk counts

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
