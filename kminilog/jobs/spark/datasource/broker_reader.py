"""A batch read of a Kafka broker's directory: what a consumer with read_committed gets.

It has the columns of Spark's Kafka source beside ours, and a task for each partition, as that
source: a marker far after a record says if its transaction was committed. What is left out, of
aborted transactions and after an open one, is a Python warning of the process that reads.
Source: ours; Spark: KafkaRecordToRowConverter. Differs: a record of format v0 has no timestamp.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from kminilog.broker_files.directory import BrokerDirectory, NotInDirectoryError
from kminilog.broker_files.partition import BrokerPartition, CommittedRecords, StoredRecord
from kminilog.broker_files.record import NO_TIMESTAMP
from kminilog.errors import SettingError
from kminilog.format.names import TopicPartition
from kminilog.jobs.spark.datasource.options import ReadOptions, in_one_line
from kminilog.jobs.spark.datasource.ranges import bounds, check_all_named, narrowed, passes
from kminilog.settings import INT64_MAX
from kminilog.storage.partition.notices import warn
from kminilog.text import count

_BATCH_RECORDS = 10_000
_BATCH_BYTES = 4 << 20
_TIMESTAMP_TYPES = {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}  # ids of Kafka's
_US_PER_MS = 1000


class _Column(NamedTuple):
    """How a record gives a column: its Arrow type and its value."""

    type: pa.DataType
    value: Callable[[TopicPartition, StoredRecord], object]


def _timestamp_us(_: TopicPartition, stored: StoredRecord) -> int | None:
    timestamp = stored.record.timestamp
    if timestamp == NO_TIMESTAMP:
        return None
    # A producer may say any time; one that Spark cannot hold becomes the last that it can.
    return min(timestamp * _US_PER_MS, INT64_MAX)


def _headers(_: TopicPartition, stored: StoredRecord) -> object:
    return [{"key": key, "value": value} for key, value in stored.record.headers] or None


_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
_COLUMNS = {
    "topic": _Column(pa.string(), lambda where, _: where.topic),
    "partition": _Column(pa.int32(), lambda where, _: where.partition),
    "offset": _Column(pa.int64(), lambda _, stored: stored.record.offset),
    "position": _Column(pa.int64(), lambda _, stored: stored.batch.position),
    "key": _Column(pa.binary(), lambda _, stored: stored.record.key),
    "value": _Column(pa.binary(), lambda _, stored: stored.record.value),
    "segment": _Column(pa.string(), lambda _, stored: stored.segment.name),
    "timestamp": _Column(pa.timestamp("us", tz="UTC"), _timestamp_us),
    "timestampType": _Column(
        pa.int32(), lambda _, stored: _TIMESTAMP_TYPES[stored.batch.timestamp_type]
    ),
    "headers": _Column(pa.list_(_HEADER), _headers),
}


class BrokerRange(InputPartition):
    """The offsets of a partition that one task reads, `start` to `end` - 1."""

    def __init__(self, topic_partition: TopicPartition, start: int, end: int) -> None:
        super().__init__((topic_partition, start, end))
        self.topic_partition = topic_partition
        self.start = start
        self.end = end


class BrokerReader(DataSourceReader):
    """Reads the records that were in the log when it planned its tasks."""

    def __init__(self, options: ReadOptions) -> None:
        if not options.fail_on_damage:
            reason = "kminilog reads nothing after damage in a Kafka broker's directory"
            raise SettingError("failOnDamage", reason=reason)
        if options.min_tasks > 1:
            reason = "a partition in a Kafka broker's directory is read by one task: leave it out"
            raise SettingError("minPartitions", reason=reason)
        self._options = options

    @in_one_line()
    def partitions(self) -> Sequence[BrokerRange]:
        """Return what each task reads: a range of a partition, or of none.

        Raises NotInDirectoryError, CorruptLogError for damage where a log seems to end, and as
        `bounds` and `check_all_named`.
        """
        options, broker = self._options, BrokerDirectory(Path(self._options.log_dir))
        chosen = _chosen(broker, options)
        check_all_named("startingOffsets", options.starting, chosen)
        check_all_named("endingOffsets", options.ending, chosen)
        found = []
        for topic_partition in chosen:
            if passes(topic_partition, options.filters):
                partition = BrokerPartition(broker, topic_partition)
                start, end = narrowed(*bounds(broker, partition, options), options.filters)
                start = max(start, partition.log_start_offset)
                log_end = partition.log_end_offset
                if log_end < end:
                    log_end = _undamaged(partition, log_end)
                found.append(BrokerRange(topic_partition, start, min(end, log_end)))
        return found or [BrokerRange(TopicPartition("", 0), 0, 0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the committed records of a range with the chosen columns.

        Raises CorruptLogError for damage, and NotReadError for what cannot be decompressed here.
        """
        assert isinstance(partition, BrokerRange)
        with in_one_line():
            yield from self._read(partition)

    def _read(self, wanted: BrokerRange) -> Iterator[pa.RecordBatch]:
        if wanted.start >= wanted.end:
            return
        broker = BrokerDirectory(Path(self._options.log_dir))
        found = CommittedRecords(BrokerPartition(broker, wanted.topic_partition), wanted.start)
        rows: list[StoredRecord] = []
        size_bytes = 0
        for stored in found:
            if stored.record.offset >= wanted.end:
                break
            rows.append(stored)
            size_bytes += len(stored.record.key or b"") + len(stored.record.value or b"")
            if len(rows) == _BATCH_RECORDS or size_bytes >= _BATCH_BYTES:
                yield self._batch(wanted.topic_partition, rows)
                rows, size_bytes = [], 0
        if rows:
            yield self._batch(wanted.topic_partition, rows)
        if found.aborted_count:
            aborted = count(found.aborted_count, "record")
            warn(f"{wanted.topic_partition}: left out: {aborted} of aborted transactions")
        if found.open_offset is not None and found.open_offset < wanted.end:
            warn(
                f"{wanted.topic_partition}: a transaction is open, so the records from offset "
                f"{found.open_offset} on are left out"
            )

    def _batch(
        self, topic_partition: TopicPartition, rows: Sequence[StoredRecord]
    ) -> pa.RecordBatch:
        columns = [(name, _COLUMNS[name]) for name in self._options.columns]
        arrays: list[Any] = [
            pa.array([column.value(topic_partition, row) for row in rows], column.type)
            for _, column in columns
        ]
        return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in columns])


def _undamaged(partition: BrokerPartition, log_end: int) -> int:
    """Return the log end; raises CorruptLogError for damage, which would hide what follows it."""
    for _, batch in partition.batches(log_end):  # appended meanwhile
        log_end = batch.last_offset + 1
    return log_end


def _chosen(broker: BrokerDirectory, options: ReadOptions) -> list[TopicPartition]:
    """Return the partitions that the options name; all if they name none. NotInDirectoryError."""
    there = broker.partitions()
    for wanted in options.assigned:
        if wanted not in there:
            raise NotInDirectoryError(broker.path, *wanted)
    found = list(options.assigned) or there
    if options.topics:
        found = [one for topic in dict.fromkeys(options.topics) for one in broker.partitions(topic)]
    if options.pattern is not None:
        found = [one for one in found if options.pattern.fullmatch(one.topic)]
    if options.partitions:
        topic = found[0].topic if found else ""
        for number in options.partitions if found else ():
            if number not in {one.partition for one in found}:
                raise NotInDirectoryError(broker.path, topic, number)
        found = [one for one in found if one.partition in options.partitions]
    return found
