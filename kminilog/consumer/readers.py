"""The sources of a consumer: a log dir, or a cluster up to the high watermark.

    LogDirSource         a log dir
    ClusterSource        a cluster that is open in this process
    ClusterFilesSource   the files of a cluster that is open in another process, or in none

In a cluster a consumer sees only messages below the high watermark, because those above it may be
lost with their leader. A log dir has one copy and no high watermark: all written messages count.
Source: S1; Kafka: Log.read.
"""

from collections.abc import Callable

from kminilog.cluster.cluster_files import ClusterFiles, refuse_lost_end
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.errors import (
    LogDirError,
    OffsetOutOfRangeError,
    TopicDeletedError,
    UnknownTopicOrPartitionError,
)
from kminilog.format.message import Message
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.storage.changes import change_count
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.log_ends import OnLoss, RecordedEnds
from kminilog.storage.partition.notices import OnGap, warn
from kminilog.storage.partition.reader import PartitionReader


class _Losses:
    """Tells what logs have lost, of each partition once."""

    def __init__(self, on_loss: OnLoss) -> None:
        self._on_loss = on_loss
        self._on_record = RecordedEnds()
        self._asked: set[TopicPartition] = set()

    def __call__(self, reader: PartitionReader) -> PartitionReader:
        if reader.topic_partition not in self._asked:
            self._asked.add(reader.topic_partition)
            for loss in self._on_record.losses(reader):
                self._on_loss(loss)
        return reader


class LogDirSource:
    """The topics of a log dir, read without a lock, also while a writer works. For one thread.

    `on_gap` is for logs of other origin: it gets each gap, and reading goes on after it. Without it
    a gap is damage. `on_loss` gets what a log has lost at its start or end, by what is on record,
    when one of these is asked for.
    """

    def __init__(
        self, log_dir: LogDir, *, on_gap: OnGap | None = None, on_loss: OnLoss = warn
    ) -> None:
        self._log_dir = log_dir
        self._tell_losses = _Losses(on_loss)
        self._on_gap = on_gap
        self._readers: dict[TopicPartition, tuple[str | None, PartitionReader]] = {}
        self._topic_ids: dict[str, str | None] = {}  # as they were at `_change_count`
        self._change_count: int | None = None
        self._seen: set[str] = set()

    def topics(self) -> dict[str, int]:
        """Return how many partitions each topic has now; reads all settings files.

        A topic whose settings file is broken, or that is being deleted, is left out.
        """
        topics = self._log_dir.topics(on_broken=lambda error: None)
        return {topic.name: topic.partitions for topic in topics}

    def topic_id(self, topic: str) -> str | None:
        """Return the identity of a topic; reads its settings file again after a change.

        Raises TopicDeletedError for a topic that was there before, and as `LogDir.topic_id`.
        """
        count = change_count(self._log_dir.path)
        if count != self._change_count:
            self._change_count = count
            self._topic_ids.clear()
        if topic not in self._topic_ids:
            try:
                self._topic_ids[topic] = self._log_dir.topic_id(topic)
            except UnknownTopicOrPartitionError:
                if topic in self._seen:
                    raise TopicDeletedError(topic) from None
                raise
            self._seen.add(topic)
        return self._topic_ids[topic]

    def fetch(self, topic_partition: TopicPartition, offset: int, max_bytes: int) -> list[Message]:
        """Return messages from `offset` on; see PartitionReader.read."""
        try:
            return self._reader(topic_partition).read(offset, max_bytes)
        except LogDirError:
            self._readers.pop(topic_partition, None)
            self._topic_ids.pop(topic_partition.topic, None)
            self.topic_id(topic_partition.topic)  # gone, most likely: then that is the error
            raise

    def beginning(self, topic_partition: TopicPartition) -> int:
        """Return the log start offset; lists the directory again."""
        # A reader's last look may be older than retention's last round.
        self._readers.pop(topic_partition, None)
        return self._tell_losses(self._reader(topic_partition)).log_start_offset

    def end(self, topic_partition: TopicPartition) -> int:
        """Return the log end offset."""
        return self._tell_losses(self._reader(topic_partition)).log_end_offset

    log_end = end

    def _reader(self, topic_partition: TopicPartition) -> PartitionReader:
        """Return a reader of a partition of the topic of now; an older one knows other files."""
        topic_id = self.topic_id(topic_partition.topic)
        known = self._readers.get(topic_partition)
        if known is None or known[0] != topic_id:
            known = topic_id, self._log_dir.reader(topic_partition, on_gap=self._on_gap)
            self._readers[topic_partition] = known
        return known[1]


