"""Verification by Spark: tasks check segments and read both sides, a shuffle moves the rows.

    segments tasks check segments, each by itself; the driver joins their summaries
    source   groups of pieces, each read by a task; a DataFrame, which Spark reads and divides
    log      groups of segments, each read by a task
    rows     RDDs of (number, item): Spark brings all items with one number to one task

The findings are the same as in one process. No record and no message reaches the driver, but
summaries, sums, counts and samples. Source: ours.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Tuple  # noqa: UP035 - Spark looks for Tuple

import pyarrow as pa
from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, StringType

from kminilog.columns.segment_checks import check_segment
from kminilog.errors import LogDirError, SourceError
from kminilog.format.names import TopicPartition
from kminilog.jobs.accounting.checksum_pass import ChecksumPass, Compared
from kminilog.jobs.accounting.engine import Groups
from kminilog.jobs.accounting.log_parts import Part, SegmentPlace, places_of
from kminilog.jobs.accounting.row_join import Judged, RecordReader, RowJoin, joined
from kminilog.jobs.accounting.rows import Item
from kminilog.jobs.source.columns import AnyColumns, Columns, columns_of
from kminilog.jobs.source.description import DATAFRAME, Source
from kminilog.jobs.source.places import RECORD_COLUMNS
from kminilog.jobs.source.source_files import SourceFile
from kminilog.jobs.source.tasks import TASKS_PER_CORE, Report, task_groups
from kminilog.jobs.spark.runtime.executor_checks import check_cluster
from kminilog.jobs.spark.runtime.failures import spark_failures
from kminilog.jobs.spark.runtime.session import own_session
from kminilog.jobs.spark.runtime.tasks import SparkTasks, freeze_modules, watched
from kminilog.storage.log_dir import LogDir
from kminilog.storage.topics import Topic
from kminilog.verification.findings import NewRest
from kminilog.verification.job_digests import read_digests
from kminilog.verification.manifest_checks import PartitionJobs
from kminilog.verification.partition_checks import (
    check_partition,
    join_segments,
    was_compacted,
)
from kminilog.verification.records import SmallFiles
from kminilog.verification.summaries import (
    CheckSegment,
    PartitionSummary,
    Placement,
    SegmentSummary,
    check_for,
)

# ---- the storage checks


def check_partitions(
    spark: SparkSession,
    log_dir: LogDir,
    topics: Sequence[Topic],
    records: SmallFiles,
    *,
    strict_index: bool = False,
    is_full: bool = False,
    rest: NewRest | None = None,
    report: Report | None = None,
) -> Iterator[PartitionSummary]:
    """Yield what `check_partition` would return for each partition, in the order of `topics`.

    Read `records` before this call: then all messages that they name are in place. `report` gets
    how far the tasks are. O(bytes of the topics), in tasks. Raises Spark's exceptions.
    """
    partitions = [partition for topic in topics for partition in topic.all_partitions()]
    jobs = {
        topic_partition: written
        for topic in topics
        for topic_partition, written in zip(
            topic.all_partitions(), records.partitions_of(topic), strict=True
        )
    }
    places, summaries, failures = _places(log_dir, jobs)
    listed = {tp: [summary.base_offset for summary in known] for tp, known in summaries.items()}
    for place in places:
        listed[place.topic_partition].append(place.base_offset)
    tasks = SparkTasks(spark, report)
    groups = task_groups(places, lambda place: place.size_bytes, cores=tasks.cores)
    wanted = {partition: (jobs[partition].placement, jobs[partition].borders) for partition in jobs}
    check = partial(check_segment, rest=rest) if rest else check_segment
    checks = {
        topic.name: check_for(topic.dialect, check, strict_index=strict_index) for topic in topics
    }
    check_group = partial(_check, log_dir, checks, wanted)
    size_bytes = sum(place.size_bytes for place in places)
    for checked in tasks.map(groups, check_group, step="checking segments", size_bytes=size_bytes):
        for topic_partition, found in checked:
            summaries[topic_partition].append(found)
    if is_full:
        _add_digests(log_dir, tasks, jobs, [tp for tp in partitions if tp not in failures])
    for topic_partition in partitions:
        reader, written = log_dir.reader(topic_partition), jobs[topic_partition]
        summary = join_segments(
            reader, summaries[topic_partition], written, failure=failures.get(topic_partition)
        )
        if was_compacted(reader, listed[topic_partition], summaries[topic_partition]):
            again, written = checks[topic_partition.topic], replace(written, trusted={})
            summary = check_partition(reader, written, check_segment=again, is_full=is_full)
        yield summary


def _add_digests(
    log_dir: LogDir,
    tasks: SparkTasks,
    jobs: dict[TopicPartition, PartitionJobs],
    partitions: Sequence[TopicPartition],
) -> None:
    todo = [(log_dir.reader(one), jobs[one].untrusted()) for one in partitions]
    found = tasks.map(todo, lambda one: read_digests(*one), step="reading digests")
    for partition, digests in zip(partitions, found, strict=True):
        jobs[partition] = replace(jobs[partition], digests=digests)


def _places(
    log_dir: LogDir, jobs: Mapping[TopicPartition, PartitionJobs]
) -> tuple[
    list[SegmentPlace],
    dict[TopicPartition, list[SegmentSummary]],
    dict[TopicPartition, Exception],
]:
    """Return the segments that are to be checked, the summaries of all others, which are trusted,
    and why partitions cannot be listed."""
    places: list[SegmentPlace] = []
    trusted: dict[TopicPartition, list[SegmentSummary]] = {partition: [] for partition in jobs}
    failures: dict[TopicPartition, Exception] = {}
    for topic_partition, written in jobs.items():
        try:
            for place in places_of(log_dir, topic_partition):
                known = written.trusted.get(place.base_offset)
                if known is None or known.log_bytes > place.size_bytes:
                    places.append(place)
                elif left := place.size_bytes - known.log_bytes:
                    places.append(place._replace(size_bytes=left, known=known))
                else:
                    trusted[topic_partition].append(known)
        except (LogDirError, OSError) as error:
            failures[topic_partition] = error
    return places, trusted, failures


def _check(
    log_dir: LogDir,
    checks: Mapping[str, CheckSegment],
    wanted: Mapping[TopicPartition, tuple[Placement, Sequence[int]]],
    group: list[SegmentPlace],
) -> list[tuple[TopicPartition, SegmentSummary]]:
    checked = []
    for topic_partition, places in groupby(group, key=lambda place: place.topic_partition):
        check, here = checks[topic_partition.topic], {one.base_offset: one for one in places}
        for segment in log_dir.reader(topic_partition).segments():
            if place := here.get(segment.base_offset):
                summary = check(
                    topic_partition, segment, *wanted[topic_partition], known=place.known
                )
                checked.append((topic_partition, summary))
    return checked


# ---- both sides


class SparkEngine:
    """Runs a verification in a session; the session's settings stay as they are."""

    name = "spark"

    def __init__(
        self,
        spark: SparkSession,
        frame: DataFrame | None = None,
        report: Report | None = None,
    ) -> None:
        """`frame` is the source, if that is a DataFrame: see `records_of`.

        `report` gets how far the tasks are.
        """
        self._spark = spark
        self._frame = frame
        self._report = report

    def check(
        self,
        log_dir: LogDir,
        topics: Sequence[Topic],
        records: SmallFiles,
        *,
        strict_index: bool,
        is_full: bool,
        rest: NewRest | None = None,
    ) -> Iterator[PartitionSummary]:
        """Yield the summary of each partition, in the order of `topics`. O(bytes), in tasks."""
        check_cluster(self._spark, log_dir.path)
        with spark_failures(str(log_dir.path)):
            yield from check_partitions(
                self._spark,
                log_dir,
                topics,
                records,
                strict_index=strict_index,
                is_full=is_full,
                rest=rest,
                report=self._report,
            )

    @contextmanager
    def reading(self, source: Source, files: Sequence[SourceFile]) -> Iterator["SparkReader"]:
        """Yield a reader of a source. Spark's exceptions become errors in one line."""
        with spark_failures(str(source)), own_session(self._spark) as own:
            if self._frame is not None:
                yield SparkReader(own, self._report, None, records_of(self._frame))
            else:
                columns = columns_of(source, files, SparkTasks(own))
                yield SparkReader(own, self._report, columns)


