"""A batch read of the data source: its tasks, and what each of them reads.

`ranges_to_batches` is the work of one task, in a stream too. The filters of a query come as options
(pushdown.py). Source: Spark's Python Data Source API.
"""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from kminilog.columns.message_batches import (
    messages_between,
    to_batch,
    valid_messages,
)
from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.jobs.spark.datasource.options import ReadOptions, in_one_line
from kminilog.jobs.spark.datasource.ranges import (
    REPLACED,
    SegmentRange,
    grouped,
    lost_messages,
    open_reader,
    selected_ranges,
)
from kminilog.storage.log_dir.compaction import PlannedSegment, where_is
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.notices import Gap, warn
from kminilog.storage.segment.segment import Segment
from kminilog.text import offsets


class RangeGroup(InputPartition):
    """The ranges that one task reads."""

    def __init__(self, ranges: Sequence[SegmentRange]) -> None:
        super().__init__(ranges)
        self.ranges = ranges


class LogReader(DataSourceReader):
    """Reads the messages that were in the log when it planned its tasks."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    @in_one_line()
    def partitions(self) -> Sequence[RangeGroup]:
        """Return what each task reads: a few groups of ranges, at least one group.

        Raises what `selected_ranges` raises.
        """
        options = self._options
        ranges = selected_ranges(LogDir(options.log_dir), options)
        return [RangeGroup(group) for group in grouped(ranges, options) or [[]]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the messages of one group; see `ranges_to_batches`."""
        assert isinstance(partition, RangeGroup)
        return ranges_to_batches(self._options, partition.ranges)


def ranges_to_batches(
    options: ReadOptions, ranges: Iterable[SegmentRange]
) -> Iterator[pa.RecordBatch]:
    """Yield the messages of some ranges, in order, as record batches with the chosen columns.

    Raises CorruptLogError and CompressedMessageError, except with failOnDamage=false. Raises
    LogDirError for messages that are gone, except with failOnDataLoss=false. With allowGaps=true,
    each gap is a Python warning of the process that reads.
    """
    log_dir = LogDir(options.log_dir)
    with in_one_line():
        for wanted in ranges:
            yield from _range_to_batches(options, log_dir, wanted)


def _range_to_batches(
    options: ReadOptions, log_dir: LogDir, wanted: SegmentRange
) -> Iterator[pa.RecordBatch]:
    where, next_offset = wanted.topic_partition, wanted.start_offset
    while True:
        reader = open_reader(log_dir, where, options)
        place = where_is(reader, wanted.base_offset, wanted.size_bytes)
        if place is None:
            if options.fail_on_data_loss:
                reason = f"the segment of offset {next_offset} has been deleted meanwhile"
                raise lost_messages(where, log_dir, reason)
            return
        segment, rest = place.segment, wanted._replace(start_offset=next_offset)
        following = [one for one in reader.segments() if one.base_offset > segment.base_offset]
        try:
            for found in _messages(rest, place, following):
                missing = range(next_offset, found["offset"][0].as_py())
                if wanted.end_offset is not None and missing:
                    warn(_gap(wanted, segment, missing, found["position"][0].as_py()))
                if _is_replaced(log_dir, wanted):  # asked after the read: these may be its messages
                    if options.fail_on_data_loss:
                        raise lost_messages(where, log_dir, REPLACED)
                    return
                yield to_batch(where, segment.name, found, options.columns)
                next_offset = found["offset"][-1].as_py() + 1
            missing = range(next_offset, wanted.end_offset or 0)
            if missing and options.allows_gaps:
                warn(_gap(wanted, segment, missing, segment.file_bytes))
            elif missing and options.fail_on_data_loss:
                reason = f"{offsets(missing, 'have')} been cut off meanwhile"
                raise lost_messages(where, log_dir, reason)
            return
        except FileNotFoundError:  # deleted, or moved by a job that is being published: look again
            if wanted.end_offset is None and next_offset != wanted.start_offset:
                return


def _is_replaced(log_dir: LogDir, wanted: SegmentRange) -> bool:
    try:
        return log_dir.topic(wanted.topic_partition.topic).topic_id != wanted.topic_id
    except UnknownTopicOrPartitionError:
        return False  # deleted: what was read is still of the topic that was planned


def _gap(wanted: SegmentRange, segment: Segment, missing: range, position: int) -> Gap:
    where = wanted.topic_partition
    return Gap(where, missing.start, missing.stop, str(segment.log_path), position)


def _messages(
    wanted: SegmentRange, place: PlannedSegment, following: Sequence[Segment]
) -> Iterator[pa.RecordBatch]:
    if wanted.end_offset is None:
        return messages_between(*place)
    after = following[0] if following else None
    return valid_messages(place.segment, wanted.start_offset, wanted.end_offset, after)
