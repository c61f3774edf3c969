"""Join small segments of a topic, and the manifests of its jobs. No message and no offset changes.

    orders-0   [7 MB] [2 MB] [1 MB] [5 MB] [40 MB]   -->   [15 MB] [40 MB]

Each bulk job begins a new segment, so many small jobs leave many small segments. The rule: segments
that follow each other become one if it is not larger than segment.bytes allows, and at least twice
as large as the largest of them. So a message is copied again only each time its segment doubles.

The joined segment is written in staging, and read again as a whole: what is not valid, or does not
continue, stays as it is. It has the name of its first segment, the index entries that are due, and
the modification time of the last one, by which retention goes. Then publication puts all joined
segments in their places, or none (publish/publication.py). The caller holds the lock.
Source: ours; the rule is that of size-tiered compaction, as in LSM trees.
"""

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.errors import KMiniLogError, LogDirError, in_words
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.names import TopicPartition
from kminilog.progress import Progress, untold
from kminilog.storage.durable_files import sync_all
from kminilog.storage.files import naming, open_regular
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter, log_end_offsets, next_recovery
from kminilog.storage.manifests import JoinedSegments, Manifest, join_manifests
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.publish.publication import INDEX_COPY_SUFFIX, publish_joins, staging_path
from kminilog.storage.segment.scan import PLAIN, SegmentScanner
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic

_COPIED_BYTES = 1 << 20


def runs_to_join(sizes: Sequence[int], most_bytes: int) -> list[range]:
    """Return which neighbours become one, as ranges of slots; `sizes` are those of the segments.

    A run is not larger than `most_bytes`, and at least twice as large as its largest segment. An
    empty segment is in none.

    >>> runs_to_join([7, 2, 1, 5, 40], 100), runs_to_join([5, 3, 2, 9], 10)
    ([range(0, 4)], [range(0, 3)])
    >>> runs_to_join([9, 1, 1], 100), runs_to_join([1, 1, 0], 100)
    ([range(1, 3)], [range(0, 2)])
    """
    found, start = list[range](), 0
    while start < len(sizes):
        end = _longest(sizes, start, most_bytes)
        run = _balanced(sizes, start, end)
        if len(run) > 1:
            found.append(run)
        start = max(run.stop, start + 1)
    return found


def _longest(sizes: Sequence[int], start: int, most_bytes: int) -> int:
    """Return where the longest run from `start` on ends that fits."""
    end, total = start, 0
    while end < len(sizes) and sizes[end] and total + sizes[end] <= most_bytes:
        total += sizes[end]
        end += 1
    return end


def _balanced(sizes: Sequence[int], start: int, end: int) -> range:
    """Return the longest beginning of a run without a segment that is larger than all others."""
    while end > start:
        largest = max(range(start, end), key=sizes.__getitem__)
        if 2 * sizes[largest] <= sum(sizes[start:end]):
            break
        end = largest
    return range(start, end)


class PlannedSegment(NamedTuple):
    """Bytes `begin` to `end` - 1 of a segment."""

    segment: Segment
    begin: int
    end: int


def where_is(reader: PartitionReader, base_offset: int, size_bytes: int) -> PlannedSegment | None:
    """Return where the bytes of a segment are that was listed, with this size, some time ago.

    For those who plan first and read later: a compaction may have joined the segment with others.
    None if it is gone. `reader` lists the partition anew.
    """
    segments = {segment.base_offset: segment for segment in reader.segments()}
    if base_offset in segments:
        return PlannedSegment(segments[base_offset], 0, size_bytes)
    with suppress(KMiniLogError):  # retention has deleted it, or there is damage
        found = reader.find(reader.dialect.first_offset(base_offset))
        return PlannedSegment(found.segment, found.position, found.position + size_bytes)
    return None


