"""Publication: a job's files become part of a topic, all of them or none.

    .job-staging/<any>/                           the job works here, without the lock
    .staging/<job>/<attempt>/<topic-partition>/   its segments, under the lock: the same directory
    .staging/<job>/.replaced/<topic-partition>/   copies of the segments they replace, for readers
    .manifests/.pending                           the commit point: from here on the job will finish
    .last-jobs                                    names this job as the last one of its topic
    .manifests/<job>.json                         all its files are in their partitions

A job writes segments with `PartitionLog`, and moves their directory into `.staging` once it holds
the lock and their offsets are right. `publish` writes the pending manifest atomically: this is the
one commit point. Then it renames the files into place, and renames the manifest. After a crash the
next holder of the lock calls `finish_or_sweep`. That finishes the renames of a pending job, and
deletes what other dead jobs have staged. Manifests stay, for verification. Whoever publishes or
sweeps holds the lock. This module knows no Spark. Source: ours.
"""

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from kminilog.errors import LogDirError, PublicationError, in_words
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX, TopicPartition, segment_name
from kminilog.storage.changes import begin_counting, count_change
from kminilog.storage.durable_files import check_real_directory, replace_file, sync_all
from kminilog.storage.files import names_in, naming, sync
from kminilog.storage.lock import is_abandoned
from kminilog.storage.manifests import (
    PENDING_FILE,
    Manifest,
    StagedPartition,
    check_job_id,
    committed_path,
    last_jobs,
    manifest_link,
    pending_manifest,
    pending_path,
    record_last_job,
    sweep_quarantine,
)
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.log_ends import LogEnds
from kminilog.storage.publish.staged_files import check_staged_files
from kminilog.storage.publish.visibility import STAGING_DIR, replaced_path
from kminilog.storage.topics import Topic

INDEX_COPY_SUFFIX = ".index.copy"
"""Of the second index of a joined segment in staging."""
JOB_STAGING_DIR = ".job-staging"
"""Where jobs write without the lock of the log dir. Each has a directory of its own in it."""
_STAGING_DIRS = (STAGING_DIR, JOB_STAGING_DIR)


def staging_path(log_dir: Path, job_id: str) -> Path:
    """Return the path of a job's staging directory; PublicationError for an illegal id."""
    check_job_id(job_id)
    return log_dir / STAGING_DIR / job_id


def open_staged_log(
    staging: Path, topic: Topic, partition: int, *, target: Path = Path(), first_offset: int = 0
) -> PartitionLog:
    """Return a new log in a staging directory; its first append gets `first_offset`.

    The log begins with a new segment. There is one exception: in the documented dialect, a segment
    0 that holds only offset 0 cannot be followed by another segment. Then the log continues in a
    copy of that segment, taken from the partition's directory `target`.
    Raises FileNotFoundError if `staging` does not exist: a job that has ended has deleted it, and a
    late task must not make it again.
    """
    topic_partition, dialect = topic.partition(partition), topic.dialect
    directory = staging / str(topic_partition)
    directory.mkdir()
    base_offset = dialect.base_offset_for(first_offset)
    if dialect.first_offset(base_offset) != first_offset:
        for suffix in (INDEX_SUFFIX, LOG_SUFFIX):
            _copy(target / (segment_name(base_offset) + suffix), directory)
    return PartitionLog.open(
        directory, topic_partition, dialect, topic.settings, base_offset=base_offset
    )


def sync_staged(staging: Path, partitions: Iterable[StagedPartition]) -> None:
    """Bring staged logs to the disk, names included; whoever wrote them calls this. O(files)."""
    directories = [staging / staged.directory for staged in partitions]
    sync_all([*(path for one in directories for path in one.iterdir()), *directories])


