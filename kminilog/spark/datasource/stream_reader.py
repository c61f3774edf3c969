"""A streaming read of the data source; its position is the next offset of each partition.

    {"orders-0": 1200, "orders-1": 0}     a partition that is not named begins at 0

So a micro-batch is a range of offsets, and reading it again gives the same messages. It is an error
if retention has deleted messages that were not read yet, or if a recovery has cut off messages that
were. With failOnDataLoss=false reading goes on instead: with the first message that is left, or at
the end. Source: Spark's Kafka source.
"""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from kminilog.format.names import TopicPartition
from kminilog.format.topic_names import parse_topic_partition
from kminilog.plain_text import offsets
from kminilog.spark.datasource.batch_reader import RangeGroup, ranges_to_batches
from kminilog.spark.datasource.options import ReadOptions
from kminilog.spark.datasource.ranges import (
    chosen_topics,
    end_offset,
    grouped,
    lost_messages,
    open_reader,
    ranges_between,
)
from kminilog.storage.log_dir import LogDir
from kminilog.storage.partition_reader import PartitionReader

Offsets = dict[str, int]


class LogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows topics, or all topics if none is named; new partitions and topics are included."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._log_dir = LogDir(options.log_dir)
        self._final: Offsets | None = None

    def initialOffset(self) -> Offsets:  # noqa: N802
        """Return where a query without a checkpoint begins, as startingOffsets says."""
        readers = self._readers()
        if self._options.starts_at_end:
            return _sorted({name: end_offset(reader) for name, reader in readers.items()})
        return _sorted({name: reader.log_start_offset for name, reader in readers.items()})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return maxOffsetsPerTrigger as Spark's limit; without it a micro-batch reads all."""
        limit = self._options.max_offsets
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the end of the query: the ends of the logs now."""
        self._final = self._ends()

    def reportLatestOffset(self) -> Offsets:  # noqa: N802
        """Return the ends of the logs, which Spark shows in the progress of a query."""
        return _sorted(self._ends())

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        """Return the position after the next micro-batch, which begins at `start`.

        A limit is shared out among the partitions that have unread messages. Raises LogDirError for
        messages that are gone, except with failOnDataLoss=false.
        """
        readers = self._readers()
        begins = self._begins({name: start.get(name, 0) for name in {*readers, *start}}, readers)
        ends = self._ends() if self._final is None else self._final
        lags = {name: max(ends.get(name, 0) - begin, 0) for name, begin in begins.items()}
        if isinstance(limit, ReadMaxRows):
            lags = _shared_out(limit.max_rows, lags)
        reached = {name: begin + lags[name] for name, begin in begins.items()}
        known = {name: offset for name, offset in reached.items() if offset or name in start}
        return _sorted({**start, **known})

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[RangeGroup]:
        """Return what each task of a micro-batch reads; no group for an empty one.

        Raises LogDirError as `latestOffset` does.
        """
        readers = self._readers()
        wanted = {name: offset for name, offset in end.items() if offset > start.get(name, 0)}
        self._begins(wanted, readers)  # the ends must be there, too
        begins = self._begins({name: start.get(name, 0) for name in wanted}, readers)
        ranges = [
            found
            for name, begin in begins.items()
            for found in ranges_between(readers[name], begin, wanted[name])
        ]
        return [RangeGroup(group) for group in grouped(ranges, self._options.cores)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the messages of one group; see `ranges_to_batches`."""
        assert isinstance(partition, RangeGroup)
        return ranges_to_batches(self._options, partition.ranges)

    # ---- where the logs begin and end

    def _readers(self) -> dict[str, PartitionReader]:
        return {
            str(topic_partition): open_reader(self._log_dir, topic_partition, self._options)
            for topic in chosen_topics(self._log_dir, self._options)
            for topic_partition in topic.all_partitions()
        }

    def _ends(self) -> Offsets:
        return {name: end_offset(reader) for name, reader in self._readers().items()}

    def _begins(self, positions: Offsets, readers: Mapping[str, PartitionReader]) -> Offsets:
        """Return where reading each partition begins; partitions that are gone are left out.

        Raises LogDirError for messages that are gone, except with failOnDataLoss=false.
        """
        begins: Offsets = {}
        for name, position in positions.items():
            if name not in readers:
                self._refuse_loss(
                    name, "the partition has been deleted, or its topic is not named any more"
                )
                continue
            first, end = readers[name].log_start_offset, readers[name].log_end_offset
            if position < first:
                gone = offsets(range(position, first), "have")
                self._refuse_loss(name, f"{gone} been deleted")
            elif position > end:
                self._refuse_loss(name, f"it ends at {end}, but {position} was reached before")
            begins[name] = min(max(position, first), end)
        return begins

    def _refuse_loss(self, name: str, reason: str) -> None:
        if self._options.fail_on_data_loss:
            where = parse_topic_partition(name) or TopicPartition(name, 0)
            raise lost_messages(where, self._log_dir, reason)


def _shared_out(total: int, lags: Mapping[str, int]) -> Offsets:
    """Return a share for each partition, at most its lag; what one does not need, others get.

    >>> _shared_out(10, {"a-0": 100, "a-1": 2, "a-2": 100})
    {'a-1': 2, 'a-0': 4, 'a-2': 4}
    """
    shares: Offsets = {}
    for left, name in zip(
        range(len(lags), 0, -1), sorted(lags, key=lambda n: lags[n]), strict=True
    ):
        shares[name] = min(lags[name], total // left)
        total -= shares[name]
    return shares


def _sorted(offsets: Mapping[str, int]) -> Offsets:
    return dict(sorted(offsets.items()))
