"""Hide a job from readers while it is being published: they see the partition as it was before.

    pending job   begins at offset 8 in orders-0       offsets from 8 on are hidden in orders-0
    its files     orders-0/00000000000000000007.log    already in place, but not listed
                  .staging/<job>/.replaced/orders-0/   copies of the segments that it replaces

Between the commit point and the rename of its manifest, a job's files move into their partitions
one by one. Meanwhile readers list only segments below the job's first offset. A job may replace an
empty segment, or one that the dialect's naming makes it continue in; of these readers use the kept
copy. The rename of the manifest is atomic: it shows the whole job, in all partitions, to readers in
all processes. After a crash the job stays hidden until the next holder of the lock finishes it.

A compaction is pending, too. Each joined segment stands for all that it was made of: readers find
it in staging, or in its place if it was moved there.

A listing counts only if the pending job and the counter of changes are equal before and after it;
so it also notices a job that began and finished meanwhile. Source: ours.
"""

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kminilog.errors import LogDirError
from kminilog.format.dialect import Dialect
from kminilog.format.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TopicPartition,
    parse_segment_file,
    segment_name,
)
from kminilog.storage.changes import change_count
from kminilog.storage.files import names_in
from kminilog.storage.manifests import pending_path, read_manifest
from kminilog.storage.partition.reader import Result
from kminilog.storage.partition.segment_names import segments_among

STAGING_DIR = ".staging"
REPLACED_DIR = ".replaced"

Identity = tuple[int, int]  # of a pending manifest: its inode and its modification time


class HiddenRange(NamedTuple):
    """What a pending job hides: offsets from `first_offset` on; `replaced` has the kept copies."""

    first_offset: int
    replaced: Path


def replaced_path(log_dir: Path, job_id: str, topic_partition: TopicPartition) -> Path:
    """Return the directory where a job keeps copies of the segments that it replaces."""
    return log_dir / STAGING_DIR / job_id / REPLACED_DIR / str(topic_partition)


class _Look(NamedTuple):
    names: list[str]
    hidden: HiddenRange | None
    replaced_names: list[str]
    joined: dict[int, Path]


