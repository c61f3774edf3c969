"""Where logs begin and end, and the record of lost messages: for the one writer, and for readers.

    log start        below this offset retention has deleted all (checkpoint.py)
    recovery point   up to this offset a log is on the disk: a flush, a publication and a clean
                     close put it on record
    lost             a log ends below its recovery point, or forced recovery cuts whole messages:
                     recorded before another message can get one of those offsets (cuts.py)

A reader changes nothing: it compares, and says what is gone (`RecordedEnds`).
Source: Kafka: LogManager.checkpointRecoveryPointOffsets, checkpointLogStartOffsets; the record of
losses is ours.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kminilog.errors import KMiniLogError
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.storage.changes import count_change
from kminilog.storage.checkpoint import (
    CHECKPOINT_FILE,
    LOG_START_FILE,
    known_offsets,
    parse_checkpoint,
    read_checkpoint,
    set_aside,
    write_checkpoint,
)
from kminilog.storage.files import read_regular
from kminilog.storage.partition.cuts import Reason, finish_cut, forget_cuts, read_cuts, recorded_cut
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import RecoveryPlan, carry_out
from kminilog.text import offsets


class LogEnds:
    """The recovery points of a log dir. Raises LogDirError if its `.cuts` file is invalid.

    If the file of the recovery points, or of the log starts, is invalid, or a row of it, `warnings`
    has a line, and the file is kept under another name: without them, nothing tells of a loss at
    the end, or at the beginning, of a log.
    """

    def __init__(self, log_dir: Path) -> None:
        self._log_dir = log_dir
        self.warnings: list[str] = []
        self._points = self._read(CHECKPOINT_FILE, "recovery points", "ends")
        self._read(LOG_START_FILE, "log starts", "beginnings")
        self._unfinished = {c.topic_partition for c in read_cuts(log_dir) if not c.is_done}

    def _read(self, file_name: str, what: str, where: str) -> dict[TopicPartition, int]:
        try:
            return parse_checkpoint(read_regular(self._log_dir / file_name))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            known = known_offsets(error)
            holds, which = f"holds no {what}", "logs"
            if known:
                holds, which = f"has broken rows of {what}; the other rows count", "those logs"
            self.warnings.append(
                f"log dir {self._log_dir}: {file_name} {holds} ({error}); so "
                f"losses of {which} at their {where} until now do not show; kminilog keeps it as "
                f"{set_aside(self._log_dir, known, file_name)}, and begins a new one"
            )
            return known

    def recovery_point(self, topic_partition: TopicPartition) -> int:
        """Return the recovery point of a partition; 0 if it is not known."""
        return self._points.get(topic_partition, 0)

    def set_recovery_points(self, points: Mapping[TopicPartition, int]) -> None:
        """Set the recovery points of partitions in memory; `write` writes the file."""
        self._points.update(points)

    def write(self) -> None:
        """Write the recovery points; once it returns, they survive a power failure."""
        write_checkpoint(self._log_dir, self._points)

    def forget(self, topic: str) -> None:
        """Forget a topic that is deleted, or created again after somebody deleted its files."""
        self._points = _of_others(self._points, topic)
        # Start from the file, not from memory: a truncation may have lowered points in the file.
        for file_name in (CHECKPOINT_FILE, LOG_START_FILE):
            on_record = read_checkpoint(self._log_dir, file_name)
            if _of_others(on_record, topic) != on_record:
                write_checkpoint(self._log_dir, _of_others(on_record, topic), file_name)
        forget_cuts(self._log_dir, topic)

    def carry_out(self, plan: RecoveryPlan, *, force: bool = False) -> list[Path]:
        """Record which messages a plan loses, then carry it out as `recovery.carry_out` does."""
        topic_partition, log_end_offset = plan.topic_partition, plan.log_end_offset
        recovery_point = self.recovery_point(topic_partition)
        lost = range(0)
        if force or not plan.damage:  # otherwise nothing will be cut
            lost = lost_offsets(plan, recovery_point)
        reason = Reason.RECOVERY if plan.damage else Reason.LOST
        with recorded_cut(self._log_dir, topic_partition, lost, reason):
            side_files = carry_out(plan, force=force)
            if plan.later_segments:
                count_change(self._log_dir)
        if topic_partition in self._unfinished:
            finish_cut(self._log_dir, topic_partition, log_end_offset)
            self._unfinished.discard(topic_partition)
        self._points[topic_partition] = min(recovery_point, log_end_offset)
        return side_files


def lost_offsets(plan: RecoveryPlan, recovery_point: int) -> range:
    """Return the offsets of whole messages that the log loses when a plan is carried out.

    Messages below `recovery_point` were on the disk. Messages after damage are still whole. A torn
    tail holds neither, so it loses none.
    """
    whole_end = plan.whole_end_offset if plan.damage else 0
    end = max(recovery_point, plan.log_end_offset, whole_end)
    return range(plan.log_end_offset, min(end, MAX_OFFSET))  # a damaged offset may be the greatest


class Loss(NamedTuple):
    """Offsets that a log has had, by what is on record, and has no more: at its start or end."""

    topic_partition: TopicPartition
    missing: range
    is_start: bool

    @property
    def reason(self) -> str:
        """What is gone, in words."""
        them = "it" if len(self.missing) == 1 else "them"
        if self.is_start:
            return f"{offsets(self.missing, 'are')} gone; retention has not deleted {them}"
        return f"{offsets(self.missing, 'were')} on the disk, the log ends before {them}"

    def __str__(self) -> str:
        return f"{self.topic_partition}: {self.reason}"


class RecordedEnds:
    """Log starts and recovery points, read once for all partitions: what has a log lost?"""

    def __init__(self) -> None:
        self._known: dict[Path, list[dict[TopicPartition, int]]] = {}

    def losses(self, reader: PartitionReader) -> list[Loss]:
        """Return what a log has lost at its start and end; raises as `log_end_offset`.

        Damage is no loss: who reads it gets the error. It reads the files again before it says so:
        retention raises the log start first, and a cut lowers the recovery point first.
        """
        found = list(self._losses(reader))
        if found:
            self._known.clear()
            found = list(self._losses(reader))
        return found

    def _losses(self, reader: PartitionReader) -> Iterator[Loss]:
        directory, place = reader.directory.parent, reader.topic_partition
        begins = reader.log_start_offset  # in this order, for a writer may be at work
        if directory not in self._known:
            names = (LOG_START_FILE, CHECKPOINT_FILE)
            self._known[directory] = [read_checkpoint(directory, name) for name in names]
        start, point = (offsets.get(place, 0) for offsets in self._known[directory])
        ends = read_end = reader.log_end_offset
        if not reader.segments():
            begins = ends = start
        elif start < begins and place in self._known[directory][0]:
            yield Loss(place, range(start, begins), is_start=True)
        if ends < point:
            with suppress(KMiniLogError):
                reader.read(read_end, 1)
                yield Loss(place, range(ends, point), is_start=False)


OnLoss = Callable[[Loss], object]


def _of_others(points: dict[TopicPartition, int], topic: str) -> dict[TopicPartition, int]:
    return {known: offset for known, offset in points.items() if known.topic != topic}
