"""What a reader may see of a partition while a job is being published: what was there before.

    pending job   begins at offset 8 in orders-0       offsets from 8 on are hidden in orders-0
    its files     orders-0/00000000000000000007.log    already in place, but not listed
                  .staging/<job>/.replaced/orders-0/   copies of the segments that it replaces

From the commit point until its manifest is renamed, a job's files come into their partitions one by
one. Until then readers list only segments below the job's first offset; and those that the job
replaces, an empty one, or one that the dialect's naming makes it go on in, they read where a copy
was kept. One rename shows all of the job, in all partitions, to readers in all processes. After a
crash this lasts until the next holder of the lock has finished the job.

A listing counts only if the pending job and the count of changes are the same before and after; so
a job that came and was finished meanwhile is noticed too. Without a pending job this costs a reader
a system call. Source: ours.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition, parse_segment_file
from kminilog.storage.changes import change_count
from kminilog.storage.partition_files import Result, segments_among
from kminilog.storage.publish.manifests import Manifest, pending_path, read_manifest

STAGING_DIR = ".staging"
REPLACED_DIR = ".replaced"

Identity = tuple[int, int]  # of a pending manifest: its inode and its time


class _Moment(NamedTuple):
    pending: Identity | None
    changes: int | None


class Cap(NamedTuple):
    """What a pending job hides: all from `first_offset` on; `replaced` has what it replaces."""

    first_offset: int
    replaced: Path


def replaced_path(log_dir: Path, job_id: str, topic_partition: TopicPartition) -> Path:
    """Return where a job keeps the segments of a partition that it replaces."""
    return log_dir / STAGING_DIR / job_id / REPLACED_DIR / str(topic_partition)


class _Look(NamedTuple):
    names: list[str]
    cap: Cap | None
    replaced_names: list[str]


class VisibleFiles:
    """What one reader may see in one partition's directory, which lies in a log dir.

    `pending_seen` is the job that was pending at the last listing, None if none was.
    """

    def __init__(self, directory: Path, topic_partition: TopicPartition, dialect: Dialect) -> None:
        self._directory = directory
        self._topic_partition = topic_partition
        self._dialect = dialect
        self._log_dir = directory.parent
        self._pending_path = str(pending_path(self._log_dir))
        self._pending_seen: Identity | None = None
        self._cap: Cap | None = None

    def segments(self) -> dict[int, Path]:
        """List the segments: base offsets, and the directory in which each is to be read.

        FileNotFoundError if the partition's directory is gone.
        """
        names, cap, replaced_names = self._look()
        bases = segments_among(names)
        if cap is None:
            return dict.fromkeys(bases, self._directory)
        below = [b for b in bases if self._dialect.first_offset(b) < cap.first_offset]
        found = dict.fromkeys(below, self._directory)
        return found | dict.fromkeys(segments_among(replaced_names), cap.replaced)

    def names(self) -> list[str]:
        """List the names of all files but a pending job's; FileNotFoundError if gone."""
        names, cap, replaced_names = self._look()
        if cap is None:
            return names
        below = [name for name in names if self._is_below(name, cap)]
        return sorted({*below, *replaced_names})

    def is_overtaken(self) -> bool:
        """Tell if a job has come or gone since the last listing: what was read since, near the end
        of the log, may be part of it. One system call if there was none and is none."""
        return self._pending() != self._pending_seen

    def undisturbed(self, work: Callable[[], Result], look: Callable[[], object]) -> Result:
        """Return what a piece of work returns that reads this partition; look, and do it again, if
        a job has come or gone meanwhile, because then part of what it saw may not be committed."""
        while True:
            seen = self._pending_seen
            result = work()  # which may list, too
            if self._pending_seen == seen and not self.is_overtaken():
                return result
            look()

    def _is_below(self, name: str, cap: Cap) -> bool:
        parsed = parse_segment_file(name)
        return not parsed or self._dialect.first_offset(parsed[0]) < cap.first_offset

    def _look(self) -> _Look:
        while True:
            moment = self._moment()
            if moment.pending != self._pending_seen:
                # In this order: what could not be read was not seen.
                self._cap = self._read_cap() if moment.pending else None
                self._pending_seen = moment.pending
            names = os.listdir(self._directory)
            look = _Look(names, self._cap, _names(self._cap.replaced) if self._cap else [])
            if self._moment() == moment:
                return look

    def _moment(self) -> _Moment:
        return _Moment(self._pending(), change_count(self._log_dir))

    def _pending(self) -> Identity | None:
        try:  # anything but "not there" is an error: a reader must not take it for "no job"
            status = os.lstat(self._pending_path)
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _read_cap(self) -> Cap | None:
        try:
            manifest = read_manifest(Path(self._pending_path))
        except FileNotFoundError:
            return None  # committed meanwhile: the look that comes next sees that
        return _cap(manifest, self._log_dir, self._topic_partition)


def _cap(manifest: Manifest, log_dir: Path, topic_partition: TopicPartition) -> Cap | None:
    firsts = [
        staged.first_offset
        for staged in manifest.partitions
        if (manifest.topic, staged.partition) == topic_partition
    ]
    if not firsts:
        return None
    return Cap(min(firsts), replaced_path(log_dir, manifest.job_id, topic_partition))


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []
