"""Verification: the storage checks, and the account of a source, by any engine.

    storage   segments checked in tasks, joined in the driver (storage_checks.py)
    source    every record stored exactly once, in order per key (source_check.py)

Only summaries, sums, counts and samples reach the caller. Source: ours.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from kminilog.clock import Clock
from kminilog.errors import LogDirError, SourceError, in_words
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.manifests import Manifest
from kminilog.storage.topics import OnBroken, Topic
from kminilog.verification.account.engine import Engine
from kminilog.verification.account.findings_file import FindingsFile, every_finding
from kminilog.verification.account.storage_checks import check_partitions
from kminilog.verification.coverage import NO_SOURCE, Unchecked
from kminilog.verification.findings import Aspect, parse_classes
from kminilog.verification.last_ok import OkOptions, on_trust, read_trust, record_ok
from kminilog.verification.orphans import topics_to_check
from kminilog.verification.records import SmallFiles, read_small_files
from kminilog.verification.report import Report
from kminilog.verification.summaries import PartitionSummary, SegmentSummary

if TYPE_CHECKING:
    from kminilog.jobs.source.description import Source


def verify_with(
    engine: Engine,
    clock: Clock,
    log_dir: LogDir,
    topics: Sequence[str],
    *,
    against: "Source | None" = None,
    job: str | None = None,
    partitioner: str | None = None,
    strict_index: bool = False,
    allow: Collection[str] = (),
    full: bool = False,
    findings: Path | str | None = None,
    since_last: bool = False,
) -> Report:
    """Check the storage of some topics, or of all if none is named; return the report.

    A topic whose settings file is broken is `unchecked`, if neither it nor a source is named.
    `against` compares one topic with a source; with `job`, only the messages of that job. The
    comparison ends with sums if these are equal, unless it is `full`, which also compares digests
    of all bytes that jobs wrote. `findings` is a file for every finding (findings_file.py).
    `since_last` takes on trust what its last `ok` has seen, and records this one
    (verification/last_ok.py). Takes no lock and writes nothing else. O(bytes of the topics and of
    the source). Raises UnknownTopicOrPartitionError, LogDirError for an unknown job, SourceError
    (also for a source and several topics), and ValueError for an unknown class or partitioner.
    """
    start_ms, findings = clock.now_ms(), Path(findings) if findings else None
    records = read_small_files(log_dir.path, partitioner)
    manifest = None if job is None else _manifest(log_dir, records, job)
    broken: list[Exception] = []
    chosen = _topics(log_dir, topics, against, manifest, broken.append)
    found = [topic.name for topic in chosen]
    scope = {
        "log_dir": str(log_dir.path),
        "topics": found,
        "partitioner": records.partitioner,
        "engine": engine.name,
        "against": against and against.to_json(),
        "job": job,
    }
    report = Report(scope, allowed=parse_classes(allow))
    asked = OkOptions(records.partitioner, strict_index, full)
    if since_last:
        records.trust = read_trust(log_dir, chosen, asked, records.rules_of)
        report.scope["since_last"] = {"not_trusted": dict(records.trust.whys)}
        for name in found:
            known = [one for place, one in records.trust.partitions.items() if place.topic == name]
            if known:
                report.unchecked.append(Unchecked(Aspect.MESSAGES, name, on_trust(known)))
    sound: dict[Topic, dict[int, Sequence[SegmentSummary]]] = {topic: {} for topic in chosen}
    with every_finding(findings) as report.all_findings:
        rest = report.all_findings.parts.rest if report.all_findings else None
        engine.check_access(log_dir.path)
        with engine.at(str(log_dir.path)) as here:
            checks = {"strict_index": strict_index, "is_full": full}
            summaries = check_partitions(here, log_dir, chosen, records, **checks, rest=rest)
            for topic in chosen:
                of_topic = islice(summaries, topic.partitions)
                report.add_topic(topic, _noting(sound[topic], of_topic))
        report.add_small_files(records)
        report.add_orphans(log_dir, topics or (found if manifest else ()))
        if against:
            from kminilog.verification.account.source_check import check_against  # reads arrays

            check_against(
                engine,
                log_dir,
                chosen[0],
                against,
                jobs=[manifest] if manifest else records.jobs_of(chosen[0].name),
                within=manifest,
                partitioner=records.partitioner,
                is_full=full,
                report=report,
            )
        else:
            report.add_broken(broken)
            report.unchecked.append(NO_SOURCE)
    report.findings_file = FindingsFile(findings) if findings else None
    report.seconds = (clock.now_ms() - start_ms) / 1000
    if since_last and report.verdict == "ok":
        _record(log_dir, sound, asked, records, report, start_ms)
    return report


def _noting(
    sound: dict[int, Sequence[SegmentSummary]], summaries: Iterable[PartitionSummary]
) -> Iterator[PartitionSummary]:
    """Yield the partitions of a topic; note the segments of those without a finding."""
    for summary in summaries:
        if not (summary.findings or summary.unchecked):
            sound[summary.partition] = summary.checked
        yield summary


def _record(
    log_dir: LogDir,
    sound: Mapping[Topic, Mapping[int, Sequence[SegmentSummary]]],
    asked: OkOptions,
    records: SmallFiles,
    report: Report,
    now_ms: int,
) -> None:
    """Put the `ok` of topics on record, and say if that is not possible."""
    doubtful = {finding.topic for finding in records.findings}
    for topic, partitions in sound.items():
        if partitions and topic.name not in doubtful:
            rules = records.rules_of(topic)
            try:
                record_ok(log_dir, topic, asked, rules, partitions, records.trust, now_ms)
            except (OSError, LogDirError) as error:
                why = f"this `ok` could not be recorded: {in_words(error)}"
                report.unchecked.append(Unchecked(Aspect.MESSAGES, topic.name, why))


def _topics(
    log_dir: LogDir,
    names: Sequence[str],
    against: "Source | None",
    manifest: Manifest | None,
    on_broken: OnBroken,
) -> list[Topic]:
    """Return the topics to check; a broken one is left out if no source is to be compared."""
    names = names or ([manifest.topic] if manifest else [])
    if against:
        chosen = [log_dir.topic(name) for name in dict.fromkeys(names)] or log_dir.topics()
    else:
        chosen = topics_to_check(log_dir, names, on_broken)
    found = [topic.name for topic in chosen]
    if manifest and found != [manifest.topic]:
        reason = f"job {manifest.job_id} wrote to topic {manifest.topic}, not to {', '.join(found)}"
        raise LogDirError(str(log_dir.path), reason=reason)
    if against and len(chosen) != 1:
        reason = f"compare it with one topic, not with: {', '.join(found) or 'none'}"
        raise SourceError(str(against), reason=reason)
    return chosen


def _manifest(log_dir: LogDir, records: SmallFiles, job: str) -> Manifest:
    """Return the manifest of a committed job, without the messages that were cut off."""
    topics = dict.fromkeys(manifest.topic for manifest in records.manifests)
    found = (manifest for topic in topics for manifest in records.jobs_of(topic))
    manifests = {manifest.job_id: manifest for manifest in found}
    if job not in manifests:
        reason = f"no committed job {job!r}; there is: {', '.join(manifests) or 'none'}"
        if lost := next((one.detail for one in records.findings if f" {job}: " in one.detail), ""):
            reason = lost
        raise LogDirError(str(log_dir.path), reason=reason)
    return manifests[job]
