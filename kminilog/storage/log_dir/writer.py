"""The one writer of a log dir: it holds the lock, and recovers what a crash has left.

    open    lock -> finish or sweep the jobs of crashed writers -> recover partitions
    close   flush -> write recovery points -> write the clean-shutdown marker -> release the lock

After a clean shutdown it reads no partition before its use, and then only from its recovery point
on. Source: S1 5.1; Kafka: LogManager.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

from kminilog.clock import Chance
from kminilog.errors import (
    CorruptLogError,
    KMiniLogError,
    LogClosedError,
    NotARegularFileError,
    TopicExistsError,
    in_words,
    typed,
)
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.progress import Progress, untold
from kminilog.settings import TopicSettings
from kminilog.storage.changes import begin_counting, count_change
from kminilog.storage.checkpoint import read_checkpoint, record_log_starts
from kminilog.storage.durable_files import replace_file
from kminilog.storage.files import sync
from kminilog.storage.lock import LockWait, LogDirLock
from kminilog.storage.log_dir.log_dir import LogDir, make_log_dir
from kminilog.storage.log_dir.partition_directories import delete_directories, make_directories
from kminilog.storage.manifests import forget_manifests, sweep_quarantine
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.log_ends import LogEnds
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import RecoveryPlan, describe, plan_recovery
from kminilog.storage.publish.publication import finish_or_sweep, finish_pending
from kminilog.storage.reserve import keep_reserve
from kminilog.storage.segment.brokers_index import is_valid_index
from kminilog.storage.segment.scan import PLAIN, SegmentScanner
from kminilog.storage.topics import (
    TOPIC_SUFFIX,
    Topic,
    read_topic,
    read_topics,
    with_topic_id,
    write_topic,
)
from kminilog.system import SYSTEM_CHANCE
from kminilog.text import count

CLEAN_SHUTDOWN_FILE = ".clean-shutdown"


class LogDirWriter(LogDir):
    """A log dir for its one writer; leaving the `with` block closes it cleanly."""

    def __init__(
        self,
        path: Path | str,
        lock: LogDirLock,
        scanner: SegmentScanner = PLAIN,
    ) -> None:
        super().__init__(path)
        self._scanner = scanner
        self._lock = lock
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._damage: dict[TopicPartition, CorruptLogError | NotARegularFileError] = {}
        self.ends = LogEnds(self.path)
        self._warnings = dict.fromkeys(self.ends.warnings)
        self._was_clean = self._marker.exists()
        self._is_closed = False

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        create: bool = False,
        recover: bool = True,
        scanner: SegmentScanner = PLAIN,
        lock_wait: LockWait | None = None,
    ) -> Self:
        """Return the writer of a log dir: take the lock, finish crashed jobs, recover partitions.

        After a clean shutdown, the first use of a partition checks only the end of the segment up
        to its recovery point, and of those after it. Otherwise this checks the ends of all
        segments, and reads those from the recovery point on: O(bytes). For a damaged
        partition `log` raises the error; the others work. `warnings` says what was cut or lost.
        With `recover=False` it leaves the partitions as they are. `scanner` reads whole segments.

        Raises LogDirLockedError, at once or at the time-out of `lock_wait`, and LogDirError if the
        directory does not exist and `create` is not set.
        """
        if create:
            make_log_dir(Path(path))
        LogDir(path)
        lock = lock_wait.take(Path(path)) if lock_wait else LogDirLock(Path(path))
        try:
            log_dir = cls(path, lock, scanner)
            begin_counting(log_dir.path)
            keep_reserve(log_dir.path)
            if not log_dir._was_clean:  # the last writer may have died before it counted a change
                count_change(log_dir.path)
            finish_or_sweep(log_dir.path)
            if recover:
                log_dir._recover_all()
        except BaseException:
            lock.release()
            raise
        return log_dir

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            self.close()
        except (OSError, KMiniLogError) as second:
            if error is None:
                raise
            error.add_note(f"closing the log dir failed too: {in_words(second)}")

    @property
    def warnings(self) -> list[str]:
        """What recovery has cut, rebuilt, removed or found lost: each line once, in order."""
        return list(self._warnings)

    @property
    def _marker(self) -> Path:
        return self.path / CLEAN_SHUTDOWN_FILE

    # ---- topics

    def create_topic(
        self,
        topic: Topic,
        *,
        base_offset: int = 0,
        bare: Collection[TopicPartition] = (),
        progress: Progress = untold,
        chance: Chance = SYSTEM_CHANCE,
    ) -> Topic:
        """Create a topic with empty partitions, and return it; first messages get `base_offset`.

        `chance` draws its id, unless it has one: so nobody takes it for an earlier topic of that
        name. A partition that is `bare` gets no segment: a job is about to publish one.
        Writes the settings last: after a crash before that, there is no topic, and you can create
        it again. Once it returns, the topic survives a power failure. O(partitions). Raises
        TopicExistsError, and what `make_directories` raises.
        """
        self._check_is_open()
        if (self.path / (topic.name + TOPIC_SUFFIX)).exists():
            self.topic(topic.name)  # if it is being deleted, the error says so
            raise TopicExistsError(topic.name)
        topic = with_topic_id(topic, chance)
        partitions = topic.all_partitions()
        make_directories(
            self.path, partitions, base_offset=base_offset, bare=bare, progress=progress
        )
        self.ends.forget(topic.name)
        self._warnings.update(dict.fromkeys(forget_manifests(self.path, topic.name)))
        starts = dict.fromkeys(partitions, topic.dialect.first_offset(base_offset))
        record_log_starts(self.path, starts)
        self.ends.set_recovery_points(starts)
        write_topic(self.path, topic)
        count_change(self.path)  # somebody may have deleted the files of an earlier topic by hand
        return topic

    def alter_topic(
        self,
        name: str,
        *,
        partitions: int | None = None,
        settings: TopicSettings | None = None,
        progress: Progress = untold,
    ) -> Topic:
        """Add partitions or change settings, and return the changed topic.

        New settings apply to later writes; an index of before is judged by the interval of before.
        Writes the settings last and atomically, so a crash leaves the old topic or the new one.
        Raises ValueError for fewer partitions.
        """
        self._check_is_open()
        topic = self.topic(name)
        if partitions is not None and partitions < topic.partitions:
            raise ValueError(
                f"{name} has {count(topic.partitions, 'partition')}; none can be taken away"
            )
        settings, old = settings or topic.settings, topic.settings
        widest = max(topic.widest_index_interval, old.index_interval_bytes)
        altered = replace(
            topic,
            partitions=topic.partitions if partitions is None else partitions,
            settings=settings,
            has_grown=topic.has_grown or (partitions or 0) > topic.partitions,
            widest_index_interval=widest if widest > settings.index_interval_bytes else 0,
        )
        added = altered.all_partitions()[topic.partitions :]
        make_directories(self.path, added, progress=progress)
        starts = dict.fromkeys(added, 0)
        record_log_starts(self.path, starts)
        self.ends.set_recovery_points(starts)
        write_topic(self.path, altered)
        for topic_partition in topic.all_partitions():
            self.release(topic_partition)
        return altered

    def delete_topic(self, name: str, *, progress: Progress = untold) -> None:
        """Delete a topic with all its messages and manifests, and its settings last.

        First it is marked for deletion: from then on nobody commits offsets of it. After a crash or
        an error the topic still exists, without some of its directories; call this again.
        `warnings` names manifests that it could not read and therefore keeps. Raises
        UnknownTopicOrPartitionError, and OSError for a file that cannot be deleted.
        """
        self._check_is_open()
        write_topic(self.path, replace(read_topic(self.path, name), is_marked_for_deletion=True))
        count_change(self.path)
        for topic_partition in [known for known in self._logs if known.topic == name]:
            self.release(topic_partition)
        self._damage = {known: e for known, e in self._damage.items() if known.topic != name}
        delete_directories(self.path, name, progress=progress)
        self._warnings.update(dict.fromkeys(forget_manifests(self.path, name)))
        sweep_quarantine(self.path)
        self.ends.forget(name)
        (self.path / (name + TOPIC_SUFFIX)).unlink()
        sync(self.path)
        count_change(self.path)

    # ---- partitions

    def log(self, topic_partition: TopicPartition) -> PartitionLog:
        """Return the log of a partition, open for writing; the same object until `release`.

        Raises UnknownTopicOrPartitionError, and CorruptLogError or NotARegularFileError
        if the partition is damaged.
        """
        self._check_is_open()
        if topic_partition not in self._logs:
            self._prepare_to_write()
            reader = self.reader(topic_partition)
            self._recovered_end(reader)
            self._open_log(reader)
        return self._logs[topic_partition]

    def recovery_plan(self, topic_partition: TopicPartition) -> RecoveryPlan:
        """Return what a full recovery of one partition would do; changes nothing. O(bytes)."""
        return self._plan(self.reader(topic_partition))

    def recover(self, plan: RecoveryPlan, *, force: bool = False) -> list[Path]:
        """Carry out a plan for a partition that is not open; return and raise as `carry_out`."""
        self._check_is_open()
        self._remove_marker()
        return self.ends.carry_out(plan, force=force)

    def release(self, topic_partition: TopicPartition) -> None:
        """Flush and close the log of a partition, if it is open; `log` opens it again.

        A log that a failed write has broken is closed without a flush: the next writer recovers it.
        """
        log = self._logs.pop(topic_partition, None)
        if log and log.is_broken:
            log.close()
            self._was_clean = False
        elif log:
            log.flush()
            log.close()
            self.ends.set_recovery_points({topic_partition: log.recovery_point})

    def flush(self) -> None:
        """Flush all open logs, then write their recovery points; both survive a power failure."""
        for topic_partition, log in self._logs.items():
            log.flush()
            self.ends.set_recovery_points({topic_partition: log.recovery_point})
        self.ends.write()

    def close(self, *, cleanly: bool = True) -> None:
        """Flush and close everything, and release the lock.

        Writes the clean-shutdown marker, unless a partition is damaged or not recovered, or a
        failed write has broken it. With `cleanly=False` it acts as if the process had died: it
        writes and flushes nothing, and the next writer recovers. From then on the methods that
        write raise LogClosedError. Idempotent.
        """
        if self._is_closed:
            return
        self._is_closed = True
        if not cleanly:
            for log in self._logs.values():
                log.close()
            self._lock.release()
            return
        try:
            for topic_partition in list(self._logs):
                self.release(topic_partition)
            self.ends.write()
            if self._was_clean and not self._damage:
                replace_file(self._marker, b"")
        finally:
            self._lock.release()

    def _check_is_open(self) -> None:
        if self._is_closed:
            raise LogClosedError(str(self.path), reason="it is closed")

    def _prepare_to_write(self) -> None:
        finish_pending(self.path)
        self._remove_marker()

    def _remove_marker(self) -> None:
        if self._marker.exists():
            self._marker.unlink()
            sync(self.path)  # a power failure must not bring it back beside unfinished writes

    def _recover_all(self) -> None:
        if self._was_clean:
            return
        broken: list[KMiniLogError | OSError] = []
        topics = read_topics(self.path, broken.append)
        for topic in (topic for topic in topics if not topic.is_marked_for_deletion):
            for reader in self.readers(topic):
                scan_from = self.ends.recovery_point(reader.topic_partition)
                end = self._recover(reader, scan_from=scan_from)
                if end is not None and end > scan_from:  # up to `scan_from` it is on the disk
                    self._open_log(reader)
                    self.release(reader.topic_partition)
        # Now: recovery would skip messages below a recovery point that is above the cut log's end.
        self.ends.write()
        self._warnings.update(dict.fromkeys(map(str, broken)))
        self._was_clean = not broken  # else the next writer recovers the others, once mended

    def _plan(
        self, reader: PartitionReader, *, is_after_crash: bool = True, scan_from: int = 0
    ) -> RecoveryPlan:
        point = self.ends.recovery_point(reader.topic_partition)
        return _plan(reader, point, scan_from, self._scanner, is_after_crash=is_after_crash)

    def _recover(
        self, reader: PartitionReader, *, is_after_crash: bool = True, scan_from: int = 0
    ) -> int | None:
        """Recover a partition and return its log end offset; None if it is damaged."""
        try:
            plan = self._plan(reader, is_after_crash=is_after_crash, scan_from=scan_from)
            self.ends.carry_out(plan)
        except (CorruptLogError, NotARegularFileError) as error:
            self._damage[reader.topic_partition] = error
            return None
        self._warnings.update(dict.fromkeys(describe(plan)))
        return plan.log_end_offset

    def _recovered_end(self, reader: PartitionReader) -> int:
        """Recover a partition that is not open, and return its log end offset; raises as `log`."""
        topic_partition, end = reader.topic_partition, None
        if topic_partition not in self._damage:
            last_on_disk = _last_below(self.ends.recovery_point(topic_partition))
            end = self._recover(reader, is_after_crash=False, scan_from=last_on_disk)
        if end is None:
            raise self._damage[topic_partition]
        return end

    def _open_log(self, reader: PartitionReader) -> None:
        self._logs[reader.topic_partition] = PartitionLog.open(
            reader.directory,
            reader.topic_partition,
            reader.dialect,
            reader.settings,
            recovery_point=self.ends.recovery_point(reader.topic_partition),
            on_files_removed=partial(count_change, self.path),
            record_start=lambda start: record_log_starts(
                self.path, {reader.topic_partition: start}
            ),
        )


def _plan(
    reader: PartitionReader,
    recovery_point: int,
    scan_from: int,
    scanner: SegmentScanner,
    *,
    is_after_crash: bool,
) -> RecoveryPlan:
    topic_partition, directory = reader.topic_partition, reader.directory
    if not directory.is_dir():
        way_out = typed("topic delete", topic_partition.topic, options="--yes")
        reason = f"the directory is gone; put it back, or {way_out}"
        raise CorruptLogError(str(directory), position=0, reason=reason)
    plan = plan_recovery(
        reader,
        is_after_crash=is_after_crash,
        scan_from=scan_from,
        recovery_point=recovery_point,
        scanner=scanner,
        is_valid_index=is_valid_index,
    )
    if plan.log_end_offset > MAX_OFFSET:
        reason = f"a message has offset {MAX_OFFSET}, after which there is none for the next one"
        remedy = "nothing can be appended; move its messages to a new topic"
        raise CorruptLogError(str(directory), position=0, reason=reason, remedy=remedy)
    return plan


def _last_below(recovery_point: int) -> int:
    return max(recovery_point - 1, 0)


def next_recovery(
    log_dir: LogDir, reader: PartitionReader, scanner: SegmentScanner = PLAIN
) -> RecoveryPlan:
    """Return what recovery does to a partition when the next writer uses it; changes nothing.

    For a dry run: it needs no lock. Raises what `LogDirWriter.log` would. O(bytes that it reads).
    """
    is_after_crash = not (log_dir.path / CLEAN_SHUTDOWN_FILE).exists()
    point = read_checkpoint(log_dir.path).get(reader.topic_partition, 0)
    scan_from = point if is_after_crash else _last_below(point)
    look = partial(_plan, reader, point, scan_from, scanner, is_after_crash=is_after_crash)
    plan = look()
    while plan.damage and (again := look()).log_end_offset != plan.log_end_offset:
        plan = again  # a writer is at work: what was half there is whole now
    plan.refuse_damage()
    return plan


def check_undamaged(writer: LogDirWriter, topic: Topic) -> None:
    """Raise the error of a partition whose damage is known since the writer was opened."""
    for topic_partition in filter(writer._damage.get, topic.all_partitions()):
        raise writer._damage[topic_partition]


def log_end_offsets(
    writer: LogDirWriter, topic: Topic, partitions: Iterable[int]
) -> dict[int, int]:
    """Return the log end offsets of partitions that are not open, without opening them to write.

    It recovers them as `LogDirWriter.log` does, and raises the same errors. O(files).
    """
    writer._check_is_open()
    writer._prepare_to_write()
    readers = {
        partition: writer._reader(topic, topic.partition(partition), None)
        for partition in partitions
    }
    return {partition: writer._recovered_end(reader) for partition, reader in readers.items()}
