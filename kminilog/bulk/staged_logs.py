"""What tasks have staged: sealed, so that a manifest can name it, or several runs joined into one.

A sealed log is on the disk. Its bytes have a digest (SHA-256), and its messages have fingerprints.
`publish` makes it part of a topic. Source: storage/publish/publication.py.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from kminilog.bulk.fingerprints import fingerprint_messages
from kminilog.bulk.renumbering import renumber
from kminilog.bulk.windows import segments_in, whole_windows
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.job_errors import PublicationError
from kminilog.settings import TopicSettings
from kminilog.storage.durable_file import sync
from kminilog.storage.partition_log import PartitionLog
from kminilog.storage.publish.fingerprints import RangeSums, range_borders
from kminilog.storage.publish.manifests import StagedPartition
from kminilog.storage.publish.publication import check_staged_bytes
from kminilog.storage.segment import Segment

_JOINED_DIR = ".joined"


def seal(log: PartitionLog, staging: Path, first_offset: int) -> StagedPartition:
    """Bring a staged log to the disk, close it, and return what it holds from `first_offset` on.

    O(bytes), because all bytes are read once more for the digest. Raises
    CorruptLogError for bytes that are not messages.
    """
    log.flush()
    log.close()
    offsets = range(first_offset, log.log_end_offset)
    segments = segments_in(log.directory, log.dialect, log.settings)
    return _staged(log.directory, staging, log.topic_partition, segments, offsets)


def join_runs(
    staging: Path,
    topic_partition: TopicPartition,
    dialect: Dialect,
    settings: TopicSettings,
    runs: Sequence[StagedPartition],
    *,
    target: Path,
    first_offset: int,
) -> StagedPartition:
    """Join several runs of a partition in the given order, and return one staged partition.

    Each run was staged by itself, with offsets from 0 (`open_staged_log`). The first message gets
    `first_offset`, where the partition in `target` ends. The files of the runs are moved and
    changed (renumbering.py). Once it returns, the joined files survive a power failure, names
    included. O(bytes). Raises PublicationError if a run is not what its task wrote, and
    CorruptLogError for bytes that are not messages.
    """
    joined, next_offset = staging / _JOINED_DIR / str(topic_partition), first_offset
    for run in runs:
        source = staging / run.directory
        check_staged_bytes(staging.name, run, source)
        end = next_offset + run.count
        next_offset = renumber(source, dialect, settings, next_offset, joined, before=target)
        if next_offset != end:
            reason = f"{source} holds {run.count + next_offset - end} messages, not {run.count}"
            raise PublicationError(staging.name, reason=reason)
    sync(joined)  # renumbering has put the names there
    offsets = range(first_offset, next_offset)
    segments = segments_in(joined, dialect, settings)
    return _staged(joined, staging, topic_partition, segments, offsets)


def _staged(
    directory: Path,
    staging: Path,
    topic_partition: TopicPartition,
    segments: Sequence[Segment],
    offsets: range,
) -> StagedPartition:
    digest, total_bytes = hashlib.sha256(), 0
    sums = RangeSums(range_borders(offsets.start, offsets.stop))

    for segment in segments:
        for _, window, boundaries in whole_windows(segment):
            fingerprint_messages(window, boundaries, sums)
            digest.update(window)
            total_bytes += len(window)
    return StagedPartition(
        topic_partition.partition,
        str(directory.relative_to(staging)),
        offsets.start,
        offsets.stop,
        total_bytes,
        digest.hexdigest(),
        sums.rows(),
    )
