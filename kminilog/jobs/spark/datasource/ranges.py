"""Which messages of which segments one task reads; the names of segments are enough to plan it.

    partition   |  segment  |  segment  |     segment     | segment ... end
    wanted            [-----------------------------------)
    ranges            [-----)[---------)[-------)[-------)       large ones are cut by offsets

A plan is a snapshot: it names only what was in the log when it was made. So a reader that follows
it sees no message that a writer adds later, and no part of a job that is being published. Only the
end of the last segment must be looked for in the file, from its last index entry on, and only if
the range reaches it. This module does not know Spark.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kminilog.errors import LogDirError
from kminilog.format.names import TopicPartition
from kminilog.jobs.source.tasks import task_groups
from kminilog.jobs.spark.datasource.options import ReadOptions
from kminilog.storage.log_dir import LogDir
from kminilog.storage.notices import warn
from kminilog.storage.partition_reader import PartitionReader
from kminilog.storage.segment import Segment
from kminilog.storage.topics import Topic

PIECE_BYTES = 64 << 20
REPLACED = "its topic was deleted, and another topic has its name now"


class SegmentRange(NamedTuple):
    """Messages of one segment, `start_offset` to `end_offset` - 1.

    Without an end it is the whole segment, as large as it was when the plan was made. `topic_id` is
    the identity of the topic then: a later topic of the same name has another one.
    """

    topic_partition: TopicPartition
    base_offset: int
    start_offset: int
    end_offset: int | None
    size_bytes: int
    topic_id: str | None = None


def selected_ranges(log_dir: LogDir, options: ReadOptions) -> list[SegmentRange]:
    """Return what a query reads of the topics, partitions and offsets that its options name.

    With failOnDamage=false it is whole segments: where damage is, no offset can be relied on.
    O(segments), and a read of the end of each partition. Raises UnknownTopicOrPartitionError,
    LogDirError, and CorruptLogError for damage at the end of a partition.
    """
    found: list[SegmentRange] = []
    topics = chosen_topics(log_dir, options)
    for number in options.partitions:
        max(topics, key=lambda topic: topic.partitions).partition(number)  # is there such a one?
    for topic in topics:
        for topic_partition in topic.all_partitions():
            if options.partitions and topic_partition.partition not in options.partitions:
                continue
            reader = open_reader(log_dir, topic_partition, options)
            if options.fail_on_damage:
                ranges = ranges_between(reader, options.start_offset, options.end_offset)
            else:
                ranges = _whole_segments(reader)
            found += [planned._replace(topic_id=topic.topic_id) for planned in ranges]
    return found


def chosen_topics(log_dir: LogDir, options: ReadOptions) -> list[Topic]:
    """Return the topics that the options name, or all topics if they name none.

    Raises UnknownTopicOrPartitionError for a topic that does not exist or is being deleted.
    """
    return [log_dir.topic(name) for name in dict.fromkeys(options.topics)] or log_dir.topics()


def open_reader(
    log_dir: LogDir, topic_partition: TopicPartition, options: ReadOptions
) -> PartitionReader:
    """Return a reader of a partition. A gap is damage, unless the options allow gaps.

    If they do, the process that reads gives a Python warning for each gap. It is mostly a worker.
    """
    return log_dir.reader(topic_partition, on_gap=warn if options.allows_gaps else None)


def end_offset(reader: PartitionReader) -> int:
    """Return one past the last offset; CorruptLogError if damage hides what comes after it."""
    end = reader.log_end_offset
    reader.read(end, 1)
    return end


def ranges_between(reader: PartitionReader, start: int, end: int) -> Iterator[SegmentRange]:
    """Yield the messages of a partition from offset `start` to `end` - 1, in pieces.

    Pieces have about PIECE_BYTES or less, estimated by the size of their segment. Raises
    CorruptLogError for damage at the end, if `end` reaches into the last segment.
    """
    segments = reader.segments()
    if not segments or start >= end:
        return
    if end > segments[-1].first_offset:
        end = min(end, end_offset(reader))
        segments = reader.segments()
    ends = [*(segment.first_offset for segment in segments[1:]), end]
    for segment, next_segment in zip(segments, ends, strict=True):
        first, last = segment.first_offset, min(next_segment, end)
        if first >= end or next_segment <= start:
            continue
        wanted = range(max(first, start), last)
        wanted_bytes = _size_bytes(segment) * len(wanted) // max(next_segment - first, 1)
        pieces = min(-(-wanted_bytes // PIECE_BYTES), len(wanted)) or 1
        for piece in range(pieces):
            part = wanted[len(wanted) * piece // pieces : len(wanted) * (piece + 1) // pieces]
            if part:
                yield SegmentRange(
                    reader.topic_partition,
                    segment.base_offset,
                    part.start,
                    part.stop,
                    wanted_bytes // pieces,
                )


def _whole_segments(reader: PartitionReader) -> Iterator[SegmentRange]:
    for segment in reader.segments():
        size_bytes = _size_bytes(segment)
        yield SegmentRange(reader.topic_partition, segment.base_offset, 0, None, size_bytes)


def _size_bytes(segment: Segment) -> int:
    try:
        return segment.file_bytes
    except FileNotFoundError:
        return 0  # retention has deleted it meanwhile; the task that reads it reports that


def grouped(ranges: list[SegmentRange], cores: int) -> list[list[SegmentRange]]:
    """Return the ranges of each task, with about as many bytes in each."""
    return task_groups(ranges, lambda item: item.size_bytes, cores=cores)


def lost_messages(where: TopicPartition, log_dir: LogDir, reason: str) -> LogDirError:
    """Return the error that says that messages of a plan are gone."""
    return LogDirError(
        str(log_dir.path),
        reason=f"{where}: {reason}; the option failOnDataLoss=false goes on without them",
    )