def are_joined(base_offsets: Collection[int], now: Collection[int]) -> bool:
    """Tell if segments that were listed were joined since; `now` are those that are listed now.

    Retention deletes only the first ones.

    >>> are_joined([0, 5, 9], [0, 9, 12]), are_joined([0, 5, 9], [9, 12])
    (True, False)
    """
    return any(base_offset > min(now) for base_offset in {*base_offsets} - {*now}) if now else False


class Joined(NamedTuple):
    """Segments of a partition that become one, or have; the joined one has the first one's name.

    It ends with the offset before `end_offset`.
    """

    topic_partition: TopicPartition
    segments: list[Segment]
    size_bytes: int
    end_offset: int

    @property
    def staged(self) -> JoinedSegments:
        """What the manifest of the compaction says of it."""
        directory = f"{self.segments[0].name}/{self.topic_partition}"
        bases = [segment.base_offset for segment in self.segments]
        return JoinedSegments(self.topic_partition.partition, directory, bases, self.size_bytes)

    def to_json(self) -> dict[str, Any]:
        """Return what `compact --json` prints of it."""
        return {
            "partition": self.topic_partition.partition,
            "segment": self.segments[0].name,
            "segments": [segment.name for segment in self.segments],
            "bytes": self.size_bytes,
        }


@dataclass
class Compaction:
    """What a compaction joins: segments, and how many manifests; `warnings` name what it leaves."""

    joined: list[Joined] = field(default_factory=list)
    manifest_count: int = 0
    warnings: list[str] = field(default_factory=list)

    def add(self, joined: Joined, fault: str | None) -> None:
        """Add segments that become one; or, with a fault, a warning that they do not."""
        if fault:
            self.warnings.append(f"{joined.segments[0].log_path}: left as it is: {fault}")
        else:
            self.joined.append(joined)


def plan_compaction(
    log_dir: LogDir, topic: Topic, *, scanner: SegmentScanner = PLAIN
) -> Compaction:
    """Return what `compact` would join; changes nothing. O(bytes that would be joined).

    Raises as `compact`, and has the same warnings.
    """
    plan = Compaction(manifest_count=join_manifests(log_dir.path, topic.name, is_dry_run=True))

    def runs(reader: PartitionReader) -> Iterator[Joined]:
        recovery = next_recovery(log_dir, reader, scanner)
        return _runs(reader, recovery.sizes_after(reader.segments()), recovery.log_end_offset)

    for joined in _todo(log_dir, topic, plan, runs):
        plan.add(joined, _fault_in(joined, scanner))
    return plan


def compact(
    writer: LogDirWriter,
    topic: Topic,
    job_id: str,
    *,
    scanner: SegmentScanner = PLAIN,
    progress: Progress = untold,
) -> Compaction:
    """Join the small segments of a topic, all or none, and the manifests of its jobs.

    It closes open logs of the topic. Readers go on: each sees each message once at each moment.
    Once it returns, the result survives a power failure; after a crash the next writer finishes it,
    or nothing has changed. `job_id` is a new id, and names the staging directory. A segment that is
    not valid stays as it is, with a warning. Raises LogDirError if the disk has not as much free
    space as the joined segments take, and OSError. O(bytes that are joined).
    """
    done = Compaction()

    def runs(reader: PartitionReader) -> Iterator[Joined]:
        writer.release(reader.topic_partition)
        (end,) = log_end_offsets(writer, topic, [reader.topic_partition.partition]).values()
        return _runs(reader, {one: one.file_bytes for one in reader.segments()}, end)

    todo = _todo(writer, topic, done, runs)
    staging = staging_path(writer.path, job_id)
    try:
        for joined in todo:
            progress(f"joining {len(joined.segments)} segments of {joined.topic_partition}")
            done.add(joined, _stage(staging / joined.staged.directory, joined, scanner))
        directories = [staging / joined.staged.directory for joined in done.joined]
        files = [path for directory in directories for path in directory.iterdir()]
        around = {path for one in files for path in one.parents if path.is_relative_to(writer.path)}
        sync_all([*files, *around])
    except BaseException:  # Ctrl-C too
        shutil.rmtree(staging, ignore_errors=True)
        raise
    if done.joined:
        joins = [joined.staged for joined in done.joined]
        publish_joins(writer.path, Manifest(job_id, topic.name, [], {}, joins=joins))
    shutil.rmtree(staging, ignore_errors=True)
    done.manifest_count = join_manifests(writer.path, topic.name)
    return done


