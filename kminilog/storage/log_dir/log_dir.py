"""A log dir, the directory of all topics, as a reader sees it.

    orders.json                        settings of the topic `orders`        topics.py
    orders-0/ orders-1/                its partitions                        PartitionReader
    recovery-point-offset-checkpoint   up to where each is on the disk       checkpoint.py
    log-start-offset-checkpoint        where each begins
    .clean-shutdown                    the last writer closed everything
    .reserve                           space for these files on a full disk  reserve.py
    .lock                              held by the writer, if there is one   lock.py
    .staging/ .manifests/              jobs that publish files               publish/
    .changes                           counts removed and replaced files     changes.py
    .cuts                              what was cut off the ends of logs     cuts.py

A reader needs no lock, even while a writer (`LogDirWriter`) is at work. Source: S1 5.1; Kafka:
LogManager.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kminilog.errors import (
    KMiniLogError,
    LogDirError,
    TopicBeingDeletedError,
    UnknownTopicOrPartitionError,
)
from kminilog.format.names import TopicPartition, parse_segment_file, parse_topic_partition
from kminilog.storage.changes import CHANGES_FILE
from kminilog.storage.checkpoint import CHECKPOINT_FILE, LOG_START_FILE
from kminilog.storage.durable_files import make_directory
from kminilog.storage.json_file import read_json, typed
from kminilog.storage.lock import LOCK_FILE
from kminilog.storage.log_dir.notebook import log_dir_table
from kminilog.storage.log_dir.partition_directories import holds_messages
from kminilog.storage.partition.notices import OnGap
from kminilog.storage.partition.open_segments import OpenSegments
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.publish.visibility import VisibleFiles
from kminilog.storage.topics import TOPIC_SUFFIX, OnBroken, Topic, read_topic, read_topics

_CHECKPOINTS = {CHECKPOINT_FILE, LOG_START_FILE}
BROKER_FILE = "meta.properties"
CLUSTER_FILE = "cluster.json"
"""The state of a cluster, in its directory; or the settings of a topic of that name."""


def holds_cluster(path: Path) -> bool:
    """Tell if a directory is that of a cluster, whose brokers have the log dirs."""

    def has_brokers(document: Any) -> bool:
        return "brokers" in typed(document, dict)

    try:
        return read_json(path / CLUSTER_FILE, has_brokers, what="state of a cluster")
    except (LogDirError, OSError):
        return False


def existing_directory(path: Path | str) -> Path:
    """Return the path of a log dir or of a cluster.

    Raises LogDirError if no directory is there, or that of a partition.
    """
    directory = Path(path)
    if not directory.is_dir():
        reason = "no such directory; name it with --log-dir or create a topic in it"
        if directory.exists():
            reason = "a file, not a directory; name a directory with --log-dir"
        raise LogDirError(str(directory), reason=reason)
    if any(map(parse_segment_file, os.listdir(directory))):
        reason = "the directory of a partition; name the one above it with --log-dir"
        raise LogDirError(str(directory), reason=reason)
    return directory


def make_log_dir(path: Path) -> None:
    """Make a directory for topics, if it is not there. Raises LogDirError if that is refused.

    It refuses an address such as s3a://bucket/log, which would become a directory `s3a:` here.
    """
    if path.parts[:1] and path.parts[0].endswith(":") and not path.exists():
        reason = "it is no path of a POSIX file system; name another directory with --log-dir"
        raise LogDirError(str(path), reason=reason)
    try:
        make_directory(path)
    except FileExistsError:
        pass  # it is a file: LogDir says so
    except OSError as error:
        reason = f"it cannot be made ({error.strerror}); name another directory with --log-dir"
        raise LogDirError(str(path), reason=reason) from None


def log_dir_around(path: Path) -> Path | None:
    """Return the nearest log dir or cluster that a real path is in, or would be; None without one.

    It is known by its checkpoints, by a topic's settings beside its first partition, or by the
    properties of a Kafka broker. A partition's directory with segments counts, too, if it is in
    none. O(names in the directories).
    """
    partition = None
    for directory in path.parents:
        try:
            names = set(os.listdir(directory))
        except OSError:
            names = set()
        if parse_topic_partition(directory.name) and any(map(parse_segment_file, names)):
            partition = directory
        topics = (name for name in names if name.endswith(TOPIC_SUFFIX))
        is_settled = any(f"{name.removesuffix(TOPIC_SUFFIX)}-0" in names for name in topics)
        if is_settled or (_CHECKPOINTS | {BROKER_FILE}) & names or holds_cluster(directory):
            return directory
    return partition


class LogDir:
    """A log dir as a reader sees it.

    Raises LogDirError if the directory is not there, or is that of a cluster.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = existing_directory(path)
        if holds_cluster(self.path):
            what = f"it is a cluster; write `kminilog --cluster {self.path}` and then the command"
            reason = f"{what}, or name the log dir of a broker, as {self.path}/broker-0"
            raise LogDirError(str(self.path), reason=reason)

    def is_used(self) -> bool:
        """Tell if topics, their messages or the files of a writer are here, or anything of them.

        A log dir whose topics are all deleted is still used; another directory is not.
        """
        own = {LOCK_FILE, CHANGES_FILE, *_CHECKPOINTS}
        names = os.listdir(self.path)
        return any(name in own or name.endswith(TOPIC_SUFFIX) for name in names) or bool(
            self.orphans()
        )

    def topics(self, on_broken: OnBroken | None = None) -> list[Topic]:
        """Return all topics by name, without those that are being deleted. O(topics).

        LogDirError if a settings file is invalid; with `on_broken` such a topic is left out. It
        gets the error of each topic that is left out.
        """
        found = []
        for topic in read_topics(self.path, on_broken):
            if not topic.is_marked_for_deletion:
                found.append(topic)
            elif on_broken:
                on_broken(TopicBeingDeletedError(topic.name))
        return found

    def topic(self, name: str) -> Topic:
        """Return one topic.

        Raises UnknownTopicOrPartitionError if it does not exist, and TopicBeingDeletedError.
        """
        topic = read_topic(self.path, name)
        if topic.is_marked_for_deletion:
            raise TopicBeingDeletedError(name)
        return topic

    def topic_id(self, name: str) -> str | None:
        """Return the identity of the topic that has this name now: its id, or None.

        Raises as `topic`.
        """
        return self.topic(name).topic_id

    def orphans(self) -> list[TopicPartition]:
        """Return the partitions whose directories hold messages, but belong to no topic, ascending.

        Their settings file is gone, or says that the topic has fewer partitions. One that is broken
        says nothing. What a writer creates or deletes meanwhile is no orphan. O(topics + files).
        """
        known = {topic.name: topic.partitions for topic in self.topics(lambda error: None)}
        named = filter(None, map(parse_topic_partition, os.listdir(self.path)))
        strange = [p for p in named if p.partition >= known.get(p.topic, 0)]
        return [p for p in sorted(strange) if self._is_orphan(p)]

    def _is_orphan(self, partition: TopicPartition) -> bool:
        directory = self.path / str(partition)
        if not holds_messages(directory):
            return False
        try:
            if partition.partition < self.topic(partition.topic).partitions:
                return False  # created meanwhile
        except TopicBeingDeletedError:
            return False
        except UnknownTopicOrPartitionError:
            pass
        except (KMiniLogError, OSError):
            return False
        return holds_messages(directory)  # else deleted meanwhile

    def directory(self, topic_partition: TopicPartition) -> Path:
        """Return the directory of a partition."""
        return self.path / str(topic_partition)

    def reader(
        self, topic_partition: TopicPartition, *, on_gap: OnGap | None = None
    ) -> PartitionReader:
        """Return a reader of one partition; UnknownTopicOrPartitionError if it does not exist.

        `on_gap` allows gaps, for a log that another program wrote; it is called with each gap.
        """
        topic = self.topic(topic_partition.topic)
        return self._reader(topic, topic.partition(topic_partition.partition), on_gap)

    def readers(self, topic: Topic) -> Iterator[PartitionReader]:
        """Yield a reader of each partition, ascending; does not read the settings file again."""
        for topic_partition in topic.all_partitions():
            yield self._reader(topic, topic_partition, None)

    def _repr_html_(self) -> str:
        """Return a table of the partitions, for a notebook."""
        broken: list[Exception] = []
        topics = self.topics(broken.append)
        readers = (reader for topic in topics for reader in self.readers(topic))
        return log_dir_table(self.path, readers, broken)

    def _reader(
        self, topic: Topic, topic_partition: TopicPartition, on_gap: OnGap | None
    ) -> PartitionReader:
        directory = self.directory(topic_partition)
        return PartitionReader(
            directory,
            topic_partition,
            topic.dialect,
            topic.settings,
            on_gap=on_gap,
            files=VisibleFiles(directory, topic_partition, topic.dialect),
            open_log=OpenSegments(self.path).descriptor,
            widest_index_interval=topic.widest_index_interval,
        )


def why_no_log_dir(log_dir: LogDir) -> str:
    """Return why a directory seems to be no log dir; empty if it is one, perhaps without topics."""
    if log_dir.is_used():
        return ""
    return f"{log_dir.path} holds no topic, and no writer was ever here; name a log dir"
