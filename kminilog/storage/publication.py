"""Making files that were written elsewhere part of a topic: all of them, or none.

    .staging/<job>/<attempt>/<topic-partition>/   segments that tasks write, each attempt its own
    .manifests/<job>.json.pending                 the commit point: from here on the job is done
    .manifests/<job>.json                         ... and all its files are in their partitions

A job writes its segments with the engine's own `PartitionLog`, in staging. `publish` writes the
manifest (the one commit point), renames the files into place, and renames the manifest. After a
crash, whoever takes the log dir's lock next calls `finish_or_sweep`: with a pending manifest the
rest of the renames is made, without one the staging directory goes. Manifests stay, for
verification. The caller holds the lock all the while. Nothing here knows Spark. Source: ours.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kminilog.errors import LogDirError, PublicationError
from kminilog.format.dialect import Dialect
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX, TopicPartition, segment_name
from kminilog.settings import TopicSettings
from kminilog.storage.durable_file import replace_file, sync
from kminilog.storage.partition_log import PartitionLog

STAGING_DIR = ".staging"
MANIFEST_DIR = ".manifests"
_PENDING = ".json.pending"
_COMMITTED = ".json"
_JOB_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class StagedPartition:
    """What a job has written for one partition: offsets `first_offset` to `next_offset` - 1.

    `directory` is where, relative to the job's staging directory; `bytes` and `digest` (SHA-256)
    are those of the `.log` files in the order of their names.
    """

    partition: int
    directory: str
    first_offset: int
    next_offset: int
    bytes: int
    digest: str

    @property
    def count(self) -> int:
        """Number of messages."""
        return self.next_offset - self.first_offset


@dataclass(frozen=True)
class Manifest:
    """A job: the partitions it wrote, and whatever else is to be known of it (`facts`)."""

    job_id: str
    topic: str
    partitions: list[StagedPartition]
    facts: dict[str, Any]


def staging_path(log_dir: Path, job_id: str) -> Path:
    """Return the staging directory of a job; PublicationError if the id is no file name."""
    if not _JOB_ID.fullmatch(job_id):
        reason = "illegal job id: use letters, digits, '.', '_', '-', at most 100, no leading '.'"
        raise PublicationError(job_id, reason=reason)
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


def seal(log: PartitionLog, staging: Path, first_offset: int) -> StagedPartition:
    """Bring a staged log to the disk, close it, and return what it holds from `first_offset` on."""
    log.flush()
    log.close()
    digest, total_bytes = hashlib.sha256(), 0
    for segment in log.segments():
        with open(segment.log_path, "rb") as file:
            while data := file.read(1 << 20):
                digest.update(data)
                total_bytes += len(data)
    return StagedPartition(
        log.topic_partition.partition,
        str(log.directory.relative_to(staging)),
        first_offset,
        log.log_end_offset,
        total_bytes,
        digest.hexdigest(),
    )


def publish(log_dir: Path, manifest: Manifest) -> None:
    """Commit a job and put its files into their partitions; none of these may be open.

    Once it returns, all of the job is in the topic and survives a power failure; after a crash in
    between, all or nothing of it is there once the lock has been taken again. Raises OSError, and
    PublicationError, with nothing committed, if what was staged is not in this log dir.
    """
    staging = staging_path(log_dir, manifest.job_id)
    for staged in manifest.partitions:
        _check_staged(manifest.job_id, staged, staging / staged.directory)
    manifests = log_dir / MANIFEST_DIR
    manifests.mkdir(exist_ok=True)
    # What the manifest names must be on the disk before it is: the writers have synced the files.
    directories = {staging / staged.directory for staged in manifest.partitions} | {manifests}
    for directory in {parent for path in directories for parent in path.parents}:
        if directory.is_relative_to(log_dir):
            sync(directory)
    pending = manifests / (manifest.job_id + _PENDING)
    replace_file(pending, json.dumps(asdict(manifest), indent=2).encode())
    _finish(log_dir, pending, manifest)


def finish_or_sweep(log_dir: Path) -> list[str]:
    """Bring what crashed jobs have left behind to its end; return the ids of those finished.

    A committed job gets the rest of its files published; staging of any other job is deleted.
    """
    pending = sorted((log_dir / MANIFEST_DIR).glob(f"*{_PENDING}"))
    for path in pending:
        _finish(log_dir, path, _read(path))
    for path in (log_dir / MANIFEST_DIR).glob("*.tmp"):
        path.unlink()
    shutil.rmtree(log_dir / STAGING_DIR, ignore_errors=True)
    return [path.name.removesuffix(_PENDING) for path in pending]


def is_under_way(log_dir: Path, job_id: str) -> bool:
    """Tell if a job has passed its commit point, whether or not all its files are in place."""
    names = (job_id + suffix for suffix in (_PENDING, _COMMITTED))
    return any((log_dir / MANIFEST_DIR / name).exists() for name in names)


def committed_manifests(log_dir: Path, topic: str | None = None) -> list[Manifest]:
    """Return the committed jobs, of one topic or of all, by id."""
    paths = sorted((log_dir / MANIFEST_DIR).glob(f"*{_COMMITTED}"))
    return [m for m in map(_read, paths) if topic in (None, m.topic)]


def forget_manifests(log_dir: Path, topic: str) -> None:
    """Delete the manifests of a topic that is being deleted."""
    for manifest in committed_manifests(log_dir, topic):
        (log_dir / MANIFEST_DIR / (manifest.job_id + _COMMITTED)).unlink()


def _check_staged(job_id: str, staged: StagedPartition, directory: Path) -> None:
    found_bytes = sum(path.stat().st_size for path in directory.glob(f"*{LOG_SUFFIX}"))
    if found_bytes != staged.bytes:
        reason = (
            f"{directory} holds {found_bytes} bytes of messages, not {staged.bytes}; all who write "
            "for a job must see the same log dir"
        )
        raise PublicationError(job_id, reason=reason)


def _finish(log_dir: Path, pending: Path, manifest: Manifest) -> None:
    staging = staging_path(log_dir, manifest.job_id)
    for staged in manifest.partitions:
        target = log_dir / str(TopicPartition(manifest.topic, staged.partition))
        source = staging / staged.directory
        # In the order of their names, and the index before its log: a reader that looks in between
        # sees a log that ends earlier. What is no longer in staging is in place already.
        for path in _in_order(source.iterdir() if source.exists() else ()):
            os.replace(path, target / path.name)
        sync(target)
    os.replace(pending, pending.with_suffix(""))
    sync(pending.parent)
    shutil.rmtree(staging, ignore_errors=True)


def _in_order(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths)  # "<20 digits>.index" sorts before "<20 digits>.log"


def _read(path: Path) -> Manifest:
    try:
        facts = json.loads(path.read_bytes())
        partitions = [StagedPartition(**staged) for staged in facts.pop("partitions")]
        return Manifest(partitions=partitions, **facts)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        reason = f"{path.name} is no manifest ({error}); move it away"
        raise LogDirError(str(path.parent), reason=reason) from None
