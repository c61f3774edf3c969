"""What `verify` finds at the places of one file, for the `dump` of such a place.

    offset 9, byte 0: size 26, crc ...
        verify says: offset-gap: 1 offset is missing: 8

The checks are those of `verify`, so class and words are the same. What is wrong at the border of a
segment shows only beside its neighbours. So the segment and the one on each side are read, and of
all others only where they begin and end. Source: ours.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from kminilog.cli.interrupts import interruptible_anywhere
from kminilog.cli.layout import partition_of_file
from kminilog.cli.log_dump import Dumped, findings_json, index_damage, index_slot
from kminilog.errors import KMiniLogError
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.names import INDEX_SUFFIX, TopicPartition
from kminilog.storage.log_dir import LogDir
from kminilog.storage.segment import Segment
from kminilog.verification.findings import Finding, FindingClass, is_in_index
from kminilog.verification.partition_checks import check_partition
from kminilog.verification.records import read_records
from kminilog.verification.segment_summary import (
    CheckSegment,
    Placement,
    SegmentSummary,
    check_for,
)

_OF_BYTES = {
    FindingClass.BAD_CRC,
    FindingClass.BAD_LENGTH,
    FindingClass.BAD_MAGIC,
    FindingClass.TORN_TAIL,
}
Findings = Mapping[int, Sequence[Finding]]
"""Findings by the byte of the file at which each is."""


def findings_in(path: Path, dialect: Dialect) -> Findings | None:
    """Return the findings in a `.log` or an `.index`; None if it belongs to no topic.

    None, too, if its topic has another dialect, or cannot be read. O(bytes of three segments).
    """
    partition = partition_of_file(path)
    if partition:
        with suppress(KMiniLogError, OSError):
            return _findings(LogDir(path.absolute().parent.parent), partition, path, dialect)
    return None


def _findings(
    log_dir: LogDir, partition: TopicPartition, path: Path, dialect: Dialect
) -> Findings | None:
    from kminilog.bulk.segment_checks import check_segment

    topic = log_dir.topic(partition.topic)
    reader = log_dir.reader(partition)
    names = [segment.name for segment in reader.segments()]
    if topic.dialect is not dialect or path.stem not in names:
        return None
    slot = names.index(path.stem)
    check = check_for(dialect, interruptible_anywhere(check_segment), strict_index=False)
    near = _only(names[max(slot - 1, 0) : slot + 2], check)
    known = read_records(log_dir.path).partitions_of(topic)[partition.partition]
    jobs = replace(known, placement=())
    found: dict[int, list[Finding]] = {}
    for finding in check_partition(reader, jobs, check_segment=near).findings:
        of_file = is_in_index(finding.kind) == (path.suffix == INDEX_SUFFIX)
        if finding.segment == path.stem and of_file and finding.position is not None:
            found.setdefault(finding.position, []).append(finding)
    return found


def _only(names: Sequence[str], check_segment: CheckSegment) -> CheckSegment:
    """Return a check for some segments, which takes the others as they say that they are."""

    def check(
        partition: TopicPartition,
        segment: Segment,
        placement: Placement,
        borders: Sequence[int] = (),
    ) -> SegmentSummary:
        if segment.name in names:
            return check_segment(partition, segment, placement, borders)
        first, end = segment.first_offset, segment.end_offset()
        return SegmentSummary(
            base_offset=segment.base_offset,
            name=segment.name,
            first_offset=first if end > first else None,
            last_offset=end - 1 if end > first else None,
            message_count=end - first,
            log_bytes=segment.file_bytes,
            index_entries=0,
            findings=[],
            unchecked=[],
            start_offset=first,
            next_offset=end,
        )

    return check


def said_of_message(dumped: Dumped, found: Findings) -> Dumped:
    """Return what is dumped with what `verify` finds where it begins."""
    findings = found.get(dumped.start, ())
    if dumped.message is None and not dumped.is_deep:
        for finding in findings:
            if finding.kind in _OF_BYTES:
                dumped = replace(dumped, fault=str(finding.kind), detail=finding.detail)
    return replace(dumped, findings=[f for f in findings if f.kind not in _OF_BYTES])


def said_of_entry(
    path: Path, at: int | None, record: dict[str, Any], found: Findings
) -> dict[str, Any]:
    """Return the JSON of an index entry with what `verify` finds there.

    `verify` judges each entry by itself. So behind a wrong one, the entry that holds the byte `at`
    is looked at alone, unless what is found there is found of all entries behind it, too.
    """
    if at is not None and record["offset"] is None:
        start = at - at % ENTRY_SIZE_BYTES
        if start in found or record["index_position"] not in found:
            record = index_slot(path, start)
    start = record["index_position"]
    findings = found.get(start, ())
    for finding in findings:
        if finding.kind == FindingClass.INDEX_ORDER:
            return index_damage(start, finding.detail, path.stat().st_size - start)
    return record | findings_json(findings)