def publish(
    log_dir: Path,
    manifest: Manifest,
    ends: LogEnds | None = None,
    found_ends: Mapping[int, int] | None = None,
) -> None:
    """Commit a job and move its files into their partitions, whose logs must not be open.

    Once it returns, the whole job is in the topic and survives a power failure; until then readers
    see nothing of it. After a crash, the next holder of the lock makes it all or nothing. `ends`
    get the new recovery points; the writer that has them writes them when it closes. `found_ends`
    are the log end offsets of partitions, if the caller has looked since it has the lock; one that
    is left out is 0. Raises PublicationError, with nothing committed, if the staged files are not
    in this log dir or must not become part of the topic. Raises OSError. O(files + bytes that are
    replaced).
    """
    staging = staging_path(log_dir, manifest.job_id)
    for staged in manifest.partitions:
        check_staged_bytes(manifest.job_id, staged, staging / staged.directory)
    manifests = pending_path(log_dir).parent
    manifests.mkdir(exist_ok=True)
    finish_pending(log_dir)
    check_staged_files(log_dir, manifest, found_ends)
    manifest = replace(manifest, before=last_jobs(log_dir).get(manifest.topic))
    # What the manifest names must be durable before the manifest. The writers synced their files.
    durable = [
        path for one in manifest.partitions for path in _keep_replaced(log_dir, manifest, one)
    ]
    named = [manifests, *durable, *(staging / staged.directory for staged in manifest.partitions)]
    parents = {path.parent for path in named}
    around = parents.union(*(path.parents for path in parents))
    sync_all([*durable, *(path for path in around if path.is_relative_to(log_dir))])
    _commit(log_dir, manifest)
    if ends:  # not earlier: until now readers see nothing of the job
        written = ((one.partition, one.next_offset) for one in manifest.partitions)
        ends.set_recovery_points({TopicPartition(manifest.topic, p): end for p, end in written})


def finish_pending(log_dir: Path) -> str | None:
    """Finish the pending job and return its id; None if no job is pending. Idempotent.

    The holder of the lock calls this before it writes, so no writer ever sees a pending job.
    Raises LogDirError, with nothing changed, if the job's files fail `check_staged_files`.
    """
    manifest = pending_manifest(log_dir)
    if manifest is None:
        return None
    try:
        check_staged_files(log_dir, manifest)
    except (PublicationError, OSError) as error:
        pending = pending_path(log_dir).relative_to(log_dir)
        fault = error.reason if isinstance(error, PublicationError) else in_words(error)
        reason = (
            f"{pending} cannot be finished: {fault}; nothing was touched; mend it, or move it and "
            f"{STAGING_DIR}/{manifest.job_id} away"
        )
        raise LogDirError(str(log_dir), reason=reason) from None
    _finish(log_dir, manifest)
    return manifest.job_id


def finish_or_sweep(log_dir: Path) -> list[str]:
    """Finish the pending job, delete what other crashed jobs left; return the ids of finished ones.

    Deletes all that jobs staged under the lock, what they staged without it if they have died, and
    quarantine files of jobs that were never committed. Raises as `finish_pending`, and
    NotADirectoryError for a link that leads out of the log dir.
    """
    for directory in (pending_path(log_dir).parent, *map(log_dir.joinpath, _STAGING_DIRS)):
        check_real_directory(directory)
    finished = finish_pending(log_dir)
    pending_path(log_dir).with_name(f"{PENDING_FILE}.tmp").unlink(missing_ok=True)
    sweep_quarantine(log_dir)
    staging = log_dir / STAGING_DIR
    shutil.rmtree(staging, ignore_errors=True)
    for directory in filter(_is_left_over, (log_dir / JOB_STAGING_DIR).glob("*")):
        staging.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # moved first: a late task fails at the next file
            os.replace(directory, staging / directory.name)
    shutil.rmtree(staging, ignore_errors=True)
    return [finished] if finished else []


def _is_left_over(directory: Path) -> bool:
    """Tell if a job has begun to delete its directory (job_writer.py), or has died."""
    return directory.name.startswith(".") or is_abandoned(directory)


def check_staged_bytes(job_id: str, staged: StagedPartition, directory: Path) -> None:
    """Raise PublicationError if the `.log` files in a directory have another size in total."""
    logs = [name for name in names_in(directory) if name.endswith(LOG_SUFFIX)]
    found_bytes = sum(os.stat(f"{directory}/{name}").st_size for name in logs)
    if found_bytes != staged.bytes:
        reason = (
            f"{directory} holds {found_bytes} bytes of messages, not {staged.bytes}; all who write "
            "for a job must see the same log dir"
        )
        raise PublicationError(job_id, reason=reason)


