"""Read the small files of a log dir that say what its logs should hold.

    recovery-point-offset-checkpoint   up to where each log was on the disk
    log-start-offset-checkpoint        below which offset retention has deleted all
    .manifests/<job>.json              what jobs wrote where
    .manifests/.pending                a job that is not finished: can a writer finish it?
    .cuts                              what was cut off the ends of logs

A file that cannot be read or is invalid becomes `unchecked`, and verification continues. It reads
these files once, before the segments. A log only grows, except by cuts, so it then holds what they
name.

Is each manifest still there, and as it was when its job was committed?

    .last-jobs  -->  job 3  -->  job 2  -->  job 1   each arrow: a job id, and its file's SHA-256

A manifest that is named but not there, or that has another digest, is a `manifest-mismatch`; a
changed one is not believed. Manifests that no arrow leads to, as those of the jobs before one that
is gone, are believed, and named as not checked. Source: ours.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from kminilog.errors import KMiniLogError, LogDirError, PublicationError, in_words
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.partitioners.keyed_rules import KEYED_RULES, keyed_name, keyed_rule, name_of
from kminilog.storage.checkpoint import (
    CHECKPOINT_FILE,
    LOG_START_FILE,
    known_offsets,
    parse_checkpoint,
)
from kminilog.storage.files import read_regular
from kminilog.storage.manifests import (
    COMMITTED_SUFFIX,
    JOINED_SUFFIX,
    LAST_JOBS_FILE,
    MANIFEST_DIR,
    PARTITIONS,
    PENDING_FILE,
    JobLink,
    Manifest,
    StagedPartition,
    committed_path,
    joined_manifests,
    joined_paths,
    last_jobs,
    manifest_link,
    manifest_paths,
    pending_manifest,
    pending_path,
    read_manifest,
)
from kminilog.storage.partition.cuts import CUTS_FILE, Cut, read_cuts
from kminilog.storage.publish.staged_files import check_staged_files
from kminilog.storage.topics import Topic
from kminilog.verification.coverage import Unchecked
from kminilog.verification.findings import Aspect, Finding
from kminilog.verification.last_ok import NO_TRUST, Rules, Trust
from kminilog.verification.manifest_checks import (
    UNKNOWN_PARTITION,
    PartitionJobs,
    jobs_of,
    mismatch,
    misnamed,
    shortened,
)
from kminilog.verification.summaries import (
    KeyedPartition,
    PartitionOf,
    PlacedRange,
    Placement,
)

# ---- the manifests of jobs


_LOOKS = 100  # a job that is committed, or a topic that is deleted, meanwhile: look again

Failures = list[tuple[str, OSError | LogDirError]]


@dataclass
class JobRecords:
    """The manifests that are believed, and `findings` about manifests as files.

    `topics` are all topics of jobs. `unchained` has, by topic, the ids of jobs whose manifests no
    other record confirms. `failures` are names of files that cannot be read, with their errors.
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
    joined: list[Path]


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
            is_read = not any(name.endswith(JOINED_SUFFIX) for name in unread)
            if is_read and not unread & {link.job_id, MANIFEST_DIR}:
                found = mismatch(place, link.job_id, f"it is gone; {by} names it")
                jobs.findings.append(found)
            break
        manifest, actual = known[link.job_id]
        if actual != link:
            reason = f"it has changed: {by} records another SHA-256 of it; verify does not use it"
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
    own = {manifest.job_id for path, manifest, _ in look.found if path.name != PENDING_FILE}
    for path in look.names.joined:
        try:
            joined = [one for one in joined_manifests(path) if one.link.job_id not in own]
        except (OSError, LogDirError) as error:
            failures.append((path.name, error))
            continue
        for _, manifest, link in joined:
            look.found.append((committed_path(log_dir, link.job_id), manifest, link))
    return look


def _names(log_dir: Path, failures: Failures) -> _Names:
    names = _Names({}, [], [])
    try:
        names.last.update(last_jobs(log_dir))
    except (OSError, LogDirError) as error:
        failures.append((LAST_JOBS_FILE, error))
    try:
        names.paths.extend(manifest_paths(log_dir))
        names.joined.extend(joined_paths(log_dir))
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


# ---- all small files


_SHOWN = 3  # job ids in one line


@dataclass
class SmallFiles:
    """The content of these files; `findings` are about manifests as files.

    `manifests` are those that are believed. `ingested` are all topics of jobs.
    `partitioner` is what the user says has placed all keys; None if only the manifests say it.
    `trust` is what is taken on trust of the segments.
    """

    partitioner: str | None = None
    manifests: list[Manifest] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    recovery_points: Mapping[TopicPartition, int] = field(default_factory=dict)
    log_starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    ingested: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    unchecked: list[Unchecked] = field(default_factory=list)
    trust: Trust = NO_TRUST

    def partitions_of(self, topic: Topic) -> list[PartitionJobs]:
        """Return what the files say of each partition of a topic, by number."""
        jobs = jobs_of(topic.name, topic.partitions, self.manifests, self.cuts)
        rules = {m.job_id: job_rule(m, self.partitioner) for m in self.manifests}
        others = self._rule_of_others(topic)
        for topic_partition, partition in zip(topic.all_partitions(), jobs, strict=True):
            partition.recovery_point = self.recovery_points.get(topic_partition)
            partition.log_start = self.log_starts.get(topic_partition)
            partition.is_ingested = topic.name in self.ingested
            if last := self.trust.partitions.get(topic_partition):
                partition.trusted = {known.base_offset: known for known, _ in last.segments}
            partition.placement = _placement(partition.staged, rules, others)
        return jobs

    def _rule_of_others(self, topic: Topic) -> KeyedPartition | None:
        """Return where keys of messages of no job belong; None if nobody knows it.

        The partitioner is the one that is given, or that of all jobs. The topic must always have
        had as many partitions as now.
        """
        jobs = [manifest for manifest in self.manifests if manifest.topic == topic.name]
        used = {manifest.facts.get("partitioner") for manifest in jobs}
        partitioner = self.partitioner or (used.pop() if len(used) == 1 else None)
        recorded = {manifest.facts.get(PARTITIONS) for manifest in jobs}
        if partitioner not in KEYED_RULES or topic.has_grown or recorded - {topic.partitions}:
            return None
        return KeyedPartition(keyed_rule(partitioner), topic.partitions)

    def rules_of(self, topic: Topic) -> Rules:
        """Return what decides if messages that were ok still are, besides the manifests."""
        others = self._rule_of_others(topic)
        return {
            "index.interval.bytes": topic.settings.index_interval_bytes,
            "keys": others and [name_of(others.rule), others.partitions],
        }

    def jobs_of(self, topic: str) -> list[Manifest]:
        """Return the manifests of a topic's jobs, without the offsets that were cut off."""
        return [
            replace(
                job, partitions=[shortened(job, staged, self.cuts) for staged in job.partitions]
            )
            for job in self.manifests
            if job.topic == topic
        ]


