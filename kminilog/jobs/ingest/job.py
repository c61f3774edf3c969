"""Bulk ingest: the records of a source become messages of a topic, all of them or none.

    source --> partition of each record --> segments in staging --> commit point --> publication
                       \\--> records that cannot be messages --> quarantine file --/

The job holds the log dir's lock from the beginning; tasks write in staging. An engine runs the
tasks: this process (local_engine.py) or Spark (spark/ingest). The partition of a record depends
only on its key and its place (columns/partitioning.py), so the same source gives the same files
each time. Source: ours.
"""

import random
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from kminilog.columns.partitioning import PLACE_TEXT, checked_partitioner
from kminilog.errors import (
    KMiniLogError,
    PublicationError,
    SourceError,
    UnknownTopicOrPartitionError,
)
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.jobs.ingest.job_identity import (
    asked_options,
    check_ingest,
    committed_job,
    cut_since,
    file_facts,
)
from kminilog.jobs.ingest.job_writer import LOCK_TIMEOUT_MS, log_warning, open_writer, staging_of
from kminilog.jobs.ingest.quarantine import RejectedPart, write_quarantine
from kminilog.jobs.ingest.runs import Staged
from kminilog.jobs.ingest.staging import StagingJob
from kminilog.jobs.source.description import Place, Source, files_of, locate
from kminilog.jobs.source.source_files import SourceFile, check_outside, check_unchanged
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir_writer import LogDirWriter, log_end_offsets
from kminilog.storage.partition_directories import Progress
from kminilog.storage.publish.manifests import PARTITIONS, Manifest, is_under_way
from kminilog.storage.publish.publication import publish, staging_path
from kminilog.storage.topics import Topic, new_topic_id

PLANS = ("auto", "sorted", "runs")
_LOAD_AGAIN = "give another --job-id to load them again, with all of the source"


class IngestEngine(Protocol):
    """Runs the tasks of a job. Raises KMiniLogErrors, in one line."""

    @property
    def name(self) -> str:
        """As `ingest --json` prints it."""
        ...

    def start(self) -> None:
        """Be ready. It is called after all checks that need no engine, and not counted as work."""
        ...

    def stage(
        self, source: Source, files: Sequence[SourceFile], job: StagingJob, plan: str
    ) -> Staged:
        """Write the records of a source in staging, and return what is there.

        No plan changes the files. Once it returns, they are on the disk.
        """
        ...


