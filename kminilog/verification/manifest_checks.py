"""What the manifests of a topic's jobs say, against themselves and against what is stored.

    altered             a range has as many messages as its job wrote, but another fingerprint
    manifest-mismatch   a manifest contradicts itself or another one

One damage, one finding. In a range where something else is wrong, nothing is `altered`; a range
with another number of messages is not judged at all: retention has deleted some, or whatever is
missing has its finding. A manifest that contradicts itself is believed only in those of its
partitions that do not, and not in where these end. Messages between the jobs are those of other
producers. What was cut off a log is on record (storage/cuts.py): there a job ends earlier, and a
later one may have the same offsets.

First `jobs_of` reads the manifests, then segments are checked, which add up the fingerprints of
ranges between `borders`, then `compare` tells the findings of a partition; where it ends is judged
in end_checks.py. Source: ours.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from kminilog.format.names import TopicPartition
from kminilog.storage.cuts import Cut, cuts_of_job
from kminilog.storage.publish.manifests import Manifest, StagedPartition
from kminilog.verification.findings import Finding, FindingClass, severity
from kminilog.verification.segment_summary import SegmentSummary

_UNKNOWN_PARTITION = -1


@dataclass
class PartitionJobs:
    """What committed jobs wrote to a partition: `staged` are those that can be believed, by offset.

    `findings` are about the manifests alone; `end` is where the last of these jobs ends, if that
    can be believed, and `last_job` its id. `cuts` are what was cut off its end; `unjudged` tells of
    ranges that a cut has made too short for their fingerprints. Up to the `recovery_point` the log
    was on the disk; None if nobody knows.
    """

    staged: list[tuple[str, StagedPartition]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    end: int = 0
    last_job: str = ""
    cuts: list[Cut] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    recovery_point: int | None = None

    @property
    def borders(self) -> list[int]:
        """The borders of all ranges that have a fingerprint; what is between two may have none."""
        rows = (row for _, staged in self.staged for row in staged.fingerprints)
        return sorted({border for first, count, _ in rows for border in (first, first + count)})


def jobs_of(
    topic: str, partitions: int, manifests: Iterable[Manifest], cuts: Iterable[Cut] = ()
) -> list[PartitionJobs]:
    """Return what the manifests of a topic say of each of its partitions, and what was cut off.

    What is wrong with a manifest as a whole is a finding of partition 0, at a place unknown.
    """
    jobs = [PartitionJobs() for _ in range(partitions)]
    for cut in cuts:
        if cut.topic == topic and cut.partition < partitions:
            jobs[cut.partition].cuts.append(cut)
    for manifest in manifests:
        if manifest.topic == topic:
            _take(topic, jobs, manifest)
    for number, partition in enumerate(jobs):
        _order(TopicPartition(topic, number), partition)
    return jobs


def _take(topic: str, jobs: list[PartitionJobs], manifest: Manifest) -> None:
    """Add what one manifest says, as far as it can be believed."""
    contradictions = 0
    named = [staged.partition for staged in manifest.partitions]
    for slot, staged in enumerate(manifest.partitions):
        number = staged.partition
        reason = _contradiction(staged, len(jobs))
        if not reason and named.count(number) > 1:  # which of them is right?
            contradictions += 1
            if number not in named[:slot] or number in named[slot + 1 :]:
                continue
            reason = f"it names partition {number} {named.count(number)} times"
        if not reason:
            _believe(manifest, staged, jobs[number])
            continue
        contradictions += 1
        is_known = 0 <= number < len(jobs)
        place = TopicPartition(topic, number if is_known else _UNKNOWN_PARTITION)
        offset = staged.first_offset if is_known else None
        found = mismatch(place, manifest.job_id, reason, offset)
        jobs[number if is_known else 0].findings.append(found)
    count, expected = sum(s.count for s in manifest.partitions), manifest.facts.get("count")
    if contradictions:
        return
    if expected is not None and expected != count:
        reason = f"it counts {expected} messages, but those of its partitions are {count}"
        place = TopicPartition(topic, _UNKNOWN_PARTITION)
        jobs[0].findings.append(mismatch(place, manifest.job_id, reason))
        for partition in jobs:  # an entry without fingerprints may be the one that is wrong
            partition.staged = [
                (job_id, staged)
                for job_id, staged in partition.staged
                if job_id != manifest.job_id or staged.fingerprints
            ]
        return
    for staged in manifest.partitions:
        partition = jobs[staged.partition]
        end = shortened(manifest, staged, partition.cuts).next_offset
        if end > partition.end:
            partition.end, partition.last_job = end, manifest.job_id


def _believe(manifest: Manifest, staged: StagedPartition, jobs: PartitionJobs) -> None:
    left = shortened(manifest, staged, jobs.cuts)
    if left.count or not staged.count:
        jobs.staged.append((manifest.job_id, left))
    judged = sum(count for _, count, _ in left.fingerprints)
    if staged.fingerprints and judged < left.count:
        first = left.first_offset + judged
        jobs.unjudged.append(
            f"offsets {first} to {left.next_offset - 1} of job {manifest.job_id}: the range that "
            "had a fingerprint was cut"
        )


def shortened(manifest: Manifest, staged: StagedPartition, cuts: Iterable[Cut]) -> StagedPartition:
    """Return what is left of what a job wrote to a partition: without what was cut off since."""
    gone = cuts_of_job(manifest, staged, cuts)
    if not gone:
        return staged
    end = gone[-1].first_offset
    rows = [row for row in staged.fingerprints if row[0] + row[1] <= end]
    return replace(staged, next_offset=end, fingerprints=rows)


def _contradiction(staged: StagedPartition, partitions: int) -> str | None:
    """Return what one entry of a manifest gets wrong by itself."""
    if not 0 <= staged.partition < partitions:
        return f"it names partition {staged.partition}, the topic has {partitions}"
    if not 0 <= staged.first_offset <= staged.next_offset:
        return f"offsets {staged.first_offset} to {staged.next_offset} are no range"
    counted = [(first, end - first) for first, end in pairwise(_borders(staged))]
    if counted != [(first, count) for first, count, _ in staged.fingerprints]:
        return (
            f"its fingerprints are not those of {staged.count} messages from offset "
            f"{staged.first_offset} on"
        )
    return None


def _borders(staged: StagedPartition) -> list[int]:
    """Return where the ranges of a job begin, and last where they should end; none if none do."""
    firsts = [first for first, _, _ in staged.fingerprints]
    return [staged.first_offset, *firsts[1:], staged.next_offset] if firsts else []


def _order(topic_partition: TopicPartition, jobs: PartitionJobs) -> None:
    """Put the jobs of a partition in the order of their offsets; no two can have the same ones."""
    jobs.staged.sort(key=lambda job: (job[1].first_offset, job[0]))
    kept: list[tuple[str, StagedPartition]] = []
    for job_id, staged in jobs.staged:
        before, end = (kept[-1][0], kept[-1][1].next_offset) if kept else ("", 0)
        if staged.first_offset < end:
            reason = f"offsets {staged.first_offset} to {min(end, staged.next_offset) - 1} are "
            reason += f"those of job {before} too"
            found = mismatch(topic_partition, job_id, reason, staged.first_offset)
            jobs.findings.append(found)
        else:
            kept.append((job_id, staged))
    jobs.staged = kept


def compare(
    topic_partition: TopicPartition,
    jobs: PartitionJobs,
    segments: Sequence[SegmentSummary],
    findings: Sequence[Finding],
) -> list[Finding]:
    """Return the findings of a partition with those by the manifests.

    `segments` in the order of their messages. O(ranges + findings).
    """
    wrong = [found for found in findings if severity(found.kind) == "error"]
    by_jobs = [*jobs.findings, *_altered(topic_partition, jobs, segments, wrong)]
    return [*findings, *by_jobs]


def _altered(
    topic_partition: TopicPartition,
    jobs: PartitionJobs,
    segments: Sequence[SegmentSummary],
    wrong: Sequence[Finding],
) -> list[Finding]:
    stored: dict[int, tuple[int, int]] = {}
    for segment in segments:
        for first, count, total in segment.fingerprints:
            before = stored.get(first, (0, 0))
            stored[first] = (before[0] + count, (before[1] + total) % 2**64)
    altered = []
    for job_id, staged in jobs.staged:
        for first, count, total in staged.fingerprints:
            if stored.get(first, (0, 0))[0] != count or stored[first][1] == total:
                continue
            if not any(_concerns(f, first, first + count, segments) for f in wrong):
                detail = (
                    f"something in offsets {first} to {first + count - 1} is not what job "
                    f"{job_id} wrote"
                )
                names = [s.name for s in segments if s.start_offset <= first]
                name = names[-1] if names else None
                found = Finding(FindingClass.ALTERED, *topic_partition, detail, name, first)
                altered.append(found._replace(last_offset=first + count - 1))
    return altered


def _concerns(found: Finding, first: int, end: int, segments: Sequence[SegmentSummary]) -> bool:
    """Tell if a finding is inside of some offsets, or may be: samples stand for others."""
    if found.stands_for > 1:
        return any(
            s.name == found.segment and s.start_offset < end and (s.next_offset or end) > first
            for s in segments
        )
    return found.offset is not None and first <= found.offset < end


def misnamed(manifest: Manifest, file_name: str) -> Finding:
    """Return the finding about a manifest in a file that is not named by its job."""
    place = TopicPartition(manifest.topic, _UNKNOWN_PARTITION)
    return mismatch(place, manifest.job_id, f"it stands in the file {file_name}")


def mismatch(
    topic_partition: TopicPartition, job_id: str, reason: str, offset: int | None = None
) -> Finding:
    """Return a finding about what a job's manifest says."""
    detail = f"manifest of job {job_id}: {reason}"
    return Finding(FindingClass.MANIFEST_MISMATCH, *topic_partition, detail, offset=offset)
