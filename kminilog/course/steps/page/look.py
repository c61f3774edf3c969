"""What a page about a log dir is made of: partitions, segments, groups and findings.

These are values only; whoever reads the files makes them. An offset that is not known is None.
Source: ours.
"""

from typing import NamedTuple


class SegmentLook(NamedTuple):
    """One segment; `entry_offsets` has the offset of each index entry, or nothing if too many."""

    name: str
    first_offset: int
    next_offset: int
    log_bytes: int
    index_entries: int
    entry_offsets: tuple[int, ...] = ()

    @property
    def message_count(self) -> int:
        """How many messages the offsets have room for."""
        return self.next_offset - self.first_offset


class GroupLook(NamedTuple):
    """How far a group has read a partition, as `group describe` tells it."""

    group: str
    committed: int | None
    lag: int | None
    is_above_log_end: bool = False


class FindingLook(NamedTuple):
    """One finding of `verify`, and the command that shows it; `comes_from` may be empty."""

    kind: str
    severity: str
    partition: str
    place: str
    detail: str
    command: str
    offset: int | None = None
    last_offset: int | None = None
    comes_from: str = ""


class PartitionLook(NamedTuple):
    """One partition. With a `failure`, it could not be read, and most of the rest is not known.

    `finding_count` is that of `verify`, which also counts the findings that it does not keep.
    """

    name: str
    log_start_offset: int = 0
    log_end_offset: int = 0
    size_bytes: int = 0
    segments: tuple[SegmentLook, ...] = ()
    recovery_point: int | None = None
    groups: tuple[GroupLook, ...] = ()
    findings: tuple[FindingLook, ...] = ()
    finding_count: int = 0
    failure: str = ""

    @property
    def message_count(self) -> int:
        """How many messages the offsets of all segments have room for."""
        return sum(segment.message_count for segment in self.segments)

    @property
    def entry_count(self) -> int:
        """How many index entries all segments have."""
        return sum(segment.index_entries for segment in self.segments)


class LogDirLook(NamedTuple):
    """A log dir, or one topic of it.

    elsewhere    findings in none of these partitions
    counts       of each class of findings, how many there are, and how many of them are shown
    not_checked  what `verify` did not check, and why
    not_read     what else could not be read, and why
    left_out     how many partitions are not shown
    """

    path: str
    verdict: str
    partitions: tuple[PartitionLook, ...]
    elsewhere: tuple[FindingLook, ...] = ()
    counts: tuple[tuple[str, int, int], ...] = ()
    not_checked: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()
    left_out: int = 0