def _keep_replaced(log_dir: Path, manifest: Manifest, staged: StagedPartition) -> list[Path]:
    """Copy the files that a job replaces; readers read the copies until the job is committed.

    Return what must be synced. Of a log that ends at offset 0 there is nothing to read.
    """
    if not staged.first_offset:
        return []
    topic_partition = TopicPartition(manifest.topic, staged.partition)
    names = os.listdir(staging_path(log_dir, manifest.job_id) / staged.directory)
    target = log_dir / str(topic_partition)
    replaced = [name for name in names if (target / name).exists()]
    if not replaced:
        return []
    kept = replaced_path(log_dir, manifest.job_id, topic_partition)
    kept.mkdir(parents=True, exist_ok=True)
    for name in replaced:
        _copy(target / name, kept)
    return [kept, *(kept / name for name in replaced)]


def _copy(source: Path, directory: Path) -> None:
    """Copy a file with its times into a directory: no fsync. OSError, which names a file."""
    with naming(directory / source.name):
        shutil.copy2(source, directory)


def publish_joins(log_dir: Path, compaction: Manifest) -> None:
    """Put joined segments in the place of those that they were made of; all of them or none.

    They are on the disk. Readers see each message once at each moment. Survives as `publish` does.
    """
    pending_path(log_dir).parent.mkdir(exist_ok=True)
    sync(log_dir)
    finish_pending(log_dir)
    _commit(log_dir, compaction)


def _finish_joins(log_dir: Path, compaction: Manifest) -> None:
    """Move each joined segment to the name of its first one, then delete the others.

    Readers use the one in staging until its log is moved. So its index must be there twice.
    """
    staging, gone = staging_path(log_dir, compaction.job_id), list[Path]()
    for one in compaction.joins:
        first, *others = map(segment_name, one.base_offsets)
        target = log_dir / str(TopicPartition(compaction.topic, one.partition))
        moves = (first + INDEX_COPY_SUFFIX, first + INDEX_SUFFIX), (first + LOG_SUFFIX,) * 2
        for staged_name, name in moves:
            with suppress(FileNotFoundError):  # it is in place
                os.replace(staging / one.directory / staged_name, target / name)
        gone += [
            target / (name + suffix) for name in others for suffix in (LOG_SUFFIX, INDEX_SUFFIX)
        ]
    targets = {path.parent for path in gone}
    sync_all(targets)
    count_change(log_dir)
    for path in gone:
        path.unlink(missing_ok=True)
    sync_all(targets)
    count_change(log_dir)
    pending_path(log_dir).unlink()
    sync(pending_path(log_dir).parent)


def _commit(log_dir: Path, manifest: Manifest) -> None:
    """Pass the commit point, and finish."""
    begin_counting(log_dir)
    count_change(log_dir)  # a reader that lists files before and after the job notices it
    replace_file(pending_path(log_dir), manifest.to_bytes())
    _finish(log_dir, manifest)


def _finish(log_dir: Path, manifest: Manifest) -> None:
    if manifest.joins:
        _finish_joins(log_dir, manifest)
        return
    staging, pending = staging_path(log_dir, manifest.job_id), pending_path(log_dir)
    targets = []
    for staged in manifest.partitions:
        target = log_dir / str(TopicPartition(manifest.topic, staged.partition))
        source = staging / staged.directory
        # A file that is no longer in staging is in place already. The name with .index sorts before
        # the one with .log, so it is renamed first: a log is never without its index.
        for name in sorted(names_in(source)):
            os.replace(f"{source}/{name}", f"{target}/{name}")
        targets.append(target)
    sync_all(targets)
    count_change(log_dir)
    record_last_job(log_dir, manifest.topic, manifest_link(pending, manifest.job_id))
    committed = committed_path(log_dir, manifest.job_id)
    os.replace(pending, committed)
    sync(committed.parent)
