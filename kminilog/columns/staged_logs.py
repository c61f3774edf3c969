"""What the tasks of a job stage: runs, and logs that are sealed, so that a manifest can name them.

    run           what one task has read, in two files, however many partitions there are:
                  `messages`   by partition, each time that the buffer is full: p0 p1 p2, p0 p1 p2,
                               ...; a *span* is one of these: the length of each message (4 bytes,
                               little-endian), then the messages, with offsets from 0
                  `spans.npy`  a row for each span: partition, position, bytes, messages; sorted by
                               partition, then by position
    sealed log    on the disk; its bytes have a digest (SHA-256), its messages have fingerprints

`join_runs` makes a sealed log of all spans of a partition, `join_logs` makes one of sealed logs.
`publish` makes it part of a topic. This module knows no Spark. Source: ours; the files of a run are
like those of a shuffle in Spark.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kminilog.columns.boundaries import Positions, everywhere
from kminilog.columns.encoding import encode_columns
from kminilog.columns.fingerprints import fingerprint_messages
from kminilog.columns.windows import whole_windows
from kminilog.columns.writing import ColumnWriter
from kminilog.errors import PublicationError
from kminilog.format.message import SIZE_END
from kminilog.storage.files import append_to, touch
from kminilog.storage.manifests import StagedPartition
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.publish.fingerprints import RangeSums, range_borders
from kminilog.storage.publish.publication import check_staged_bytes
from kminilog.storage.topics import Topic

Messages = Iterable[tuple[memoryview, Positions]]
"""Whole messages, a few MiB at a time, which may be changed, and the boundaries in them."""

_MESSAGES_FILE, _SPANS_FILE = "messages", "spans.npy"
_BUFFER_BYTES = 16 << 20
_PIECE_BYTES = 4 << 20
_OPEN_FILES = 200
_LENGTH, _SIZE = np.dtype("<i4"), np.dtype(">i4")
_SIZE_START = SIZE_END - _SIZE.itemsize


# ---- runs


@dataclass(frozen=True)
class Run:
    """A run in a directory of the job's; `bytes` is the size of its messages file."""

    directory: str
    count: int
    bytes: int


class RunWriter:
    """Writes one run into a new directory, whose parent is gone if the job has ended meanwhile."""

    def __init__(self, directory: Path, topic: Topic) -> None:
        """Make the directory, or raise FileNotFoundError."""
        directory.mkdir()
        self._directory = directory
        self._topic = topic
        self._buffer: list[pa.RecordBatch] = []
        self._buffer_bytes = self._count = self._bytes = 0
        self._spans: list[NDArray[np.int64]] = []
        touch(directory / _MESSAGES_FILE)

    def write(self, partitions: NDArray[np.int32], keys: Any, values: Any) -> None:
        """Add equally long Arrow columns of keys and values, each row to its partition.

        They stay in memory until there are _BUFFER_BYTES, so that a span is not tiny. Nothing is
        flushed to the disk: joining does that. Raises MessageTooLargeError, NullValueError,
        ValueError for other columns, UnknownTopicOrPartitionError, and FileNotFoundError if the
        directory is gone; `close` raises these, too. O(bytes).
        """
        if not len(partitions):
            return
        for partition in (int(partitions.min()), int(partitions.max())):
            self._topic.partition(partition)
        batch = pa.table([pa.array(partitions), keys, values], ["partition", "key", "value"])
        self._buffer.append(batch)
        self._buffer_bytes += batch.nbytes
        if self._buffer_bytes >= _BUFFER_BYTES:
            self._flush()

    def close(self, staging: Path) -> Run:
        """Write the rest, and return the run; `staging` is the job's directory."""
        self._flush()
        spans = np.concatenate([np.empty((0, 4), np.int64), *self._spans])
        with open(self._directory / _SPANS_FILE, "xb") as file:
            np.save(file, spans[np.argsort(spans[:, 0], kind="stable")])
        return Run(str(self._directory.relative_to(staging)), self._count, self._bytes)

    def _flush(self) -> None:
        if not self._buffer:
            return
        table = pa.concat_tables(self._buffer).combine_chunks()  # to be divided faster
        self._buffer, self._buffer_bytes = [], 0
        partitions = table.column("partition").to_numpy()
        width = np.uint16 if int(partitions.max()) < 1 << 16 else np.uint32  # 16 bits: by radix
        order = np.argsort(partitions.astype(width), kind="stable")
        found, starts = np.unique(partitions[order], return_index=True)
        divided = table.select(["key", "value"]).take(pa.array(order))
        columns = divided.column("key"), divided.column("value")
        encoded = list(encode_columns(self._topic.dialect, 0, *columns))
        lengths = np.concatenate([one.lengths for one in encoded])
        self._topic.settings.check_message(int(lengths.max()))
        data = np.concatenate([np.frombuffer(one.data, np.uint8) for one in encoded])
        rows = np.append(starts, len(order))
        ends = np.append(0, np.cumsum(lengths))[rows]
        counts, sizes = np.diff(rows), np.diff(ends)
        sizes += counts * _LENGTH.itemsize
        positions = self._bytes + np.cumsum(sizes) - sizes
        self._spans.append(np.stack([found.astype(np.int64), positions, sizes, counts], axis=1))
        parts: list[NDArray[Any]] = []
        stored = lengths.astype(_LENGTH)
        for row, next_row, start, end in zip(rows, rows[1:], ends, ends[1:], strict=False):
            parts += [stored[row:next_row], data[start:end]]
        append_to(self._directory / _MESSAGES_FILE, b"".join(part.data for part in parts))
        self._count += len(lengths)
        self._bytes += int(sizes.sum())


