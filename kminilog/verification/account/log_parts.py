"""The valid messages of a topic, part by part; damage is skipped.

Messages between damage count, too. The storage checks report the damage. A segment that retention
has deleted meanwhile is skipped as well. A message that a writer adds after planning may be read or
not. A *part* is a stretch of a partition that one task reads: some segments that follow each other.
Source: ours.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kminilog.columns.message_batches import messages_between
from kminilog.format.names import TopicPartition
from kminilog.jobs.source.tasks import task_groups
from kminilog.storage.log_dir.compaction import where_is
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.manifests import Manifest
from kminilog.storage.topics import Topic
from kminilog.verification.account.rows import Bits
from kminilog.verification.account.storage_checks import places_of

Ranges = Mapping[int, list[tuple[int, int]]]
"""By partition: first and next offset of what is wanted."""


class Part(NamedTuple):
    """Some segments of one partition: their base offsets, and their sizes when they were listed."""

    topic_partition: TopicPartition
    base_offsets: list[int]
    sizes: list[int]

    @property
    def start(self) -> int:
        """The base offset of the first segment; it tells parts of a partition apart."""
        return self.base_offsets[0]


def ranges_of(topic: Topic, job: Manifest) -> Ranges:
    """Return what a job has written; a manifest may name partitions that are not there."""
    found: dict[int, list[tuple[int, int]]] = {}
    for staged in job.partitions:
        if staged.partition < topic.partitions:
            written = staged.first_offset, staged.next_offset
            found.setdefault(staged.partition, []).append(written)
    return found


def parts_of(
    log_dir: LogDir, topic: Topic, within: Ranges | None, cores: int
) -> tuple[list[list[Part]], int]:
    """Return the parts that each task reads, and the bytes of them all.

    With `within`, other partitions are not opened. A partition whose directory is gone has no part.
    O(segments). Raises LogDirError and OSError.
    """
    places = [
        place
        for topic_partition in topic.all_partitions()
        if within is None or topic_partition.partition in within
        if os.path.lexists(log_dir.directory(topic_partition))
        for place in places_of(log_dir, topic_partition)
    ]
    groups = task_groups(places, lambda place: place.size_bytes, cores=cores) if places else []
    parts = [
        [
            Part(topic_partition, *map(list, zip(*(place[1:3] for place in found), strict=True)))
            for topic_partition, found in groupby(group, lambda place: place.topic_partition)
        ]
        for group in groups
    ]
    return parts, sum(place.size_bytes for place in places)


def messages_of(
    log_dir: LogDir, part: Part, within: Ranges | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the messages of a part in the order of the files, each batch with its segment's base.

    Of a segment that was joined with others since, it is the base of the joined one.

    O(bytes of the part).
    """
    wanted = None if within is None else within[part.topic_partition.partition]
    for base_offset, size_bytes in zip(part.base_offsets, part.sizes, strict=True):
        for here, batch in _segment(log_dir, part.topic_partition, base_offset, size_bytes):
            found = batch if wanted is None else batch.filter(_is_within(batch, wanted))
            if len(found):
                yield here, found


def _segment(
    log_dir: LogDir, topic_partition: TopicPartition, base_offset: int, size_bytes: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    is_begun = False
    while not is_begun:
        found = where_is(log_dir.reader(topic_partition), base_offset, size_bytes)
        if found is None:
            return
        try:
            for batch in messages_between(*found):
                is_begun = True
                yield found.segment.base_offset, batch
            return
        except FileNotFoundError:  # deleted, or moved by a job that is being published: look again
            continue


def _is_within(batch: pa.RecordBatch, wanted: Sequence[tuple[int, int]]) -> pa.Array:
    offsets = batch.column("offset").to_numpy()
    found: Bits = np.zeros(len(offsets), np.bool_)
    for first, end in wanted:
        found |= (offsets >= first) & (offsets < end)
    return pa.array(found)
