"""What tasks have staged: sealed, so that a manifest can name it, or several runs joined into one.

A sealed log is on the disk. Its bytes have a digest (SHA-256), and its messages have fingerprints.
`publish` makes it part of a topic. Source: storage/publish/publication.py.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from kminilog.bulk.boundaries import Positions
from kminilog.bulk.fingerprints import fingerprint_messages
from kminilog.bulk.windows import whole_windows
from kminilog.bulk.writing import ColumnWriter
from kminilog.job_errors import PublicationError
from kminilog.storage.partition_log import PartitionLog
from kminilog.storage.partition_reader import PartitionReader
from kminilog.storage.publish.fingerprints import RangeSums, range_borders
from kminilog.storage.publish.manifests import StagedPartition
from kminilog.storage.publish.publication import check_staged_bytes


def seal(log: PartitionLog, staging: Path, first_offset: int) -> StagedPartition:
    """Bring a staged log to the disk, close it, and return what it holds from `first_offset` on.

    O(bytes), because all bytes are read once more for the digest. Raises
    CorruptLogError for bytes that are not messages.
    """
    log.flush()
    log.close()
    content = _Content(log, range(first_offset, log.log_end_offset))
    return content.staged(staging)


def join_runs(
    log: PartitionLog, staging: Path, runs: Sequence[StagedPartition], directory: Path
) -> StagedPartition:
    """Append runs of a partition to a staged log in the given order, seal it, and return it.

    A run is what one task wrote for the partition: a log in `directory`, with offsets from 0,
    because the final ones are known when all tasks are done. Its messages are copied and get the
    next offsets of `log`; the CRC does not cover them. So the files are those of
    `PartitionLog.append`, however many runs there were. The runs stay as they are: another attempt
    may join them again, into a log of its own. Until they are deleted they need as many bytes once
    more. What it returns is on the disk, names included. O(bytes). Raises PublicationError if a run
    is not what its task wrote, CorruptLogError for bytes that are not messages, and OSError.
    """
    writer = ColumnWriter(log)
    end = writer.next_offset + sum(run.count for run in runs)
    content = _Content(log, range(writer.next_offset, end))
    for run in runs:
        source, end = directory / run.directory, writer.next_offset + run.count
        check_staged_bytes(staging.name, run, source)
        run_log = PartitionReader(source, log.topic_partition, log.dialect, log.settings)
        for segment in run_log.segments():
            for _, window, boundaries in whole_windows(segment):
                writer.append_whole(window, boundaries)
                content.add(window, boundaries)
        if writer.next_offset != end:
            held = run.count + writer.next_offset - end
            reason = f"{source} holds {held} messages, not {run.count}"
            raise PublicationError(staging.name, reason=reason)
    writer.flush()
    return content.staged(staging)


class _Content:
    """What a manifest says of a staged log; it begins with what the log holds already."""

    def __init__(self, log: PartitionLog, offsets: range) -> None:
        self._log = log
        self._offsets = offsets
        self._digest = hashlib.sha256()
        self._sums = RangeSums(range_borders(offsets.start, offsets.stop))
        self._bytes = 0
        for segment in log.segments():
            for _, window, boundaries in whole_windows(segment):
                self.add(window, boundaries)

    def add(self, messages: memoryview, boundaries: Positions) -> None:
        fingerprint_messages(messages, boundaries, self._sums)
        self._digest.update(messages)
        self._bytes += len(messages)

    def staged(self, staging: Path) -> StagedPartition:
        return StagedPartition(
            self._log.topic_partition.partition,
            str(self._log.directory.relative_to(staging)),
            self._offsets.start,
            self._offsets.stop,
            self._bytes,
            self._digest.hexdigest(),
            self._sums.rows(),
        )
