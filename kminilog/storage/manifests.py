"""The manifest of a job: what it wrote where, and whether that is visible yet.

    .manifests/.pending       the one job that is past its commit point and not yet all in place
    .manifests/<job>.json     a committed job: all its files are in their partitions
    .quarantine/<job>.jsonl   the records that it has rejected, if any: written before the commit
                              point, gone with the manifest

There is never more than one pending job: only the holder of the lock publishes, and it finishes one
before it begins another. So its name is known beforehand, and asking whether there is one takes one
system call. Writing manifests is publication.py's business. Source: ours.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kminilog.errors import LogDirError

MANIFEST_DIR = ".manifests"
PENDING_FILE = ".pending"
COMMITTED_SUFFIX = ".json"
QUARANTINE_DIR = ".quarantine"
_QUARANTINE_SUFFIX = ".jsonl"


@dataclass(frozen=True)
class StagedPartition:
    """What a job has written for one partition: offsets `first_offset` to `next_offset` - 1.

    `directory` is where, relative to the job's staging directory; `bytes` and `digest` (SHA-256)
    are those of the `.log` files in the order of their names. `fingerprints` has a row for each
    range of messages: first offset, count, sum (fingerprints.py); empty if none were taken.
    """

    partition: int
    directory: str
    first_offset: int
    next_offset: int
    bytes: int
    digest: str
    fingerprints: list[list[int]] = field(default_factory=list)

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


def pending_path(log_dir: Path) -> Path:
    """Return where the manifest of the pending job stands, if there is one."""
    return log_dir / MANIFEST_DIR / PENDING_FILE


def committed_path(log_dir: Path, job_id: str) -> Path:
    """Return where the manifest of a job stands once it is committed."""
    return log_dir / MANIFEST_DIR / (job_id + COMMITTED_SUFFIX)


def quarantine_path(log_dir: Path, job_id: str) -> Path:
    """Return where the records stand that a job has rejected, if there are any."""
    return log_dir / QUARANTINE_DIR / (job_id + _QUARANTINE_SUFFIX)


def sweep_quarantine(log_dir: Path) -> None:
    """Delete what jobs have rejected that were never committed; none may be pending."""
    for path in (log_dir / QUARANTINE_DIR).glob("*"):
        if not committed_path(log_dir, path.name.removesuffix(_QUARANTINE_SUFFIX)).exists():
            path.unlink()


def read_manifest(path: Path) -> Manifest:
    """Return a manifest; FileNotFoundError if it is not there, LogDirError if it is none."""
    data = path.read_bytes()
    try:
        facts = json.loads(data)
        partitions = [StagedPartition(**staged) for staged in facts.pop("partitions")]
        if not all(map(_has_numbers, partitions)):
            raise ValueError("what should be a number is none")
        return Manifest(partitions=partitions, **facts)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = f"{path.name} is no manifest ({error}); move it away"
        raise LogDirError(str(path.parent), reason=reason) from None


def _has_numbers(staged: StagedPartition) -> bool:
    numbers = [staged.partition, staged.first_offset, staged.next_offset, staged.bytes]
    numbers += [number for row in staged.fingerprints for number in row]
    rows_are_whole = all(len(row) == 3 for row in staged.fingerprints)
    return rows_are_whole and all(isinstance(number, int) for number in numbers)


def pending_manifest(log_dir: Path) -> Manifest | None:
    """Return the job that is past its commit point but not yet all in place, if there is one."""
    try:
        return read_manifest(pending_path(log_dir))
    except FileNotFoundError:
        return None


def is_under_way(log_dir: Path, job_id: str) -> bool:
    """Tell if a job has passed its commit point, whether or not all its files are in place."""
    pending = pending_manifest(log_dir)
    is_pending = pending is not None and pending.job_id == job_id
    return is_pending or committed_path(log_dir, job_id).exists()


def committed_manifests(log_dir: Path, topic: str | None = None) -> list[Manifest]:
    """Return the committed jobs, of one topic or of all, by id."""
    paths = sorted((log_dir / MANIFEST_DIR).glob(f"*{COMMITTED_SUFFIX}"))
    return [m for m in map(read_manifest, paths) if topic in (None, m.topic)]


def forget_manifests(log_dir: Path, topic: str) -> None:
    """Delete the manifests of a topic that is being deleted, and what its jobs have rejected."""
    for manifest in committed_manifests(log_dir, topic):
        quarantine_path(log_dir, manifest.job_id).unlink(missing_ok=True)
        os.unlink(committed_path(log_dir, manifest.job_id))
