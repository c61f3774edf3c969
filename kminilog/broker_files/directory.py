"""The log directory of a Kafka broker: which partitions it has, and which files each of them.

    meta.properties                    ids of the cluster and of the broker
    log-start-offset-checkpoint        where logs begin, if the first segment does not tell
    orders-0/                          a partition
      00000000000000000000.log         a segment: its batches, and what is derived from them
      00000000000000000000.index .timeindex .txnindex .snapshot
      leader-epoch-checkpoint          which leader wrote from which offset on
      partition.metadata               the id of the topic
      00000000000000000000.log.deleted, .swap, .cleaned    retention or compaction is at work
    orders-1.4f…c2-future, -delete, -stray    no partition that this broker serves

kminilog reads such a directory and never writes into it. Every file is named, known or not. A
broker may be at work meanwhile: a file that vanishes is left out. Source: Kafka: LogManager,
UnifiedLog, LogFileUtils, RemoteIndexCache.
"""

import re
from pathlib import Path
from typing import NamedTuple

from kminilog.broker_files.untouched import entries_of, read_untouched
from kminilog.errors import KMiniLogError, LogDirError, UnknownTopicOrPartitionError
from kminilog.format.names import (
    LOG_SUFFIX,
    MAX_OFFSET,
    TopicPartition,
    parse_topic_partition,
    segment_name,
)
from kminilog.storage.changes import CHANGES_FILE
from kminilog.storage.checkpoint import LOG_START_FILE, known_offsets, parse_checkpoint
from kminilog.storage.files import regular_status
from kminilog.storage.log_dir.log_dir import BROKER_FILE
from kminilog.storage.topics import TOPIC_SUFFIX

SEGMENT_SUFFIXES = (LOG_SUFFIX, ".index", ".timeindex", ".txnindex", ".snapshot")
NOT_SERVED = {
    "-future": "a copy that is on its way to this disk",
    "-delete": "a deleted partition, which the broker removes soon",
    "-stray": "a partition that is not assigned to this broker",
}
REMOTE_INDEXES = "remote-log-index-cache"
_KNOWN_FILES = {
    BROKER_FILE: "ids of the cluster and of the broker",
    "leader-epoch-checkpoint": "which leader wrote from which offset on",
    "partition.metadata": "the id of the topic",
    "remote_log_snapshot": "which segments are in remote storage",
    REMOTE_INDEXES: "indexes of segments in remote storage",
    "recovery-point-offset-checkpoint": "up to where each log is on the disk",
    LOG_START_FILE: "where each log begins",
    "replication-offset-checkpoint": "the high watermark of each partition",
    "cleaner-offset-checkpoint": "up to where each log is compacted",
    "quorum-state": "the leader of the metadata",
    "bootstrap.checkpoint": "the first metadata of the cluster",
    ".lock": "held by the broker while it runs",
    ".kafka_cleanshutdown": "the broker has ended in order",
}
_KNOWN_SUFFIXES = {
    ".deleted": "deleted by the broker, which removes it soon",
    ".swap": "of a compaction that has ended: the broker puts it in its place",
    ".cleaned": "of a compaction that has not ended",
    ".tmp": "of a file that the broker is about to replace",
    ".part": "of a file that the broker has not finished",
    ".checkpoint": "a snapshot of the metadata",
    ".snapshot": "the producers at an offset where no segment begins",
}
_UNKNOWN = "unknown"
_SEGMENT_FILE = re.compile(rf"([0-9]{{20}})({'|'.join(map(re.escape, SEGMENT_SUFFIXES))})")
_NOT_SERVED_DIR = re.compile(rf".+\.[0-9a-f]{{32}}({'|'.join(NOT_SERVED)})")


class NotInDirectoryError(UnknownTopicOrPartitionError):
    """The broker has nothing of this topic, or another broker has this partition."""

    def __init__(self, path: Path, topic: str, partition: int | None = None) -> None:
        what = f"topic {topic}" if partition is None else f"partition {topic}-{partition}"
        remedy = "`kminilog ls` shows what is there"
        named = parse_topic_partition(topic) if partition is None else None
        if named and (path / topic).is_dir():
            remedy = f"that is a partition of the topic {named.topic}"
        KMiniLogError.__init__(self, f"{path} has no {what}; {remedy}")
        self.topic = topic
        self.partition = partition


class SegmentFiles(NamedTuple):
    """The files of one segment, which has a `.log`: how many bytes each has, by its suffix."""

    directory: Path
    base_offset: int
    sizes: dict[str, int]

    @property
    def name(self) -> str:
        """Its name: the base offset in 20 digits."""
        return segment_name(self.base_offset)

    @property
    def log_path(self) -> Path:
        """Where its `.log` stands."""
        return self.path(LOG_SUFFIX)

    @property
    def log_bytes(self) -> int:
        """How many bytes its `.log` had when it was listed."""
        return self.sizes[LOG_SUFFIX]

    def path(self, suffix: str) -> Path:
        """Return where one of its files stands, or would."""
        return self.directory / (self.name + suffix)


class OtherFile(NamedTuple):
    """A file or directory that is no part of a segment, and what it is."""

    name: str
    what: str
    size_bytes: int

    @property
    def is_known(self) -> bool:
        """Whether a broker has such files."""
        return self.what != _UNKNOWN

    @property
    def is_usual(self) -> bool:
        """Whether each broker, or each of its partitions, may have one of this name."""
        return self.name in _KNOWN_FILES


