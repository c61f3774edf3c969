"""One node of a cluster: its log dir, its replicas, and ways to begin and to end.

    broker-0/
      orders.json, orders-0/ ...         as in any log dir
      replication-offset-checkpoint      high watermarks when they were last written

A broker can end in order (`stop`) or as if the process were killed (`crash`). The stored high
watermarks may be older than the true ones, or missing. They only say from which offset a follower
compares its log with its leader's; with an older one it compares more. This module does not know
who leads, and the time comes in as an argument.

Source: S1 5.1; Kafka: KafkaServer, ReplicaManager. Differs: the log dir has a directory for every
partition of its topics, and those of which the broker holds no replica stay empty.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from kminilog.cluster.replica import Replica
from kminilog.errors import KMiniLogError, LogDirError, LogDirLockedError, TopicExistsError
from kminilog.format.names import TopicPartition, parse_topic_partition
from kminilog.progress import Progress, untold
from kminilog.storage.checkpoint import read_checkpoint, write_checkpoint
from kminilog.storage.log_dir.partition_directories import delete_directories, holds_messages
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.cuts import truncate_log
from kminilog.storage.segment.scan import PLAIN, SegmentScanner
from kminilog.storage.topics import Topic, read_topics, write_topic

HIGH_WATERMARK_FILE = "replication-offset-checkpoint"


def go_on() -> None:
    """Stand for a safe point at which nobody ends the work."""


class Broker:
    """A node with a log dir. Making the object touches no file.

    `safe_point` is called between pieces of work, in `start` and `create_topic`; it may raise.
    """

    def __init__(
        self,
        node: int,
        path: Path,
        scanner: SegmentScanner = PLAIN,
        safe_point: Callable[[], object] = go_on,
    ) -> None:
        self.node = node
        self.path = path
        self._scanner = scanner
        self._safe_point = safe_point
        self._warnings: list[str] = []
        self._log_dir: LogDirWriter | None = None
        self._replicas: dict[TopicPartition, Replica] = {}

    @property
    def is_running(self) -> bool:
        """Tell if the broker was started and has neither stopped nor crashed since."""
        return self._log_dir is not None

    def start(self, hosted: Iterable[TopicPartition], topics: Iterable[Topic] = ()) -> None:
        """Open the log dir, recover what a crash has left, and open these replicas.

        `topics` are those of the cluster. Raises LogDirLockedError, CorruptLogError if a replica is
        damaged, and LogDirError if one is gone, or if another topic has its name; the broker is
        then down.
        """
        self._safe_point()
        # Before the log dir is opened: that lowers the points of logs that end below them.
        points = read_checkpoint(self.path) if self.path.is_dir() else {}
        self._log_dir = LogDirWriter.open(self.path, create=True, scanner=self._scanner)
        try:
            self._refuse_missing(hosted := list(hosted))
            held = {partition.topic for partition in hosted}
            for topic in topics:
                if topic.name in held:
                    refuse_other_topic(self.path, self._log_dir.topic(topic.name), topic)
            on_record = read_checkpoint(self.path, HIGH_WATERMARK_FILE)
            for partition in hosted:
                self._safe_point()
                log = self._log_dir.log(partition)
                # A crash may leave an empty last segment, which the leader's log does not have.
                truncate_log(log, log.log_end_offset)
                known = on_record.get(partition, 0), points.get(partition, 0)
                self._replicas[partition] = Replica(log, *known)
            for line in self._log_dir.warnings:
                self.warn(line)
        except BaseException:
            self.crash()
            raise

    def start_if_valid(
        self, hosted: Iterable[TopicPartition], topics: Iterable[Topic] = ()
    ) -> None:
        """Start, or stay down and note why in the warnings; raises LogDirLockedError only."""
        try:
            self.start(hosted, topics)
        except LogDirLockedError:  # nothing is broken: another process is at work there
            raise
        except KMiniLogError as error:
            self._warnings.append(f"broker {self.node} cannot start, so it is down now: {error}")

    def warn(self, line: str) -> None:
        """Add a line to the warnings."""
        self._warnings.append(f"broker {self.node}: {line}")

    def take_warnings(self) -> list[str]:
        """Return, once, what starts have cut or rebuilt, and why it is down: a line each."""
        told, self._warnings = self._warnings, []
        return told

    def stop(self) -> None:
        """Store the high watermarks, flush and close everything."""
        self.checkpoint()
        log_dir, self._log_dir = self._running, None
        self._replicas.clear()
        log_dir.close()

    def crash(self) -> None:
        """End as a killed process does: write nothing, flush nothing, leave no marker.

        What was appended is in the page cache, so the next start finds it.
        """
        log_dir, self._log_dir = self._running, None
        self._replicas.clear()
        log_dir.close(cleanly=False)

    def create_topic(
        self, topic: Topic, hosted: Iterable[TopicPartition], progress: Progress = untold
    ) -> None:
        """Create an empty topic, and open the replicas that this broker holds of it.

        `progress` is told how many directories are made. If an equal topic without messages exists
        already, a crash has interrupted an earlier attempt; that topic is used, with the id of this
        attempt. What is left of one that was being deleted is deleted first. Raises
        TopicExistsError for any other existing topic.
        """

        def at(step: str) -> None:
            self._safe_point()
            progress(f"broker {self.node}: {step}")

        self._safe_point()
        log_dir = self._running
        known = {known.name: known for known in read_topics(log_dir.path)}.get(topic.name)
        if known and known.is_marked_for_deletion:  # a crash has interrupted `take_back`
            log_dir.delete_topic(topic.name)
            known = None
        if known is None:
            log_dir.create_topic(topic, progress=at)
        elif not _is_equal(known, topic) or any(
            log_dir.log(p).log_end_offset for p in topic.all_partitions()
        ):
            raise TopicExistsError(topic.name)
        elif known != topic:
            write_topic(log_dir.path, topic)
        for partition in hosted:
            self._safe_point()
            self._replicas[partition] = Replica(log_dir.log(partition))

    def replica(self, partition: TopicPartition) -> Replica:
        """Return this broker's copy of a partition; only of one that it was told to hold."""
        return self._replicas[partition]

    def truncate_to(self, partition: TopicPartition, offset: int) -> None:
        """Truncate a copy to `offset`; once it returns, the truncation survives a crash."""
        replica = self._replicas[partition]
        truncate_log(replica.log, offset)
        replica.high_watermark = min(replica.high_watermark, offset)
        # Now, because recovery would not read what is appended below an old, higher recovery point.
        self._running.flush()

    def checkpoint(self) -> None:
        """Store the high watermarks."""
        offsets = {partition: r.high_watermark for partition, r in self._replicas.items()}
        write_checkpoint(self._running.path, offsets, HIGH_WATERMARK_FILE)

    def _refuse_missing(self, hosted: list[TopicPartition]) -> None:
        known = {topic.name for topic in self._running.topics()}
        for partition in hosted:
            if partition.topic not in known:
                reason = f"it has no topic {partition.topic}, but should hold {partition}"
                raise LogDirError(str(self.path), reason=f"{reason}; put its files back")

    @property
    def _running(self) -> LogDirWriter:
        if self._log_dir is None:
            raise ValueError(f"broker {self.node} is not running")
        return self._log_dir


