"""Check the segments of a partition together, and the other files in its directory.

Each segment is checked by itself first, in any order and in any process (Spark). This gives a small
summary of each segment; this module joins the summaries:

    the last message of a segment    only the next segment can tell if its offset was altered
    the first message                should continue where the segment before ended; if it does, and
                                     the name says another offset, the name is wrong; if it does
                                     not, but fits the name, messages are missing or there twice
    a torn tail                      is only possible in the last segment that is not empty
    an index that points past the    gets no second finding if the messages that it points to are
    end                              missing in front of the next segment
    what jobs wrote, and the end     see manifest_checks.py and end_checks.py

It sorts segments by their messages, not by their names. What a writer, retention or a job changes
in the directory meanwhile is no finding. Source: ours.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from kminilog.errors import LogDirError, in_words
from kminilog.format.dialect import Dialect
from kminilog.format.names import (
    CUT_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TopicPartition,
    parse_segment_file,
)
from kminilog.storage.checkpoint import LOG_START_FILE, read_checkpoint
from kminilog.storage.log_dir.compaction import are_joined
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.segment_names import segments_among
from kminilog.storage.segment.damage_scan import Damage, most_messages, no_tail
from kminilog.storage.segment.segment import Segment
from kminilog.verification.end_checks import judge_end, judge_gone, judge_start, log_end_offset
from kminilog.verification.findings import Finding, FindingClass
from kminilog.verification.job_digests import judge_digests, read_digests
from kminilog.verification.manifest_checks import PartitionJobs, compare, unaccounted
from kminilog.verification.offset_checks import OffsetFault, gap, overlap
from kminilog.verification.segment_checks import check_segment
from kminilog.verification.summaries import (
    CheckSegment,
    PartitionSummary,
    SegmentSummary,
)
from kminilog.verification.swaps import name_swaps

_BAD_BYTES = (
    FindingClass.BAD_CRC,
    FindingClass.BAD_LENGTH,
    FindingClass.BAD_MAGIC,
    FindingClass.TORN_TAIL,
)
_LOOKS = 500  # the two files of a segment appear and vanish one after the other


def segment_check() -> CheckSegment:
    """Return `check_segment`, or its fast twin if numpy and pyarrow are installed."""
    try:
        from kminilog.verification.fast_segment_checks import check_segment as fast
    except ModuleNotFoundError:
        return check_segment
    return fast


def check_partition(
    reader: PartitionReader,
    jobs: PartitionJobs | None = None,
    *,
    check_segment: CheckSegment = check_segment,
    is_full: bool = False,
) -> PartitionSummary:
    """Check every segment of a partition, then all together; O(bytes), memory O(segments).

    Compares them also with what committed `jobs` wrote, and keys with where these put them.
    `check_segment` may be a faster equivalent. With `is_full`, it compares digests of all bytes
    that jobs wrote, too. A directory or a file that cannot be read becomes `unchecked`; one that is
    gone is a finding.
    """
    jobs = jobs or PartitionJobs()
    while True:
        try:
            segments = reader.segments()
        except (LogDirError, OSError) as error:
            return join_segments(reader, [], jobs, failure=in_words(error))
        if is_full:
            jobs = replace(jobs, digests=read_digests(reader, jobs.untrusted()))
        check = partial(_check, check_segment, reader.topic_partition, jobs, jobs.borders)
        summaries = [*map(check, segments)]
        checked = join_segments(reader, summaries, jobs)
        if not was_compacted(reader, [segment.base_offset for segment in segments], summaries):
            return checked
        jobs = replace(jobs, trusted={})  # these segments are others now


def _check(
    check_segment: CheckSegment,
    topic_partition: TopicPartition,
    jobs: PartitionJobs,
    borders: Sequence[int],
    segment: Segment,
) -> SegmentSummary:
    known = jobs.trusted.get(segment.base_offset)
    with suppress(OSError):
        if known and known.log_bytes == segment.file_bytes:
            return known
        if known and known.log_bytes > segment.file_bytes:
            known = None
    return check_segment(topic_partition, segment, jobs.placement, borders, known=known)


def was_compacted(
    reader: PartitionReader, base_offsets: Collection[int], summaries: Iterable[SegmentSummary]
) -> bool:
    """Tell if segments that were listed have been joined, or moved, since: then check them again.

    The reader has then listed them anew.
    `summaries` are what was found out: a segment that was moved may not have been read.
    """
    with suppress(LogDirError, OSError):
        has_moved = any(s.unchecked for s in summaries) and reader.list_segments()
        if has_moved or are_joined(base_offsets, segments_among(reader.file_names())):
            reader.list_segments()
            return True
    return False


def join_segments(
    reader: PartitionReader,
    summaries: Sequence[SegmentSummary],
    jobs: PartitionJobs | None = None,
    *,
    failure: str | None = None,
) -> PartitionSummary:
    """Check the segments of a partition together, and the names in its directory.

    Ignores segments that retention has deleted meanwhile. The summaries must have the fingerprints
    between the borders of the `jobs`. `failure` says why the segments could not be listed:
    then nothing was checked, even if listing works again. O(segments + findings).
    """
    jobs = jobs or PartitionJobs()
    topic_partition, is_gone = reader.topic_partition, not os.path.lexists(reader.directory)
    names, strays, unchecked = set[str](), dict[str, str](), list[str]()
    if not is_gone:
        names, strays, unchecked = _list_directory(reader, failure)
    present = [s for s in summaries if s.name + LOG_SUFFIX in names]
    ordered = _in_message_order(reader.dialect, _settle_doubts(present))
    findings, unjudged = _join(topic_partition, reader.dialect, ordered), jobs.unjudged
    if is_gone:
        findings = judge_gone(topic_partition, jobs)
    elif not unchecked:
        findings, unjudged = _compare_with_records(reader, jobs, ordered, findings)
    message_count = sum(s.message_count for s in ordered)
    readable_until, passed = _readable(reader.dialect, ordered)
    return PartitionSummary(
        *topic_partition,
        log_start_offset=ordered[0].start_offset if ordered else 0,
        log_end_offset=log_end_offset(ordered),
        message_count=message_count,
        size_bytes=sum(s.log_bytes for s in ordered),
        segment_count=len(ordered),
        findings=[*findings, *_stray_findings(topic_partition, strays)],
        unchecked=[*unchecked, *(why for s in ordered for why in s.unchecked)],
        compressed_count=sum(s.compressed_count for s in ordered),
        unplaced_count=sum(s.unplaced_count for s in ordered),
        has_placement=bool(jobs.placement),
        has_jobs=bool(jobs.staged or jobs.findings),
        has_recovery_point=jobs.recovery_point is not None,
        has_log_start=jobs.log_start is not None,
        has_digests=jobs.digests is not None,
        unjudged=unjudged,
        notes=[note for s in ordered for note in s.notes],
        segments=[s.to_json() for s in ordered],
        trusted_until=jobs.trusted_end if jobs.trusted else None,
        checked=jobs.accounted_for(ordered),
        readable_until=readable_until,
        valid_after_damage=None if readable_until is None else message_count - passed,
    )


def _compare_with_records(
    reader: PartitionReader,
    jobs: PartitionJobs,
    ordered: Sequence[SegmentSummary],
    findings: Sequence[Finding],
) -> tuple[list[Finding], list[str]]:
    """Return all findings of a partition, and what is unjudged, by what is on record of it."""
    topic_partition = reader.topic_partition
    found, unjudged = compare(topic_partition, jobs, ordered, findings)
    found = name_swaps(reader, jobs, found)
    now = _with_records_now(reader, jobs, ordered)
    found = judge_start(topic_partition, now, ordered, found)
    if jobs.digests is not None:
        found, other = judge_digests(reader, jobs, jobs.digests, found)
        unjudged = [*unjudged, *other]
    start = ordered[0].start_offset if ordered else 0
    unjudged = [*unjudged, *unaccounted(now, start, log_end_offset(ordered))]
    return judge_end(topic_partition, now, ordered, found), unjudged


def _with_records_now(
    reader: PartitionReader, jobs: PartitionJobs, ordered: Sequence[SegmentSummary]
) -> PartitionJobs:
    """Read again where the log ends, and begins, if it does not: a cut lowers the recovery point
    first, and retention raises the log start first."""
    log_dir, topic_partition = reader.directory.parent, reader.topic_partition
    known = jobs.recovery_point or 0
    if known > log_end_offset(ordered):
        now = read_checkpoint(log_dir).get(topic_partition, known)
        jobs = replace(jobs, recovery_point=min(now, known))
    if jobs.log_start is not None and ordered and ordered[0].start_offset > jobs.log_start:
        start = read_checkpoint(log_dir, LOG_START_FILE).get(topic_partition, jobs.log_start)
        jobs = replace(jobs, log_start=max(start, jobs.log_start))
    return jobs


# ---- the directory


def _list_directory(
    reader: PartitionReader, failure: str | None
) -> tuple[set[str], dict[str, str], list[str]]:
    """Return all names in a directory, why each that should not be there is wrong, and why nothing
    was checked."""
    unchecked = [failure] if failure else []
    try:
        names = set(reader.file_names())
        strays = _strays(names)
        for _ in range(_LOOKS):
            if not strays:
                break
            again = _strays(set(reader.file_names()))
            strays = {name: reason for name, reason in strays.items() if name in again}
        return names, strays, unchecked
    except OSError as error:
        why = f"{error.filename or reader.directory}: {error.strerror}"
        return set(), {}, unchecked or [why]


def _stray_findings(
    topic_partition: TopicPartition, strays: Mapping[str, str]
) -> Iterator[Finding]:
    for name, reason in strays.items():
        segment = name.removesuffix(INDEX_SUFFIX) if parse_segment_file(name) else None
        detail = reason if segment else f"{name}: {reason}"  # the place has the segment's name
        yield Finding(FindingClass.ORPHAN_FILE, *topic_partition, detail, segment)


def _strays(names: set[str]) -> dict[str, str]:
    strays = {}
    for name in sorted(names):
        parsed = parse_segment_file(name)
        if parsed and parsed[1] == INDEX_SUFFIX:
            log_name = name.removesuffix(INDEX_SUFFIX) + LOG_SUFFIX
            if not {log_name, log_name + DELETED_SUFFIX} & names:
                strays[name] = "an index without a log; `kminilog recover` removes it"
        elif not parsed and not name.endswith((CUT_SUFFIX, DELETED_SUFFIX)):
            strays[name] = "not a file of a partition; move it away"
    return strays


# ---- the segments


def _settle_doubts(summaries: Sequence[SegmentSummary]) -> list[SegmentSummary]:
    """Decide by the next segment whether the last offset of a segment was altered."""
    settled = list(summaries)
    for slot in range(len(settled) - 1):
        summary, following = settled[slot], settled[slot + 1]
        if not summary.undecided or following.start_offset != summary.undecided.expected_offset + 1:
            continue
        finding, expected = summary.undecided
        detail = f"offset {summary.last_offset}, expected {expected}"
        if summary.last_offset == expected + 1 and following.first_offset == expected:
            detail = f"offsets {expected + 1} and {expected} have changed places"
            settled[slot + 1] = _without(following, FindingClass.OFFSET_DISORDER, position=0)
        altered = finding._replace(
            kind=FindingClass.OFFSET_DISORDER, detail=detail, offset=expected
        )
        is_only_one = finding.kind == FindingClass.NAME_BASE_MISMATCH
        settled[slot] = summary._replace(
            findings=[altered if found == finding else found for found in summary.findings],
            start_offset=expected if is_only_one else summary.start_offset,
            next_offset=expected + 1,
        )
    return settled


def _without(
    summary: SegmentSummary, kind: FindingClass, *, position: int | None = None
) -> SegmentSummary:
    kept = [
        found
        for found in summary.findings
        if found.kind != kind or (position is not None and found.position != position)
    ]
    return summary._replace(findings=kept)


def _in_message_order(
    dialect: Dialect, summaries: Iterable[SegmentSummary]
) -> list[SegmentSummary]:
    def key(summary: SegmentSummary) -> tuple[int, bool, int]:
        start, base_offset = summary.start_offset, summary.base_offset
        return start, start != dialect.first_offset(base_offset), base_offset

    return sorted(summaries, key=key)


def _join(
    topic_partition: TopicPartition, dialect: Dialect, ordered: Sequence[SegmentSummary]
) -> list[Finding]:
    """Return all findings of segments that are in the order of their messages."""
    findings: list[Finding] = []
    missing: list[range] = []
    reach: Sequence[int] = ()  # where the next segment may begin; empty: anywhere
    last: SegmentSummary | None = None  # the segment that has the messages in front of it
    last_filled = max((slot for slot, s in enumerate(ordered) if s.log_bytes), default=0)
    for slot, summary in enumerate(ordered):
        if slot < last_filled:
            in_the_middle = [
                _as_damage(found) if found.kind == FindingClass.TORN_TAIL else found
                for found in summary.findings
            ]
            summary = summary._replace(findings=in_the_middle)
        if reach and summary.start_offset not in reach:
            fault = _boundary_fault(summary, reach)
            named = dialect.first_offset(summary.base_offset)
            if named in reach or fault.kind != FindingClass.OFFSET_GAP:
                summary = _without(summary, FindingClass.NAME_BASE_MISMATCH)
            finding = Finding(fault.kind, *topic_partition, fault.detail, summary.name)
            findings.append(finding._replace(offset=summary.start_offset, position=0))
            missing.append(fault.concerned)
        elif last and reach and summary.start_offset > reach[0] + 1:
            place = last.name, last.damaged_from
            said = f"; {summary.start_offset - reach[0]} messages were in these bytes"
            findings = [
                found._replace(detail=found.detail + said)
                if (found.segment, found.position) == place and found.kind in _BAD_BYTES
                else found
                for found in findings
            ]
        findings += summary.findings
        if not (reach and summary.next_offset is not None and summary.next_offset < reach[0]):
            last, reach = summary, _reach(dialect, summary)  # else a copy of messages before it
    return [found for found in findings if not _is_consequence(found, missing)]


def _readable(dialect: Dialect, ordered: Sequence[SegmentSummary]) -> tuple[int | None, int]:
    """Return where a reader from the log start ends at a fault, None if nowhere, and how many
    messages are not after that."""
    passed, expected = 0, None
    for summary in ordered:
        named = dialect.first_offset(summary.base_offset)
        if expected not in (None, named):
            return expected, passed
        if summary.readable:
            return summary.readable[0], passed + summary.readable[1]
        passed, expected = passed + summary.message_count, summary.next_offset
    return None, passed


def _reach(dialect: Dialect, summary: SegmentSummary) -> Sequence[int]:
    """Return the offsets with which the next segment may begin; empty if nobody knows."""
    if summary.next_offset is None:
        return ()
    lost_count = 0
    if summary.damaged_from is not None:
        lost_count = max(most_messages(dialect, summary.log_bytes - summary.damaged_from), 1)
    return range(summary.next_offset, summary.next_offset + 1 + lost_count)


def _boundary_fault(summary: SegmentSummary, reach: Sequence[int]) -> OffsetFault:
    start = summary.start_offset
    if start > reach[-1]:
        return gap(range(reach[-1], start))
    fault = overlap(start, reach[0])
    if summary.first_offset is None:
        detail = f"its name says offset {start}, but {reach[0]} comes next"
        return fault._replace(kind=FindingClass.NAME_BASE_MISMATCH, detail=detail)
    return fault


def _as_damage(torn: Finding) -> Finding:
    kind, _, detail = no_tail(Damage(torn.kind, torn.position or 0, torn.detail))
    return torn._replace(kind=FindingClass(kind), detail=detail)


def _is_consequence(finding: Finding, missing: Iterable[range]) -> bool:
    """Tell if an index entry points past the end only because its message is missing."""
    return finding.kind == FindingClass.INDEX_PAST_END and any(
        finding.offset in offsets for offsets in missing
    )