def bytes_by_partition(staging: Path, runs: Sequence[Run], partitions: int) -> NDArray[np.int64]:
    """Return how many bytes runs have for each partition; `staging` is the job's directory.

    O(spans). Raises PublicationError if a run is not what its task wrote.
    """
    total = np.zeros(partitions, np.int64)
    for run in runs:
        directory = staging / run.directory
        try:
            size_bytes = (directory / _MESSAGES_FILE).stat().st_size
            spans = np.load(directory / _SPANS_FILE, mmap_mode="r")
        except FileNotFoundError:
            size_bytes, spans = 0, np.empty((0, 4), np.int64)
        if size_bytes != run.bytes:
            raise _not_shared(staging, directory, size_bytes, run.bytes)
        if (count := int(spans[:, 3].sum())) != run.count:
            reason = f"{directory} holds {count} messages, not {run.count}"
            raise PublicationError(staging.name, reason=reason)
        np.add.at(total, spans[:, 0], spans[:, 2])
    return total


class RunsReader:
    """The messages that runs have for some partitions. O(spans of these) bytes of memory."""

    def __init__(self, staging: Path, runs: Sequence[Run], partitions: Sequence[int]) -> None:
        """`staging` is the job's directory, which the paths of runs begin in."""
        self._staging = staging
        self._directories = [staging / run.directory for run in runs]
        self._open = lru_cache(_OPEN_FILES)(_OpenFile)
        first, last = min(partitions), max(partitions)
        tables = [np.empty((0, 5), np.int64)]
        for number, directory in enumerate(self._directories):
            spans = np.load(directory / _SPANS_FILE, mmap_mode="r")
            start, stop = spans[:, 0].searchsorted([first, last + 1])
            tables.append(np.insert(spans[start:stop], 0, number, axis=1))
        table = np.concatenate(tables)
        self._spans = table[np.argsort(table[:, 1], kind="stable")]

    def count(self, partition: int) -> int:
        """Return how many messages there are for a partition."""
        return int(self._of(partition)[:, 4].sum())

    def messages(self, partition: int) -> Iterator[tuple[memoryview, Positions]]:
        """Yield the messages for a partition, run by run, in the order in which they were written.

        Raises PublicationError if a file is not what its task wrote, and OSError.
        """
        parts, lengths, size_bytes = [], [], 0
        for number, _, position, span_bytes, count in self._of(partition).tolist():
            path = self._directories[number] / _MESSAGES_FILE
            span = self._open(path).read(position, span_bytes)
            if len(span) != span_bytes:
                raise _not_shared(self._staging, path, len(span), span_bytes)
            lengths.append(np.frombuffer(span, _LENGTH, count))
            parts.append(np.frombuffer(span, np.uint8)[count * _LENGTH.itemsize :])
            size_bytes += span_bytes
            if size_bytes >= _PIECE_BYTES:
                yield self._piece(path, parts, lengths)
                parts, lengths, size_bytes = [], [], 0
        if parts:
            yield self._piece(path, parts, lengths)

    def _of(self, partition: int) -> NDArray[np.int64]:
        start, stop = self._spans[:, 1].searchsorted([partition, partition + 1])
        spans: NDArray[np.int64] = self._spans[start:stop]
        return spans

    def _piece(
        self, path: Path, parts: list[NDArray[np.uint8]], lengths: list[NDArray[np.int32]]
    ) -> tuple[memoryview, Positions]:
        data = np.concatenate(parts)
        boundaries = np.append(0, np.cumsum(np.concatenate(lengths), dtype=np.int64))
        spans = np.diff(boundaries)
        is_as_written = int(boundaries[-1]) == len(data) and int(spans.min()) >= SIZE_END
        if is_as_written:
            beginnings = everywhere(data, SIZE_END)[boundaries[:-1]]
            fields = beginnings.view(np.uint8).reshape(-1, SIZE_END)[:, _SIZE_START:]
            sizes = np.ascontiguousarray(fields).view(_SIZE)[:, 0].astype(np.int64)
            is_as_written = bool((sizes + SIZE_END == spans).all())
        if not is_as_written:
            reason = f"{path} holds bytes that are no messages, or others than its task wrote"
            raise PublicationError(self._staging.name, reason=reason)
        return data.data, boundaries


