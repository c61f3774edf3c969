"""Check that a log does not begin too late, or end too early, and that it is there.

    lost-partition      its directory is gone; how much was in it, as far as that is on record
    lost-start          it begins above its log start: retention has not deleted what is missing
    lost-end            it ends below its recovery point, up to which it was on the disk; or it once
                        did, as `.cuts` records: then new messages got the lost offsets
    manifest-mismatch   it ends before its last job ended, and the recovery point does not show it

One damage gets one finding. A log that ends in damage has a finding already; that then says how far
the log was on the disk, or how far its last job wrote. What a follower truncates is no loss.
Source: ours; Kafka uses the recovery point only to decide where recovery begins.
"""

from collections.abc import Sequence

from kminilog.format.names import TopicPartition
from kminilog.storage.partition.cuts import Cut, Reason
from kminilog.storage.partition.log_ends import Loss
from kminilog.text import agreeing, offsets
from kminilog.verification.findings import Finding, FindingClass
from kminilog.verification.manifest_checks import PartitionJobs, mismatch
from kminilog.verification.summaries import SegmentSummary

_LOST = {
    Reason.LOST: "on the disk, but missing when a writer opened the log",
    Reason.RECOVERY: "cut off by forced recovery, not all of it damaged",
}


def log_end_offset(segments: Sequence[SegmentSummary]) -> int:
    """Return the log end offset; damaged messages count, except at the very end of the log."""
    return max((s.next_offset or s.start_offset for s in segments), default=0)


def judge_gone(topic_partition: TopicPartition, jobs: PartitionJobs) -> list[Finding]:
    """Return the findings of a partition whose directory is gone."""
    start, end = jobs.log_start or 0, max(jobs.recovery_point or 0, jobs.end)
    held = "no checkpoint and no job names a message of it"
    if start < end:
        held = f"{offsets(range(start, end), 'were')} in it"
    way_out = "put it back, or let `kminilog topic delete` delete the rest"
    detail = f"the directory is gone; {held}; {way_out}"
    gone = Finding(FindingClass.LOST_PARTITION, *topic_partition, detail, offset=start)
    earlier = [_lost_before(cut, 0) for cut in jobs.cuts if cut.is_done and cut.reason in _LOST]
    return [*jobs.findings, gone, *earlier]


def judge_start(
    topic_partition: TopicPartition,
    jobs: PartitionJobs,
    segments: Sequence[SegmentSummary],
    findings: Sequence[Finding],
) -> list[Finding]:
    """Return the findings of a partition, and the one about its beginning.

    A log without segments has lost its end as well; that has a finding.
    """
    is_read = bool(segments) and not any(segment.unchecked for segment in segments)
    if not is_read or jobs.log_start is None or segments[0].start_offset <= jobs.log_start:
        return [*findings]
    missing = range(jobs.log_start, segments[0].start_offset)
    detail = Loss(topic_partition, missing, is_start=True).reason
    lost = Finding(FindingClass.LOST_START, *topic_partition, detail, offset=missing[0])
    return [lost, *findings]


def judge_end(
    topic_partition: TopicPartition,
    jobs: PartitionJobs,
    segments: Sequence[SegmentSummary],
    findings: Sequence[Finding],
) -> list[Finding]:
    """Return the findings of a partition, and those about its end.

    `segments` are in the order of their messages. An index entry for a message that is missing at
    the end gets no finding of its own.
    """
    end = log_end_offset(segments) if segments else jobs.log_start or 0
    known_end, job_end = jobs.recovery_point or 0, 0 if jobs.findings else jobs.end
    # If a crash has interrupted a cut, only the part that was made counts.
    cuts = [c for c in jobs.cuts if c.is_done or c.first_offset <= end < c.next_offset]
    lost = [_lost_before(cut, end) for cut in cuts if cut.reason in _LOST]
    if any(s.unchecked for s in segments):
        return [*findings, *lost]
    last_filled = [segment for segment in segments if segment.log_bytes][-1:]
    if any(one.damaged_from is not None or one.undecided for one in last_filled):
        return [*(_with_end(found, end, jobs) for found in findings), *lost]
    missing = range(end, max(known_end, job_end))
    kept = [
        found
        for found in findings
        if found.kind != FindingClass.INDEX_PAST_END or found.offset not in missing
    ]
    if missing and all(cut.is_done for cut in cuts):
        found = _missing(topic_partition, jobs, missing, is_known=known_end > end)
        if segments:
            found = found._replace(segment=segments[-1].name, position=segments[-1].log_bytes)
        lost.append(found)
    return kept + lost


def _with_end(found: Finding, end: int, jobs: PartitionJobs) -> Finding:
    known_end, job_end = jobs.recovery_point or 0, 0 if jobs.findings else jobs.end
    if found.offset != end or max(known_end, job_end) <= end + 1:
        return found
    more = f"the log was on the disk up to {known_end - 1}"
    if job_end > known_end:
        more = f"job {jobs.last_job} wrote offsets up to {job_end - 1}"
    return found._replace(detail=f"{found.detail}; {more}")


def _lost_before(cut: Cut, end: int) -> Finding:
    gone = range(cut.first_offset, cut.next_offset)
    again = max(min(end, gone.stop) - gone.start, 0)
    which = f"{again} of them {agreeing('have', again)}"
    if len(gone) == 1:
        which = "it has" if again else "it has not"
    detail = f"{offsets(gone, 'were')} {_LOST[cut.reason]}; {which} been given out again"
    return Finding(FindingClass.LOST_END, *cut.topic_partition, detail, offset=cut.first_offset)


def _missing(
    topic_partition: TopicPartition, jobs: PartitionJobs, missing: range, *, is_known: bool
) -> Finding:
    if not is_known:
        reason = f"it wrote offsets up to {missing[-1]}, the log ends before {missing[0]}"
        return mismatch(topic_partition, jobs.last_job, reason, missing[0])
    detail = Loss(topic_partition, missing, is_start=False).reason
    return Finding(FindingClass.LOST_END, *topic_partition, detail, offset=missing[0])
