"""Making files that were written elsewhere part of a topic: all of them, or none.

    .staging/<job>/<attempt>/<topic-partition>/   segments that tasks write, each attempt its own
    .staging/<job>/.joined/<topic-partition>/     several runs of it, made one by the driver
    .staging/<job>/.replaced/<topic-partition>/   copies of what they replace, for readers
    .manifests/.pending                           the commit point: from here on the job is done
    .manifests/<job>.json                         ... and all its files are in their partitions

A job writes its segments with the engine's own `PartitionLog`, in staging. `publish` writes the
manifest (the one commit point), renames the files into place, and renames the manifest. After a
crash, whoever takes the log dir's lock next calls `finish_or_sweep`: with a pending manifest the
rest of the renames is made, without one the staging directory goes. Manifests stay, for
verification. The caller holds the lock all the while. Nothing here knows Spark. Source: ours.
"""

import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path

from kminilog.errors import LogDirError
from kminilog.format.dialect import Dialect
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX, TopicPartition, segment_name
from kminilog.job_errors import PublicationError
from kminilog.settings import TopicSettings
from kminilog.storage.changes import begin_counting, count_change
from kminilog.storage.durable_file import replace_file, sync
from kminilog.storage.partition_log import PartitionLog
from kminilog.storage.publish.manifests import (
    Manifest,
    StagedPartition,
    check_job_id,
    committed_path,
    pending_manifest,
    pending_path,
    sweep_quarantine,
)
from kminilog.storage.publish.staged_files import check_staged_files
from kminilog.storage.publish.visibility import STAGING_DIR, replaced_path
from kminilog.storage.real_directory import check_real_directory


def staging_path(log_dir: Path, job_id: str) -> Path:
    """Return the staging directory of a job; PublicationError if the id is no file name."""
    check_job_id(job_id)
    return log_dir / STAGING_DIR / job_id


def open_staged_log(
    staging: Path,
    topic_partition: TopicPartition,
    dialect: Dialect,
    settings: TopicSettings,
    *,
    target: Path,
    first_offset: int,
) -> PartitionLog:
    """Return a log in a staging directory whose first append gets `first_offset`.

    It begins a new segment. Only where the dialect cannot name one, behind a documented segment 0
    that holds just offset 0, does it begin with a copy of that segment, from the partition's
    directory `target`, and goes on in it.
    """
    directory = staging / str(topic_partition)
    directory.mkdir(parents=True)
    base_offset = dialect.base_offset_for(first_offset)
    if dialect.first_offset(base_offset) != first_offset:
        for suffix in (INDEX_SUFFIX, LOG_SUFFIX):
            shutil.copy2(target / (segment_name(base_offset) + suffix), directory)
    return PartitionLog.open(directory, topic_partition, dialect, settings, base_offset=base_offset)


def publish(log_dir: Path, manifest: Manifest) -> None:
    """Commit a job and put its files into their partitions; none of these may be open.

    Once it returns, all of the job is in the topic and survives a power failure; readers see
    nothing of it before, and all of it then. After a crash in between, all or nothing of it is
    there once the lock has been taken again. Raises OSError, and PublicationError, with nothing
    committed, if what was staged is not in this log dir or may not go into the topic.
    """
    staging = staging_path(log_dir, manifest.job_id)
    for staged in manifest.partitions:
        check_staged_bytes(manifest.job_id, staged, staging / staged.directory)
    manifests = pending_path(log_dir).parent
    manifests.mkdir(exist_ok=True)
    finish_pending(log_dir)
    check_staged_files(log_dir, manifest)
    kept = [_keep_replaced(log_dir, manifest, staged) for staged in manifest.partitions]
    # What the manifest names must be on the disk before it is: the writers have synced the files.
    directories = {staging / staged.directory for staged in manifest.partitions}
    directories |= {manifests, *kept}
    for directory in {parent for path in directories for parent in path.parents}:
        if directory.is_relative_to(log_dir):
            sync(directory)
    begin_counting(log_dir)
    count_change(log_dir)  # a reader that lists files before and after the job notices it
    replace_file(pending_path(log_dir), json.dumps(asdict(manifest), indent=2).encode())
    _finish(log_dir, manifest)


def finish_pending(log_dir: Path) -> str | None:
    """Bring a job that is past its commit point to its end; return its id, None if there is none.

    For the holder of the lock, before it writes: so no writer ever sees a pending job. Raises
    LogDirError, with nothing touched, if the job may not be published.
    """
    manifest = pending_manifest(log_dir)
    if manifest is None:
        return None
    try:
        check_staged_files(log_dir, manifest)
    except (PublicationError, OSError) as error:
        pending = pending_path(log_dir).relative_to(log_dir)
        fault = (
            error.reason
            if isinstance(error, PublicationError)
            else f"{error.filename}: {error.strerror}"
        )
        reason = (
            f"{pending} cannot be finished: {fault}; nothing was touched; mend it, or move it and "
            f"{STAGING_DIR}/{manifest.job_id} away"
        )
        raise LogDirError(str(log_dir), reason=reason) from None
    _finish(log_dir, manifest)
    return manifest.job_id


def finish_or_sweep(log_dir: Path) -> list[str]:
    """Bring what crashed jobs have left behind to its end; return the ids of those finished.

    A committed job gets the rest of its files published; staging of any other job is deleted.
    Raises as `finish_pending`, and NotADirectoryError where a link would lead out of the log dir.
    """
    for directory in (pending_path(log_dir).parent, log_dir / STAGING_DIR):
        check_real_directory(directory)
    finished = finish_pending(log_dir)
    for path in pending_path(log_dir).parent.glob("*.tmp"):
        path.unlink()
    sweep_quarantine(log_dir)
    shutil.rmtree(log_dir / STAGING_DIR, ignore_errors=True)
    return [finished] if finished else []


def check_staged_bytes(job_id: str, staged: StagedPartition, directory: Path) -> None:
    found_bytes = sum(path.stat().st_size for path in directory.glob(f"*{LOG_SUFFIX}"))
    if found_bytes != staged.bytes:
        reason = (
            f"{directory} holds {found_bytes} bytes of messages, not {staged.bytes}; all who write "
            "for a job must see the same log dir"
        )
        raise PublicationError(job_id, reason=reason)


def _keep_replaced(log_dir: Path, manifest: Manifest, staged: StagedPartition) -> Path:
    """Copy the files that a job replaces to where readers look for them until it is committed."""
    topic_partition = TopicPartition(manifest.topic, staged.partition)
    kept = replaced_path(log_dir, manifest.job_id, topic_partition)
    kept.mkdir(parents=True, exist_ok=True)
    for path in (staging_path(log_dir, manifest.job_id) / staged.directory).iterdir():
        replaced = log_dir / str(topic_partition) / path.name
        if replaced.exists():
            shutil.copy2(replaced, kept)
            sync(kept / path.name)
    sync(kept)
    return kept


def _finish(log_dir: Path, manifest: Manifest) -> None:
    staging = staging_path(log_dir, manifest.job_id)
    for staged in manifest.partitions:
        target = log_dir / str(TopicPartition(manifest.topic, staged.partition))
        source = staging / staged.directory
        # What is no longer in staging is in place already. "<20 digits>.index" sorts, and comes,
        # before "<20 digits>.log": a log is never without its index.
        for path in sorted(source.iterdir() if source.exists() else ()):
            os.replace(path, target / path.name)
        sync(target)
    count_change(log_dir)
    committed = committed_path(log_dir, manifest.job_id)
    os.replace(pending_path(log_dir), committed)
    sync(committed.parent)
    shutil.rmtree(staging, ignore_errors=True)
