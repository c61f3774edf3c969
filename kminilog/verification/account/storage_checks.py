"""The storage checks of all partitions: segments are checked in tasks, and joined here.

The findings are those of `check_partition`, which checks one partition alone. Source: ours.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import NamedTuple

from kminilog.errors import LogDirError, in_words
from kminilog.format.names import TopicPartition
from kminilog.jobs.source.tasks import task_groups
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from kminilog.verification.account.engine import Engine
from kminilog.verification.findings import NewRest
from kminilog.verification.job_digests import read_digests
from kminilog.verification.partition_checks import check_partition, join_segments, was_compacted
from kminilog.verification.records import SmallFiles
from kminilog.verification.summaries import (
    CheckSegment,
    PartitionSummary,
    Placement,
    SegmentSummary,
    check_for,
)


class SegmentPlace(NamedTuple):
    """A segment, and how much work it is; 0 if its size cannot be read.

    Its first bytes need not be read if their summary is `known`.
    """

    topic_partition: TopicPartition
    base_offset: int
    size_bytes: int
    known: SegmentSummary | None = None


def places_of(log_dir: LogDir, topic_partition: TopicPartition) -> list[SegmentPlace]:
    """Return the segments of a partition, to divide among tasks. O(segments).

    Why a segment cannot be read is for the task to say that reads it. Raises LogDirError and
    OSError if the partition cannot be listed.
    """
    segments = log_dir.reader(topic_partition).segments()
    return [SegmentPlace(topic_partition, one.base_offset, _size_bytes(one)) for one in segments]


def _size_bytes(segment: Segment) -> int:
    try:
        return segment.file_bytes
    except OSError:  # retention has deleted it meanwhile, or it is no regular file
        return 0


def check_partitions(
    engine: Engine,
    log_dir: LogDir,
    topics: Sequence[Topic],
    records: SmallFiles,
    *,
    strict_index: bool = False,
    is_full: bool = False,
    rest: NewRest | None = None,
) -> Iterator[PartitionSummary]:
    """Yield what `check_partition` would return for each partition, in the order of `topics`.

    Read `records` before this call: then all messages that they name are in place. Without
    `strict_index`, an index of the kafka dialect may lack entries that Kafka would not have
    written. `rest` makes what takes the findings that a summary does not keep, in tasks. O(bytes of
    the topics), in tasks.
    """
    jobs = {
        topic_partition: written
        for topic in topics
        for topic_partition, written in zip(
            topic.all_partitions(), records.partitions_of(topic), strict=True
        )
    }
    places: list[SegmentPlace] = []
    summaries: dict[TopicPartition, list[SegmentSummary]] = {partition: [] for partition in jobs}
    failures: dict[TopicPartition, str] = {}
    for topic_partition, written in jobs.items():
        try:
            for place in places_of(log_dir, topic_partition):
                known = written.trusted.get(place.base_offset)
                if known is None or known.log_bytes > place.size_bytes:
                    places.append(place)
                elif left := place.size_bytes - known.log_bytes:
                    places.append(place._replace(size_bytes=left, known=known))
                else:
                    summaries[topic_partition].append(known)
        except (LogDirError, OSError) as error:
            failures[topic_partition] = in_words(error)
    listed = {tp: [summary.base_offset for summary in known] for tp, known in summaries.items()}
    for place in places:
        listed[place.topic_partition].append(place.base_offset)
    groups = task_groups(places, lambda place: place.size_bytes, cores=engine.cores)
    wanted = {partition: (jobs[partition].placement, jobs[partition].borders) for partition in jobs}
    check = partial(engine.check_segment, rest=rest) if rest else engine.check_segment
    checks = {
        topic.name: check_for(topic.dialect, check, strict_index=strict_index) for topic in topics
    }
    check_group = partial(_check, log_dir, checks, wanted, engine.told)
    size_bytes = sum(place.size_bytes for place in places)
    for checked in engine.map(groups, check_group, step="checking segments", size_bytes=size_bytes):
        for topic_partition, found in checked:
            if isinstance(found, str):
                failures[topic_partition] = found
            else:
                summaries[topic_partition].append(found)
    if is_full:
        read = {tp: (log_dir.reader(tp), jobs[tp].untrusted()) for tp in jobs if tp not in failures}
        told = engine.map([*read.values()], lambda one: read_digests(*one), step="reading digests")
        for topic_partition, digests in zip(read, told, strict=True):
            jobs[topic_partition] = replace(jobs[topic_partition], digests=digests)
    for topic_partition, written in jobs.items():
        reader, known_segments = log_dir.reader(topic_partition), summaries[topic_partition]
        summary = join_segments(
            reader, known_segments, written, failure=failures.get(topic_partition)
        )
        if was_compacted(reader, listed[topic_partition], known_segments):
            again, written = checks[topic_partition.topic], replace(written, trusted={})
            summary = check_partition(reader, written, check_segment=again, is_full=is_full)
        yield summary


def _check(
    log_dir: LogDir,
    checks: Mapping[str, CheckSegment],
    wanted: Mapping[TopicPartition, tuple[Placement, Sequence[int]]],
    told: Callable[[str], object],
    group: list[SegmentPlace],
) -> list[tuple[TopicPartition, SegmentSummary | str]]:
    """Return the summary of each segment; of a partition that cannot be listed, why not."""
    checked: list[tuple[TopicPartition, SegmentSummary | str]] = []
    for topic_partition, places in groupby(group, key=lambda place: place.topic_partition):
        told(f"checking {topic_partition}")
        check = partial(checks[topic_partition.topic], topic_partition)
        try:
            segments = log_dir.reader(topic_partition).segments()
        except (LogDirError, OSError) as error:
            checked.append((topic_partition, in_words(error)))
            continue
        there = {segment.base_offset: segment for segment in segments}
        for place in places:
            if segment := there.get(place.base_offset):
                summary = check(segment, *wanted[topic_partition], known=place.known)
                checked.append((topic_partition, summary))
    return checked
