"""Bulk ingest: the records of a source become messages of a topic, all of them or none.

    source --> partition of each record --> segments in staging --> commit point --> publication
                       \\--> records that cannot be messages --> quarantine file --/

The job holds the log dir's lock for a moment at the beginning, to see what is there, and then only
to publish (publishing.py). An engine runs the tasks: this process (local_engine.py) or Spark
(spark/ingest). The partition of a record depends only on its key and its place
(columns/partitioning.py), so the same source gives the same files each time. Source: ours.
"""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from kminilog.columns.partitioning import PLACE_TEXT, checked_partitioner
from kminilog.errors import KMiniLogError, PublicationError, SourceError
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.jobs.ingest.job_identity import (
    asked_options,
    check_ingest,
    committed_job,
    cut_since,
    file_facts,
)
from kminilog.jobs.ingest.job_writer import (
    LOCK_TIMEOUT_MS,
    QUARANTINE_FILE,
    job_directory,
    log_warning,
    open_writer,
)
from kminilog.jobs.ingest.publishing import StagedJob, existing_topic, publish_staged
from kminilog.jobs.ingest.quarantine import write_quarantine
from kminilog.jobs.ingest.runs import Moved, Staged
from kminilog.jobs.ingest.staging import StagingJob
from kminilog.jobs.source.columns import columns_of
from kminilog.jobs.source.description import (
    Place,
    Source,
    check_count,
    check_outside,
    check_unchanged,
    files_of,
    locate,
)
from kminilog.jobs.source.selection import MissingRecords, read_missing, selected
from kminilog.jobs.source.source_files import SourceFile, changed
from kminilog.progress import Progress, untold
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter, check_undamaged
from kminilog.storage.manifests import PARTITIONS, Manifest, StagedPartition
from kminilog.storage.publish.publication import staging_path
from kminilog.storage.topics import Topic

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

    def join_again(self, job: StagingJob, moved: Sequence[Moved]) -> list[StagedPartition]:
        """Give staged partitions other offsets: see `runs.join_again`."""
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
            "left_out": self.manifest.facts.get("left_out", []),
            "plan": self.manifest.facts.get("plan"),
            "plan_reason": self.manifest.facts.get("plan_reason"),
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
    progress: Progress = untold,
    warn: Callable[[str], None] = log_warning,
) -> IngestResult:
    """Append the records of a source to a topic, atomically; create the topic if there is none.

    `partitioner` and `seed` are explained in `columns.partitioning`; `plan` is one of PLANS. Up to
    `max_rejected` records may be rejected; they go to the quarantine file. With a `job_id` this is
    idempotent: a committed job with the same source and options (job_identity.py) is reported and
    not written again. A findings file gives the job an id, if there is none. Once it returns, the
    whole job survives a power failure. After a crash before that, the topic has the whole job or
    nothing of it. Other writers go on while the job works: it needs the lock of the log dir for a
    moment at the beginning, and to publish. Each time it waits up to `lock_timeout_ms` for another
    writer. `warn` gets a line every few seconds of waiting, lines for what recovery has cut, and
    for what of a committed job could not be compared or was cut off since. Raises KMiniLogErrors,
    LogDirLockedError, SourceError and PluginError among them, and ValueError for an unknown plan or
    a bad number of partitions; the topic is then unchanged, unless the error says that the job is
    committed.
    """
    started = time.monotonic()
    if plan not in PLANS:
        raise ValueError(f"no plan {plan!r}; there is: {', '.join(PLANS)}")
    shape = topic, partitions, dialect, settings
    placing = checked_partitioner(partitioner), seed, plan
    only = None if source.only is None else read_missing(source)
    if only is not None:
        only.check_topic(topic)
    if job_id is None and only and only.records:
        job_id = only.identity
    is_named, job_id = job_id is not None, job_id or str(uuid4())
    staging_path(log_dir, job_id)  # is it a file name?
    asked = _Asked(job_id, is_named, source, only, shape, placing, max_rejected, _once(warn))
    open_locked = partial(open_writer, log_dir, lock_timeout_ms=lock_timeout_ms, warn=warn)
    with ExitStack() as in_the_end:
        with open_locked(create=True) as writer:
            if committed := asked.committed(writer):
                return _seen(committed, started)
            target = asked.target(writer)
            directory = in_the_end.enter_context(job_directory(writer.path.resolve(), job_id))
            job = asked.staging(writer, directory, target)
        files = files_of(source)
        check_outside(source, files, log_dir, topic)
        engine.start()
        started = time.monotonic()
        progress(f"reading {source}")
        manifest = _stage(engine, asked, files, job)
        published = publish_staged(
            StagedJob(manifest, directory, target, job.is_new),
            open_locked,
            asked.committed,
            partial(engine.join_again, job),
            progress,
        )
    if not isinstance(published, StagedJob):
        return _seen(published, started)
    return IngestResult(published.manifest, time.monotonic() - started, already_committed=False)


