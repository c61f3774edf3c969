"""What is known of one partition once it is checked: its content, segment by segment, and findings.

partition_checks.py makes it; a report prints it. Source: ours.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kminilog.verification.findings import Finding
from kminilog.verification.segment_summary import SegmentSummary


class SegmentRow(NamedTuple):
    """One segment of a partition; offsets are those of whole messages, None if there is none."""

    name: str
    first_offset: int | None
    last_offset: int | None
    message_count: int
    size_bytes: int
    index_entry_count: int

    @classmethod
    def of(cls, summary: SegmentSummary) -> "SegmentRow":
        """Return the row of a checked segment."""
        return cls(
            summary.name,
            summary.first_offset,
            summary.last_offset,
            summary.message_count,
            summary.log_bytes,
            summary.index_entries,
        )

    def to_json(self, finding_count: int) -> dict[str, Any]:
        """Return what `verify --json` prints under `segments` of a partition."""
        row = self._asdict()
        return {"segment": row.pop("name"), **row, "finding_count": finding_count}


@dataclass(frozen=True)
class PartitionSummary:
    """The content of a partition, and its findings.

    `log_end_offset` counts damaged messages, except at the very end. `unchecked` says why files
    could not be read; `unjudged` names ranges of jobs that could not be compared. `has_jobs`,
    `has_log_start`, `has_recovery_point`, `has_digests` and `has_placement` tell with what the log
    could be compared. Of `unplaced_count` messages with keys nobody knows where they belong.
    """

    topic: str
    partition: int
    log_start_offset: int
    log_end_offset: int
    message_count: int
    size_bytes: int
    segment_count: int
    findings: list[Finding]
    unchecked: list[str]
    compressed_count: int = 0
    unplaced_count: int = 0
    has_placement: bool = False
    has_jobs: bool = False
    has_recovery_point: bool = False
    has_log_start: bool = False
    has_digests: bool = False
    unjudged: list[str] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    segments: list[SegmentRow] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return what `verify --json` prints under `partitions`, with the number of findings."""
        counts = Counter[str | None]()
        for finding in self.findings:
            counts[finding.segment] += finding.stands_for
        rows = [row.to_json(counts[row.name]) for row in self.segments]
        return {
            "topic": self.topic,
            "partition": self.partition,
            "log_start_offset": self.log_start_offset,
            "log_end_offset": self.log_end_offset,
            "message_count": self.message_count,
            "size_bytes": self.size_bytes,
            "segment_count": self.segment_count,
            "finding_count": counts.total(),
            "segments": rows,
        }
