"""What the files of a cluster say, read without its lock: also while another process works in it.

It looks like a log dir: each partition is the copy of its leader. In addition it knows the state of
the brokers, and how far a leader's messages are committed. That is the high watermark which the
leader has stored: every few seconds, and when the process that had the cluster open ended. So it
may lag behind the true one, but messages below it are committed for good.

Source: S0 1; Kafka: MetadataCache, ReplicaManager.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from kminilog.cluster.broker import HIGH_WATERMARK_FILE, refuse_other_topic
from kminilog.cluster.leadership import Leadership, node_of, partition_info
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.cluster.state_file import STATE_FILE, StoredState, broker_path, read_state
from kminilog.errors import (
    LeaderNotAvailableError,
    LogDirError,
    NoClusterError,
    UnknownTopicOrPartitionError,
)
from kminilog.format.names import TopicPartition, check_topic
from kminilog.storage.checkpoint import read_checkpoint
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.notices import OnGap
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.retention import deletable, expired_segments, segments_below
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import OnBroken, Topic


class BrokerFiles(LogDir):
    """The log dir of a broker of a cluster that has these topics.

    LogDirError, with what to do, if it or one of its topics is gone, or is another one.
    """

    def __init__(self, path: Path, topics: Mapping[str, Topic]) -> None:
        if not path.is_dir():
            raise LogDirError(str(path), reason="no such directory; put its files back")
        super().__init__(path)
        self._topics = topics

    def topic(self, name: str) -> Topic:
        """Return one topic of which this broker has copies."""
        try:
            topic = super().topic(name)
            refuse_other_topic(self.path, topic, self._topics.get(name, topic))
            return topic
        except UnknownTopicOrPartitionError:
            reason = f"its topic {name} is gone; put its files back"
            raise LogDirError(str(self.path), reason=reason) from None


class ClusterFiles(LogDir):
    """The directory of a cluster as a reader sees it. Making the object touches no file."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._read: tuple[object, StoredState] | None = None

    def state(self) -> StoredState:
        """Return the state of now; reads the file again only if it was replaced.

        Raises NoClusterError, and LogDirError if the file is broken.
        """
        try:
            status = os.stat(self.path / STATE_FILE)
            version = (status.st_ino, status.st_mtime_ns, status.st_size)
            if self._read is None or self._read[0] != version:
                self._read = (version, read_state(self.path))
            return self._read[1]
        except (FileNotFoundError, NotADirectoryError):
            raise NoClusterError(str(self.path), file=STATE_FILE) from None

    def metadata(self) -> ClusterMetadata:
        """Return what any broker that is live would answer."""
        state = self.state()
        infos = [partition_info(*item, state.live) for item in state.partitions.items()]
        return ClusterMetadata(map(node_of, state.live), infos)

    def leadership(self, topic_partition: TopicPartition) -> Leadership:
        """Return who leads a partition, and where its copies are."""
        topic = self.topic(topic_partition.topic)
        return self.state().partitions[topic.partition(topic_partition.partition)]

    def broker(self, node: int) -> LogDir:
        """Return the log dir of a broker, live or not."""
        return BrokerFiles(broker_path(self.path, node), self.state().topics)

    def high_watermark(self, topic_partition: TopicPartition, node: int | None = None) -> int:
        """Return the high watermark that this broker, or the leader, has stored; 0 if none.

        Raises as `reader` if it asks for the leader.
        """
        node = self._leader(topic_partition) if node is None else node
        directory = broker_path(self.path, node)
        return read_checkpoint(directory, HIGH_WATERMARK_FILE).get(topic_partition, 0)

    # ---- as a log dir

    def topics(self, on_broken: OnBroken | None = None) -> list[Topic]:
        """Return all topics by name; they have no settings files that could be broken."""
        return [topic for _, topic in sorted(self.state().topics.items())]

    def topic(self, name: str) -> Topic:
        """Return one topic; UnknownTopicOrPartitionError if it does not exist."""
        check_topic(name)
        topic = self.state().topics.get(name)
        if topic is None:
            raise UnknownTopicOrPartitionError(name)
        return topic

    def directory(self, topic_partition: TopicPartition) -> Path:
        """Return the directory of the leader's copy; raises as `reader`."""
        return broker_path(self.path, self._leader(topic_partition)) / str(topic_partition)

    def reader(
        self, topic_partition: TopicPartition, *, on_gap: OnGap | None = None
    ) -> PartitionReader:
        """Return a reader of the leader's copy, also of what is not committed yet.

        Raises UnknownTopicOrPartitionError, and LeaderNotAvailableError if there is no leader.
        """
        return self.broker(self._leader(topic_partition)).reader(topic_partition, on_gap=on_gap)

    def readers(self, topic: Topic) -> Iterator[PartitionReader]:
        """Yield a reader of each partition, ascending; raises as `reader`."""
        for topic_partition in topic.all_partitions():
            yield self.reader(topic_partition)

    def _leader(self, topic_partition: TopicPartition) -> int:
        leader = self.leadership(topic_partition).leader
        if leader is None:
            raise LeaderNotAvailableError(
                topic_partition.topic, partition=topic_partition.partition
            )
        return leader


def expired_in_copies(
    files: ClusterFiles, partition: TopicPartition, now_ms: int
) -> dict[int, list[Segment]]:
    """Return by broker which segments retention deletes of each copy, if the broker is live.

    Age and size of the leader's copy decide, so that all copies lose the same messages; what it has
    lost before, the others lose now. The leader comes last. A segment stays while any copy lacks
    one of its messages, or is down and may have other ones there: so from its high watermark on.
    Raises as `ClusterFiles.reader`, and LogDirError if a copy cannot be read.
    """
    leader, state = files.leadership(partition).leader, files.state()
    log = files.reader(partition)
    nodes = sorted(state.partitions[partition].replicas, key=lambda node: node == leader)
    copies = {node: files.broker(node).reader(partition) for node in nodes}
    bounds = [copy.log_end_offset for copy in copies.values()]
    bounds += [files.high_watermark(partition, node) for node in nodes if not state.brokers[node]]
    segments, settings = log.segments(), log.settings
    below = len(segments_below(log, min(bounds)))
    count = min(len(expired_segments(segments, settings, now_ms)), below)
    starts = [*(segment.first_offset for segment in segments), log.log_end_offset]
    return {
        node: deletable(copy, segments_below(copy, starts[count]))
        for node, copy in copies.items()
        if state.brokers[node]
    }


def refuse_lost_end(files: ClusterFiles, topic_partition: TopicPartition) -> None:
    """Raise LogDirError if the leader's log ends below the high watermark that it has stored.

    Raises as `ClusterFiles.reader`, too.
    """
    # In this order: while the cluster is open, both only grow.
    committed = files.high_watermark(topic_partition)
    end = files.reader(topic_partition).log_end_offset
    if end < committed:
        leadership = files.leadership(topic_partition)
        others = [str(node) for node in leadership.in_sync if node != leadership.leader]
        advice = f", or let broker {' or '.join(others)} lead: the next `produce` does"
        raise LogDirError(
            str(files.directory(topic_partition).parent),
            reason=f"the leader of {topic_partition} has lost offsets {end}..{committed - 1}, "
            f"which were committed; put its files back{advice if others else ''}",
        )
