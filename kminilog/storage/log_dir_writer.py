"""The one writer of a log dir: it holds the lock, and recovers what the last one has left behind.

    open    lock -> finish or sweep the jobs of crashed writers -> recover partitions
    close   flush -> recovery points on record -> marker of a clean shutdown -> let go of the lock

After a clean shutdown nothing is read before it is needed. Source: S1 5.1; Kafka: LogManager.
"""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from kminilog.errors import CorruptLogError, KMiniLogError, NotARegularFileError
from kminilog.format.names import TopicPartition
from kminilog.log_dir_errors import TopicExistsError
from kminilog.settings import TopicSettings
from kminilog.storage.changes import begin_counting, count_change
from kminilog.storage.durable_file import replace_file, sync
from kminilog.storage.lock import LogDirLock
from kminilog.storage.lock_wait import LockWait
from kminilog.storage.log_dir import LogDir
from kminilog.storage.log_ends import LogEnds
from kminilog.storage.partition_directories import Progress, delete_directories, make_directories
from kminilog.storage.partition_log import PartitionLog
from kminilog.storage.partition_reader import PartitionReader
from kminilog.storage.publish.manifests import forget_manifests
from kminilog.storage.publish.publication import finish_or_sweep, finish_pending
from kminilog.storage.recovery import RecoveryPlan, plan_recovery
from kminilog.storage.recovery_report import describe
from kminilog.storage.segment_scan import PLAIN, SegmentScans
from kminilog.storage.topics import TOPIC_SUFFIX, Topic, write_topic

CLEAN_SHUTDOWN_FILE = ".clean-shutdown"


