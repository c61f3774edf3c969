"""The storage checks of `verification` in Spark tasks: the same findings as in one process.

Tasks check segments, each by itself. The driver joins their summaries, partition by partition. Only
summaries reach the driver. This module does not know a source.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from pyspark.sql import SparkSession

from kminilog.columns.segment_checks import check_segment
from kminilog.errors import LogDirError
from kminilog.format.names import TopicPartition
from kminilog.jobs.accounting.log_parts import SegmentPlace, places_of
from kminilog.jobs.source.task_groups import task_groups
from kminilog.jobs.spark.runtime.tasks import SparkTasks
from kminilog.storage.log_dir import LogDir
from kminilog.storage.topics import Topic
from kminilog.verification.job_digests import read_digests
from kminilog.verification.partition_checks import join_segments
from kminilog.verification.records import Records
from kminilog.verification.summaries import (
    CheckSegment,
    PartitionSummary,
    Placement,
    SegmentSummary,
    check_for,
)


def check_partitions(
    spark: SparkSession,
    log_dir: LogDir,
    topics: Sequence[Topic],
    records: Records,
    *,
    strict_index: bool = False,
    is_full: bool = False,
) -> Iterator[PartitionSummary]:
    """Yield what `check_partition` would return for each partition, in the order of `topics`.

    Read `records` before this call: then all messages that they name are in place. O(bytes of the
    topics), in tasks. Raises Spark's exceptions.
    """
    partitions = [partition for topic in topics for partition in topic.all_partitions()]
    jobs = {
        topic_partition: written
        for topic in topics
        for topic_partition, written in zip(
            topic.all_partitions(), records.partitions_of(topic), strict=True
        )
    }
    places: list[SegmentPlace] = []
    failures: dict[TopicPartition, Exception] = {}
    for topic_partition in partitions:
        try:
            places += places_of(log_dir, topic_partition)
        except (LogDirError, OSError) as error:
            failures[topic_partition] = error
    tasks = SparkTasks(spark)
    groups = task_groups(places, lambda place: place.size_bytes, cores=tasks.cores)
    summaries: dict[TopicPartition, list[SegmentSummary]] = {tp: [] for tp in partitions}
    wanted = {partition: (jobs[partition].placement, jobs[partition].borders) for partition in jobs}
    checks = {
        topic.name: check_for(topic.dialect, check_segment, strict_index=strict_index)
        for topic in topics
    }
    for checked in tasks.map(groups, partial(_check, log_dir, checks, wanted)):
        for topic_partition, summary in checked:
            summaries[topic_partition].append(summary)
    if is_full:
        there = [partition for partition in partitions if partition not in failures]
        todo = [(log_dir.reader(partition), jobs[partition].staged) for partition in there]
        found = tasks.map(todo, lambda one: read_digests(*one))
        for partition, digests in zip(there, found, strict=True):
            jobs[partition] = replace(jobs[partition], digests=digests)
    for topic_partition in partitions:
        yield join_segments(
            log_dir.reader(topic_partition),
            summaries[topic_partition],
            jobs[topic_partition],
            failure=failures.get(topic_partition),
        )


def _check(
    log_dir: LogDir,
    checks: Mapping[str, CheckSegment],
    wanted: Mapping[TopicPartition, tuple[Placement, Sequence[int]]],
    group: list[SegmentPlace],
) -> list[tuple[TopicPartition, SegmentSummary]]:
    checked = []
    for topic_partition, places in groupby(group, key=lambda place: place.topic_partition):
        check, here = checks[topic_partition.topic], {place.base_offset for place in places}
        for segment in log_dir.reader(topic_partition).segments():
            if segment.base_offset in here:
                summary = check(topic_partition, segment, *wanted[topic_partition])
                checked.append((topic_partition, summary))
    return checked
