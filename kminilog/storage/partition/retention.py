"""Retention: delete the oldest segments of a partition, by age and by size.

Both rules delete a prefix of the log: never a segment after one that stays. By age: segments whose
`.log` was last written longer ago than retention.ms. By size: the oldest segment, as long as the
rest still has retention.bytes. So at least that many bytes stay. If the rules delete all segments,
the log first begins an empty one at its end, so that offsets continue. An empty last segment is
never deleted.

A segment is *expired* if one of the rules deletes it, and *deletable* if the log can also do
without it. Deletion has three steps. The first stores the new start of the log: what is
missing below it is no loss. The second renames the files to `.log.deleted` and `.index.deleted`, as
Kafka does; this also leaves time to undo a wrong setting. The third unlinks these *marked* files
file.delete.delay.ms later, by another run or by recovery; on a full disk, at once. The caller
passes the time. Source: S1 5.1; Kafka: LogManager, Log.deleteOldSegments. Differs: Kafka 0.8.2 puts
no start on record; the name of the first segment says it.
"""

import os
from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from kminilog.format.names import DELETED_SUFFIX
from kminilog.settings import TopicSettings
from kminilog.storage.files import sync
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.segment.segment import Segment


def expired_segments(
    segments: list[Segment], settings: TopicSettings, now_ms: int
) -> list[Segment]:
    """Return the segments that retention deletes: a prefix of `segments`, which ascend."""
    by_age = _too_old(segments, settings.retention_ms, now_ms)
    by_size = _too_much(segments, settings.retention_bytes)
    return max(by_age, by_size, key=len)


def deletable(log: PartitionLog | PartitionReader, expired: list[Segment]) -> list[Segment]:
    """Return which of these segments, the oldest ones of a log, may be deleted.

    The log's last one stays if no segment can follow it, such as an empty one. A dry run asks with
    a reader, because it opens no log.
    """
    is_all = expired and expired[-1].base_offset == log.segments()[-1].base_offset
    if is_all and not log.dialect.can_follow(expired[-1].base_offset, log.log_end_offset):
        return expired[:-1]
    return expired


def segments_below(log: PartitionLog | PartitionReader, offset: int) -> list[Segment]:
    """Return the oldest segments of a log: those whose messages are all below an offset."""
    segments = log.segments()
    ends = [*(segment.first_offset for segment in segments[1:]), log.log_end_offset]
    return [segment for segment, end in zip(segments, ends, strict=True) if end <= offset]


def delete_expired(log: PartitionLog, now_ms: int) -> list[Segment]:
    """Delete the expired segments of a log as `delete_oldest` does, and return them."""
    return delete_oldest(log, expired_segments(log.segments(), log.settings, now_ms), now_ms)


def delete_oldest(log: PartitionLog, expired: list[Segment], now_ms: int) -> list[Segment]:
    """Rename the files of the segments that are `deletable` to `.deleted`; return these segments.

    `expired` are the oldest ones of the log. A crash during the call leaves a log that begins with
    one of them or after them. It may also leave an `.index` whose `.log` is renamed already:
    recovery removes it, and all `.deleted` files. Raises LogClosedError, with nothing changed.
    """
    log.check_is_open()
    deleted = deletable(log, expired)
    if deleted:
        if len(deleted) == len(log.segments()):
            log.roll()
        log.flush(now_ms=now_ms)  # what stays must be on the disk before the rest is deleted
        log.record_start(log.segments()[len(deleted)].first_offset)
    for _ in deleted:
        log.remove_first_segment(lambda segment: _rename(segment, now_ms))
    return deleted


def unlink_marked(directory: Path, settings: TopicSettings, now_ms: int) -> list[Path]:
    """Unlink the `.deleted` files that have waited for file.delete.delay.ms; return their paths."""
    marked = marked_files_due(directory, settings, now_ms)
    for path in marked:
        path.unlink()
    return marked


def marked_files_due(
    directory: Path, settings: TopicSettings, now_ms: int, deleted: Iterable[Segment] = ()
) -> list[Path]:
    """Return the `.deleted` files that have waited for file.delete.delay.ms, ascending.

    For a dry run, `deleted` has the segments that would be marked now. They count as marked.
    """

    def is_due(marked: Path) -> bool:
        return now_ms - marked.stat().st_mtime_ns // 1_000_000 >= settings.file_delete_delay_ms

    due = [*filter(is_due, directory.glob(f"*{DELETED_SUFFIX}"))]
    if not settings.file_delete_delay_ms:
        due += [marked for segment in deleted for _, marked in _renames(segment)]
    return sorted(due)


def without_delay_if_full(settings: TopicSettings, free_bytes: int) -> TopicSettings:
    """Return the settings, with a file.delete.delay.ms of 0 on a full disk.

    It is full if the largest message that the topic allows may not fit.
    """
    is_full = free_bytes < settings.max_message_bytes
    return replace(settings, file_delete_delay_ms=0) if is_full else settings


def _renames(segment: Segment) -> list[tuple[Path, Path]]:
    """Return both files of a segment, as far as they are there, and their names once marked."""
    paths = filter(Path.exists, (segment.log_path, segment.index.path))
    return [(path, path.with_name(path.name + DELETED_SUFFIX)) for path in paths]


def _rename(segment: Segment, now_ms: int) -> None:
    for path, marked in _renames(segment):
        os.rename(path, marked)
        os.utime(marked, ns=(now_ms * 1_000_000,) * 2)  # `marked_files_due` counts from here
    sync(segment.directory)  # else a power failure could bring it back without the one after it


def _too_old(segments: list[Segment], retention_ms: int, now_ms: int) -> list[Segment]:
    def is_too_old(segment: Segment) -> bool:
        age_ms = now_ms - segment.log_path.stat().st_mtime_ns // 1_000_000
        return 0 <= retention_ms < age_ms  # a negative limit is no limit

    return list(takewhile(is_too_old, segments))


def _too_much(segments: list[Segment], retention_bytes: int) -> list[Segment]:
    expired: list[Segment] = []
    excess_bytes = sum(segment.file_bytes for segment in segments) - retention_bytes
    for segment in segments:
        excess_bytes -= segment.file_bytes
        if retention_bytes < 0 or excess_bytes < 0:
            break
        expired.append(segment)
    return expired
