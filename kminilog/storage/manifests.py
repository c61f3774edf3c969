"""The manifest of a job: what it wrote where, and whether readers see it yet.

    .manifests/.pending       the pending job: past its commit point, not all its files are in place
    .manifests/<job>.json     a committed job: all its files are in their partitions
    .manifests/<job>.jobs     the manifests of several committed jobs of a topic, joined: a line
                              with their ids, one with the topic, then a line for each: its text
    .last-jobs                the last job of each topic, and the digest of its manifest
    .quarantine/<job>.jsonl   the records that the job rejected, if any: written before the commit
                              point, deleted with the manifest

At most one job is pending: only the holder of the lock publishes, and it finishes one job before it
begins another. So `.pending` is a fixed name, and one system call tells if there is such a job.

The manifests of a topic are a chain: each has the id of the job before it, and the digest of that
job's manifest, and `.last-jobs` has those of the last one. So a manifest that was deleted or
changed is noticed. publication.py writes the manifests. Source: ours.
"""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.errors import LogDirError, PublicationError, in_words
from kminilog.format.names import MAX_OFFSET, check_topic
from kminilog.json_fields import file_names, strict_json
from kminilog.storage.durable_files import check_real_directory, replace_file
from kminilog.storage.files import names_in, open_regular, read_regular, sync
from kminilog.storage.json_file import (
    SMALL_FILE_BYTES,
    Value,
    number,
    parse_json,
    read_json,
    typed,
)

