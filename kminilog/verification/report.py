"""From findings to a verdict.

    findings   there is a finding whose class is not allowed              exit code 1
    partial    no such finding, but a check that was asked is missing     exit code 2
    ok         no such finding, and all checks that were asked are done   exit code 0

A check of the storage and a comparison with a source make the same kind of report. Only the latter
has a `conservation`, the equation that accounts for every record. Scripts depend on the JSON form,
so it is a contract. Source: ours.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from kminilog.errors import KMiniLogError
from kminilog.storage.log_dir import LogDir
from kminilog.storage.topics import Topic
from kminilog.verification.commands import showing_command
from kminilog.verification.coverage import NO_SOURCE, Aspect, Unchecked, coverage_of
from kminilog.verification.findings import FindingClass, Tally, parse_classes
from kminilog.verification.orphans import orphan_findings, topics_to_check, why_no_log_dir
from kminilog.verification.partition_checks import check_partitions
from kminilog.verification.records import Records, read_records
from kminilog.verification.segment_checks import check_segment
from kminilog.verification.summaries import CheckSegment, PartitionSummary
from kminilog.verification.text_report import render_text, report_lines

if TYPE_CHECKING:
    from kminilog.verification.html_findings import BytesOf
    from kminilog.verification.html_report import ReportOrigin

_EXIT_CODES = {"ok": 0, "findings": 1, "partial": 2}


@dataclass
class Report:
    """What was checked, what was found, and what was not checked.

    `seconds` is how long the verification took; None if it was not measured.
    """

    scope: dict[str, Any]
    conservation: dict[str, Any] = field(default_factory=dict)
    partitions: list[dict[str, Any]] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    checked: list[Aspect] = field(default_factory=list)
    unchecked: list[Unchecked] = field(default_factory=list)
    allowed: frozenset[FindingClass] = frozenset()
    seconds: float | None = None

    def add_topic(self, topic: Topic, summaries: Iterable[PartitionSummary]) -> None:
        """Add all partitions of a topic with their findings, and what was checked in them."""
        summaries = list(summaries)
        for summary in summaries:
            self.partitions.append(summary.to_json())
            for finding in summary.findings:
                self.tally.add(finding)
        is_named = self.scope["partitioner"] is not None
        checked, unchecked = coverage_of(topic, summaries, is_partitioner_named=is_named)
        self.checked += [aspect for aspect in checked if aspect not in self.checked]
        has_source = self.scope.get("against") is not None  # it sees what digests would
        self.unchecked += [
            one for one in unchecked if not (has_source and one.what == Aspect.DIGESTS)
        ]

    def add_records(self, records: Records) -> None:
        """Add what is known of files of the log dir that belong to no partition.

        Of other topics, only what was asked and cannot be read counts.
        """
        topics = self.scope["topics"]
        for finding in records.findings:
            if finding.topic in topics:
                self.tally.add(finding)
        self.unchecked += [one for one in records.unchecked if one.asked or one.where in topics]

    def add_orphans(self, log_dir: LogDir, names: Collection[str]) -> None:
        """Add the directories that belong to no topic; with `names`, only those of these topics.

        Without `names`, a directory that is no log dir is `unchecked`.
        """
        for finding in orphan_findings(log_dir, names):
            self.tally.add(finding)
        if not names and (why := why_no_log_dir(log_dir)):
            self.unchecked.append(Unchecked(Aspect.MESSAGES, "", why, asked=True))

    def add_broken(self, errors: Iterable[Exception]) -> None:
        """Add topics that cannot be used: nothing of them was checked."""
        self.unchecked += [Unchecked(Aspect.MESSAGES, "", str(e), asked=True) for e in errors]

    @property
    def verdict(self) -> str:
        """One of "ok", "findings" and "partial"; the module says which when."""
        if self.tally.counts().keys() - self.allowed:
            return "findings"
        return "partial" if any(one.asked for one in self.unchecked) else "ok"

    @property
    def exit_code(self) -> int:
        """The exit code for the verdict: 0, 1 or 2."""
        return _EXIT_CODES[self.verdict]

    def to_json(self) -> dict[str, Any]:
        """Return what `verify --json` prints."""
        return {
            "verdict": self.verdict,
            "engine": self.scope.get("engine"),
            "seconds": self.seconds,
            "scope": self.scope,
            "conservation": self.conservation,
            "partitions": self.partitions,
            "findings": [self._with_places(found) for found in self.tally.to_json()],
            "checked": [aspect.value for aspect in self.checked],
            "unchecked": [one.to_json() for one in self.unchecked],
            "allowed": sorted(self.allowed),
        }

    def to_lines(self) -> Iterator[str]:
        """Yield the report as lines that know what their parts mean."""
        return report_lines(self.to_json())

    def to_text(self) -> str:
        """Return the report as lines of text."""
        return render_text(self.to_json())

    def to_html(
        self, bytes_of: "BytesOf" = lambda kind, sample: "", made: "ReportOrigin | None" = None
    ) -> str:
        """Return the report as one self-contained HTML page; see `render_html`."""
        from kminilog.verification.html_report import render_html  # only a page waits for it

        return render_html(self.to_json(), bytes_of, made)

    def _with_places(self, found: dict[str, Any]) -> dict[str, Any]:
        """Add to each sample its place as text, and the command that shows it."""
        samples = [
            {
                **sample.to_json(),
                "place": sample.place,
                "command": showing_command(sample, self.scope),
            }
            for sample in self.tally.samples(FindingClass(found["class"]))
        ]
        return {**found, "samples": samples}


def verify_storage(
    log_dir: LogDir,
    topics: Sequence[str] = (),
    *,
    partitioner: str | None = None,
    allow: Collection[str] = (),
    progress: Callable[[str], None] | None = None,
    check_segment: CheckSegment = check_segment,
) -> Report:
    """Check all stored files of some topics, or of all topics, in one process; return the report.

    Takes no lock; a writer may be at work. `check_segment` may be a faster equivalent. A topic
    whose settings file is broken, or that is being deleted, is `unchecked`, if none is named.
    Raises UnknownTopicOrPartitionError, and ValueError for an unknown class in `allow` or an
    unknown partitioner. O(bytes), memory O(segments). All that `verify` can do is in
    jobs/accounting/job.py.
    """
    allowed = parse_classes(allow)
    broken: list[KMiniLogError | OSError] = []
    found = topics_to_check(log_dir, topics, broken.append)
    records = read_records(log_dir.path, partitioner)
    scope = {
        "log_dir": str(log_dir.path),
        "topics": [topic.name for topic in found],
        "partitioner": records.partitioner,
        "engine": "local",
    }
    report = Report(scope, allowed=allowed)
    summaries = check_partitions(
        log_dir, found, records, check_segment=check_segment, progress=progress
    )
    for topic in found:
        report.add_topic(topic, islice(summaries, topic.partitions))
    report.add_records(records)
    report.add_orphans(log_dir, topics)
    report.add_broken(broken)
    report.unchecked.append(NO_SOURCE)
    return report
