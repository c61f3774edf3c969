"""Verify a Kafka broker's log directory: the report that `verify` gives of it.

It is a `verification.report.Report`, with the table of a broker's faults. Nothing is written there.
A broker may be at work meanwhile. Source: ours; Kafka: DumpLogSegments.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from kminilog.broker_files.directory import NOT_SERVED, BrokerDirectory, NotInDirectoryError
from kminilog.clock import Clock
from kminilog.errors import in_words
from kminilog.format.names import TopicPartition
from kminilog.progress import Progress, untold
from kminilog.verification.broker_files.faults import BrokerFault
from kminilog.verification.broker_files.last_ok import (
    LastSeen,
    SeenPartition,
    read_last_ok,
    write_last_ok,
)
from kminilog.verification.broker_files.partition_checks import (
    PartitionVerdict,
    check_partition,
)
from kminilog.verification.broker_files.small_files import read_checkpoints
from kminilog.verification.coverage import Unchecked
from kminilog.verification.finding_parts import AllFindings
from kminilog.verification.findings import Aspect, parse_classes
from kminilog.verification.report import Report

NO_SOURCE = Unchecked(Aspect.SOURCE, "", "verify compares a broker's files with no source")


def verify_broker(
    path: Path,
    topics: Sequence[str] = (),
    *,
    clock: Clock,
    strict_index: bool = False,
    allow: Collection[str] = (),
    full: bool = False,
    since_last: Path | None = None,
    all_findings: AllFindings | None = None,
    progress: Progress = untold,
) -> Report:
    """Check the partitions of some topics, or of all; return the report. O(bytes).

    `since_last` is the directory with the records of earlier verifications: what the last `ok` has
    seen is taken on trust, and this one is put on record there.

    Memory does not grow with the logs; it grows with their indexes and their producers. Raises
    NotInDirectoryError, LogDirError, and ValueError for an unknown class in `allow`.
    """
    start_ms, directory = clock.now_ms(), BrokerDirectory(path)
    partitions = _partitions(directory, topics)
    names = list(dict.fromkeys(one.topic for one in partitions))
    scope: dict[str, Any] = {
        "log_dir": str(path),
        "topics": names,
        "partitioner": None,
        "engine": "local",
        "broker": True,
    }
    report = Report(
        scope,
        allowed=parse_classes(allow, BrokerFault),
        classes=BrokerFault,
        all_findings=all_findings,
    )
    last_ok, not_trusted, seen = None, 0, dict[str, SeenPartition]()
    if since_last:
        last_ok = read_last_ok(since_last, path, {"strict_index": strict_index, "full": full})
    checkpoints = read_checkpoints(path)
    report.unchecked += checkpoints.unchecked
    rest = all_findings.parts.rest if all_findings else None
    for topic_partition in partitions:
        progress(f"checking {topic_partition}")
        try:
            verdict = check_partition(
                directory,
                topic_partition,
                checkpoints,
                is_full=full,
                strict_index=strict_index,
                rest=rest,
                last_ok=last_ok,
            )
        except NotInDirectoryError:
            continue  # the broker has deleted it meanwhile
        except OSError as error:
            where, why = str(topic_partition), in_words(error)
            report.unchecked.append(Unchecked(Aspect.MESSAGES, where, why, asked=True))
            continue
        _add(report, verdict)
        not_trusted += verdict.summary["trusted_until"] is None
        if verdict.seen and not verdict.findings:
            seen[str(topic_partition)] = verdict.seen
    for other in [] if topics else directory.others():
        if other.what in NOT_SERVED.values():
            report.unchecked.append(Unchecked(Aspect.MESSAGES, other.name, other.what))
    report.unchecked.append(NO_SOURCE)
    if last_ok:
        why = "no earlier `ok` is recorded, or a segment has changed since"
        scope["since_last"] = {"not_trusted": {why: not_trusted} if not_trusted else {}}
        if report.verdict == "ok":
            _record(report, last_ok._replace(partitions={**last_ok.partitions, **seen}))
    report.seconds = (clock.now_ms() - start_ms) / 1000
    return report


def _partitions(directory: BrokerDirectory, topics: Sequence[str]) -> list[TopicPartition]:
    if not topics:
        return directory.partitions()
    return [one for topic in dict.fromkeys(topics) for one in directory.partitions(topic)]


def _record(report: Report, last_ok: LastSeen) -> None:
    """Put the `ok` on record, and say if that is not possible."""
    try:
        write_last_ok(last_ok)
    except OSError as error:
        why = f"this `ok` could not be recorded: {in_words(error)}"
        report.unchecked.append(Unchecked(Aspect.MESSAGES, "", why))


def _add(report: Report, verdict: PartitionVerdict) -> None:
    report.partitions.append(verdict.summary)
    report.add(verdict.findings)
    report.checked += [one for one in verdict.checked if one not in report.checked]
    report.unchecked += verdict.unchecked