MANIFEST_DIR = ".manifests"
PENDING_FILE = ".pending"
COMMITTED_SUFFIX = ".json"
JOINED_SUFFIX = ".jobs"
LAST_JOBS_FILE = ".last-jobs"
QUARANTINE_DIR = ".quarantine"
_QUARANTINE_SUFFIX = ".jsonl"
_JOB_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_STAGED_DIRECTORY = re.compile(r"([A-Za-z0-9_-]+/)?[A-Za-z0-9._-]+-[0-9]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MOST_JOINED_BYTES = 1 << 26  # a larger file is not joined again
_ANY_NUMBER = -MAX_OFFSET, MAX_OFFSET
PARTITIONS = "partitions"
"""The fact that says how many partitions the topic had when the job placed its messages."""
_FACT_TYPES = {"partitioner": (str, type(None)), "seed": (int,), "count": (int,)}


@dataclass(frozen=True)
class StagedPartition:
    """What a job has written for one partition: offsets `first_offset` to `next_offset` - 1.

    `directory` is relative to the job's staging directory. `bytes` and `digest` (SHA-256) are those
    of the `.log` files in the order of their names. `fingerprints` has a row for each range of
    messages: first offset, count, sum (fingerprints.py). It is empty if the job computed none.
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
class JoinedSegments:
    """Neighbouring segments of a partition that become one, of `bytes`, named as the first.

    It waits in `directory`, which is relative to the staging directory.
    """

    partition: int
    directory: str
    base_offsets: list[int]
    bytes: int


@dataclass(frozen=True)
class JobLink:
    """A job, and the SHA-256 of the file that is its manifest."""

    job_id: str
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """A job: the partitions it wrote, and other `facts`, such as partitioner and seed.

    `before` is the topic's job before it; None for the first. A compaction is pending like a job,
    but it writes no messages: it has `joins`, and never becomes a committed job.
    """

    job_id: str
    topic: str
    partitions: list[StagedPartition]
    facts: dict[str, Any]
    before: JobLink | None = None
    joins: list[JoinedSegments] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        """Return the content of its file."""
        document = {name: value for name, value in vars(self).items() if name != "joins" or value}
        document["facts"] = strict_json(self.facts)
        return json.dumps(document, indent=2, default=vars).encode()


def is_job_id(text: str) -> bool:
    """Tell if a text can be a job id, which becomes part of file names."""
    return _JOB_ID.fullmatch(text) is not None


def check_job_id(job_id: str) -> None:
    """Raise PublicationError for an illegal job id; the id becomes part of file names.

    >>> check_job_id("2024-06-01.orders")
    >>> check_job_id("../orders")
    Traceback (most recent call last):
    ...
    kminilog.errors.PublicationError: job ../orders: illegal job id: use letters, digits, '.', \
'_', '-', at most 100, no leading '.'; the topic is unchanged
    """
    if not is_job_id(job_id):
        reason = "illegal job id: use letters, digits, '.', '_', '-', at most 100, no leading '.'"
        raise PublicationError(job_id, reason=reason)


def pending_path(log_dir: Path) -> Path:
    """Return the path of the pending job's manifest, whether or not there is one."""
    return log_dir / MANIFEST_DIR / PENDING_FILE


def committed_path(log_dir: Path, job_id: str) -> Path:
    """Return the path of a committed job's manifest."""
    return log_dir / MANIFEST_DIR / (job_id + COMMITTED_SUFFIX)


def is_committed(log_dir: Path, job_id: str) -> bool:
    """Tell if a job is committed: its manifest is there, by itself or joined with others."""
    return committed_path(log_dir, job_id).exists() or _joined_with(log_dir, job_id) is not None


def committed_manifest(log_dir: Path, job_id: str) -> Manifest:
    """Return the manifest of a committed job. Raises FileNotFoundError, and LogDirError."""
    try:
        return read_manifest(committed_path(log_dir, job_id))
    except FileNotFoundError:
        path = _joined_with(log_dir, job_id)
        if path is None:
            raise
        return {one.link.job_id: one.manifest for one in joined_manifests(path)}[job_id]


def quarantine_path(log_dir: Path, job_id: str) -> Path:
    """Return the path of the file with the records that a job rejected."""
    return log_dir / QUARANTINE_DIR / (job_id + _QUARANTINE_SUFFIX)


def sweep_quarantine(log_dir: Path) -> None:
    """Delete quarantine files of jobs that have no committed manifest; no job may be pending.

    Raises NotADirectoryError if the directory is a link, which leads out of this log dir.
    """
    directory = log_dir / QUARANTINE_DIR
    check_real_directory(directory)
    joined = b"".join(map(_first_line, joined_paths(log_dir))) if directory.exists() else b""
    for path in directory.glob(f"*{_QUARANTINE_SUFFIX}"):
        job_id = path.name.removesuffix(_QUARANTINE_SUFFIX)
        if f'"{job_id}"'.encode() not in joined and not committed_path(log_dir, job_id).exists():
            path.unlink()


def read_manifest(path: Path) -> Manifest:
    """Return a manifest after checking its names, and the types of its values.

    It does not check whether the numbers are right; publication and verification do. Raises
    FileNotFoundError, and LogDirError for a file that is no valid manifest.
    """
    return read_json(path, _manifest, what="manifest", remedy="move it away")


def _manifest(document: Any) -> Manifest:
    known = {"job_id", "topic", "partitions", "facts", "before", "joins"}
    unknown = typed(document, dict).keys() - known
    if unknown:
        raise ValueError(f"{min(unknown)!r} is unknown")
    job_id, topic = typed(document["job_id"], str), typed(document["topic"], str)
    check_job_id(job_id)
    check_topic(topic)
    facts = typed(document["facts"], dict)
    if isinstance(facts.get("source"), dict):
        facts["source"] = file_names(facts["source"])
    for name, kinds in _FACT_TYPES.items():
        if name in facts and type(facts[name]) not in kinds:
            raise ValueError(f"{name} is {facts[name]!r}")
    if PARTITIONS in facts:
        number(facts[PARTITIONS], 1)
    partitions = [_staged(staged) for staged in typed(document["partitions"], list)]
    before = document.get("before")
    joins = [_joined_segments(**typed(one, dict)) for one in typed(document.get("joins", []), list)]
    link = None if before is None else _link(before)
    return Manifest(job_id, topic, partitions, facts, link, joins)


def _joined_segments(base_offsets: Any, **facts: Any) -> JoinedSegments:
    found = JoinedSegments(**facts, base_offsets=typed(base_offsets, list))
    for value in (found.partition, found.bytes, *found.base_offsets):
        number(value)
    if not _STAGED_DIRECTORY.fullmatch(typed(found.directory, str)):
        raise ValueError(f"{found.directory!r} is no directory of a job")
    return found


def _link(facts: Any) -> JobLink:
    link = JobLink(**typed(facts, dict))
    check_job_id(typed(link.job_id, str))
    if not _SHA256.fullmatch(typed(link.sha256, str)):
        raise ValueError(f"{link.sha256!r} is no SHA-256")
    return link


def _staged(facts: Any) -> StagedPartition:
    staged = StagedPartition(**typed(facts, dict))
    for value in (staged.partition, staged.first_offset, staged.next_offset, staged.bytes):
        number(value, *_ANY_NUMBER)
    typed(staged.digest, str)
    for row in typed(staged.fingerprints, list):
        first_offset, count, total = typed(row, list)
        number(first_offset, *_ANY_NUMBER)
        number(count, *_ANY_NUMBER)
        number(total, 0, 2**64 - 1)
    if not _STAGED_DIRECTORY.fullmatch(typed(staged.directory, str)):
        raise ValueError(f"{staged.directory!r} is no directory of a job")
    return staged


def pending_manifest(log_dir: Path) -> Manifest | None:
    """Return the manifest of the pending job, None without one. Raises as `read_manifest`."""
    try:
        return read_manifest(pending_path(log_dir))
    except FileNotFoundError:
        return None


def is_under_way(log_dir: Path, job_id: str) -> bool:
    """Tell if a job has passed its commit point: it is pending or committed."""
    pending = pending_manifest(log_dir)
    is_pending = pending is not None and pending.job_id == job_id
    return is_pending or is_committed(log_dir, job_id)


def committed_manifests(log_dir: Path, topic: str | None = None) -> list[Manifest]:
    """Return the manifests of committed jobs, of one topic or of all, by id. O(jobs)."""
    paths = *joined_paths(log_dir), *manifest_paths(log_dir)
    found = {one.job_id: one for path in paths for one in _manifests_in(path)}
    return [one for _, one in sorted(found.items()) if topic in (None, one.topic)]


def manifest_paths(log_dir: Path) -> list[Path]:
    """Return the paths of committed manifests that are not joined, by name; [] if there are none.

    Raises OSError if the directory cannot be listed.
    """
    return _paths(log_dir, COMMITTED_SUFFIX)


def joined_paths(log_dir: Path) -> list[Path]:
    """Return the paths of joined manifests; raises as `manifest_paths`."""
    return _paths(log_dir, JOINED_SUFFIX)


def _paths(log_dir: Path, suffix: str) -> list[Path]:
    directory = log_dir / MANIFEST_DIR
    return [directory / name for name in sorted(names_in(directory)) if name.endswith(suffix)]


def _joined_with(log_dir: Path, job_id: str) -> Path | None:
    """Return the file with the joined manifests of which a job's is one; reads only their ids."""
    named = f'"{job_id}"'.encode()
    return next((path for path in joined_paths(log_dir) if named in _first_line(path)), None)


def _first_line(path: Path) -> bytes:
    with open(path, "rb", opener=open_regular) as file:
        return file.readline()


def _joined_names(path: Path) -> tuple[list[str], str]:
    """Return the ids and the topic of joined manifests, without reading these."""
    with open(path, "rb", opener=open_regular) as file:
        ids, topic = file.readline(), file.readline()
    return _parsed(path, ids, list), _parsed(path, topic, str)


def _parsed(path: Path, line: bytes, kind: type[Value]) -> Value:
    what, remedy = "joined manifests", "move it away"
    return parse_json(path, line, lambda document: typed(document, kind), what=what, remedy=remedy)


class JoinedManifest(NamedTuple):
    """A manifest that is joined with others: its text as it was, what it says, and its link."""

    text: str
    manifest: Manifest
    link: JobLink


def joined_manifests(path: Path) -> list[JoinedManifest]:
    """Return the manifests that are joined in a file. O(bytes).

    If a crash has interrupted the joining, some may still have files of their own, too. Raises
    OSError, and LogDirError if the file is invalid.
    """
    what, remedy = "joined manifests", "move it away"
    ids, _, *lines = [*read_regular(path, SMALL_FILE_BYTES).splitlines(), b"", b""]
    found = []
    for line in filter(None, lines):
        text = _parsed(path, line, str)
        data = text.encode("utf-8", "replace")
        manifest = parse_json(path, data, _manifest, what=what, remedy=remedy)
        link = JobLink(manifest.job_id, hashlib.sha256(data).hexdigest())
        found.append(JoinedManifest(text, manifest, link))
    if _parsed(path, ids, list) != [one.link.job_id for one in found]:
        reason = f"{path.name} holds no {what} (its first line does not name them); {remedy}"
        raise LogDirError(str(path.parent), reason=reason)
    return found


def _manifests_in(path: Path) -> list[Manifest]:
    if path.name.endswith(JOINED_SUFFIX):
        return [one.manifest for one in joined_manifests(path)]
    return [read_manifest(path)]


def join_manifests(log_dir: Path, topic: str, *, is_dry_run: bool = False) -> int:
    """Join the manifests of a topic's committed jobs in one file; return how many it joins.

    A file with joined manifests becomes part of a new one once there are as many others: so a
    manifest is written again only each time their number doubles. Does nothing for a single one.
    At each moment every manifest is there; once it returns, all survives a power failure. Only for
    the holder of the lock, when no job is pending. Raises OSError and LogDirError. O(jobs).
    """
    texts, gone, size_bytes = dict[str, str](), list[Path](), 0
    for path in manifest_paths(log_dir):
        manifest = read_manifest(path)
        if manifest.topic != topic or path != committed_path(log_dir, manifest.job_id):
            continue
        if size_bytes <= _MOST_JOINED_BYTES:
            texts[manifest.job_id] = read_regular(path, SMALL_FILE_BYTES).decode()
            size_bytes += len(texts[manifest.job_id])
            gone.append(path)
    count = len(texts)
    joined = [(*_joined_names(path), path) for path in joined_paths(log_dir)] if count else []
    for ids, its_topic, path in sorted(joined, key=lambda one: len(one[0])):
        is_small = path.stat().st_size <= _MOST_JOINED_BYTES and len(ids) <= len(texts)
        if its_topic == topic and (is_small or texts.keys() & ids):  # both: a crash has left it
            texts |= {one.link.job_id: one.text for one in joined_manifests(path)}
            gone.append(path)
    if len(gone) < 2:
        return 0
    if not is_dry_run:
        target = log_dir / MANIFEST_DIR / (min(texts) + JOINED_SUFFIX)
        lines = [json.dumps([*texts]), json.dumps(topic), *map(json.dumps, texts.values()), ""]
        replace_file(target, "\n".join(lines).encode())
        for path in gone:
            if path != target:
                path.unlink()
        sync(target.parent)
    return count


def manifest_link(path: Path, job_id: str) -> JobLink:
    """Return the link to the job whose manifest is in this file; raises as `read_regular`."""
    return JobLink(job_id, hashlib.sha256(read_regular(path, SMALL_FILE_BYTES)).hexdigest())


def last_jobs(log_dir: Path) -> dict[str, JobLink]:
    """Return the last job of each topic that has one on record; {} without the record.

    Raises OSError, and LogDirError if the file is invalid.
    """

    def parse(document: Any) -> dict[str, JobLink]:
        jobs = typed(typed(document, dict)["last_jobs"], dict)
        for topic in jobs:
            check_topic(topic)
        return {topic: _link(facts) for topic, facts in jobs.items()}

    try:
        return read_json(
            log_dir / LAST_JOBS_FILE, parse, what="record of last jobs", remedy="move it away"
        )
    except FileNotFoundError:
        return {}


def record_last_job(log_dir: Path, topic: str, link: JobLink | None) -> None:
    """Put a topic's last job on record, durably; None forgets the topic. Raises as `last_jobs`."""
    known = last_jobs(log_dir)
    jobs = {name: one for name, one in {**known, topic: link}.items() if one}
    if jobs != known:
        document = {"last_jobs": {name: asdict(one) for name, one in jobs.items()}}
        replace_file(log_dir / LAST_JOBS_FILE, json.dumps(document, indent=2).encode())


def forget_manifests(log_dir: Path, topic: str) -> list[str]:
    """Delete the manifests of a topic that is deleted, or created again.

    Reads every manifest, because somebody may have renamed one. Returns a line for each that it
    could not read and therefore keeps. Only for the holder of the lock, when no job is pending.
    `sweep_quarantine` then deletes the quarantine files of its jobs.
    """
    lines = []
    try:
        record_last_job(log_dir, topic, None)
    except (LogDirError, OSError) as error:
        lines.append(in_words(error))
    for path in (*manifest_paths(log_dir), *joined_paths(log_dir)):
        try:
            found = _manifests_in(path)
        except (LogDirError, OSError) as error:
            lines.append(f"{error}; it stays, because it may be of another topic than {topic}")
            continue
        if any(manifest.topic == topic for manifest in found):
            path.unlink()
    if (log_dir / MANIFEST_DIR).is_dir():
        sync(log_dir / MANIFEST_DIR)  # they must not come back beside a topic of the same name
    return lines