class VisibleFiles:
    """The files of one partition that one reader may see; see PartitionFiles.

    `_pending_seen` is the job that was pending at the last listing, None if there was none.
    """

    def __init__(self, directory: Path, topic_partition: TopicPartition, dialect: Dialect) -> None:
        self._directory = directory
        self._topic_partition = topic_partition
        self._dialect = dialect
        self._log_dir = directory.parent
        self._pending_path = str(pending_path(self._log_dir))
        self._pending_seen: Identity | None = None
        self._hidden: HiddenRange | None = None
        self._joins: list[_Join] = []

    def segments(self) -> dict[int, Path]:
        """Return the directory in which to read each segment, by base offset. O(files).

        FileNotFoundError if the partition's directory is gone.
        """
        names, hidden, replaced_names, joined = self._look()
        bases = segments_among(names)
        if hidden is None:
            return dict.fromkeys(bases, self._directory) | joined
        below = [b for b in bases if self._dialect.first_offset(b) < hidden.first_offset]
        found = dict.fromkeys(below, self._directory)
        return found | dict.fromkeys(segments_among(replaced_names), hidden.replaced)

    def names(self) -> list[str]:
        """Return the names of all files but a pending job's; FileNotFoundError as `segments`."""
        names, hidden, replaced_names, _ = self._look()
        if hidden is None:
            return names
        below = [name for name in names if self._is_below(name, hidden)]
        return sorted({*below, *replaced_names})

    def has_changed(self) -> bool:
        """Tell if a job has begun or finished since the last listing: what a reader has read since,
        near the end of the log, may be part of it. One system call."""
        return self._pending() != self._pending_seen

    def retry_if_changed(
        self, work: Callable[[], Result], list_again: Callable[[], object]
    ) -> Result:
        """Return the result of `work`, which reads this partition. If a job began or finished
        meanwhile, part of what `work` saw may not be committed: call `list_again`, and repeat."""
        while True:
            seen = self._pending_seen
            result = work()  # this may list, too
            if self._pending_seen == seen and not self.has_changed():
                return result
            list_again()

    def _is_below(self, name: str, hidden: HiddenRange) -> bool:
        parsed = parse_segment_file(name)
        return not parsed or self._dialect.first_offset(parsed[0]) < hidden.first_offset

    def _look(self) -> _Look:
        while True:
            pending, changes = self._pending(), change_count(self._log_dir)
            if pending != self._pending_seen:
                # In this order: a job counts as seen only once its manifest was read.
                self._hidden, self._joins = None, []
                if pending:
                    self._read_pending(pending)
                self._pending_seen = pending
            names, joined = self._with_joins(_listed(self._directory))
            replaced_names = names_in(self._hidden.replaced) if self._hidden else []
            look = _Look(names, self._hidden, replaced_names, joined)
            if (self._pending(), change_count(self._log_dir)) == (pending, changes):
                return look

    def _pending(self) -> Identity | None:
        try:  # any other error must not look like "no job"
            status = os.lstat(self._pending_path)
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _with_joins(self, names: list[str]) -> tuple[list[str], dict[int, Path]]:
        """Return the names without those that are joined, and where each joined segment is now."""
        found: dict[int, Path] = {}
        for join in self._joins:
            is_staged = os.path.lexists(join.staged / join.log_name)
            if is_staged or _size_bytes(self._directory / join.log_name) == join.size_bytes:
                names = [name for name in names if name not in join.others]
                found[join.base_offset] = join.staged if is_staged else self._directory
        return names, found

    def _read_pending(self, pending: Identity) -> None:
        try:
            job = _pending_job(self._pending_path, pending)
        except FileNotFoundError:
            return  # committed meanwhile: the next round notices it
        topic, partition = self._topic_partition
        if topic != job.topic:
            return
        self._joins = job.joins.get(partition, [])
        first_offset = job.first_offsets.get(partition)
        if first_offset is None:
            return
        if first_offset < 0:  # it would hide the whole partition
            path = Path(self._pending_path)
            reason = f"{path.name} holds no manifest (first offset {first_offset} is below 0)"
            raise LogDirError(str(path.parent), reason=f"{reason}; move it away")
        replaced = replaced_path(self._log_dir, job.job_id, self._topic_partition)
        self._hidden = HiddenRange(first_offset, replaced)


class _Join(NamedTuple):
    """A joined segment, which is in `staged` or in its place, and the files that are part of it."""

    base_offset: int
    log_name: str
    size_bytes: int
    staged: Path
    others: set[str]


class _PendingJob(NamedTuple):
    """What readers need of a pending manifest: by partition, the least first offset, and joins."""

    job_id: str
    topic: str
    first_offsets: dict[int, int]
    joins: dict[int, list[_Join]]


@lru_cache(maxsize=4)
def _pending_job(path: str, pending: Identity) -> _PendingJob:
    """Return the pending job of a log dir: read once in a process, by the identity of its file."""
    manifest = read_manifest(Path(path))
    first_offsets: dict[int, int] = {}
    for staged in manifest.partitions:
        least = first_offsets.get(staged.partition, staged.first_offset)
        first_offsets[staged.partition] = min(least, staged.first_offset)
    joins: dict[int, list[_Join]] = {}
    for one in manifest.joins:
        first, *others = map(segment_name, one.base_offsets)
        gone = {name + suffix for name in others for suffix in (LOG_SUFFIX, INDEX_SUFFIX)}
        directory = Path(path).parent.parent / STAGING_DIR / manifest.job_id / one.directory
        join = _Join(one.base_offsets[0], first + LOG_SUFFIX, one.bytes, directory, gone)
        joins.setdefault(one.partition, []).append(join)
    return _PendingJob(manifest.job_id, manifest.topic, first_offsets, joins)


def _size_bytes(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _listed(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except NotADirectoryError as error:
        reason = "a file, not the directory of a partition; put that back"
        raise NotADirectoryError(error.errno, reason, str(directory)) from None
