"""Which messages of which segments one task reads; the names of segments are enough to plan it.

    partition   |  segment  |  segment  |     segment     | segment ... end
    wanted            [-----------------------------------)
    ranges            [-----)[---------)[-------)[-------)       large ones are cut by offsets

A plan is a snapshot: it names only what was in the log when it was made. So a reader that follows
it sees no message that a writer adds later, and no part of a job that is being published. Only the
end of the last segment must be looked for in the file, from its last index entry on, and only if
the range reaches it. This module does not know Spark.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from operator import eq, ge, gt, le, lt
from typing import TYPE_CHECKING, Any, NamedTuple

from kminilog.errors import LogDirError, SettingError
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.jobs.source.tasks import task_groups
from kminilog.jobs.spark.datasource.options import Filter, PartitionOffsets, ReadOptions
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.log_ends import Loss, RecordedEnds
from kminilog.storage.partition.notices import warn
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from kminilog.text import offsets as offsets_in_words

if TYPE_CHECKING:
    from kminilog.broker_files.directory import BrokerDirectory
    from kminilog.broker_files.partition import BrokerPartition

PIECE_BYTES = 64 << 20
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": eq,
    "EqualNullSafe": eq,
    "In": eq,
    "GreaterThan": gt,
    "GreaterThanOrEqual": ge,
    "LessThan": lt,
    "LessThanOrEqual": le,
}
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
    SettingError if the offsets of the options are those of other partitions, LogDirError, and
    CorruptLogError for damage at the end of a partition.
    """
    found: list[SegmentRange] = []
    chosen = chosen_partitions(log_dir, options)
    for option, offsets in (
        ("startingOffsets", options.starting),
        ("endingOffsets", options.ending),
    ):
        check_all_named(option, offsets, chosen)
    on_record = RecordedEnds()
    for topic_partition, topic in chosen.items():
        if not passes(topic_partition, options.filters):
            continue
        reader = open_reader(log_dir, topic_partition, options)
        start, end = 0, MAX_OFFSET + 1
        if options.fail_on_damage:
            start, end = narrowed(*bounds(log_dir, reader, options), options.filters)
            ranges = list(ranges_between(reader, start, end))
        else:
            ranges = list(_whole_segments(reader))
        # Now: it lists the segments again, and what retention has deleted is left to the reading.
        refuse_losses(log_dir, on_record.losses(reader), options, range(start, end))
        found += [planned._replace(topic_id=topic.topic_id) for planned in ranges]
    return found


def chosen_partitions(log_dir: LogDir, options: ReadOptions) -> dict[TopicPartition, Topic]:
    """Return the partitions that the options name, with their topics; all if they name none.

    Raises UnknownTopicOrPartitionError for one that does not exist or is being deleted.
    """
    if options.assigned:
        topics = {name: log_dir.topic(name) for name, _ in options.assigned}
        return {topics[name].partition(number): topics[name] for name, number in options.assigned}
    names = dict.fromkeys(options.topics)
    found = [log_dir.topic(name) for name in names] or log_dir.topics()
    if options.pattern is not None:
        found = [topic for topic in found if options.pattern.fullmatch(topic.name)]
    for number in options.partitions if found else ():
        max(found, key=lambda topic: topic.partitions).partition(number)  # is there such a one?
    return {
        topic_partition: topic
        for topic in found
        for topic_partition in topic.all_partitions()
        if not options.partitions or topic_partition.partition in options.partitions
    }


def check_all_named(
    option: str, offsets: PartitionOffsets, chosen: Collection[TopicPartition]
) -> None:
    """Raise SettingError if offsets for each partition are not for exactly these partitions."""
    if isinstance(offsets, int):
        return
    missing, unknown = chosen - offsets.keys(), offsets.keys() - chosen
    if missing:
        reason = f"no offset for {min(missing)}; -2 is its first message, and -1 its end"
        raise SettingError(option, reason=reason)
    if unknown:
        reason = f"an offset for {min(unknown)}, which does not exist or is not read"
        raise SettingError(option, reason=reason)


def bounds(
    log_dir: "LogDir | BrokerDirectory",
    reader: "PartitionReader | BrokerPartition",
    options: ReadOptions,
) -> tuple[int, int]:
    """Return the first offset and the one after the last that the options ask for.

    Raises as `reachable`.
    """

    def bound(offsets: PartitionOffsets, of_all: int) -> int:
        offset = offsets if isinstance(offsets, int) else offsets[reader.topic_partition]
        return of_all if offset < 0 else reachable(log_dir, reader, offset, options)

    return (
        bound(options.starting, options.start_offset),
        bound(options.ending, options.end_offset),
    )


