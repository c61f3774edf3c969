"""A topic of another log dir as a source: its segments are the files.

    /backup/log:orders    orders-0/…000.log  orders-0/…368.log  orders-1/…000.log ...

Source order is: arguments as given, then partition, then segment. A job that is being published
there is left out, as for every reader. DIR may be a Kafka broker's directory, too
(broker_topics.py). This module does not read messages. Source: ours.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kminilog.errors import KMiniLogError, LogDirError, SourceError, UnknownTopicOrPartitionError
from kminilog.format.names import LOG_SUFFIX
from kminilog.jobs.source.source_files import SourceFile, changed
from kminilog.storage.checkpoint import CHECKPOINT_FILE, LOG_START_FILE, read_checkpoint
from kminilog.storage.files import regular_status
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.segment.log_file import message_at
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from kminilog.text import offsets

if TYPE_CHECKING:
    from kminilog.jobs.source.broker_topics import BrokerSegment


class SourceSegment(NamedTuple):
    """A segment of a source. The next one must begin with `following_offset`; None if it is last.

    `file` is how a source knows it. A log is known to have been on the disk up to `known_end`,
    which is 0 for a segment that is not the last one.
    """

    file: SourceFile
    partition: int
    segment: "Segment | BrokerSegment"
    following_offset: int | None
    known_end: int


def segments_of(arguments: Sequence[str]) -> list[SourceSegment]:
    """Return the segments of topics, each given as DIR:TOPIC, in source order.

    O(segments); reads no message. Raises SourceError for an argument that names no topic, for a
    topic that is named twice, and for a segment that cannot be opened.
    """
    found: list[SourceSegment] = []
    known: set[str] = set()
    for argument in arguments:
        for listed in _listed(argument):
            path = str(listed[1].log_path)
            if os.path.realpath(path) in known:
                raise SourceError(argument, reason="another argument names this topic already")
            known.add(os.path.realpath(path))
            found.append(SourceSegment(_file(len(found), path), *listed))
    if not found:
        reason = "name at least one topic, as DIR:TOPIC"
        raise SourceError("(none)", reason=reason if not arguments else "no partition has segments")
    return found


class FoundMessage(NamedTuple):
    """What a message of a source holds, whoever wrote it."""

    offset: int
    key: bytes | None
    value: bytes | None


def found_at(segment: "Segment | BrokerSegment", position: int) -> FoundMessage | None:
    """Return the message at a position, which is a byte of a segment; None if none begins there.

    In a broker's segment it is what `broker_topics` says.
    """
    if isinstance(segment, Segment):
        message = message_at(segment.dialect, segment.log_path, position)
        return message and FoundMessage(message.offset, message.key, message.value)
    record = segment.record_at(position)
    return record and FoundMessage(record.offset, record.key, record.value)


def check_other_topic(arguments: Sequence[str], log_dir: Path, topic: str) -> None:
    """Raise SourceError if one of these topics is the one that a job writes to."""
    for argument in arguments:
        directory, name = _named(argument)
        if name == topic and Path(directory).resolve() == log_dir.resolve():
            raise SourceError(argument, reason="the job writes to this very topic; name another")


def _named(argument: str) -> tuple[str, str]:
    """Return the absolute path of an argument's directory, because tasks run elsewhere; its topic.

    Raises SourceError.
    """
    directory, sign, name = argument.rpartition(":")
    if not sign or not directory or not name:
        raise SourceError(argument, reason="name a topic of a log dir as DIR:TOPIC")
    if not os.path.isdir(directory):
        raise SourceError(argument, reason=f"{directory} is no directory")
    return os.path.abspath(directory), name


_Listed = tuple[int, "Segment | BrokerSegment", int | None, int]


def _listed(argument: str) -> Iterator[_Listed]:
    """Yield of each segment of a topic what SourceSegment has beside its file. SourceError."""
    directory, name = _named(argument)
    try:
        if is_brokers(directory):
            brokers = import_module("kminilog.jobs.source.broker_topics")
            for segment in brokers.broker_segments(directory, name):
                yield segment.topic_partition.partition, segment, None, 0
            return
        log_dir = LogDir(directory)
        yield from _segments_of_topic(log_dir, _topic_of(log_dir, argument), argument)
    except SourceError:
        raise
    except KMiniLogError as error:
        raise SourceError(argument, reason=str(error)) from None


def is_brokers(directory: str) -> bool:
    """Tell if a directory is a Kafka broker's, which needs the room that reads such."""
    if not (directory and find_spec("kminilog.broker_files")):
        return False
    found: bool = import_module("kminilog.broker_files.directory").is_broker_directory(
        Path(directory)
    )
    return found


def check_no_brokers(log_dir: Path) -> None:
    """Raise LogDirError if a job would write into a Kafka broker's directory."""
    if is_brokers(str(log_dir)):
        reason = "a Kafka broker's directory, which is read-only here; write into a log dir"
        raise LogDirError(str(log_dir), reason=reason)


def opener_of(path: str) -> Callable[[str, int], int] | None:
    """Return what opens a file: of a Kafka broker's directory, so that nothing shows it."""
    if not path.endswith(LOG_SUFFIX) or not is_brokers(os.path.dirname(os.path.dirname(path))):
        return None
    found: Callable[[str, int], int] = import_module(
        "kminilog.broker_files.untouched"
    ).open_untouched
    return found


def _topic_of(log_dir: LogDir, argument: str) -> Topic:
    directory, _, name = argument.rpartition(":")
    try:
        return log_dir.topic(name)
    except UnknownTopicOrPartitionError:
        there = ", ".join(one.name for one in log_dir.topics(lambda error: None)) or "none"
        reason = f"{directory} has no topic {name}; there is: {there}"
        raise SourceError(argument, reason=reason) from None


def _segments_of_topic(log_dir: LogDir, topic: Topic, argument: str) -> Iterator[_Listed]:
    """Yield the same of a topic of kminilog.

    Raises SourceError for a partition that has lost its directory or its beginning.
    """
    ends, starts = (
        read_checkpoint(log_dir.path, name) for name in (CHECKPOINT_FILE, LOG_START_FILE)
    )
    for reader in log_dir.readers(topic):
        place = reader.topic_partition
        try:
            segments = reader.segments()
        except (KMiniLogError, OSError) as error:
            raise SourceError(argument, reason=str(error)) from None
        start, end = starts.get(place, 0), ends.get(place, 0)
        first = segments[0].first_offset if segments else end
        if start < first and (place in starts or not segments):
            gone = f"{offsets(range(start, first), 'are')} gone"
            raise SourceError(argument, reason=f"{place}: {gone}; retention has not deleted them")
        firsts = [segment.first_offset for segment in segments]
        for segment, following in zip(segments, [*firsts[1:], None], strict=True):
            yield place.partition, segment, following, end if following is None else 0


def _file(rank: int, path: str) -> SourceFile:
    try:
        status = regular_status(Path(path))
    except FileNotFoundError:
        raise changed(path) from None
    except OSError as error:
        raise SourceError(path, reason=error.strerror or str(error)) from None
    times = status.st_mtime_ns, status.st_ino, status.st_ctime_ns
    return SourceFile(rank, path, status.st_size, None, *times)