def _todo(
    log_dir: LogDir,
    topic: Topic,
    done: Compaction,
    runs: Callable[[PartitionReader], Iterator[Joined]],
) -> list[Joined]:
    """Return what to join in all partitions; `done` gets a warning for one that is damaged."""
    todo = list[Joined]()
    for reader in log_dir.readers(topic):
        try:
            todo += runs(reader)
        except (KMiniLogError, OSError) as error:
            done.warnings.append(f"{reader.topic_partition}: left as it is: {in_words(error)}")
    needed, free = sum(joined.size_bytes for joined in todo), shutil.disk_usage(log_dir.path).free
    if free < needed:
        reason = f"the joined segments take {needed} bytes, but only {free} are free"
        raise LogDirError(str(log_dir.path), reason=reason)
    return todo


def _runs(
    reader: PartitionReader, size_of: Mapping[Segment, int], log_end_offset: int
) -> Iterator[Joined]:
    segments, sizes, settings = [*size_of], [*size_of.values()], reader.settings
    ends = [*(segment.first_offset for segment in segments[1:]), log_end_offset]
    most_entries = settings.segment_index_bytes // ENTRY_SIZE_BYTES
    most_bytes = min(settings.segment_bytes, most_entries * (settings.index_interval_bytes + 1))
    for run in runs_to_join(sizes, most_bytes):
        joined = segments[run.start : run.stop]
        size_bytes = sum(sizes[run.start : run.stop])
        yield Joined(reader.topic_partition, joined, size_bytes, ends[run.stop - 1])


def _fault_in(joined: Joined, scanner: SegmentScanner) -> str | None:
    """Return why segments must not become one: what `_stage` finds in the joined one."""
    valid_bytes = 0
    ends = [*(segment.first_offset for segment in joined.segments[1:]), joined.end_offset]
    for segment, end in zip(joined.segments, ends, strict=True):
        scan = scanner.scan_segment(segment)
        valid_bytes += scan.valid_bytes
        is_whole = scan.valid_bytes == segment.file_bytes or valid_bytes == joined.size_bytes
        if not is_whole:
            return f"{scan.reason} at offset {scan.next_offset}"
        if scan.next_offset != end:
            return f"it ends with offset {scan.next_offset}, expected {end}"
    return None


def _stage(directory: Path, joined: Joined, scanner: SegmentScanner) -> str | None:
    """Write a joined segment in a new directory; return why it must not replace the others."""
    first, *_, last = joined.segments
    directory.mkdir(parents=True)
    staged = Segment(directory, first.base_offset, first.dialect, first.index_interval_bytes)
    staged.open()
    with naming(staged.log_path), open(staged.log_path, "wb") as written:
        for segment in joined.segments:
            with open(segment.log_path, "rb", opener=open_regular) as read:
                shutil.copyfileobj(read, written, _COPIED_BYTES)
    scan = scanner.scan_segment(staged)
    if scan.reason:
        return f"{scan.reason} at offset {scan.next_offset}"
    if (scan.next_offset, scan.valid_bytes) != (joined.end_offset, joined.size_bytes):
        return f"it ends with offset {scan.next_offset}, expected {joined.end_offset}"
    staged.index.rewrite(scan.entries)
    shutil.copy(staged.index.path, directory / (staged.name + INDEX_COPY_SUFFIX))
    status = os.stat(last.log_path)
    os.utime(staged.log_path, ns=(status.st_atime_ns, status.st_mtime_ns))
    return None
