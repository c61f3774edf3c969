"""The account of a source in a report: what is missing, extra, duplicate, altered, out of order.

    source + extra + duplicate = stored + rejected + missing

An altered record is counted on both sides, as a record of the source and as a stored one. One
damage may cause several findings, some of the storage checks and some of this account. Each is
counted in its class, and is linked with the finding that has caused it (causes.py). Source: ours.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sql

from kminilog.job_errors import SourceError
from kminilog.spark.runtime.failures import spark_failures
from kminilog.spark.source.own_session import own_session
from kminilog.spark.source.records import Place, Source, files_of, locate
from kminilog.spark.source.task_columns import records_of
from kminilog.spark.verify.account import REJECTED, Account, Comparison, Sample
from kminilog.spark.verify.altered import alterations
from kminilog.spark.verify.expected_partition import ExpectedPartition
from kminilog.spark.verify.log_source import read_log
from kminilog.spark.verify.rejections import mark_rejected, quarantine_files
from kminilog.storage.log_dir import LogDir
from kminilog.storage.publish.manifests import Manifest
from kminilog.storage.topics import Topic
from kminilog.verification.causes import DAMAGE, LOSSES, Slot, cause_at, cause_in_source, cause_of
from kminilog.verification.conservation import holds
from kminilog.verification.coverage import Aspect, Unchecked
from kminilog.verification.findings import Finding, FindingClass, Tally
from kminilog.verification.report import Report
from kminilog.verification.segment_summary import PartitionOf

Locators = Mapping[Place, str]
_DETAILS = {
    FindingClass.MISSING: "the source has this record, the log does not",
    FindingClass.EXTRA: "the source has no record with this key and value",
    FindingClass.DUPLICATE: "the source has this record, but not as often",
    FindingClass.ALTERED: "here the source has another key or value",
    FindingClass.KEY_ORDER: "a later record of the source with this key stands in front of it",
}
_SHOWN_BYTES = 60  # of a key


def check_against(
    spark: SparkSession,
    log_dir: LogDir,
    topic: Topic,
    source: Source,
    *,
    jobs: Sequence[Manifest],
    within: Manifest | None,
    rule: PartitionOf | None,
    report: Report,
) -> None:
    """Add the account of a source to a report that has the findings of the storage checks.

    `jobs` are on record for the topic. `within` is the job whose messages are compared; None for
    all messages. O(source + log), in tasks. Raises SourceError, also for a source without records.
    """
    files = files_of(source)
    quarantined = quarantine_files(log_dir.path, jobs)
    expected = ExpectedPartition.of(topic, rule, source, jobs)
    misplaced = report.tally.samples(FindingClass.WRONG_PARTITION)
    damage = [found for kind in DAMAGE for found in report.tally.samples(kind)]
    losses = [found for found in damage if found.kind in LOSSES]
    slots = dict[Place, Slot]()
    with spark_failures(str(source)), own_session(spark, source, files) as own:
        records = records_of(own, source, files)
        records = mark_rejected(records, source, files, jobs, quarantined)
        messages = read_log(own, log_dir, topic.name, job=within)
        comparison = Comparison(records, messages)
        account = comparison.account(also=_stands_at(misplaced))
        if _is_place_wanted(account, losses):
            with alterations(comparison.pairs, expected) as altered:
                account = altered.amend(account)
                if losses:
                    slots = altered.slots(account, _bounds(jobs))
    if not account.source:
        raise SourceError(str(source), reason="it holds no records")
    locators = locate(source, files, [s.source for s in account.samples() if s.source])
    causes = {locators[place]: cause_of(slot, losses) for place, slot in slots.items()}
    findings = [
        found._replace(cause=causes.get(found.source or "") or cause_at(found, damage))
        for found in _findings(topic, expected, account, locators)
    ]
    stored = _with_sources(report.tally.findings(), account, locators)
    report.tally = Tally(_linked(stored, findings))
    report.conservation = _conservation(account)
    report.checked.append(Aspect.SOURCE)
    report.scope["quarantine"] = [str(path) for path in quarantined]
    if not report.conservation["holds"]:
        why = "its account does not add up; verify it again"
        report.unchecked.append(Unchecked(Aspect.SOURCE, str(source), why, asked=True))


def _is_place_wanted(account: Account, losses: Sequence[Finding]) -> bool:
    """Return whether it matters between which messages the missing records belong."""
    kinds = account.groups.keys()
    return FindingClass.MISSING in kinds and (FindingClass.EXTRA in kinds or bool(losses))


def _bounds(jobs: Sequence[Manifest]) -> dict[int, tuple[int, int]]:
    """Return, by partition, the first and the next offset of all that jobs have written."""
    bounds: dict[int, tuple[int, int]] = {}
    for staged in (staged for job in jobs for staged in job.partitions):
        first, end = bounds.get(staged.partition, (staged.first_offset, staged.next_offset))
        bounds[staged.partition] = min(first, staged.first_offset), max(end, staged.next_offset)
    return bounds


def _stands_at(findings: Iterable[Finding]) -> Column | None:
    places = [
        (sql.col("stored.partition") == found.partition)
        & (sql.col("stored.offset") == found.offset)
        for found in findings
    ]
    return reduce(or_, places) if places else None


def _linked(stored: Sequence[Finding], findings: Sequence[Finding]) -> list[Finding]:
    """Return all findings; those of the storage checks with causes that the account has found.

    Altered ranges come last, because a class keeps its first samples.
    """
    misplaced = [found for found in stored if found.kind == FindingClass.WRONG_PARTITION]
    causes = [*findings, *(found for found in misplaced if not cause_in_source(found, findings))]
    linked = [found._replace(cause=cause_in_source(found, causes)) for found in stored]
    ranges = [found for found in linked if found.kind == FindingClass.ALTERED]
    return [*(found for found in linked if found not in ranges), *findings, *ranges]


def _with_sources(
    findings: Iterable[Finding], account: Account, locators: Locators
) -> list[Finding]:
    """Return the findings of the storage checks, with the source's record where one is known."""
    sources = {
        (sample.stored.partition, sample.stored.offset): locators[sample.source]
        for sample in account.samples()
        if sample.stored and sample.source
    }
    return [
        found._replace(source=sources.get((found.partition, found.offset)))
        if found.kind == FindingClass.WRONG_PARTITION and found.offset is not None
        else found
        for found in findings
    ]