@dataclass(frozen=True)
class IngestResult:
    """A committed job.

    `already_committed` means that it was committed before, and nothing was written now. Then
    `cut_off` has a line for each cut that has removed messages of it since.
    """

    manifest: Manifest
    seconds: float
    already_committed: bool
    cut_off: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Return what `ingest --json` prints."""
        partitions = [
            {
                "partition": staged.partition,
                "first_offset": staged.first_offset,
                "next_offset": staged.next_offset,
                "count": staged.count,
                "bytes": staged.bytes,
                "digest": staged.digest,
            }
            for staged in self.manifest.partitions
        ]
        return {
            "job_id": self.manifest.job_id,
            "topic": self.manifest.topic,
            "source": self.manifest.facts.get("source"),  # no such fact of a DataFrame's job
            "already_committed": self.already_committed,
            "count": self.manifest.facts["count"],
            "rejected": self.manifest.facts["rejected"],
            "plan": self.manifest.facts.get("plan"),
            "engine": self.manifest.facts.get("engine"),
            "seconds": round(self.seconds, 3),
            "partitions": partitions,
        }


def ingest_with(
    engine: IngestEngine,
    log_dir: Path,
    source: Source,
    *,
    topic: str,
    partitions: int | None = None,
    dialect: Dialect | None = None,
    settings: TopicSettings | None = None,
    partitioner: str = "default-2.4",
    seed: int = 0,
    job_id: str | None = None,
    plan: str = "auto",
    max_rejected: int = 0,
    lock_timeout_ms: int = LOCK_TIMEOUT_MS,
    progress: Progress = lambda line: None,
    warn: Callable[[str], None] = log_warning,
) -> IngestResult:
    """Append the records of a source to a topic, atomically; create the topic if there is none.

    `partitioner` and `seed` are explained in `columns.partitioning`; `plan` is one of PLANS. Up to
    `max_rejected` records may be rejected; they go to the quarantine file. With a `job_id` this is
    idempotent: a committed job with the same source and options (job_identity.py) is reported and
    not written again. Once it returns, the whole job survives a power failure. After a crash before
    that, the topic has the whole job or nothing of it.
    Waits up to `lock_timeout_ms` while another writer holds the lock of the log dir. `warn` gets a
    line every few seconds of waiting, lines for what recovery has cut, and for what of a committed
    job could not be compared or was cut off since. Raises KMiniLogErrors, LogDirLockedError,
    SourceError and PluginError among them, and ValueError for an unknown plan or a bad number of
    partitions; the topic is then unchanged, unless the error says that the job is committed.
    """
    started = time.monotonic()
    if plan not in PLANS:
        raise ValueError(f"no plan {plan!r}; there is: {', '.join(PLANS)}")
    partitioner = checked_partitioner(partitioner)
    is_named, job_id = job_id is not None, job_id or str(uuid4())
    staging = staging_path(log_dir.resolve(), job_id)
    with open_writer(log_dir, lock_timeout_ms=lock_timeout_ms, create=True, warn=warn) as writer:
        committed = committed_job(writer.path, job_id, warn) if is_named else None
        if committed:
            asked = asked_options(topic, partitions, dialect, settings, partitioner, seed, plan)
            read = source.to_json(), source.paths
            for line in check_ingest(committed, *read, asked, max_rejected=max_rejected):
                warn(f"job {job_id}: {line}")
            cut_off = cut_since(writer, committed)
            for line in cut_off:
                warn(f"{line}; {_LOAD_AGAIN}")
            return IngestResult(committed, time.monotonic() - started, True, cut_off)
        target = topic_for(writer, job_id, topic, partitions, dialect, settings)
        is_new = existing_topic(writer, topic) is None
        files = files_of(source)
        check_outside(files, str(log_dir))
        ends = log_end_offsets(writer, target, () if is_new else range(target.partitions))
        job = StagingJob(
            log_dir=str(log_dir.resolve()),
            directory=str(staging),
            topic=target,
            first_offsets=[ends.get(number, 0) for number in range(target.partitions)],
            partitioner=partitioner,
            seed=seed,
            max_rejected=max_rejected,
            python_path=sys.path,
        )
        engine.start()
        started = time.monotonic()
        with staging_of(writer.path, job_id):
            progress(f"reading {source}")
            manifest = _stage(engine, source, files, job, plan, job_id)
            progress(f"publishing {manifest.facts['count']} messages")
            _publish(writer, target, manifest, is_new=is_new, progress=progress)
    return IngestResult(manifest, time.monotonic() - started, already_committed=False)


def topic_for(
    writer: LogDirWriter,
    job_id: str,
    name: str,
    partitions: int | None,
    dialect: Dialect | None,
    settings: TopicSettings | None,
) -> Topic:
    """Return a job's topic as it is, or as it will be created.

    Raises PublicationError if it exists and differs from what was requested.
    """
    topic = existing_topic(writer, name)
    if topic is None:
        count = 1 if partitions is None else partitions
        settings, topic_id = settings or TopicSettings(), new_topic_id(random.Random())
        return Topic(name, count, dialect or DOCUMENTED, settings, topic_id=topic_id)
    for wanted, actual, option in (
        (partitions, topic.partitions, "partitions"),
        (dialect and dialect.name, topic.dialect.name, "dialect"),
        (settings and settings.changed(), topic.settings.changed(), "config"),
    ):
        if wanted is not None and wanted != actual:
            reason = f"topic {name} has {option} = {actual}, not {wanted}; leave --{option} out"
            raise PublicationError(job_id, reason=reason)
    return topic


def existing_topic(writer: LogDirWriter, name: str) -> Topic | None:
    """Return a topic of a log dir; None if it has none with this name."""
    with suppress(UnknownTopicOrPartitionError):
        return writer.topic(name)
    return None


def _stage(
    engine: IngestEngine,
    source: Source,
    files: Sequence[SourceFile],
    job: StagingJob,
    plan: str,
    job_id: str,
) -> Manifest:
    try:
        staged = engine.stage(source, files, job, plan)
    except KMiniLogError as error:
        located = _located(error, source, files)
        if located is error:
            raise
        raise located from error
    check_unchanged(source.paths, files)
    count = sum(partition.count for partition in staged.partitions)
    rejected = sum(part.count for part in staged.rejected)
    if rejected > job.max_rejected:
        raise _too_many(staged.rejected, job.max_rejected, source, files)
    if not count + rejected:
        raise SourceError(str(source), reason="it holds no records")
    write_quarantine(Path(job.log_dir), job_id, source, files, staged.rejected)
    facts = {
        "source": source.to_json(),
        **file_facts(files),
        PARTITIONS: job.topic.partitions,
        "files_content": staged.content,
        "dialect": job.topic.dialect.name,
        "config": job.topic.settings.changed(),
        "partitioner": job.partitioner,
        "seed": job.seed,
        "plan": staged.plan,
        "engine": engine.name,
        "count": count,
        "rejected": rejected,
    }
    return Manifest(job_id, job.topic.name, staged.partitions, facts)


def _located(error: KMiniLogError, source: Source, files: Sequence[SourceFile]) -> KMiniLogError:
    """Return the error, with file and line or row if it names a record's place by numbers."""
    named = PLACE_TEXT.search(str(error))
    if not named:
        return error
    place = Place(*map(int, named.groups()))
    where = locate(source, files, [place])[place]
    return KMiniLogError(str(error).replace(named[0], f"{where}: "))


def _too_many(
    parts: Sequence[RejectedPart], at_most: int, source: Source, files: Sequence[SourceFile]
) -> SourceError:
    first = min(parts, key=lambda part: part.first)
    total = sum(part.count for part in parts)
    more = f"; {total} rejected in all, --max-rejected allows {at_most}"
    where = locate(source, files, [first.first])[first.first]
    return SourceError(where, reason=first.reason + more)


def _publish(
    writer: LogDirWriter, topic: Topic, manifest: Manifest, *, is_new: bool, progress: Progress
) -> None:
    try:
        if is_new:
            writer.create_topic(topic, progress=lambda step: progress(f"creating {step}"))
        publish(writer.path, manifest, writer.ends)
    except (OSError, PublicationError):
        is_left = is_new and not is_under_way(writer.path, manifest.job_id)
        if is_left and existing_topic(writer, topic.name) == topic:
            writer.delete_topic(topic.name)
        raise