def passes(topic_partition: TopicPartition, filters: Collection[Filter]) -> bool:
    """Tell if messages of a partition can pass the filters of a query."""
    known = {"topic": topic_partition.topic, "partition": topic_partition.partition}
    return all(
        any(_TESTS[each.operator](known[each.column], value) for value in each.values)
        for each in filters
        if each.column in known
    )


def narrowed(start: int, end: int, filters: Collection[Filter]) -> tuple[int, int]:
    """Return the bounds of those offsets from `start` to `end` - 1 that can pass the filters.

    >>> narrowed(0, 100, [Filter("offset", "In", (7, 9)), Filter("offset", "LessThan", (9,))])
    (7, 9)
    """
    for _, operator, values in (each for each in filters if each.column == "offset"):
        least, most = min(values), max(values)
        if not operator.startswith("LessThan"):
            start = max(start, least + (operator == "GreaterThan"))
        if not operator.startswith("GreaterThan"):
            end = min(end, most + (operator != "LessThan"))
    return start, end


def reachable(
    log_dir: "LogDir | BrokerDirectory",
    reader: "PartitionReader | BrokerPartition",
    offset: int,
    options: ReadOptions,
    *,
    wanted: str = "is asked for",
) -> int:
    """Return an offset from which, or up to which, messages can be read.

    Raises LogDirError if it is not in the log, except with failOnDataLoss=false: then it is the
    nearest that is. `wanted` says why the offset is expected.
    """
    first, end = reader.log_start_offset, reader.log_end_offset
    if options.fail_on_data_loss and not first <= offset <= end:
        reason = f"{offsets_in_words(range(offset, first), 'have')} been deleted"
        if offset > end:
            reason = f"it ends at {end}, but {offset} {wanted}"
        raise lost_messages(reader.topic_partition, log_dir, reason)
    return min(max(offset, first), end)


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


def grouped(ranges: list[SegmentRange], options: ReadOptions) -> list[list[SegmentRange]]:
    """Return the ranges of each task, with about as many bytes in each.

    If these are fewer tasks than minPartitions asks for, ranges are cut, and each task has about as
    many messages. Whole segments are not cut.
    """
    groups = task_groups(ranges, lambda item: item.size_bytes, cores=options.cores)
    if len(groups) >= options.min_tasks:
        return groups
    if any(item.end_offset is None for item in ranges):
        return [[item] for item in ranges]
    return _cut(ranges, options.min_tasks)


def _cut(ranges: list[SegmentRange], count: int) -> list[list[SegmentRange]]:
    """Return `count` groups of ranges with as many messages each; fewer if there are fewer.

    >>> whole = SegmentRange(TopicPartition("orders", 0), 0, 0, 3, 30)
    >>> groups = _cut([whole, whole._replace(base_offset=3, start_offset=3, end_offset=8)], 2)
    >>> [[(planned.start_offset, planned.end_offset) for planned in group] for group in groups]
    [[(0, 3), (3, 4)], [(4, 8)]]
    """
    total = sum((planned.end_offset or 0) - planned.start_offset for planned in ranges)
    cuts = [total * task // count for task in range(count + 1)]
    groups: dict[int, list[SegmentRange]] = {}
    done = 0  # messages of the groups so far
    for planned in ranges:
        start, end = planned.start_offset, planned.end_offset or 0
        while start < end:
            group = bisect_right(cuts, done) - 1
            stop = min(end, start + cuts[group + 1] - done)
            part = planned._replace(start_offset=start, end_offset=stop)
            groups.setdefault(group, []).append(part)
            done, start = done + stop - start, stop
    return list(groups.values())


def refuse_losses(
    log_dir: LogDir, losses: Iterable[Loss], options: ReadOptions, wanted: range
) -> None:
    """Raise LogDirError for a loss of some of these offsets, except with failOnDataLoss=false."""
    for loss in losses if options.fail_on_data_loss else ():
        if loss.missing.start < wanted.stop and wanted.start < loss.missing.stop:
            raise lost_messages(loss.topic_partition, log_dir, loss.reason)


def lost_messages(
    where: TopicPartition, log_dir: "LogDir | BrokerDirectory", reason: str
) -> LogDirError:
    """Return the error that says that messages of a plan are gone."""
    return LogDirError(
        str(log_dir.path),
        reason=f"{where}: {reason}; the option failOnDataLoss=false goes on without them",
    )