def job_rule(manifest: Manifest, partitioner: str | None) -> KeyedPartition | None:
    """Return where a job has put its keys: by its partitioner, or by the one that is given.

    None if that one does not place records by their keys, or if the manifest does not say how many
    partitions the topic had.
    """
    partitioner = partitioner or manifest.facts.get("partitioner")
    partitions = manifest.facts.get(PARTITIONS)
    if partitioner not in KEYED_RULES or partitions is None:
        return None
    return KeyedPartition(keyed_rule(partitioner), partitions)


def _placement(
    staged: Sequence[tuple[str, StagedPartition]],
    rules: Mapping[str, PartitionOf | None],
    others: PartitionOf | None,
) -> Placement:
    """Return the ranges of jobs, each with its rule; between them, and after, that of `others`."""
    borders = [(one.first_offset, one.next_offset, rules[job_id]) for job_id, one in staged]
    found, end = list[PlacedRange](), 0
    for first, next_offset, rule in (*borders, (MAX_OFFSET + 1, MAX_OFFSET + 1, None)):
        found += [PlacedRange(end, first, others)] if others and end < first else []
        found += [PlacedRange(first, next_offset, rule)] if rule else []
        end = next_offset
    return tuple(found)


def read_small_files(log_dir: Path, partitioner: str | None = None) -> SmallFiles:
    """Return the content of these files of a log dir; missing or invalid files raise nothing.

    Raises ValueError for a `partitioner` that does not place records by their keys.
    """
    records = SmallFiles(None if partitioner is None else keyed_name(partitioner))
    records.recovery_points = _read_checkpoint(log_dir, CHECKPOINT_FILE, Aspect.LOG_ENDS, records)
    records.log_starts = _read_checkpoint(log_dir, LOG_START_FILE, Aspect.LOG_STARTS, records)
    jobs = read_jobs(log_dir)
    records.manifests, records.findings = jobs.manifests, jobs.findings
    records.ingested = jobs.topics
    records.unchecked += [_unread(Aspect.JOBS, name, error) for name, error in jobs.failures]
    for topic, ids in jobs.unchained.items():
        why = f"no other record confirms the manifest of job {', '.join(ids[:_SHOWN])}"
        if len(ids) > _SHOWN:
            why += f" and {len(ids) - _SHOWN} more"
        why += ": a change or a lost manifest would not show"
        records.unchecked.append(Unchecked(Aspect.JOBS, topic, why))
    _read_pending(log_dir, records)
    try:
        records.cuts = read_cuts(log_dir)
    except (OSError, LogDirError) as error:
        records.unchecked.append(_unread(Aspect.LOG_ENDS, CUTS_FILE, error))
    return records


def _read_checkpoint(
    log_dir: Path, file_name: str, aspect: Aspect, records: SmallFiles
) -> Mapping[TopicPartition, int]:
    try:
        return parse_checkpoint(read_regular(log_dir / file_name))
    except FileNotFoundError:
        pass  # no offset is known
    except OSError as error:
        records.unchecked.append(_unread(aspect, file_name, error))
    except ValueError as error:
        why = f"{error}; put a copy of it back, or let the next writer begin a new one"
        records.unchecked.append(Unchecked(aspect, file_name, why, asked=True))
        return known_offsets(error)
    return {}


def _read_pending(log_dir: Path, records: SmallFiles) -> None:
    """Note a pending job that no writer can finish: it is committed, its messages are hidden."""
    with suppress(OSError, LogDirError):  # then no partition can be read, and each says why
        job = pending_manifest(log_dir)
        if job is None or not _fault(log_dir, job):
            return
        # A writer may have finished it during that look; then another job may be pending.
        if pending_manifest(log_dir) == job and (fault := _fault(log_dir, job)):
            why = f"job {job.job_id} is not finished, and no writer can finish it: {fault}"
            records.unchecked.append(Unchecked(Aspect.JOBS, job.topic, why, asked=True))


def _fault(log_dir: Path, job: Manifest) -> str:
    """Return why a job must not be published; empty if it may."""
    try:
        check_staged_files(log_dir, job)
    except PublicationError as error:
        return error.reason
    except (KMiniLogError, OSError) as error:
        return in_words(error)
    return ""


def _unread(what: Aspect, name: str, error: Exception) -> Unchecked:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Unchecked(what, name, why, asked=True)