def refuse_other_topic(path: Path, found: Topic, topic: Topic) -> None:
    """Raise LogDirError if the topic in a broker's log dir is not that of the cluster.

    Somebody has put other files there. High watermarks and recovery points are not theirs.
    """
    if found.topic_id != topic.topic_id:
        raise LogDirError(
            str(path),
            reason=f"its topic {topic.name} has the id {found.topic_id or 'none'}, that of the "
            f"cluster has {topic.topic_id or 'none'}; put the files of that topic back",
        )


def _is_equal(topic: Topic, other: Topic) -> bool:
    return replace(topic, topic_id=other.topic_id) == other


def take_back(broker: Broker, topic: Topic) -> None:
    """Delete what `create_topic` has made of a topic that nobody has recorded.

    It deletes nothing if a partition of that name holds messages, or if the broker has a topic of
    that name with other settings.
    """
    log_dir, names = broker._running, os.listdir(broker.path)
    known = {known.name: known for known in log_dir.topics()}.get(topic.name)
    own = [one for one in map(parse_topic_partition, names) if one and one.topic == topic.name]
    if (known and not _is_equal(known, topic)) or any(
        holds_messages(broker.path / str(one)) for one in own
    ):
        return
    for partition in own:
        broker._replicas.pop(partition, None)
    if known:
        log_dir.delete_topic(topic.name)
    else:  # the interrupt came before its settings were written
        delete_directories(broker.path, topic.name)