def _once(warn: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that hands each line on once: a job looks at the log dir several times."""
    told: set[str] = set()

    def tell(line: str) -> None:
        if line not in told:
            told.add(line)
            warn(line)

    return tell


_Committed = tuple[Manifest, list[str]]


def _seen(committed: _Committed, started: float) -> IngestResult:
    manifest, cut_off = committed
    return IngestResult(manifest, time.monotonic() - started, True, cut_off)


_Shape = tuple[str, int | None, Dialect | None, TopicSettings | None]


@dataclass(frozen=True)
class _Asked:
    """A job as it is asked for, beside what is in the log dir; the caller holds the lock."""

    job_id: str
    is_named: bool  # by the user or a findings file: else it is new
    source: Source
    only: MissingRecords | None  # the records of the source that are wanted; None for all
    shape: _Shape  # name, partitions, dialect and settings of its topic; None was not requested
    placing: tuple[str, int, str]  # partitioner, seed, plan
    max_rejected: int
    warn: Callable[[str], None]

    def committed(self, writer: LogDirWriter) -> _Committed | None:
        """Return the manifest of this job if it is committed, and what was cut off since.

        If not, raise PublicationError for a topic of another shape.
        """
        find = committed_job if self.is_named else lambda *_: None
        manifest = find(writer.path, self.job_id, self.warn)
        if manifest is None:
            topic_for(writer, self.job_id, *self.shape)
            return None
        options = asked_options(*self.shape, *self.placing)
        only = self.only and self.only.identity
        for line in check_ingest(
            manifest, self.source, options, max_rejected=self.max_rejected, only=only
        ):
            self.warn(f"job {self.job_id}: {line}")
        cut_off = cut_since(writer, manifest)
        for line in cut_off:
            self.warn(f"{line}; {_LOAD_AGAIN}")
        return manifest, cut_off

    def target(self, writer: LogDirWriter) -> Topic:
        """Return the topic of the job; raise an error now if one is known to be damaged."""
        topic = topic_for(writer, self.job_id, *self.shape)
        check_undamaged(writer, topic)
        return topic

    def staging(self, writer: LogDirWriter, directory: Path, target: Topic) -> StagingJob:
        """Return what the tasks of the job must know."""
        partitioner, seed, _ = self.placing
        return StagingJob(
            log_dir=str(writer.path.resolve()),
            directory=str(directory),
            topic=target,
            is_new=existing_topic(writer, target.name) is None,
            partitioner=partitioner,
            seed=seed,
            max_rejected=self.max_rejected,
            python_path=sys.path,
        )


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
        return Topic(name, count, dialect or DOCUMENTED, settings or TopicSettings())
    for wanted, actual, option in (
        (partitions, topic.partitions, "partitions"),
        (dialect and dialect.name, topic.dialect.name, "dialect"),
        (settings and settings.changed(), topic.settings.changed(), "config"),
    ):
        if wanted is not None and wanted != actual:
            reason = f"topic {name} has {option} = {actual}, not {wanted}; leave --{option} out"
            raise PublicationError(job_id, reason=reason)
    return topic


def _stage(
    engine: IngestEngine, asked: _Asked, files: Sequence[SourceFile], job: StagingJob
) -> Manifest:
    source, only, (*_, plan) = asked.source, asked.only, asked.placing
    try:
        staged = engine.stage(source, files, job, plan)
    except KMiniLogError as error:
        named = PLACE_TEXT.search(str(error))  # it names a record's place by numbers
        if not named:
            raise
        place = Place(*map(int, named.groups()))
        where = locate(source, files, [place])[place]
        raise KMiniLogError(str(error).replace(named[0], f"{where}: ")) from error
    check_unchanged(source, files)
    count = sum(partition.count for partition in staged.partitions)
    rejected = sum(part.count for part in staged.rejected)
    if rejected > job.max_rejected:
        first = min(staged.rejected, key=lambda part: part.first)
        more = f"; {rejected} rejected in all, --max-rejected allows {job.max_rejected}"
        where = locate(source, files, [first.first])[first.first]
        raise SourceError(where, reason=first.reason + more)
    if only is None:
        check_count(source, count + rejected)
    elif read_missing(source) != only:
        raise changed(only.path)
    elif count + rejected != len(only.records):
        columns = columns_of(replace(source, only=None), files)
        raise selected(source, files, columns).first_gone(source, files)
    write_quarantine(Path(job.directory, QUARANTINE_FILE), source, files, staged.rejected)
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
        "plan_reason": staged.reason,
        "engine": engine.name,
        "count": count,
        "rejected": rejected,
        **({"only_records": only.identity} if only else {}),
        **({"left_out": staged.left_out} if staged.left_out else {}),
    }
    return Manifest(asked.job_id, job.topic.name, staged.partitions, facts)
