"""Verification as Spark jobs: the same storage checks as in one process, and the source's account.

    storage   check_segment in tasks, join_segments in the driver: the findings of `verify_storage`
    source    every record stored exactly once, in order per key (accounting.py); where a key
              belongs is part of the storage checks

    source + extra + duplicate = stored + rejected + missing

Nothing but summaries, counts and samples reaches the driver.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sql

from kminilog.errors import LogDirError, SourceError
from kminilog.spark.accounting import Account, Sample, account_for
from kminilog.spark.failures import spark_failures
from kminilog.spark.log_source import read_log
from kminilog.spark.source import Place, Source, locate, read_source
from kminilog.spark.source_files import list_files
from kminilog.spark.storage_checks import check_partitions
from kminilog.storage.log_dir import LogDir
from kminilog.storage.publication import Manifest, committed_manifests
from kminilog.storage.topics import Topic
from kminilog.verification.findings import Finding, FindingClass, Tally, parse_classes
from kminilog.verification.report import Report, partition_rule
from kminilog.verification.segment_checks import PartitionOf

Locators = Mapping[Place, str]
UNKNOWN_PARTITION = -1  # of a missing record without a key
_DETAILS = {
    FindingClass.MISSING: "the source has this record, the log does not",
    FindingClass.EXTRA: "the source has no record with this key and value",
    FindingClass.DUPLICATE: "the source has this record, but not as often",
    FindingClass.KEY_ORDER: "a later record of the source with this key stands in front of it",
}


def verify(
    spark: SparkSession,
    log_dir: LogDir,
    topics: Sequence[str],
    *,
    against: Source | None = None,
    job: str | None = None,
    partitioner: str | None = None,
    allow: Collection[str] = (),
) -> Report:
    """Check what is stored of some topics, of all if none is named; of one against a source.

    With `job` the source is compared with what that job has written, no more. Takes no lock.
    Raises UnknownTopicOrPartitionError, LogDirError for an unknown job, SourceError, also for a
    source and several topics, and ValueError for an unknown class or partitioner.
    """
    allowed = parse_classes(allow)
    manifest = None if job is None else _manifest(log_dir, job)
    names = topics or ([manifest.topic] if manifest else [])
    chosen = [log_dir.topic(name) for name in dict.fromkeys(names)] or log_dir.topics()
    found = [topic.name for topic in chosen]
    if manifest and found != [manifest.topic]:
        reason = f"job {manifest.job_id} wrote to topic {manifest.topic}, not to {', '.join(found)}"
        raise LogDirError(str(log_dir.path), reason=reason)
    if against and len(chosen) != 1:
        reason = f"compare it with one topic, not with: {', '.join(found) or 'none'}"
        raise SourceError(str(against), reason=reason)
    scope = {
        "log_dir": str(log_dir.path),
        "topics": found,
        "partitioner": partitioner,
        "engine": "spark",
        "against": against and against.to_json(),
        "job": job,
    }
    report = Report(scope, allowed=allowed)
    rules = {topic.name: partition_rule(log_dir, topic, partitioner) for topic in chosen}
    with spark_failures(str(log_dir.path)):
        for summary in check_partitions(spark, log_dir, chosen, rules):
            report.add_partition(summary)
    if against:
        _check_against(spark, log_dir, chosen[0], against, manifest, rules[found[0]], report)
    return report


def _manifest(log_dir: LogDir, job: str) -> Manifest:
    manifests = {manifest.job_id: manifest for manifest in committed_manifests(log_dir.path)}
    if job not in manifests:
        reason = f"no committed job {job!r}; there is: {', '.join(manifests) or 'none'}"
        raise LogDirError(str(log_dir.path), reason=reason)
    return manifests[job]


def _check_against(
    spark: SparkSession,
    log_dir: LogDir,
    topic: Topic,
    source: Source,
    manifest: Manifest | None,
    rule: PartitionOf | None,
    report: Report,
) -> None:
    files = list_files(source.paths)
    records = read_source(spark, source, files)
    messages = read_log(spark, log_dir, topic.name)
    if manifest:
        messages = messages.where(_within(manifest))
    misplaced = report.tally.samples(FindingClass.WRONG_PARTITION)
    with spark_failures(str(source)):
        account = account_for(records, messages, also=_stands_at(misplaced))
    if not account.source:
        raise SourceError(str(source), reason="it holds no records")
    places = [sample.source for sample in account.samples if sample.source]
    locators = locate(source, files, places)
    report.tally = Tally(_with_sources(report.tally.findings(), account, locators))
    for finding in _findings(topic, rule, account, locators):
        report.tally.add(finding)
    report.conservation = _conservation(account, manifest)
    if not report.conservation["holds"]:
        report.unchecked.append(f"{source}: its account does not add up; verify it again")


def _within(manifest: Manifest) -> Column:
    """Tells the messages of a job, by their offsets."""
    ranges = (
        (sql.col("partition") == staged.partition)
        & (sql.col("offset") >= staged.first_offset)
        & (sql.col("offset") < staged.next_offset)
        for staged in manifest.partitions
    )
    return reduce(or_, ranges, sql.lit(False))


def _stands_at(findings: Iterable[Finding]) -> Column | None:
    places = [
        (sql.col("stored.partition") == found.partition)
        & (sql.col("stored.offset") == found.offset)
        for found in findings
    ]
    return reduce(or_, places) if places else None


def _with_sources(
    findings: Iterable[Finding], account: Account, locators: Locators
) -> list[Finding]:
    """Add to findings of the storage which records of the source they are about."""
    sources = {
        (sample.stored.partition, sample.stored.offset): locators[sample.source]
        for sample in account.samples
        if sample.stored and sample.source
    }
    return [
        found._replace(source=sources.get((found.partition, found.offset)))
        if found.kind == FindingClass.WRONG_PARTITION and found.offset is not None
        else found
        for found in findings
    ]


def _findings(
    topic: Topic, rule: PartitionOf | None, account: Account, locators: Locators
) -> list[Finding]:
    """A finding for each sample; the last of a class stands for those without."""
    findings = []
    for kind, count in account.findings.items():
        samples = [sample for sample in account.samples if sample.kind == kind]
        found = [_finding(topic, rule, kind, sample, locators) for sample in samples]
        findings += [*found[:-1], found[-1]._replace(stands_for=count - len(found) + 1)]
    return findings


def _finding(
    topic: Topic,
    rule: PartitionOf | None,
    kind: FindingClass,
    sample: Sample,
    locators: Locators,
) -> Finding:
    source = sample.source and locators[sample.source]
    if sample.stored:
        partition, offset, position, segment = sample.stored
        where = (segment, offset, position)
        return Finding(kind, topic.name, partition, _DETAILS[kind], *where, source)
    partition = 0 if topic.partitions == 1 else UNKNOWN_PARTITION
    if rule and sample.key is not None:
        partition = rule(sample.key)
    return Finding(kind, topic.name, partition, _DETAILS[kind], source=source)


def _conservation(account: Account, manifest: Manifest | None) -> dict[str, Any]:
    counts = {kind: account.findings.get(kind, 0) for kind in _DETAILS}
    missing, extra = counts[FindingClass.MISSING], counts[FindingClass.EXTRA]
    duplicate = counts[FindingClass.DUPLICATE]
    rejected = manifest.facts["rejected"] if manifest else 0
    return {
        "source": account.source,
        "stored": account.stored,
        "missing": missing,
        "extra": extra,
        "duplicate": duplicate,
        "rejected": rejected,
        "holds": account.source + extra + duplicate == account.stored + rejected + missing,
    }
