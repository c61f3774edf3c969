"""What the tasks of a job stage: runs, and logs that are sealed, so that a manifest can name them.

    run           messages that follow each other, as one task read them: a log for each partition
                  that gets one, with offsets from 0, because the final ones are not known yet
    sealed log    on the disk; its bytes have a digest (SHA-256), its messages have fingerprints

`join_runs` makes a sealed log of runs. `publish` makes it part of a topic. This module knows no
Spark. Source: storage/publish/publication.py.
"""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kminilog.columns.boundaries import Positions
from kminilog.columns.fingerprints import fingerprint_messages
from kminilog.columns.windows import whole_windows
from kminilog.columns.writing import ColumnWriter
from kminilog.errors import PublicationError
from kminilog.format.names import LOG_SUFFIX
from kminilog.storage.partition_log import PartitionLog
from kminilog.storage.partition_reader import PartitionReader
from kminilog.storage.publish.fingerprints import RangeSums, range_borders
from kminilog.storage.publish.manifests import StagedPartition
from kminilog.storage.publish.publication import check_staged_bytes, open_staged_log
from kminilog.storage.topics import Topic


class RunWriter:
    """Writes one run into a new directory, whose parent is gone if the job has ended meanwhile."""

    def __init__(self, directory: Path, topic: Topic) -> None:
        """Make the directory, or raise FileNotFoundError."""
        directory.mkdir()
        self._directory = directory
        self._topic = topic
        self._logs: dict[int, ColumnWriter] = {}

    def write(self, partitions: NDArray[np.int32], keys: Any, values: Any) -> None:
        """Append equally long Arrow columns of keys and values, each row to its partition.

        Nothing is flushed: joining does that. Raises what `ColumnWriter.append` raises,
        UnknownTopicOrPartitionError, and FileNotFoundError if the directory is gone. O(bytes).
        """
        if not len(partitions):
            return
        width = np.uint16 if int(partitions.max()) < 1 << 16 else np.uint32  # 16 bits: by radix
        order = np.argsort(partitions.astype(width), kind="stable")
        divided = pa.table([keys, values], ["key", "value"]).take(pa.array(order))
        found, starts = np.unique(partitions[order], return_index=True)
        borders = pairwise([*starts.tolist(), len(order)])
        for partition, (start, end) in zip(found.tolist(), borders, strict=True):
            piece = divided.slice(start, end - start)
            self._log(partition).append(piece.column("key"), piece.column("value"))

    def close(self, staging: Path) -> list[StagedPartition]:
        """Return what the run has for each partition; `staging` is the job's directory."""
        written = []
        for partition, log in sorted(self._logs.items()):
            directory = self._directory / str(self._topic.partition(partition))
            size_bytes = sum(path.stat().st_size for path in directory.glob(f"*{LOG_SUFFIX}"))
            relative = str(directory.relative_to(staging))
            written.append(StagedPartition(partition, relative, 0, log.next_offset, size_bytes, ""))
        return written

    def _log(self, partition: int) -> ColumnWriter:
        if partition not in self._logs:
            log = open_staged_log(self._directory, self._topic, partition)
            self._logs[partition] = ColumnWriter(log)
        return self._logs[partition]


def by_partition(runs: Iterable[StagedPartition]) -> list[list[StagedPartition]]:
    """Return the runs of each partition in their order, by ascending partition."""
    found: dict[int, list[StagedPartition]] = {}
    for run in runs:
        found.setdefault(run.partition, []).append(run)
    return [found[partition] for partition in sorted(found)]


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

    The runs are in `directory`. Their messages are copied and get the next offsets of `log`; the
    CRC does not cover offsets. So the files are those of `PartitionLog.append`, however many runs
    there were. The runs stay as they are: another attempt may join them again, into a log of its
    own. Until they are deleted they need as many bytes once more. What it returns is on the disk
    once `sync_staged` has been called for it. O(bytes). Raises PublicationError if a run is not
    what its task wrote, CorruptLogError for bytes that are not messages, and OSError.
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
