"""Where the logs of a log dir end, as far as its one writer knows: recovery points, and losses.

    recovery point   up to there a log is on the disk; written when the writer flushes or closes
    lost             a log ends below that, or forced recovery cuts whole messages off: on record
                     before the next message can get one of those offsets (cuts.py)

Source: Kafka: LogManager.checkpointRecoveryPointOffsets; the record of losses is ours.
"""

from pathlib import Path

from kminilog.format.names import TopicPartition
from kminilog.storage.changes import count_change
from kminilog.storage.checkpoint import read_checkpoint, write_checkpoint
from kminilog.storage.cuts import Reason, finish_cut, forget_cuts, read_cuts, recorded_cut
from kminilog.storage.recovery import RecoveryPlan, carry_out


class LogEnds:
    """The recovery points of a log dir; LogDirError if its record of cuts is none."""

    def __init__(self, log_dir: Path) -> None:
        self._log_dir = log_dir
        self._points = read_checkpoint(log_dir)
        self._unfinished = {c.topic_partition for c in read_cuts(log_dir) if not c.is_done}

    def recovery_point(self, topic_partition: TopicPartition) -> int:
        """Return up to where a partition is known to be on the disk; 0 if that is not known."""
        return self._points.get(topic_partition, 0)

    def set_recovery_point(self, topic_partition: TopicPartition, offset: int) -> None:
        """Remember up to where a partition is on the disk; `write` puts it on record."""
        self._points[topic_partition] = offset

    def write(self) -> None:
        """Put the recovery points on record; once it returns, they survive a power failure."""
        write_checkpoint(self._log_dir, self._points)

    def forget(self, topic: str) -> None:
        """Forget a topic that goes, or that is made anew after somebody has deleted its files."""
        self._points = _of_others(self._points, topic)
        # What is on record, not what is known here: a log that was cut since is lower there.
        on_record = read_checkpoint(self._log_dir)
        if _of_others(on_record, topic) != on_record:
            write_checkpoint(self._log_dir, _of_others(on_record, topic))
        forget_cuts(self._log_dir, topic)

    def carry_out(self, plan: RecoveryPlan, *, force: bool = False) -> list[Path]:
        """Carry out a plan as `recovery.carry_out` does; first put on record what is lost by it."""
        topic_partition, log_end_offset = plan.topic_partition, plan.log_end_offset
        recovery_point = self.recovery_point(topic_partition)
        lost = range(0)
        if force or not plan.damage:  # else nothing will be cut
            lost = lost_offsets(plan, recovery_point)
        reason = Reason.RECOVERY if plan.damage else Reason.LOST
        with recorded_cut(self._log_dir, topic_partition, lost, reason):
            side_files = carry_out(plan, force=force)
            if plan.behind:
                count_change(self._log_dir)
        if topic_partition in self._unfinished:
            finish_cut(self._log_dir, topic_partition, log_end_offset)
            self._unfinished.discard(topic_partition)
        self._points[topic_partition] = min(recovery_point, log_end_offset)
        return side_files


def lost_offsets(plan: RecoveryPlan, recovery_point: int) -> range:
    """Return the offsets that are gone once a plan is carried out, though they were in the log.

    Below `recovery_point` they were on the disk; behind damage they are still whole. What a torn
    tail held was neither.
    """
    whole_end = plan.whole_end_offset if plan.damage else 0
    return range(plan.log_end_offset, max(recovery_point, plan.log_end_offset, whole_end))


def _of_others(points: dict[TopicPartition, int], topic: str) -> dict[TopicPartition, int]:
    return {known: offset for known, offset in points.items() if known.topic != topic}
