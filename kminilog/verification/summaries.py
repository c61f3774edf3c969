"""What is known of a segment, and of a partition, once it is checked: its content and its findings.

The summary of a segment is small, and picklable, so that Spark can send it. The plain check of a
segment (segment_checks.py) and its fast twin return the same. partition_checks.py joins the
summaries of a partition into one; a report prints that. Source: ours.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

from kminilog.format.dialect import Dialect
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.partitioners.keyed_rules import KeyedRule
from kminilog.storage.segment.segment import Segment
from kminilog.text import count
from kminilog.verification.findings import Finding, FindingClass, NewRest

# ---- a segment


PartitionOf = Callable[[bytes], int]


@dataclass(frozen=True)
class KeyedPartition:
    """A `PartitionOf` by a keyed rule and a number of partitions; picklable."""

    rule: KeyedRule
    partitions: int

    def __call__(self, key: bytes) -> int:
        """Return the number of the partition where a key belongs."""
        return self.rule(key, self.partitions)


class PlacedRange(NamedTuple):
    """Messages from `first_offset` to `next_offset` - 1, whose keys belong where a rule says."""

    first_offset: int
    next_offset: int
    partition_of: PartitionOf


Placement = Sequence[PlacedRange]
"""What is known of where the keys of a partition belong: ascending ranges. Outside of them nobody
knows it: an empty placement knows nothing."""


def everywhere(partition_of: PartitionOf) -> Placement:
    """Return the placement of a partition all of whose keys belong where one rule says."""
    return (PlacedRange(0, MAX_OFFSET + 1, partition_of),)


def range_at(placement: Placement, offset: int) -> PlacedRange | None:
    """Return the range that holds an offset; None if nobody knows where its key belongs. O(log n).

    >>> placement = [PlacedRange(0, 5, len), PlacedRange(7, 9, len)]
    >>> [found and found.first_offset for at in (4, 5, 7) for found in [range_at(placement, at)]]
    [0, None, 7]
    """
    slot = bisect_right(placement, offset, key=lambda placed: placed.first_offset) - 1
    found = placement[slot] if slot >= 0 else None
    return found if found and offset < found.next_offset else None


class UndecidedFinding(NamedTuple):
    """A finding about the last message, which only the next segment can decide.

    If the next segment begins with `expected_offset` + 1, the message's offset was altered.
    """

    finding: Finding
    expected_offset: int


class SegmentSummary(NamedTuple):
    """The content of a segment, and its findings; small and picklable.

    `first_offset` and `last_offset` are those of valid messages; None if there is none. The segment
    covers the offsets from `start_offset` to `next_offset` - 1, with those of damaged messages;
    None means not known. From byte `damaged_from` to its end it is damaged, and more messages may
    have been there; None if it ends with a message. `unplaced_count` counts messages with keys of
    which nobody knows where they belong. `fingerprints` are the sums of the requested ranges, as
    `RangeSums.rows` returns them. `notes` are findings only by the strict rule. `readable` is the
    offset at which a reader ends at a fault, and how many messages are not after that fault.
    """

    base_offset: int
    name: str
    first_offset: int | None
    last_offset: int | None
    message_count: int
    log_bytes: int
    index_entries: int
    findings: list[Finding]
    unchecked: list[str]
    start_offset: int
    next_offset: int | None
    damaged_from: int | None = None
    undecided: UndecidedFinding | None = None
    compressed_count: int = 0
    unplaced_count: int = 0
    fingerprints: tuple[list[int], ...] = ()
    notes: tuple[Finding, ...] = ()
    readable: tuple[int, int] | None = None

    @classmethod
    def of_nothing(cls, segment: Segment) -> "SegmentSummary":
        """Return the summary of the first 0 bytes of a segment."""
        start = segment.first_offset
        return cls(
            segment.base_offset, segment.name, None, None, 0, 0, 0, [], [], start, next_offset=start
        )

    def to_json(self) -> dict[str, Any]:
        """Return what `verify --json` prints under `segments` of a partition, but its findings."""
        return {
            "segment": self.name,
            "first_offset": self.first_offset,
            "last_offset": self.last_offset,
            "message_count": self.message_count,
            "size_bytes": self.log_bytes,
            "index_entry_count": self.index_entries,
        }

    def by_appended_sets(self) -> "SegmentSummary":
        """Return the summary by Kafka's rule: a present index may lack any entries that are due.

        Kafka decides once for each appended set if an entry is due, kminilog for each message. A
        set may be as large as its segment, and no file shows where it ended. So an index of Kafka
        may hold any part of the entries that are due here, even none.
        """
        noted = [
            found
            for found in self.findings
            if found.kind == FindingClass.INDEX_SPARSE and found.offset is not None
        ]
        left = [found for found in self.findings if found not in noted]
        return self._replace(findings=left, notes=tuple(noted)) if noted else self


class CheckSegment(Protocol):
    """Checks one segment: `verification.segment_checks.check_segment`, or its fast twin."""

    def __call__(
        self,
        topic_partition: TopicPartition,
        segment: Segment,
        placement: Placement,
        borders: Sequence[int],
        /,
        *,
        known: SegmentSummary | None = None,
        rest: NewRest | None = None,
    ) -> SegmentSummary:
        """Return the content of a segment, and its findings; it reads what comes after `known`."""
        ...


def check_for(dialect: Dialect, check_segment: CheckSegment, *, strict_index: bool) -> CheckSegment:
    """Return the check for the segments of a topic; it is picklable if `check_segment` is.

    Kafka may have written files in the kafka dialect. So its rule applies, unless `strict_index`.
    """
    if strict_index or not dialect.is_kafkas:
        return check_segment
    return partial(_by_appended_sets, check_segment)


def _by_appended_sets(
    check_segment: CheckSegment, *arguments: Any, **options: Any
) -> SegmentSummary:
    return check_segment(*arguments, **options).by_appended_sets()


# ---- a partition


def readable_in_words(row: Mapping[str, Any]) -> str:
    """Return how far a log can be read, and what is valid after that; empty without damage.

    `row` is what `verify --json` prints of a partition.

    >>> row = {"log_start_offset": 0, "readable_until": 1, "valid_after_damage": 14}
    >>> readable_in_words(row)
    'readable up to offset 0, 14 valid messages after the damage'
    >>> readable_in_words({**row, "readable_until": 0, "valid_after_damage": 0})
    'not readable, no valid message after the damage'
    """
    until, after = row.get("readable_until"), row.get("valid_after_damage")
    if until is None:
        return ""
    valid = count(after, "valid message") if after else "no valid message"
    is_readable = until > row["log_start_offset"]
    upto = f"readable up to offset {until - 1}" if is_readable else "not readable"
    return f"{upto}, {valid} after the damage"


@dataclass(frozen=True)
class PartitionSummary:
    """The content of a partition, and its findings.

    `log_end_offset` counts damaged messages, except at the very end. `unchecked` says why files
    could not be read; `unjudged` names ranges of jobs that could not be compared. `has_jobs`,
    `has_log_start`, `has_recovery_point`, `has_digests` and `has_placement` tell with what the log
    could be compared. Of `unplaced_count` messages with keys nobody knows where they belong. Below
    `trusted_until` an earlier `ok` counts. `checked` are the segments, without their findings. From
    `readable_until` on, damage is in the way of a reader; `valid_after_damage` messages stand after
    it. Both are None without damage.
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
    segments: list[dict[str, Any]] = field(default_factory=list)
    trusted_until: int | None = None
    checked: list[SegmentSummary] = field(default_factory=list)
    readable_until: int | None = None
    valid_after_damage: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what `verify --json` prints under `partitions`, with the number of findings."""
        counts = Counter[str | None]()
        for finding in self.findings:
            counts[finding.segment] += finding.stands_for
        rows = [{**row, "finding_count": counts[row["segment"]]} for row in self.segments]
        return {
            "topic": self.topic,
            "partition": self.partition,
            "log_start_offset": self.log_start_offset,
            "log_end_offset": self.log_end_offset,
            "message_count": self.message_count,
            "size_bytes": self.size_bytes,
            "segment_count": self.segment_count,
            "trusted_until": self.trusted_until,
            "readable_until": self.readable_until,
            "valid_after_damage": self.valid_after_damage,
            "finding_count": counts.total(),
            "segments": rows,
        }
