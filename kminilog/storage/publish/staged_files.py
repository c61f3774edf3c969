"""Check a job's staged files before any of them is renamed into a topic.

Somebody may have edited the manifest or the files that it names. So publication compares them with
the log dir twice: before the commit point, and before it finishes a job that crashed.

    the directory    inside the job's own staging, named for the partition; no link on the way
    the files        regular, named as segments, within the offsets of the manifest
    the partition    exists, and ends where the job begins, as readers see it
    a file replaced  is empty, or the staged file begins with its bytes: no message is lost

Source: ours.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from kminilog.errors import PublicationError, UnknownTopicOrPartitionError
from kminilog.format.names import (
    LOG_SUFFIX,
    MAX_OFFSET,
    TopicPartition,
    parse_segment_file,
    segment_name,
)
from kminilog.storage.durable_files import check_real_directory
from kminilog.storage.files import names_in, open_regular
from kminilog.storage.manifests import JoinedSegments, Manifest, StagedPartition
from kminilog.storage.publish.visibility import STAGING_DIR, VisibleFiles
from kminilog.storage.segment.scan import quick_end
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic, read_topic

_COMPARED_BYTES = 1 << 20


def check_staged_files(
    log_dir: Path, manifest: Manifest, found_ends: Mapping[int, int] | None = None
) -> None:
    """Raise PublicationError, NotADirectoryError or OSError if a job must not be published.

    A file that is no longer in staging counts as in place: a crash may have interrupted the
    renames. Changes nothing. Reads names, and the bytes of files that are replaced; it looks where
    the partitions end unless the caller has done so, and passes `found_ends` (see `publish`).
    """
    parts: list[StagedPartition | JoinedSegments] = [*manifest.partitions, *manifest.joins]
    try:
        topic = read_topic(log_dir, manifest.topic)
        for part in parts:
            topic.partition(part.partition)
    except UnknownTopicOrPartitionError as error:
        raise PublicationError(manifest.job_id, reason=str(error)) from None
    numbers = [staged.partition for staged in manifest.partitions]
    if len(set(numbers)) < len(numbers):
        raise PublicationError(manifest.job_id, reason="it names a partition twice")
    staging = log_dir / STAGING_DIR / manifest.job_id
    sources = [staging / part.directory for part in parts]
    around = (source.parent for source in sources)
    for directory in dict.fromkeys((staging.parent, staging, *around, *sources)):
        check_real_directory(directory)
    reasons = [
        _fault(log_dir, staging, topic, staged)
        or _fault_of_offsets(log_dir, topic, staged, found_ends)
        for staged in manifest.partitions
    ]
    reasons += [_fault_of_join(log_dir, staging, topic, one) for one in manifest.joins]
    for reason in filter(None, reasons):
        raise PublicationError(manifest.job_id, reason=reason)


def _fault(log_dir: Path, staging: Path, topic: Topic, staged: StagedPartition) -> str | None:
    topic_partition = topic.partition(staged.partition)
    if not 0 <= staged.first_offset <= staged.next_offset <= MAX_OFFSET:
        return f"offsets {staged.first_offset} to {staged.next_offset} are no range"
    target, source = log_dir / str(topic_partition), staging / staged.directory
    if source.name != target.name:
        return f"{staged.directory} is no directory for {topic_partition}"
    check_real_directory(target)
    if not target.exists():
        return f"{target} is gone"
    for name in sorted(names_in(source)):
        path = source / name
        if not _belongs(topic, staged, name) or not _is_regular(path):
            return f"{path} is no segment of it"
        if name.endswith(LOG_SUFFIX) and not _goes_on(path, target / name):
            return f"{path} would replace messages in {target}"
    return None


def _fault_of_join(
    log_dir: Path, staging: Path, topic: Topic, joined: JoinedSegments
) -> str | None:
    """Return why a joined segment must not take the place of others; they are deleted then."""
    topic_partition, bases = topic.partition(joined.partition), joined.base_offsets
    target, source = log_dir / str(topic_partition), staging / joined.directory
    if source.name != target.name or bases != sorted(set(bases)) or len(bases) < 2:
        return f"{joined.directory} is no directory for {topic_partition}, or joins nothing"
    check_real_directory(target)
    name = segment_name(bases[0]) + LOG_SUFFIX
    staged = source / name
    path = staged if os.path.lexists(staged) else target / name  # then it is in place
    if not _is_regular(path) or path.stat().st_size != joined.bytes:
        return f"{path} has not the {joined.bytes} bytes of all segments that it joins"
    return None


def _belongs(topic: Topic, staged: StagedPartition, name: str) -> bool:
    """Tell if the name is that of a segment with offsets of the job."""
    parsed = parse_segment_file(name)
    lowest = topic.dialect.base_offset_for(staged.first_offset)
    highest = topic.dialect.base_offset_for(max(staged.next_offset - 1, staged.first_offset))
    return parsed is not None and lowest <= parsed[0] <= highest


def _is_regular(path: Path) -> bool:
    return stat.S_ISREG(os.lstat(path).st_mode)


def _goes_on(staged: Path, replaced: Path) -> bool:
    """Tell if a staged `.log` begins with all bytes of the file that it replaces, if any."""
    if not os.path.lexists(replaced):
        return True
    with (
        open(replaced, "rb", opener=open_regular) as old,
        open(staged, "rb", opener=open_regular) as new,
    ):
        while data := old.read(_COMPARED_BYTES):
            if new.read(len(data)) != data:
                return False
    return True


def _fault_of_offsets(
    log_dir: Path, topic: Topic, staged: StagedPartition, found_ends: Mapping[int, int] | None
) -> str | None:
    """Return a fault if the partition does not end where the job begins; None if it does, or if it
    ends too early because of damage, which the job does not make worse."""
    topic_partition, first_offset = topic.partition(staged.partition), staged.first_offset
    last, end = None, 0
    if found_ends is None:
        last = _last_segment(log_dir / str(topic_partition), topic, topic_partition)
        end = last.end_offset() if last else 0
    else:
        end = found_ends.get(staged.partition, 0)
    if end == first_offset or (last and end < first_offset and quick_end(last) is None):
        return None
    return f"it begins at offset {first_offset}, but {topic_partition} ends at {end}"


def _last_segment(target: Path, topic: Topic, topic_partition: TopicPartition) -> Segment | None:
    """Return the last segment that readers see; None without one."""
    places = VisibleFiles(target, topic_partition, topic.dialect).segments()
    if not places:
        return None
    base = max(places)
    return Segment(places[base], base, topic.dialect, topic.settings.index_interval_bytes)
