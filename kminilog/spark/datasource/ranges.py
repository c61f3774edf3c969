"""Which messages of which segments one task reads, planned by the names of segments alone.

    partition   |  segment  |  segment  |     segment     | segment ... end
    wanted            [-----------------------------------)
    ranges            [-----)[---------)[-------)[-------)       large ones are cut by offsets

What a plan names was in the log when it was made: a reader that works by it sees neither what a
writer adds later nor a part of a job that is being published. The last segment is read from its
last index entry on, and only if its end is wanted. Nothing here knows Spark.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kminilog.errors import LogDirError
from kminilog.format.names import TopicPartition
from kminilog.notices import warn
from kminilog.spark.datasource.options import ReadOptions
from kminilog.spark.runtime.task_groups import task_groups
from kminilog.storage.log_dir import LogDir
from kminilog.storage.partition_reader import PartitionReader
from kminilog.storage.segment import Segment
from kminilog.storage.topics import Topic

PIECE_BYTES = 64 << 20


class SegmentRange(NamedTuple):
    """Messages of one segment by offset; without an end all of it, as it is when it is read."""

    topic_partition: TopicPartition
    base_offset: int
    start_offset: int
    end_offset: int | None
    size_bytes: int


def selected_ranges(log_dir: LogDir, options: ReadOptions) -> list[SegmentRange]:
    """Return what a query wants of the topics that its options name, by partition and offset.

    With failOnDamage=false by partition only: where damage is, no offset can be relied on.

    Raises UnknownTopicOrPartitionError, LogDirError, and CorruptLogError for damage at the end of a
    partition.
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
                found += ranges_between(reader, options.start_offset, options.end_offset)
            else:
                found += _whole_segments(reader)
    return found


def chosen_topics(log_dir: LogDir, options: ReadOptions) -> list[Topic]:
    """Return the topics that the options name, all if they name none."""
    return [log_dir.topic(name) for name in dict.fromkeys(options.topics)] or log_dir.topics()


def open_reader(
    log_dir: LogDir, topic_partition: TopicPartition, options: ReadOptions
) -> PartitionReader:
    """Return a reader of a partition; a gap is damage to it unless the options allow gaps.

    A gap that is passed is a Python warning, of the process that reads: mostly a worker.
    """
    return log_dir.reader(topic_partition, on_gap=warn if options.allows_gaps else None)


def end_offset(reader: PartitionReader) -> int:
    """Return one past the last offset; CorruptLogError if damage is why it is the last."""
    end = reader.log_end_offset
    reader.read(end, 1)
    return end


def ranges_between(reader: PartitionReader, start: int, end: int) -> Iterator[SegmentRange]:
    """Yield what a partition holds from offset `start` to `end` - 1, cut into pieces."""
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
        return 0  # retention has deleted it meanwhile; reading it finds out, too


def grouped(ranges: list[SegmentRange], cores: int) -> list[list[SegmentRange]]:
    """Return ranges as what each of a few tasks reads."""
    return task_groups(ranges, lambda item: item.size_bytes, cores=cores)


def lost_messages(where: TopicPartition, log_dir: LogDir, reason: str) -> LogDirError:
    """Return the error for messages that were to be read and are gone."""
    return LogDirError(
        str(log_dir.path),
        reason=f"{where}: {reason}; the option failOnDataLoss=false goes on without them",
    )