class PartitionListing(NamedTuple):
    """All files of one partition; its segments ascend."""

    topic_partition: TopicPartition
    directory: Path
    segments: list[SegmentFiles]
    others: list[OtherFile]


def is_broker_directory(path: Path) -> bool:
    """Tell if a Kafka broker keeps its logs here; False for a log dir of kminilog, and for none.

    It is known by `meta.properties`, or by a partition with segments but without the settings that
    kminilog gives a topic. A log dir of kminilog whose settings are lost has its counter of
    changes. O(names), and the names in one partition.
    """
    try:
        entries = list(entries_of(path))
    except OSError:
        return False
    names = {entry.name for entry in entries}
    partitions = [
        partition
        for entry in entries
        if entry.is_directory and (partition := parse_topic_partition(entry.name))
    ]
    if CHANGES_FILE in names or any(one.topic + TOPIC_SUFFIX in names for one in partitions):
        return False
    return BROKER_FILE in names or any(_has_segments(path / str(one)) for one in partitions)


def broker_directory_of(file: Path) -> Path | None:
    """Return the broker's directory in whose partition a file lies; None for any other file."""
    partition = file.absolute().parent
    if parse_topic_partition(partition.name) and is_broker_directory(partition.parent):
        return partition.parent
    return None


class BrokerDirectory:
    """A broker's log directory; each call looks again. Raises LogDirError if it is not there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log_starts: dict[TopicPartition, int] = {}
        self._version: tuple[int, int, int] | None = None  # of the file that they are from
        if not path.is_dir():
            raise LogDirError(str(path), reason="no such directory; name it with --log-dir")

    def partitions(self, topic: str | None = None) -> list[TopicPartition]:
        """Return the partitions that the broker serves, of one topic or of all; ascending.

        Raises NotInDirectoryError for a topic that is not there.
        """
        found = sorted(
            partition
            for entry in entries_of(self.path)
            if entry.is_directory
            and (partition := parse_topic_partition(entry.name))
            and topic in (None, partition.topic)
        )
        if topic is not None and not found:
            raise NotInDirectoryError(self.path, topic)
        return found

    def others(self) -> list[OtherFile]:
        """Return all that is no partition, by name: directories that are not served, small files.

        A directory counts 0 bytes.
        """
        found = [
            OtherFile(entry.name, _what(entry.name), entry.size_bytes)
            for entry in entries_of(self.path)
            if not (entry.is_directory and parse_topic_partition(entry.name))
        ]
        return sorted(found)

    def files_of(self, topic_partition: TopicPartition) -> PartitionListing:
        """Return all files of a partition, as they are now. O(files).

        Raises NotInDirectoryError if the broker does not have it.
        """
        directory = self.path / str(topic_partition)
        sizes: dict[int, dict[str, int]] = {}
        others = []
        try:
            for entry in entries_of(directory):
                match = _SEGMENT_FILE.fullmatch(entry.name)
                if match and not entry.is_directory and int(match[1]) <= MAX_OFFSET:
                    sizes.setdefault(int(match[1]), {})[match[2]] = entry.size_bytes
                else:
                    others.append(OtherFile(entry.name, _what(entry.name), entry.size_bytes))
        except (FileNotFoundError, NotADirectoryError):
            raise NotInDirectoryError(self.path, *topic_partition) from None
        segments = []
        for base_offset, of_segment in sorted(sizes.items()):
            if LOG_SUFFIX in of_segment:
                segments.append(SegmentFiles(directory, base_offset, of_segment))
                continue
            for suffix, size_bytes in of_segment.items():
                what = _KNOWN_SUFFIXES.get(suffix, f"of a segment without its {LOG_SUFFIX}")
                others.append(OtherFile(segment_name(base_offset) + suffix, what, size_bytes))
        return PartitionListing(topic_partition, directory, segments, sorted(others))

    def log_starts(self) -> dict[TopicPartition, int]:
        """Return the offsets below which records count as deleted, as far as they are on record.

        Reads the file again if the broker has replaced it: each partition asks.
        """
        path = self.path / LOG_START_FILE
        try:
            status = regular_status(path)
            version = status.st_ino, status.st_size, status.st_mtime_ns
            if version != self._version:
                self._log_starts = _offsets_in(read_untouched(path))
                self._version = version
        except FileNotFoundError:
            return {}
        return self._log_starts


def _offsets_in(checkpoint: bytes) -> dict[TopicPartition, int]:
    try:
        return parse_checkpoint(checkpoint)
    except ValueError as error:
        return known_offsets(error)


def _has_segments(partition: Path) -> bool:
    try:
        names = [entry.name for entry in entries_of(partition)]
    except OSError:
        return False
    return any(name.endswith(LOG_SUFFIX) and _SEGMENT_FILE.fullmatch(name) for name in names)


def _what(name: str) -> str:
    """Return what a broker uses a file or directory of this name for."""
    not_served = _NOT_SERVED_DIR.fullmatch(name)
    if not_served:
        return NOT_SERVED[not_served[1]]
    suffix = name[name.rfind(".") :] if "." in name else ""
    return _KNOWN_FILES.get(name) or _KNOWN_SUFFIXES.get(suffix, _UNKNOWN)
