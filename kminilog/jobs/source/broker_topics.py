"""A topic in a Kafka broker's directory as a source: what a consumer with read_committed gets.

    /var/lib/kafka:orders    orders-0/…000.log  orders-0/…368.log  orders-1/…000.log ...

A piece is a whole partition: a marker far after a record says if its transaction was committed.
Records of one batch share its bytes, and may be compressed together. So the position of a record is
its offset minus the base offset of its segment, and its row is the same.

What becomes no message, and what of a record format v0 cannot hold, is counted, in a pass of its
own: no number is handed on with the records. Source: ours.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.broker_files.directory import BrokerDirectory, SegmentFiles
from kminilog.broker_files.entries import RecordBatch
from kminilog.broker_files.log_file import is_padding, scan_log
from kminilog.broker_files.partition import BrokerPartition, CommittedRecords, NotReadError
from kminilog.broker_files.record import NO_TIMESTAMP, Record
from kminilog.errors import CorruptLogError, OffsetOutOfRangeError, SourceError
from kminilog.format.names import TopicPartition
from kminilog.jobs.source.source_files import SourceFile, changed
from kminilog.text import count


class BrokerSegment(NamedTuple):
    """A segment of a partition of a broker."""

    directory: str
    topic_partition: TopicPartition
    files: SegmentFiles

    @property
    def log_path(self) -> Path:
        """Where its `.log` stands."""
        return self.files.log_path

    def piece(self, parts: Sequence[tuple["BrokerSegment", SourceFile]]) -> "PartitionPiece":
        """Return the piece that all segments of its partition are."""
        ranks = {segment.files.base_offset: file.rank for segment, file in parts}
        size_bytes = sum(file.size_bytes for _, file in parts)
        return PartitionPiece(self.directory, self.topic_partition, ranks, size_bytes)

    def record_at(self, position: int) -> Record | None:
        """Return the record at a position, as the module counts them; None if none is there."""
        partition = BrokerPartition(BrokerDirectory(Path(self.directory)), self.topic_partition)
        try:
            return partition.find(self.files.base_offset + position).stored.record
        except (OffsetOutOfRangeError, CorruptLogError, NotReadError):
            return None


def broker_segments(directory: str, topic: str) -> Iterator[BrokerSegment]:
    """Yield the segments of a topic, ascending. Raises NotInDirectoryError if it is not there."""
    broker = BrokerDirectory(Path(directory))
    for partition in broker.partitions(topic):
        for files in broker.files_of(partition).segments:
            yield BrokerSegment(directory, partition, files)


class LeftOut(NamedTuple):
    """What of a partition becomes no message, and what of its records a message does not hold.

    `absent` offsets have no record: compaction removes them, and so does a loss. Without an open
    transaction `open_offset` is None; records from there on are left out.
    """

    partition: str
    aborted: int
    control: int
    absent: int
    with_headers: int
    with_timestamps: int
    open_offset: int | None


@dataclass(frozen=True)
class PartitionPiece:
    """The committed records of a partition; `ranks` has the ranks of its segments."""

    directory: str
    topic_partition: TopicPartition
    ranks: Mapping[int, int]
    size_bytes: int

    @property
    def rank(self) -> int:
        """The rank of its first segment."""
        return min(self.ranks.values())

    @property
    def last_rank(self) -> int:
        """The rank of its last segment."""
        return max(self.ranks.values())

    def records(self) -> Iterator[tuple[int, int, Record]]:
        """Yield of each record the rank of its segment, its position and itself, in order.

        Raises SourceError for damage, for a batch that nobody can read here, and for a torn end.
        """
        partition, committed = self._committed()
        for files, record in self._read(partition, committed):
            yield self.ranks[files.base_offset], record.offset - files.base_offset, record

    def left_out(self) -> LeftOut:
        """Return what `records` leaves out. It reads all of them. Raises as it does."""
        partition, committed = self._committed()
        first_offset, records, with_headers, with_timestamps = committed.next_offset, 0, 0, 0
        for _, record in self._read(partition, committed):
            records += 1
            with_headers += bool(record.headers)
            with_timestamps += record.timestamp != NO_TIMESTAMP
        aborted, control = committed.aborted_count, committed.control_count
        absent = committed.next_offset - first_offset - records - aborted - control
        return LeftOut(
            str(self.topic_partition),
            aborted,
            control,
            absent,
            with_headers,
            with_timestamps,
            committed.open_offset,
        )

    def _committed(self) -> tuple[BrokerPartition, CommittedRecords]:
        partition = BrokerPartition(BrokerDirectory(Path(self.directory)), self.topic_partition)
        return partition, CommittedRecords(partition, partition.log_start_offset)

    def _read(
        self, partition: BrokerPartition, committed: CommittedRecords
    ) -> Iterator[tuple[SegmentFiles, Record]]:
        try:
            for files, _, record in committed:
                if files.base_offset not in self.ranks:  # the broker has begun it meanwhile
                    raise changed(str(files.log_path))
                yield files, record
            _check_end(partition.segments[-1])
        except CorruptLogError as error:
            reason = f"byte {error.position}: {error.reason}; {_remedy(self.directory)}"
            raise SourceError(error.path, reason=reason) from None
        except NotReadError as error:
            raise SourceError(str(self.topic_partition), reason=str(error)) from None


def _check_end(last: SegmentFiles) -> None:
    """Raise CorruptLogError for a batch that is not whole at the end of a log."""
    for at, outcome in scan_log(last.log_path):
        if not isinstance(outcome, RecordBatch) and not is_padding(last.log_path, at):
            reason = "an unfinished batch"
            raise CorruptLogError(str(last.log_path), position=at, reason=reason)


def _remedy(directory: str) -> str:
    return f"`kminilog --log-dir {directory} verify` lists all damage"


def in_words(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what `LeftOut` says of some partitions, each as a dictionary, in lines of text."""
    found = [LeftOut(**row) for row in rows]
    aborted, control, absent, with_headers, with_timestamps = (
        sum(numbers) for numbers in [*zip(*(one[1:6] for one in found), strict=True)] or [()] * 5
    )
    if aborted:
        yield f"left out: {count(aborted, 'record')} of aborted transactions"
    if control:
        yield f"left out: {count(control, 'control record')}"
    if absent:
        yield f"{count(absent, 'offset')} without a record: by compaction, or lost"
    if with_headers:
        yield f"{count(with_headers, 'record')} with headers, which format v0 has not"
    if with_timestamps:
        yield f"{count(with_timestamps, 'record')} with a timestamp, which format v0 has not"
    for one in found:
        if one.open_offset is not None:
            yield (
                f"{one.partition}: a transaction is open, so the records from offset "
                f"{one.open_offset} on are left out"
            )
