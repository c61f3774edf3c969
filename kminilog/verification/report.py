"""The report of `verify`: what checks add to it, and the forms in which it is shown.

A check of the storage and a comparison with a source make the same kind of report. Scripts depend
on the JSON form, so it is a contract. Source: ours.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kminilog.errors import KMiniLogError
from kminilog.pages import framed
from kminilog.progress import Progress, untold
from kminilog.storage.log_dir.log_dir import LogDir, why_no_log_dir
from kminilog.storage.topics import Topic
from kminilog.text import FIT_COLUMNS
from kminilog.verification.coverage import NO_SOURCE, Unchecked, coverage_of
from kminilog.verification.finding_parts import AllFindings, EveryFinding
from kminilog.verification.findings import Aspect, Finding, FindingKind, parse_classes
from kminilog.verification.html_report import BytesOf, ReportOrigin, render_html
from kminilog.verification.orphans import orphan_findings, topics_to_check
from kminilog.verification.partition_checks import check_partition
from kminilog.verification.records import SmallFiles, read_small_files
from kminilog.verification.results import Results
from kminilog.verification.segment_checks import check_segment
from kminilog.verification.summaries import (
    CheckSegment,
    PartitionSummary,
    check_for,
)
from kminilog.verification.text_report import report_lines


@dataclass
class Report(Results):
    """The results of a verification, as checks add them one after the other.

    `all_findings` takes every finding of the storage checks, if somebody wants more than samples.
    `findings_file` is where they are once the verification is over.
    """

    all_findings: AllFindings | None = None
    findings_file: EveryFinding | None = None

    def add(self, findings: Iterable[Finding]) -> None:
        """Count findings of the storage checks."""
        for finding in findings:
            self.tally.add(finding)
            if self.all_findings:
                self.all_findings.add(finding)

    def add_topic(self, topic: Topic, summaries: Iterable[PartitionSummary]) -> None:
        """Add all partitions of a topic with their findings, and what was checked in them."""
        kept = []
        for summary in summaries:
            self.partitions.append(summary.to_json())
            self.add(summary.findings)
            kept.append(replace(summary, findings=[], checked=[]))
        is_named = self.scope["partitioner"] is not None
        checked, unchecked = coverage_of(topic, kept, is_partitioner_named=is_named)
        self.checked += [aspect for aspect in checked if aspect not in self.checked]
        has_source = self.scope.get("against") is not None  # it sees what digests would
        self.unchecked += [
            one for one in unchecked if not (has_source and one.what == Aspect.DIGESTS)
        ]

    def add_small_files(self, records: SmallFiles) -> None:
        """Add what is known of files of the log dir that belong to no partition.

        Of other topics, only what was asked and cannot be read counts.
        """
        topics = self.scope["topics"]
        self.add(finding for finding in records.findings if finding.topic in topics)
        self.unchecked += [one for one in records.unchecked if one.asked or one.where in topics]

    def add_orphans(self, log_dir: LogDir, names: Collection[str]) -> None:
        """Add the directories that belong to no topic; with `names`, only those of these topics.

        Without `names`, a directory that is no log dir is `unchecked`.
        """
        self.add(orphan_findings(log_dir, names))
        if not names and (why := why_no_log_dir(log_dir)):
            self.unchecked.append(Unchecked(Aspect.MESSAGES, "", why, asked=True))

    def add_broken(self, errors: Iterable[Exception]) -> None:
        """Add topics that cannot be used: nothing of them was checked."""
        self.unchecked += [Unchecked(Aspect.MESSAGES, "", str(e), asked=True) for e in errors]

    @property
    def findings(self) -> EveryFinding:
        """Every finding, from the file where they are; ValueError if none was named."""
        if self.findings_file is None:
            raise ValueError("a report keeps samples; for every finding, verify with findings=FILE")
        return self.findings_file

    def to_json(self) -> dict[str, Any]:
        """Return what `verify --json` prints."""
        return {
            "verdict": self.verdict,
            "can_be_tried_again": self.can_be_tried_again,
            "engine": self.scope.get("engine"),
            "seconds": self.seconds,
            "scope": self.scope,
            "conservation": self.conservation,
            "partitions": self.partitions,
            "findings": [self._found_json(*one) for one in self.tally.counts().items()],
            "checked": [aspect.value for aspect in self.checked],
            "unchecked": [one.to_json() for one in self.unchecked],
            "allowed": sorted(self.allowed),
        }

    def _found_json(self, kind: FindingKind, count: int) -> dict[str, Any]:
        """Return one class; each sample also has its place as text, and the command."""
        samples = [
            {**sample.to_json(), "place": sample.place, "command": self.command(sample)}
            for sample in self.tally.samples(kind)
        ]
        return {
            "class": kind.value,
            "severity": kind.severity,
            "count": count,
            "samples": samples,
        }

    def to_lines(self, width: int = FIT_COLUMNS) -> Iterator[str]:
        """Yield the report as lines that know what their parts mean."""
        return report_lines(self, width)

    def to_text(self) -> str:
        """Return the report as lines of text."""
        return "\n".join(self.to_lines())

    def to_html(
        self, bytes_of: BytesOf = lambda sample: (), made: ReportOrigin | None = None
    ) -> str:
        """Return the report as one self-contained HTML page; see `render_html`."""
        return render_html(self, bytes_of, made)

    def _repr_html_(self) -> str:
        """Return the page in a frame, for a notebook."""
        return framed(self.to_html())


def verify_storage(
    log_dir: LogDir,
    topics: Sequence[str] = (),
    *,
    partitioner: str | None = None,
    allow: Collection[str] = (),
    progress: Progress = untold,
    check_segment: CheckSegment = check_segment,
) -> Report:
    """Check all stored files of some topics, or of all topics, in one process; return the report.

    Takes no lock; a writer may be at work. `check_segment` may be a faster equivalent. A topic
    whose settings file is broken, or that is being deleted, is `unchecked`, if none is named.
    Raises UnknownTopicOrPartitionError, and ValueError for an unknown class in `allow` or an
    unknown partitioner. O(bytes), memory O(segments). All that `verify` can do is in
    verification/account/job.py.
    """
    allowed = parse_classes(allow)
    broken: list[KMiniLogError | OSError] = []
    found = topics_to_check(log_dir, topics, broken.append)
    records = read_small_files(log_dir.path, partitioner)
    scope = {
        "log_dir": str(log_dir.path),
        "topics": [topic.name for topic in found],
        "partitioner": records.partitioner,
        "engine": "local",
    }
    report = Report(scope, allowed=allowed)
    for topic in found:
        check = check_for(topic.dialect, check_segment, strict_index=False)
        summaries = []
        for reader, jobs in zip(log_dir.readers(topic), records.partitions_of(topic), strict=True):
            progress(f"checking {reader.topic_partition}")
            summaries.append(check_partition(reader, jobs, check_segment=check))
        report.add_topic(topic, summaries)
    report.add_small_files(records)
    report.add_orphans(log_dir, topics)
    report.add_broken(broken)
    report.unchecked.append(NO_SOURCE)
    return report
