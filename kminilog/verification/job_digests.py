"""The SHA-256 of what jobs wrote, over all bytes of their files: `verify --full`.

Fingerprints see each change of a size or a crc, in the pass that checks the messages. A change that
keeps both is possible for somebody who wants it; only this digest sees it. It takes about as long
as all other checks together. A job's bytes begin with its first message; another writer may have
gone on after them, in the same segment. What retention or a cut has taken cannot be compared.
Source: ours.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress

from kminilog.errors import KMiniLogError
from kminilog.storage.files import open_regular
from kminilog.storage.manifests import StagedPartition
from kminilog.storage.partition.reader import PartitionReader
from kminilog.text import offsets
from kminilog.verification.findings import Finding, FindingClass
from kminilog.verification.manifest_checks import PartitionJobs

_READ_BYTES = 1 << 22


def read_digests(
    reader: PartitionReader, staged: Sequence[tuple[str, StagedPartition]]
) -> dict[str, str]:
    """Return the digests of the files of jobs in a partition, by job id; O(their bytes).

    A job is left out if its first message is gone, if bytes are missing or cannot be read, or if a
    cut took some. Raises nothing.
    """
    found = {}
    for job_id, one in staged:
        with suppress(KMiniLogError, OSError):
            if one.count and one.digest and (digest := _digest(reader, one)):
                found[job_id] = digest
    return found


def _digest(reader: PartitionReader, staged: StagedPartition) -> str | None:
    first = reader.find(staged.first_offset)
    dialect, position = reader.dialect, first.position
    if dialect.first_offset(dialect.base_offset_for(staged.first_offset)) != staged.first_offset:
        position = 0  # the job had to go on in this segment: it has written all of it
    digest, left = hashlib.sha256(), staged.bytes
    for segment in reader.segments():
        if not first.segment.first_offset <= segment.first_offset < staged.next_offset:
            continue
        with open(segment.log_path, "rb", buffering=0, opener=open_regular) as file:
            file.seek(position)
            position = 0
            while left and (data := file.read(min(left, _READ_BYTES))):
                digest.update(data)
                left -= len(data)
    return None if left else digest.hexdigest()


def judge_digests(
    reader: PartitionReader,
    jobs: PartitionJobs,
    digests: Mapping[str, str],
    findings: Sequence[Finding],
) -> tuple[list[Finding], list[str]]:
    """Return the findings with those of the digests, and which jobs could not be compared.

    A job with another finding of a message has another digest for that reason: it gets none.
    """
    found, unjudged = list[Finding](), list[str]()
    wrong = [one for one in findings if one.kind.severity == "error" and one.offset is not None]
    for job_id, one in jobs.untrusted():
        written = range(one.first_offset, one.next_offset)
        if not written or digests.get(job_id) == one.digest:
            continue
        where = f"{offsets(written)} of job {job_id}"
        if job_id not in digests or any(
            other.offset in written or other.stands_for > 1 for other in wrong
        ):
            why = "messages there are damaged, missing or deleted, or cannot be read"
            why = why if one.digest else "part of it was cut off"
            unjudged.append(f"{where}: its SHA-256 was not compared, because {why}")
            continue
        detail = f"the files of {offsets(written)} are not what job {job_id} wrote: another SHA-256"
        altered = Finding(FindingClass.ALTERED, *reader.topic_partition, detail)
        found.append(altered._replace(offset=written[0], last_offset=written[-1]))
    return [*findings, *found], unjudged