# ---- what the account has found


def _findings(
    topic: Topic, expected: ExpectedPartition, account: Account, locators: Locators
) -> list[Finding]:
    """Return a finding for each sample; the last one of a class stands for the rest of it."""
    findings = []
    for kind in _DETAILS:
        if kind in account.groups:
            total, samples = account.groups[kind]
            found = [_finding(topic, expected, kind, sample, locators) for sample in samples]
            surplus = total - len(found)
            findings += [*found[:-1], found[-1]._replace(stands_for=1 + surplus)]
    return findings


def _finding(
    topic: Topic,
    expected: ExpectedPartition,
    kind: FindingClass,
    sample: Sample,
    locators: Locators,
) -> Finding:
    source = sample.source and locators[sample.source]
    detail = f"{_shown(sample.key)}: {_DETAILS[kind]}"
    if sample.stored:
        partition, offset, position, segment = sample.stored
        return Finding(kind, topic.name, partition, detail, segment, offset, position, source)
    assert sample.source
    partition = expected.partition_of(sample.key, sample.source)
    return Finding(kind, topic.name, partition, detail, source=source)


def _shown(key: bytes | None) -> str:
    if key is None:
        return "no key"
    shown = key[:_SHOWN_BYTES].decode(errors="backslashreplace")
    return f"key {shown!r}{' …' if len(key) > _SHOWN_BYTES else ''}"


def _conservation(account: Account) -> dict[str, Any]:
    missing, extra = account.count(FindingClass.MISSING), account.count(FindingClass.EXTRA)
    duplicate, rejected = account.count(FindingClass.DUPLICATE), account.count(REJECTED)
    counts = {
        "source": account.source,
        "stored": account.stored,
        "missing": missing,
        "extra": extra,
        "duplicate": duplicate,
        "rejected": rejected,
        "altered": account.count(FindingClass.ALTERED),
    }
    return {**counts, "holds": holds(counts)}
