"""Compare the manifests of a topic's jobs with each other and with what is stored.

    altered             a range has as many messages as its job wrote, but another fingerprint
    manifest-mismatch   a manifest contradicts itself or another one

One damage gets one finding. A range that has another finding is not `altered` as well. A range with
another number of messages cannot be compared: retention deleted some, or what is missing has its
own finding. `compare` names each range that it could not compare, because it may hide a second
damage. If a manifest contradicts itself for one partition, its other partitions still count, but
not where they end. Messages between the jobs come from other producers. If messages were cut off a
log (by `cuts`), a job ends earlier there, and a later job may have the same offsets.

Three steps: `jobs_of` reads the manifests. The check of each segment sums up the fingerprints of
the ranges between `borders`. `compare` returns the findings of a partition; end_checks.py checks
where it ends. Source: ours.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.storage.manifests import Manifest, StagedPartition
from kminilog.storage.partition.cuts import Cut, cuts_of_job
from kminilog.text import agreeing, count, offsets
from kminilog.verification.findings import Finding, FindingClass
from kminilog.verification.summaries import Placement, SegmentSummary

UNKNOWN_PARTITION = -1


@dataclass
class PartitionJobs:
    """What committed jobs wrote to a partition; `staged` has the valid entries, by offset.

    `placement` says where keys belong, as far as that is known. `findings` are about the manifests
    alone. `end` is where the last job ends, if that is certain,
    and `last_job` is its id. `cuts` are the cuts off the log's end. `unjudged` names ranges
    without a fingerprint, or with one that a cut has made useless. Up to the `recovery_point` the
    log was on the disk; below the `log_start` retention has deleted all; each is None if it is not
    known. `is_ingested` tells if jobs have written to the topic.
    `digests` are those of the files of jobs now, by id; None if nobody has asked for them.
    `trusted` has, by base offset, what is taken on trust of segments: the first bytes of each.
    """

    staged: list[tuple[str, StagedPartition]] = field(default_factory=list)
    placement: Placement = ()
    findings: list[Finding] = field(default_factory=list)
    end: int = 0
    last_job: str = ""
    cuts: list[Cut] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    recovery_point: int | None = None
    log_start: int | None = None
    is_ingested: bool = False
    digests: Mapping[str, str] | None = None
    trusted: Mapping[int, SegmentSummary] = field(default_factory=dict)

    @property
    def trusted_end(self) -> int:
        """The first offset that is not taken on trust. O(trusted segments)."""
        return max((known.next_offset or 0 for known in self.trusted.values()), default=0)

    def untrusted(self) -> list[tuple[str, StagedPartition]]:
        """Return what jobs have written that is to be compared."""
        trusted_end = self.trusted_end
        return [one for one in self.staged if one[1].next_offset > trusted_end]

    @property
    def borders(self) -> list[int]:
        """The borders of all ranges with a fingerprint; between two may be a range without one."""
        rows = self.ranges()
        borders = {at for _, first, count, _ in rows for at in (first, first + count)}
        return sorted(borders)

    def ranges(self) -> list[tuple[str, int, int, int]]:
        """Return the ranges that are to be compared: job, first offset, count, fingerprint.

        One that goes on after what is trusted is compared as a whole.
        """
        trusted_end = self.trusted_end
        return [
            (job_id, first, count, total)
            for job_id, staged in self.staged
            for first, count, total in staged.fingerprints
            if first + count > trusted_end
        ]

    def accounted_for(self, segments: Sequence[SegmentSummary]) -> list[SegmentSummary]:
        """Return the segments, without findings, all of whose messages were on record when these
        records were read."""
        end = max(self.recovery_point or 0, self.end)
        if not self.is_ingested and self.recovery_point is None:
            end = MAX_OFFSET + 1
        known = [one for one in segments if (one.next_offset or 0) <= end]
        return [
            one._replace(findings=[], notes=(), fingerprints=_outer(one.fingerprints))
            for one in known
        ]


def jobs_of(
    topic: str, partitions: int, manifests: Iterable[Manifest], cuts: Iterable[Cut] = ()
) -> list[PartitionJobs]:
    """Return, for each partition of a topic, what its manifests and its cuts say.

    A fault of a manifest as a whole becomes a finding of partition 0, without a place.
    """
    jobs = [PartitionJobs() for _ in range(partitions)]
    for cut in cuts:
        if cut.topic == topic and cut.partition < partitions:
            jobs[cut.partition].cuts.append(cut)
    for manifest in manifests:
        if manifest.topic == topic:
            _take(topic, jobs, manifest)
    for number, partition in enumerate(jobs):
        partition.staged.sort(key=lambda job: (job[1].first_offset, job[0]))
        kept: list[tuple[str, StagedPartition]] = []
        for job_id, staged in partition.staged:
            before, end = (kept[-1][0], kept[-1][1].next_offset) if kept else ("", 0)
            if staged.first_offset < end:  # two jobs with the same offsets
                shared = range(staged.first_offset, min(end, staged.next_offset))
                reason = f"job {before} has {offsets(shared)} too"
                found = mismatch(TopicPartition(topic, number), job_id, reason, staged.first_offset)
                partition.findings.append(found)
            else:
                kept.append((job_id, staged))
        partition.staged = kept
    return jobs


def _take(topic: str, jobs: list[PartitionJobs], manifest: Manifest) -> None:
    contradictions = 0
    named = [staged.partition for staged in manifest.partitions]
    for slot, staged in enumerate(manifest.partitions):
        number = staged.partition
        reason = _contradiction(staged, len(jobs))
        if not reason and named.count(number) > 1:  # nothing shows which of them is right
            contradictions += 1
            if number not in named[:slot] or number in named[slot + 1 :]:
                continue
            reason = f"it names partition {number} {named.count(number)} times"
        if not reason:
            _accept_staged_partition(manifest, staged, jobs[number])
            continue
        contradictions += 1
        is_known = 0 <= number < len(jobs)
        place = TopicPartition(topic, number if is_known else UNKNOWN_PARTITION)
        offset = staged.first_offset if is_known else None
        found = mismatch(place, manifest.job_id, reason, offset)
        jobs[number if is_known else 0].findings.append(found)
    held, expected = sum(s.count for s in manifest.partitions), manifest.facts.get("count")
    if contradictions:
        return
    if expected is not None and expected != held:
        counted = count(expected, "message")
        reason = f"it counts {counted}, but those of its partitions are {held}"
        place = TopicPartition(topic, UNKNOWN_PARTITION)
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


def _accept_staged_partition(
    manifest: Manifest, staged: StagedPartition, jobs: PartitionJobs
) -> None:
    left = shortened(manifest, staged, jobs.cuts)
    if left.count or not staged.count:
        jobs.staged.append((manifest.job_id, left))
    judged = sum(count for _, count, _ in left.fingerprints)
    if judged < left.count:
        reason = "the range that had a fingerprint was cut"
        if not staged.fingerprints:
            reason = "the manifest has no fingerprints"
        where = _range(manifest.job_id, left.first_offset + judged, left.next_offset)
        jobs.unjudged.append(f"{where}: {reason}")


def shortened(manifest: Manifest, staged: StagedPartition, cuts: Iterable[Cut]) -> StagedPartition:
    """Return what a job wrote to a partition, without the offsets that were cut off since.

    What is left of cut files has another digest than the manifest says: it is empty.
    """
    gone = cuts_of_job(manifest, staged, cuts)
    if not gone:
        return staged
    end = gone[-1].first_offset
    rows = [row for row in staged.fingerprints if row[0] + row[1] <= end]
    return replace(staged, next_offset=end, digest="", fingerprints=rows)


def _contradiction(staged: StagedPartition, partitions: int) -> str | None:
    """Return how one entry of a manifest contradicts itself; None if it does not."""
    if not 0 <= staged.partition < partitions:
        return f"it names partition {staged.partition}, the topic has {partitions}"
    if not 0 <= staged.first_offset <= staged.next_offset:
        return f"offsets {staged.first_offset} to {staged.next_offset} are no range"
    counted = [(first, end - first) for first, end in pairwise(_borders(staged))]
    if counted != [(first, count) for first, count, _ in staged.fingerprints]:
        return (
            f"its fingerprints are not those of {count(staged.count, 'message')} from offset "
            f"{staged.first_offset} on"
        )
    return None


def _borders(staged: StagedPartition) -> list[int]:
    """Return the first offset of each range of a job, and the end of the last; [] if no ranges."""
    firsts = [first for first, _, _ in staged.fingerprints]
    return [staged.first_offset, *firsts[1:], staged.next_offset] if firsts else []


def compare(
    topic_partition: TopicPartition,
    jobs: PartitionJobs,
    segments: Sequence[SegmentSummary],
    findings: Sequence[Finding],
) -> tuple[list[Finding], list[str]]:
    """Return the findings of a partition with those from its manifests, and what is unjudged.

    `segments` are in the order of their messages. What is unjudged are the ranges whose
    fingerprints were not compared, as texts. O(ranges * findings).
    """
    stored = _summed(row for segment in segments for row in segment.fingerprints)
    wrong = [found for found in findings if found.kind.severity == "error"]
    altered, unjudged = [], list[tuple[str, int, int]]()
    for job_id, first, written, total in jobs.ranges():
        if stored.get(first) == (written, total):
            continue
        end, found_count = first + written, stored.get(first, (0, 0))[0]
        if found_count == written and not any(_concerns(f, first, end, segments) for f in wrong):
            altered.append(_altered(topic_partition, job_id, range(first, end), segments))
        elif unjudged and unjudged[-1][0] == job_id and unjudged[-1][2] == first:
            unjudged[-1] = job_id, unjudged[-1][1], end
        else:
            unjudged.append((job_id, first, end))
    reason = "not compared, because messages there are damaged, missing or deleted"
    return (
        [*findings, *jobs.findings, *altered],
        [*jobs.unjudged, *(f"{_range(*row)}: {reason}" for row in unjudged)],
    )


def _summed(rows: Iterable[Sequence[int]]) -> dict[int, tuple[int, int]]:
    """Return how many messages of each range there are, and their fingerprint, by first offset."""
    found: dict[int, tuple[int, int]] = {}
    for first, messages, total in rows:
        before = found.get(first, (0, 0))
        found[first] = (before[0] + messages, (before[1] + total) % 2**64)
    return found


def _outer(rows: Iterable[Sequence[int]]) -> tuple[list[int], ...]:
    """Return the fingerprints of the first and the last range: only these may go on outside."""
    found = sorted([first, *sums] for first, sums in _summed(rows).items())
    return (*found[:1], *found[1:][-1:])


def unaccounted(jobs: PartitionJobs, start: int, end: int) -> list[str]:
    """Return the offsets from `start` to `end` - 1 that nobody is on record for, as texts.

    A writer is on record up to the recovery point, which it writes when it closes, and a job for
    what it wrote. Nothing is said of a topic that no job has written to, or where it is not certain
    what one wrote.
    """
    if not jobs.is_ingested or jobs.findings:
        return []
    found, known = list[range](), max(start, jobs.recovery_point or 0)
    for _, staged in jobs.staged:
        found.append(range(known, min(staged.first_offset, end)))
        known = max(known, staged.next_offset)
    found.append(range(known, end))
    return [
        f"{count(len(gap), 'message')} ({offsets(gap)}): no job and no "
        f"other recorded writer wrote {agreeing('them', len(gap))}"
        for gap in found
        if gap
    ]


def _altered(
    topic_partition: TopicPartition,
    job_id: str,
    written: range,
    segments: Sequence[SegmentSummary],
) -> Finding:
    detail = f"a message in {offsets(written)} differs from what job {job_id} wrote"
    names = [s.name for s in segments if s.start_offset <= written[0]]
    name = names[-1] if names else None
    found = Finding(FindingClass.ALTERED, *topic_partition, detail, name, written[0])
    return found._replace(last_offset=written[-1])


def _range(job_id: str, first: int, end: int) -> str:
    return f"{offsets(range(first, end))} of job {job_id}"


def _concerns(found: Finding, first: int, end: int, segments: Sequence[SegmentSummary]) -> bool:
    """Tell if a finding is, or may be, at these offsets: a sample stands for several places."""
    if found.stands_for > 1:
        return any(
            s.name == found.segment and s.start_offset < end and (s.next_offset or end) > first
            for s in segments
        )
    return found.offset is not None and first <= found.offset < end


def misnamed(manifest: Manifest, file_name: str) -> Finding:
    """Return the finding for a manifest whose file is not named after its job."""
    place = TopicPartition(manifest.topic, UNKNOWN_PARTITION)
    return mismatch(place, manifest.job_id, f"it stands in the file {file_name}")


def mismatch(
    topic_partition: TopicPartition, job_id: str, reason: str, offset: int | None = None
) -> Finding:
    """Return a `manifest-mismatch` finding for a job's manifest."""
    detail = f"manifest of job {job_id}: {reason}"
    return Finding(FindingClass.MANIFEST_MISMATCH, *topic_partition, detail, offset=offset)
