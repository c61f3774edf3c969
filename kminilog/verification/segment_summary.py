"""What is known of one segment once it is checked, whoever checked it: small, and can be pickled.

The plain check of a segment (segment_checks.py) and a faster equal of it give the same summary;
those of a partition are joined in partition_checks.py. Source: ours.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.partitioners.keyed_rules import KeyedRule
from kminilog.storage.segment import Segment
from kminilog.verification.findings import Finding, FindingClass

PartitionOf = Callable[[bytes], int]


@dataclass(frozen=True)
class KeyedPartition:
    """A `PartitionOf` by a keyed rule, in a topic with so many partitions; can be pickled."""

    rule: KeyedRule
    partitions: int

    def __call__(self, key: bytes) -> int:
        """Return where a key belongs."""
        return self.rule(key, self.partitions)


class Doubt(NamedTuple):
    """A finding about the last message, for which there is no witness in the segment.

    If the next segment begins with `expected_offset` + 1, the message's offset was altered.
    """

    finding: Finding
    expected_offset: int


class SegmentSummary(NamedTuple):
    """What is in a segment and what is wrong with it; small, and can be pickled.

    `first_offset` and `last_offset` are those of whole messages, None if there is none. The segment
    accounts for the offsets from `start_offset` to `next_offset` - 1, damaged messages included,
    and perhaps for one more if it `ends_in_damage`. None: not known. `fingerprints` are the sums
    over the ranges that were asked for, as `RangeSums.rows` has them. `notes` would be findings by
    a stricter rule.
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
    ends_in_damage: bool = False
    doubt: Doubt | None = None
    compressed_count: int = 0
    fingerprints: tuple[list[int], ...] = ()
    notes: tuple[Finding, ...] = ()

    def by_appended_sets(self) -> "SegmentSummary":
        """Return the summary of an index in which Kafka may have left out entries.

        Kafka looks once for each appended set of messages if an entry is due, we for each message.
        A set may be as large as its segment, and nothing in a file tells where it ended. So an
        index that is there may hold any part of the entries that are due, even none.
        """
        noted = [
            found
            for found in self.findings
            if found.kind == FindingClass.INDEX_SPARSE and found.offset is not None
        ]
        left = [found for found in self.findings if found not in noted]
        return self._replace(findings=left, notes=tuple(noted)) if noted else self


CheckSegment = Callable[
    [TopicPartition, Segment, PartitionOf | None, Sequence[int]], SegmentSummary
]


def check_for(dialect: Dialect, check_segment: CheckSegment, *, strict_index: bool) -> CheckSegment:
    """Return the check of the segments of a topic; what it returns can be pickled, as the given is.

    A file in Kafka's dialect may be of Kafka's making, and is judged so unless told otherwise.
    """
    if strict_index or not dialect.is_kafkas:
        return check_segment
    return partial(_by_appended_sets, check_segment)


def _by_appended_sets(check_segment: CheckSegment, *arguments: Any) -> SegmentSummary:
    return check_segment(*arguments).by_appended_sets()