class _OpenFile:
    """A file that is open as long as the object lives."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)

    def read(self, position: int, size_bytes: int) -> bytes:
        return os.pread(self._descriptor, size_bytes, position)

    def __del__(self) -> None:
        if "_descriptor" in self.__dict__:
            os.close(self._descriptor)


def _not_shared(staging: Path, path: Path, found_bytes: int, bytes_: int) -> PublicationError:
    reason = (
        f"{path} holds {found_bytes} bytes of messages, not {bytes_}; all who write for a job must "
        "see the same log dir"
    )
    return PublicationError(staging.name, reason=reason)


# ---- sealed logs


def seal(log: PartitionLog, staging: Path, first_offset: int) -> StagedPartition:
    """Close a staged log, and return what it holds from `first_offset` on.

    It is on the disk once `sync_staged` has been called for it. O(bytes), because all bytes are
    read once more for the digest. Raises CorruptLogError for bytes that are not messages.
    """
    log.close()
    content = _Content(log, range(first_offset, log.log_end_offset))
    return content.staged(staging)


def join_runs(log: PartitionLog, staging: Path, runs: RunsReader) -> StagedPartition:
    """Append what runs have for a partition to a staged log, seal it, and return it.

    The messages are copied and get the next offsets of `log`; the CRC does not cover offsets. So
    the files are those of `PartitionLog.append`, however many runs there were. The runs stay as
    they are: another attempt may join them again, into a log of its own. Until they are deleted
    they need as many bytes once more. What it returns is on the disk once `sync_staged` has been
    called for it. O(bytes). Raises what `RunsReader.messages` raises.
    """
    partition = log.topic_partition.partition
    return _numbered(log, staging, runs.count(partition), runs.messages(partition))


def join_logs(log: PartitionLog, staging: Path, logs: Sequence[StagedPartition]) -> StagedPartition:
    """Append sealed logs of a partition to a staged log, as `join_runs` does.

    So their messages get other offsets. Raises PublicationError if a log is not what its task
    wrote, CorruptLogError for bytes that are not messages, and OSError.
    """

    def messages() -> Iterator[tuple[memoryview, Positions]]:
        for sealed in logs:
            source, left = staging / sealed.directory, sealed.count
            check_staged_bytes(staging.name, sealed, source)
            reader = PartitionReader(source, log.topic_partition, log.dialect, log.settings)
            ahead = sealed.first_offset - reader.log_start_offset  # see `open_staged_log`
            for segment in reader.segments():
                for _, window, boundaries in whole_windows(segment):
                    if ahead:  # only offset 0 may stand there
                        window, boundaries = window[boundaries[1] :], boundaries[1:] - boundaries[1]
                        ahead = 0
                    left -= len(boundaries) - 1
                    yield window, boundaries
            if left:
                reason = f"{source} holds {sealed.count - left} messages, not {sealed.count}"
                raise PublicationError(staging.name, reason=reason)

    return _numbered(log, staging, sum(sealed.count for sealed in logs), messages())


def _numbered(log: PartitionLog, staging: Path, count: int, messages: Messages) -> StagedPartition:
    writer = ColumnWriter(log)
    content = _Content(log, range(writer.next_offset, writer.next_offset + count))
    for data, boundaries in messages:
        writer.append_whole(data, boundaries)
        content.add(data, boundaries)
    return content.staged(staging)


class _Content:
    """What a manifest says of a staged log; it begins with what the log holds already."""

    def __init__(self, log: PartitionLog, offsets: range) -> None:
        self._log = log
        self._offsets = offsets
        self._digest = hashlib.sha256()
        self._sums = RangeSums(range_borders(offsets.start, offsets.stop))
        self._bytes = 0
        for segment in log.segments() if log.log_end_offset > log.log_start_offset else ():
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
