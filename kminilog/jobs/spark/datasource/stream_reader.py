"""A streaming read of the data source; its position is the next offset of each partition.

    {"orders-0": 1200, "orders-1": 0, "topic_ids": {"orders": "mnwWBMMJ1r5yq4w8sFP1hA"}}

A partition that is not named begins at 0. So a micro-batch is a range of offsets, and reading it
again gives the same messages. It is an error if retention has deleted messages that were not read
yet, if a recovery has cut off messages that were, or if another topic has the name now: `topic_ids`
tells (a topic without an id is not in it). With failOnDataLoss=false reading goes on instead: with
the first message that is left, or at the end, or with the first message of the new topic. Source:
Spark's Kafka source.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from kminilog.errors import KMiniLogError
from kminilog.format.names import MAX_OFFSET, TopicPartition, parse_topic_partition
from kminilog.jobs.spark.datasource.batch_reader import RangeGroup, ranges_to_batches
from kminilog.jobs.spark.datasource.options import EARLIEST, LATEST, ReadOptions, in_one_line
from kminilog.jobs.spark.datasource.ranges import (
    REPLACED,
    check_all_named,
    chosen_partitions,
    end_offset,
    grouped,
    lost_messages,
    open_reader,
    ranges_between,
    reachable,
    refuse_losses,
)
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.log_ends import RecordedEnds
from kminilog.storage.partition.reader import PartitionReader

Offsets = dict[str, int]
Position = dict[str, Any]
_TOPIC_IDS = "topic_ids"  # no partition has this name: theirs end with a number


class _Logs(NamedTuple):
    """The partitions by name, and the identities of their topics, as they are now."""

    readers: dict[str, PartitionReader]
    topic_ids: dict[str, str | None]

    def position(self, offsets: Offsets, former_ids: Mapping[str, str] | None = None) -> Position:
        """Return these offsets with the ids of their topics; `former_ids` for those that are gone.

        A topic that has no id is not among them.
        """
        ids = {**(former_ids or {}), **self.topic_ids}
        named = {
            topic: ids[topic] for topic in sorted({*map(_topic_of, offsets)}) if ids.get(topic)
        }
        return dict(sorted(offsets.items())) | ({_TOPIC_IDS: named} if named else {})

    def ends(self) -> Offsets:
        """Return where each partition ends."""
        return {name: end_offset(reader) for name, reader in self.readers.items()}

    def has_topic_of(self, position: Position, name: str) -> bool:
        """Tell if a position is in the topic that a partition belongs to now."""
        return _topic_id(position, name) == self.topic_ids[_topic_of(name)]


class LogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows topics, or all topics if none is named; new partitions and topics are included."""

    def __init__(
        self, options: ReadOptions, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._options = options
        self._log_dir = LogDir(options.log_dir)
        self._on_record = RecordedEnds()  # read again with each list of partitions
        self._final: Position | None = None
        self._clock = clock
        self._last_trigger: float | None = None

    @in_one_line()
    def initialOffset(self) -> Position:  # noqa: N802
        """Return where a query without a checkpoint begins, as startingOffsets says.

        Raises SettingError if it is for other partitions, and LogDirError for an offset that is not
        in the log, except with failOnDataLoss=false.
        """
        logs = self._logs()
        partitions = {reader.topic_partition for reader in logs.readers.values()}
        check_all_named("startingOffsets", self._options.starting, partitions)
        return logs.position(
            {name: self._first_offset(reader) for name, reader in logs.readers.items()}
        )

    def _first_offset(self, reader: PartitionReader) -> int:
        starting = self._options.starting
        offset = starting if isinstance(starting, int) else starting[reader.topic_partition]
        if offset == EARLIEST:
            self._refuse_losses(reader, 0)
            return reader.log_start_offset
        if offset == LATEST:
            return end_offset(reader)
        return reachable(self._log_dir, reader, offset, self._options)

    @in_one_line()
    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return maxOffsetsPerTrigger as Spark's limit; without it a micro-batch reads all.

        Spark knows no limit that has a minimum and a maximum; `latestOffset` knows both.
        """
        most, least = self._options.max_offsets, self._options.min_offsets
        if most is not None:
            return ReadMaxRows(most)
        return ReadAllAvailable() if least is None else ReadMinRows(least)

    @in_one_line()
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the end of the query: the ends of the logs now."""
        self._final = self.reportLatestOffset()

    @in_one_line()
    def reportLatestOffset(self) -> Position:  # noqa: N802
        """Return the ends of the logs, which Spark shows in the progress of a query."""
        logs = self._logs()
        return logs.position(logs.ends())

    @in_one_line()
    def latestOffset(self, start: Position, limit: ReadLimit) -> Position:  # noqa: N802
        """Return the position after the next micro-batch, which begins at `start`.

        It is `start` while fewer messages than minOffsetsPerTrigger are there, for maxTriggerDelay
        at most. A limit is shared out among the partitions that have unread messages. Raises
        LogDirError for messages that are gone, except with failOnDataLoss=false.
        """
        logs, offsets = self._logs(), _offsets(start)
        begins = self._begins(start, dict.fromkeys(logs.readers, 0) | offsets, logs)
        for name, begin in begins.items():
            self._refuse_losses(logs.readers[name], begin)
        ends = logs.ends() if self._final is None else self._fixed_ends(self._final, logs)
        lags = {name: max(ends.get(name, 0) - begin, 0) for name, begin in begins.items()}
        if not isinstance(limit, ReadAllAvailable) and self._waits(sum(lags.values())):
            return start
        if isinstance(limit, ReadMaxRows):
            lags = _shared_out(limit.max_rows, lags)
        reached = {name: begin + lags[name] for name, begin in begins.items()}
        known = {name: offset for name, offset in reached.items() if offset or name in offsets}
        return logs.position({**offsets, **known}, start.get(_TOPIC_IDS))

    @in_one_line()
    def partitions(self, start: Position, end: Position) -> Sequence[RangeGroup]:
        """Return what each task of a micro-batch reads; no group for an empty one.

        Raises LogDirError as `latestOffset` does.
        """
        logs, after = self._logs(), _offsets(end)
        before = dict.fromkeys(after, 0) | {
            name: offset
            for name, offset in _offsets(start).items()
            if _topic_id(start, name) == _topic_id(end, name)  # else it begins anew
        }
        wanted = {name: offset for name, offset in after.items() if offset > before[name]}
        there = self._begins(end, wanted, logs)  # the ends must be there, too
        begins = self._begins(end, {name: before[name] for name in there}, logs)
        ranges = [
            found._replace(topic_id=_topic_id(end, name))
            for name, begin in begins.items()
            if logs.has_topic_of(end, name)
            for found in ranges_between(logs.readers[name], begin, wanted[name])
        ]
        return [RangeGroup(group) for group in grouped(ranges, self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the messages of one group; see `ranges_to_batches`."""
        assert isinstance(partition, RangeGroup)
        return ranges_to_batches(self._options, partition.ranges)

    def _waits(self, lag: int) -> bool:
        """Tell if a micro-batch has to wait for more messages than the `lag` that are there.

        The first one of a run does not wait, nor does a query that ends where logs ended.
        """
        least, now = self._options.min_offsets, self._clock()
        if least is None or self._final is not None:
            return False
        last = self._last_trigger
        is_due = last is None or now - last >= self._options.max_delay_s
        if lag >= least or (lag and is_due):
            self._last_trigger = now
            return False
        return True

    # ---- where the logs begin and end

    def _logs(self) -> _Logs:
        chosen = chosen_partitions(self._log_dir, self._options)
        self._on_record = RecordedEnds()
        return _Logs(
            {
                str(topic_partition): open_reader(self._log_dir, topic_partition, self._options)
                for topic_partition in chosen
            },
            {topic.name: topic.topic_id for topic in chosen.values()},
        )

    @staticmethod
    def _fixed_ends(final: Position, logs: _Logs) -> Offsets:
        """Return the ends that were fixed, without those of topics that are others now."""
        ends = {name: offset for name, offset in _offsets(final).items() if name in logs.readers}
        return {name: end for name, end in ends.items() if logs.has_topic_of(final, name)}

    def _begins(self, position: Position, offsets: Offsets, logs: _Logs) -> Offsets:
        """Return where reading each partition begins; partitions that are gone are left out.

        `position` says of which topics the offsets are; of partitions that it does not name, they
        are of the topics of now. Raises LogDirError for messages that are gone, except with
        failOnDataLoss=false.
        """
        begins: Offsets = {}
        for name, offset in offsets.items():
            if name not in logs.readers:
                self._refuse_loss(
                    name, "the partition has been deleted, or its topic is not named any more"
                )
                continue
            reader = logs.readers[name]
            if name in position and not logs.has_topic_of(position, name):
                self._refuse_loss(name, REPLACED)
                begins[name] = reader.log_start_offset
                continue
            begins[name] = reachable(
                self._log_dir, reader, offset, self._options, wanted="was reached before"
            )
        return begins

    def _refuse_losses(self, reader: PartitionReader, begin: int) -> None:
        losses = self._on_record.losses(reader)
        refuse_losses(self._log_dir, losses, self._options, range(begin, MAX_OFFSET))

    def _refuse_loss(self, name: str, reason: str) -> None:
        if self._options.fail_on_data_loss:
            where = parse_topic_partition(name) or TopicPartition(name, 0)
            raise lost_messages(where, self._log_dir, reason)


class RefusedStreamReader(DataSourceStreamReader):
    """Raises an error as soon as Spark asks it for anything."""

    def __init__(self, error: KMiniLogError) -> None:
        self._error = error

    @in_one_line()
    def _refuse(self, *asked: Any, **named: Any) -> NoReturn:
        raise self._error

    getDefaultReadLimit = initialOffset = latestOffset = read = _refuse  # noqa: N815


def lag(progress: Mapping[str, Any]) -> Offsets:
    """Return how many messages of each partition a query has not read, by its progress.

    `progress` is what `query.lastProgress` or a StreamingQueryListener gives. Spark's Kafka source
    has the numbers in its `metrics`, but Spark takes none from a Python source.

    >>> lag({"sources": [{"endOffset": '{"a-0": 3}', "latestOffset": '{"a-0": 10, "a-1": 2}'}]})
    {'a-0': 7, 'a-1': 2}
    """
    behind: Offsets = {}
    for source in progress["sources"]:
        latest, reached = (json.loads(source[name]) for name in ("latestOffset", "endOffset"))
        if not (isinstance(latest, dict) and isinstance(reached, dict)):
            continue  # a source of another kind
        for name, end in _offsets(latest).items():
            if isinstance(end, int):
                is_same = _topic_id(latest, name) == _topic_id(reached, name)
                behind[name] = max(end - reached.get(name, 0), 0) if is_same else end
    return behind


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


def _offsets(position: Position) -> Offsets:
    return {name: offset for name, offset in position.items() if name != _TOPIC_IDS}


def _topic_id(position: Position, name: str) -> str | None:
    found: str | None = position.get(_TOPIC_IDS, {}).get(_topic_of(name))
    return found


def _topic_of(name: str) -> str:
    return name.rpartition("-")[0]
