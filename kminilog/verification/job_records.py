"""Read the manifests of all jobs: is each still there, and as it was when its job was committed?

    .last-jobs  -->  job 3  -->  job 2  -->  job 1   each arrow: a job id, and its file's SHA-256

A manifest that is named but not there, or that has another digest, is a `manifest-mismatch`; a
changed one is not believed. Manifests that no arrow leads to, as those after one that is gone, are
believed, and named as not checked. Source: ours.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kminilog.errors import LogDirError
from kminilog.format.names import TopicPartition
from kminilog.storage.publish.manifests import (
    COMMITTED_SUFFIX,
    LAST_JOBS_FILE,
    MANIFEST_DIR,
    PENDING_FILE,
    JobLink,
    Manifest,
    last_jobs,
    manifest_link,
    manifest_paths,
    pending_path,
    read_manifest,
)
from kminilog.verification.findings import Finding
from kminilog.verification.manifest_checks import UNKNOWN_PARTITION, mismatch, misnamed

_LOOKS = 100  # a job that is committed, or a topic that is deleted, meanwhile: look again

Failures = list[tuple[str, OSError | LogDirError]]


@dataclass
class JobRecords:
    """The manifests that are believed, and `findings` about manifests as files.

    `topics` are all topics of jobs. `unchained` has, by topic, the ids of jobs for whose manifests
    no other record confirms. `failures` are names of files that cannot be read, with their errors.
    """

    manifests: list[Manifest] = field(default_factory=list)
    topics: set[str] = field(default_factory=set)
    unchained: dict[str, list[str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    failures: Failures = field(default_factory=list)


class _Names(NamedTuple):
    """What changes with each job that is committed, and each topic that is deleted."""

    last: dict[str, JobLink]
    paths: list[Path]


class _Look(NamedTuple):
    found: list[tuple[Path, Manifest, JobLink]]
    failures: Failures
    names: _Names


def read_jobs(log_dir: Path) -> JobRecords:
    """Return what the manifests of a log dir say; raises nothing. O(bytes of manifests)."""
    look = _look(log_dir)
    for _ in range(_LOOKS):
        if look.names == _names(log_dir, []):
            break
        look = _look(log_dir)
    jobs = JobRecords(failures=look.failures)
    committed = [(path, one) for path, one, _ in look.found if path.name != PENDING_FILE]
    jobs.topics = {manifest.topic for _, manifest in committed} | look.names.last.keys()
    changed = {job_id for topic in sorted(jobs.topics) for job_id in _follow(topic, look, jobs)}
    for path, manifest in committed:
        if manifest.job_id not in changed:
            jobs.manifests.append(manifest)
            if path.stem != manifest.job_id:
                jobs.findings.append(misnamed(manifest, path.name))
    return jobs


def _follow(topic: str, look: _Look, jobs: JobRecords) -> set[str]:
    """Follow the chain of a topic; return the ids of the jobs whose manifests were changed."""
    place, link = TopicPartition(topic, UNKNOWN_PARTITION), look.names.last.get(topic)
    known = {link.job_id: (one, link) for _, one, link in look.found if one.topic == topic}
    unread = {name.removesuffix(COMMITTED_SUFFIX) for name, _ in look.failures}
    by, vouched, changed = f"the file {LAST_JOBS_FILE}", set[str](), set[str]()
    while link and link.job_id not in vouched:
        vouched.add(link.job_id)
        if link.job_id not in known:
            if not unread & {link.job_id, MANIFEST_DIR}:
                found = mismatch(place, link.job_id, f"it is gone; {by} names it")
                jobs.findings.append(found)
            break
        manifest, actual = known[link.job_id]
        if actual != link:
            reason = f"it was changed: {by} has another SHA-256 of it; it is not believed"
            jobs.findings.append(mismatch(place, link.job_id, reason))
            changed.add(link.job_id)
            break
        by = f"the manifest of job {link.job_id}"
        link = manifest.before
    committed = {one.job_id for path, one, _ in look.found if path.name != PENDING_FILE}
    if unchained := sorted(known.keys() & committed - vouched):
        jobs.unchained[topic] = unchained
    return changed


def _look(log_dir: Path) -> _Look:
    failures: Failures = []
    look = _Look([], failures, _names(log_dir, failures))
    _take(pending_path(log_dir), look, [])  # why it cannot be read is said of its partitions
    for path in look.names.paths:
        _take(path, look, failures)
    return look


def _names(log_dir: Path, failures: Failures) -> _Names:
    names = _Names({}, [])
    try:
        names.last.update(last_jobs(log_dir))
    except (OSError, LogDirError) as error:
        failures.append((LAST_JOBS_FILE, error))
    try:
        names.paths.extend(manifest_paths(log_dir))
    except OSError as error:
        failures.append((MANIFEST_DIR, error))
    return names


def _take(path: Path, look: _Look, failures: Failures) -> None:
    try:
        manifest = read_manifest(path)
        look.found.append((path, manifest, manifest_link(path, manifest.job_id)))
    except FileNotFoundError:
        pass  # its topic was deleted meanwhile, or there is no pending job
    except (OSError, LogDirError) as error:
        failures.append((path.name, error))