class SparkReader:
    """Reads a source and a log in tasks."""

    def __init__(
        self,
        spark: SparkSession,
        report: Report | None,
        columns: AnyColumns | None,
        records: DataFrame | None = None,
    ) -> None:
        """Read columns of files, or else `records`; `report` gets how far the tasks are."""
        self._spark = spark
        self._report = report
        self.columns = columns
        self._records = records
        self._groups: Sequence[Any] = columns.groups(self.cores) if columns else []

    @property
    def tasks(self) -> SparkTasks:
        """What runs tasks: executors."""
        return SparkTasks(self._spark, self._report)

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        return self.tasks.cores

    @property
    def task_count(self) -> int:
        """How many tasks read the source; 0 if it is a DataFrame."""
        return len(self._groups)

    def sums(self, step: ChecksumPass, groups: Groups) -> Compared:
        """Return what the checksum pass finds, after a shuffle of sums."""
        sums = _moved(self._items(step, groups), step.ranges, step.compare)
        with self._watched("comparing sums", groups):
            return step.joined(sums.collect())

    def compare(self, join: RowJoin, groups: Groups) -> Judged:
        """Return what the row join finds, after two shuffles of rows."""
        pairs = _moved(self._items(join, groups), join.buckets + 1, join.pair)
        tasks = min(join.sides.partitions + 1, self.cores * TASKS_PER_CORE)
        judged = _moved(pairs, tasks, lambda number, items: [join.judge(number, items)])
        with self._watched("comparing rows", groups):
            return joined(judged.mapPartitions(lambda found: [joined(found)]).collect())

    def _watched(self, step: str, groups: Groups) -> AbstractContextManager[None]:
        source_bytes = self.columns.size_bytes if self.columns else 0
        log_bytes = sum(sum(part.sizes) for group in groups for part in group)
        return watched(self._spark, self._report, step, source_bytes + log_bytes)

    def _items(self, step: ChecksumPass | RowJoin, groups: Groups) -> "RDD[Item]":
        """Return what a step makes of both sides."""

        def read(group: Sequence[Part]) -> Iterator[Item]:
            freeze_modules()
            for part in group:
                yield from step.read_messages(part)

        return self._records_of(step).union(self._in_tasks(groups).flatMap(read))

    def _records_of(self, step: ChecksumPass | RowJoin) -> "RDD[Item]":
        columns: Columns[Any] | None = self.columns
        if columns is None:
            assert self._records is not None
            assert isinstance(step, RowJoin), "nobody sums a DataFrame"
            return _rows_of(self._records, step)

        def read(group: list[Any]) -> Iterator[Item]:
            freeze_modules()
            return step.read_records(columns.read(group))

        return self._in_tasks(self._groups).flatMap(read)

    def _in_tasks(self, groups: Sequence[Any]) -> "RDD[Any]":
        return self._spark.sparkContext.parallelize(groups, max(len(groups), 1))