class LogDirWriter(LogDir):
    """A log dir as its one writer sees it; a context manager that closes it cleanly."""

    def __init__(
        self,
        path: Path | str,
        lock: LogDirLock,
        scans: SegmentScans = PLAIN,
    ) -> None:
        super().__init__(path)
        self._plan_recovery = partial(plan_recovery, scans=scans)
        self._warnings: dict[str, None] = {}
        self._lock = lock
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._damage: dict[TopicPartition, CorruptLogError | NotARegularFileError] = {}
        self._ends = LogEnds(self.path)
        self._was_clean = self._marker.exists()

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        create: bool = False,
        recover: bool = True,
        scans: SegmentScans = PLAIN,
        lock_wait: LockWait | None = None,
    ) -> Self:
        """Take the lock of a log dir, finish what crashed jobs have left, and recover partitions.

        After a clean shutdown a partition gets a quick look when it is first used; otherwise every
        segment from its recovery point on is read now. A partition with damage is not opened: `log`
        raises its error, the others work. `warnings` says what was cut or is gone. With
        `recover=False` partitions are left as they are, for a human to decide. `scans`
        read segments: plainly, or by faster equals.

        Raises LogDirLockedError, at once or when the time of `lock_wait` is up, and LogDirError if
        the directory is not there (`create` makes it).
        """
        if create:
            with suppress(FileExistsError):  # a file: that is told below
                Path(path).mkdir(parents=True, exist_ok=True)
        LogDir(path)
        lock = lock_wait.take(Path(path)) if lock_wait else LogDirLock(Path(path))
        try:
            log_dir = cls(path, lock, scans)
            begin_counting(log_dir.path)
            if not log_dir._was_clean:  # the last writer may have died before it counted
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except (OSError, KMiniLogError) as second:
            if error is None:
                raise
            error.add_note(f"closing the log dir failed too: {second}")

    @property
    def warnings(self) -> list[str]:
        """What recovery has cut, rebuilt or removed, and what is gone: each line once, in order."""
        return list(self._warnings)

    @property
    def _marker(self) -> Path:
        return self.path / CLEAN_SHUTDOWN_FILE

    # ---- topics

    def create_topic(
        self, topic: Topic, *, base_offset: int = 0, progress: Progress | None = None
    ) -> None:
        """Make the partitions of a topic, empty; their first messages get `base_offset`.

        The settings are written last: until then there is no topic, and it can be created again.
        Once it returns, the topic survives a power failure; see `make_directories`. O(partitions).
        Raises TopicExistsError, and LogDirError if a directory of that name holds messages already.
        """
        if (self.path / (topic.name + TOPIC_SUFFIX)).exists():
            raise TopicExistsError(topic.name)
        self._ends.forget(topic.name)
        partitions = topic.all_partitions()
        make_directories(self.path, partitions, base_offset=base_offset, progress=progress)
        write_topic(self.path, topic)

    def alter_topic(
        self,
        name: str,
        *,
        partitions: int | None = None,
        settings: TopicSettings | None = None,
        progress: Progress | None = None,
    ) -> Topic:
        """Add partitions or change settings, and return the topic as it is now.

        Settings hold for what is written from now on. Raises ValueError for fewer partitions.
        """
        topic = self.topic(name)
        if partitions is not None and partitions < topic.partitions:
            raise ValueError(f"{name} has {topic.partitions} partitions; none can be taken away")
        altered = replace(
            topic,
            partitions=topic.partitions if partitions is None else partitions,
            settings=settings or topic.settings,
        )
        added = altered.all_partitions()[topic.partitions :]
        make_directories(self.path, added, progress=progress)
        write_topic(self.path, altered)
        for topic_partition in topic.all_partitions():
            self.release(topic_partition)
        return altered

    def delete_topic(self, name: str, *, progress: Progress | None = None) -> None:
        """Delete a topic with all its messages and manifests, its settings last.

        Whole directories go, by their names. After a crash or an error in the middle the topic is
        still there, without some of them, and can be deleted. `warnings` says which manifests stay.
        Raises UnknownTopicOrPartitionError, and OSError for what cannot be deleted.
        """
        self.topic(name)
        for topic_partition in [known for known in self._logs if known.topic == name]:
            self.release(topic_partition)
        self._damage = {known: e for known, e in self._damage.items() if known.topic != name}
        delete_directories(self.path, name, progress=progress)
        self._warnings.update(dict.fromkeys(forget_manifests(self.path, name)))
        self._ends.forget(name)
        (self.path / (name + TOPIC_SUFFIX)).unlink()
        sync(self.path)
        count_change(self.path)

    # ---- partitions

    def log(self, topic_partition: TopicPartition) -> PartitionLog:
        """Return the log of a partition, open for writing; the same object each time.

        Raises UnknownTopicOrPartitionError, and CorruptLogError or NotARegularFileError
        if the partition is damaged.
        """
        if topic_partition not in self._logs and topic_partition not in self._damage:
            finish_pending(self.path)
            self._marker.unlink(missing_ok=True)
            reader = self.reader(topic_partition)
            if self._recover(reader, scan_from=None) is not None:
                self._open_log(reader)
        if topic_partition in self._damage:
            raise self._damage[topic_partition]
        return self._logs[topic_partition]

    def recovery_plan(self, topic_partition: TopicPartition) -> RecoveryPlan:
        """Return what a full recovery of one partition would do; reads all of it."""
        return self._plan(self.reader(topic_partition), scan_from=0)

    def recover(self, plan: RecoveryPlan, *, force: bool = False) -> list[Path]:
        """Carry out a plan for a partition that is not open; see recovery.carry_out."""
        self._marker.unlink(missing_ok=True)
        return self._ends.carry_out(plan, force=force)

    def release(self, topic_partition: TopicPartition) -> None:
        """Flush and close the log of a partition, if it is open; `log` opens it again.

        One that a failed write has broken is only closed: the next writer has to recover.
        """
        log = self._logs.pop(topic_partition, None)
        if log and log.is_broken:
            log.close()
            self._was_clean = False
        elif log:
            log.flush()
            log.close()
            self._ends.set_recovery_point(topic_partition, log.recovery_point)

    def flush(self) -> None:
        """Bring all open logs to the disk and put their recovery points on record."""
        for topic_partition, log in self._logs.items():
            log.flush()
            self._ends.set_recovery_point(topic_partition, log.recovery_point)
        self._ends.write()

    def close(self, *, cleanly: bool = True) -> None:
        """Flush and close everything, and let go of the lock.

        Leaves the marker of a clean shutdown, unless a partition is damaged, was not recovered, or
        was broken by a failed write.
        With `cleanly=False` it is as if the process had died: nothing is written or flushed, and
        the next writer has to recover.
        """
        if not cleanly:
            for log in self._logs.values():
                log.close()
            self._lock.release()
            return
        try:
            for topic_partition in list(self._logs):
                self.release(topic_partition)
            self._ends.write()
            if self._was_clean and not self._damage:
                replace_file(self._marker, b"")
        finally:
            self._lock.release()

    def _recover_all(self) -> None:
        if self._was_clean:
            return
        for topic in self.topics():
            for reader in self.readers(topic):
                scan_from = self._ends.recovery_point(reader.topic_partition)
                end = self._recover(reader, scan_from=scan_from)
                if end is not None and end > scan_from:  # else all of it is on the disk
                    self._open_log(reader)
                    self.release(reader.topic_partition)
        # At once: a point above where a cut log now ends would hide what is appended below it.
        self._ends.write()
        self._was_clean = True

    def _plan(self, reader: PartitionReader, *, scan_from: int | None) -> RecoveryPlan:
        topic_partition, directory = reader.topic_partition, reader.directory
        if not directory.is_dir():
            way_out = f"`kminilog topic delete {topic_partition.topic} --yes`"
            reason = f"the directory is gone; put it back, or {way_out}"
            raise CorruptLogError(str(directory), position=0, reason=reason)
        recovery_point = self._ends.recovery_point(topic_partition)
        return self._plan_recovery(reader, scan_from=scan_from, recovery_point=recovery_point)

    def _recover(self, reader: PartitionReader, *, scan_from: int | None) -> int | None:
        """Make a partition sound and return where it ends; None if it has damage."""
        try:
            plan = self._plan(reader, scan_from=scan_from)
            self._ends.carry_out(plan)
        except (CorruptLogError, NotARegularFileError) as error:
            self._damage[reader.topic_partition] = error
            return None
        self._warnings.update(dict.fromkeys(describe(plan)))
        return plan.log_end_offset

    def _open_log(self, reader: PartitionReader) -> None:
        self._logs[reader.topic_partition] = PartitionLog.open(
            reader.directory,
            reader.topic_partition,
            reader.dialect,
            reader.settings,
            recovery_point=self._ends.recovery_point(reader.topic_partition),
            files_gone=partial(count_change, self.path),
        )