class ClusterSource:
    """The topics of a cluster, up to the high watermark of each partition."""

    def __init__(self, cluster: MiniCluster) -> None:
        self._cluster = cluster

    def topics(self) -> dict[str, int]:
        """Return how many partitions each topic has now."""
        metadata = self._cluster.metadata()
        return {topic: len(metadata.partitions_for_topic(topic)) for topic in metadata.topics}

    def topic_id(self, topic: str) -> str | None:
        return self._cluster.topic_id(topic)

    def fetch(self, topic_partition: TopicPartition, offset: int, max_bytes: int) -> list[Message]:
        """Return messages from `offset` on that are below the high watermark."""
        return self._cluster.fetch(topic_partition, offset, max_bytes).messages

    def beginning(self, topic_partition: TopicPartition) -> int:
        """Return the first offset of the leader's log."""
        try:
            self._cluster.fetch(topic_partition, 0, max_bytes=1)
        except OffsetOutOfRangeError as error:
            return error.log_start_offset
        return 0

    def log_end(self, topic_partition: TopicPartition) -> int:
        """Return where the leader's log ends: under a new leader the high watermark lags behind."""
        try:
            self._cluster.fetch(topic_partition, MAX_OFFSET, max_bytes=1)
        except OffsetOutOfRangeError as error:
            return error.log_end_offset
        return MAX_OFFSET

    def end(self, topic_partition: TopicPartition) -> int:
        """Return the high watermark."""
        return self._cluster.high_watermark(topic_partition)


class ClusterFilesSource:
    """The topics of a cluster that others work in, up to the stored high watermarks.

    If a leader has messages above its high watermark, `let_copy` is called: it lets the followers
    copy, if nobody else has the cluster open. `on_gap` and `on_loss` are as in LogDirSource; of a
    lost end `fetch` tells. For one thread.
    """

    def __init__(
        self,
        files: ClusterFiles,
        *,
        let_copy: Callable[[], object],
        on_gap: OnGap | None = None,
        on_loss: OnLoss = warn,
    ) -> None:
        self._files = files
        self._tell_losses = _Losses(lambda loss: loss.is_start and on_loss(loss))
        self._let_copy = let_copy
        self._on_gap = on_gap
        self._readers: dict[TopicPartition, tuple[object, PartitionReader]] = {}

    def topics(self) -> dict[str, int]:
        """Return how many partitions each topic has now."""
        return {topic.name: topic.partitions for topic in self._files.topics()}

    def topic_id(self, topic: str) -> str | None:
        return self._files.topic_id(topic)

    def fetch(self, topic_partition: TopicPartition, offset: int, max_bytes: int) -> list[Message]:
        """Return messages from `offset` on that are below the high watermark.

        Raises LogDirError where none can follow, because the leader has lost committed messages.
        """
        end = self.end(topic_partition)
        if end <= offset <= self.log_end(topic_partition):
            refuse_lost_end(self._files, topic_partition)
            return []
        messages = self._reader(topic_partition).read(offset, max_bytes)
        # By offset, not by count: after a gap, the messages are fewer than the offsets.
        return [message for message in messages if message.offset < end]

    def beginning(self, topic_partition: TopicPartition) -> int:
        """Return the first offset of the leader's log."""
        return self._tell_losses(self._reader(topic_partition)).log_start_offset

    def end(self, topic_partition: TopicPartition) -> int:
        """Return the high watermark, once the followers had an opportunity to copy.

        The log end, if the leader has lost its end: nothing above it can be read.
        """
        stored = self._files.high_watermark(topic_partition)
        if stored < self.log_end(topic_partition):
            self._let_copy()
            stored = self._files.high_watermark(topic_partition)
        return min(stored, self.log_end(topic_partition))

    def log_end(self, topic_partition: TopicPartition) -> int:
        """Return where the leader's log ends."""
        return self._reader(topic_partition).log_end_offset

    def _reader(self, topic_partition: TopicPartition) -> PartitionReader:
        """Return a reader of the copy of the present leader."""
        leader = self._files.leadership(topic_partition).leader
        copy = leader, self.topic_id(topic_partition.topic)
        known = self._readers.get(topic_partition)
        if known is None or known[0] != copy:
            known = copy, self._files.reader(topic_partition, on_gap=self._on_gap)
            self._readers[topic_partition] = known
        return known[1]