def records_of(frame: DataFrame) -> DataFrame:
    """Return the rows of a DataFrame as records: `value`, and `key` if there is one.

    Both are binary or string. The place of a row is its `monotonically_increasing_id`. Raises
    SourceError for other types, or without a value.
    """
    kinds = {field.name: field.dataType for field in frame.schema}
    for name in ("value", "key") if "key" in kinds else ("value",):
        if not isinstance(kinds.get(name), BinaryType | StringType):
            found = f"{name} {kinds[name].simpleString()}" if name in kinds else f"no {name}"
            reason = f"it has {found}; its columns key and value must be binary or string"
            raise SourceError(str(DATAFRAME), reason=reason)
    key = sql.col("key") if "key" in kinds else sql.lit(None)
    return frame.select(
        sql.lit(0).cast("int").alias("source_rank"),
        sql.lit(0).cast("long").alias("source_position"),
        sql.monotonically_increasing_id().alias("source_row"),
        key.cast("binary").alias("key"),
        sql.col("value").cast("binary").alias("value"),
        sql.lit(None).cast("string").alias("rejected"),
    )


def _rows_of(records: DataFrame, join: RowJoin) -> "RDD[Item]":
    """Return the rows of records that Spark reads.

    A function of columns gives an entry for each record: the first of a batch has all its rows.
    """

    def read(batches: Iterator[Tuple[pa.Array, ...]]) -> Iterator[pa.Array]:  # noqa: UP006
        reader = RecordReader(join)
        for columns in batches:
            batch = pa.RecordBatch.from_arrays(list(columns), list(RECORD_COLUMNS))
            items = pickle.dumps(list(reader.read(batch)))
            yield pa.array([items, *[None] * (len(batch) - 1)][: len(batch)], pa.binary())

    rows = arrow_udf(read, "binary").asNondeterministic()  # type: ignore[call-overload]
    found = records.select(rows(*RECORD_COLUMNS).alias("items")).where("items IS NOT NULL")
    return found.rdd.flatMap(lambda row: pickle.loads(row["items"]))


def _moved(
    rows: "RDD[Item]", tasks: int, work: Callable[[int, Iterable[Any]], Iterable[Any]]
) -> "RDD[Any]":
    """Return what `work` returns for each number and all items that have it; after a shuffle."""

    def of_task(items: Iterable[Item]) -> Iterator[Any]:
        freeze_modules()
        ordered = sorted(items, key=itemgetter(0))
        for number, found in groupby(ordered, itemgetter(0)):
            yield from work(number, (item for _, item in found))

    return rows.partitionBy(tasks, lambda number: number % tasks).mapPartitions(of_task)
