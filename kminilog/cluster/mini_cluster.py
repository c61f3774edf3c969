"""Several brokers in one process, each with its own log dir: what producers and consumers ask.

    producer --produce--> leader's log --fetch--> followers' logs        replicate()
                                       --fetch--> consumers              below the high watermark

Followers pull messages, one round in each call of `replicate`, in the thread of the caller. The
leader learns what a follower has from the offset that it asks for next. So the leader knows one
round later that a message is on all in-sync replicas. Then it is below the high watermark, that is
committed: it survives as long as one in-sync replica does.

`controller` knows topics, brokers and leaders. There is no network: arguments and results are
values that a protocol could carry. Source: S0 1, S1 3; Kafka: ReplicaManager, KafkaApis.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple, Self, TypeVar

from kminilog.clock import Clock
from kminilog.cluster.broker import Broker, go_on
from kminilog.cluster.cluster_files import ClusterFiles
from kminilog.cluster.controller import Controller, LeaderReplica
from kminilog.cluster.controller_state import AnyPath, ControllerState
from kminilog.cluster.replica import FETCH_BYTES, Replica
from kminilog.cluster.replication import agree, pull
from kminilog.cluster.requests import UNKNOWN_OFFSET, Produced
from kminilog.cluster.state_file import MAX_BROKERS
from kminilog.errors import (
    KMiniLogError,
    LogClosedError,
    NotLeaderForPartitionError,
    WriteFailedError,
)
from kminilog.format.message import Message
from kminilog.format.names import TopicPartition
from kminilog.settings import INT64_MAX
from kminilog.storage.lock import LockWait
from kminilog.storage.partition.notices import warn
from kminilog.storage.segment.scan import PLAIN, SegmentScanner
from kminilog.storage.segment.segment import Segment

Result = TypeVar("Result")
REPLICA_LAG_TIME_MAX_MS = 10_000
HIGH_WATERMARK_CHECKPOINT_MS = 5_000


class Fetched(NamedTuple):
    """Messages for a consumer, all below the high watermark."""

    messages: list[Message]
    high_watermark: int


class MiniCluster(Controller):
    """A cluster that can lose brokers: `start`, `stop`, `crash`, `pause` and `resume` them.

    As a context manager it closes itself. Safe to be called from several threads.
    """

    replica_lag_time_max_ms = REPLICA_LAG_TIME_MAX_MS
    replica_fetch_max_bytes = FETCH_BYTES
    on_unheard: Callable[[KMiniLogError], object] = staticmethod(warn)
    """Gets the errors of requests with acks 0, of which their producer does not hear."""
    _checkpointed_ms: int | None = None

    @classmethod
    def open(
        cls,
        path: AnyPath,
        *,
        brokers: int = 3,
        clock: Clock,
        replica_lag_time_max_ms: int = REPLICA_LAG_TIME_MAX_MS,
        replica_fetch_max_bytes: int = FETCH_BYTES,
        safe_point: Callable[[], object] = go_on,
    ) -> "MiniCluster":
        """Start brokers 0 to `brokers` - 1 in a directory, which may be new; all must be closed.

        The leaders are those of the last time, but a partition without a leader may get one. Raises
        LogDirLockedError, LogDirError, CorruptLogError if a replica is damaged, and ValueError if
        there are fewer brokers than hold replicas, or more than MAX_BROKERS. `safe_point` is as in
        Broker.
        """
        if brokers > MAX_BROKERS:
            raise ValueError(f"a cluster has at most {MAX_BROKERS} brokers")
        state = ControllerState.open(path)
        nodes = {
            node: Broker(node, state.broker_path(node), safe_point=safe_point)
            for node in range(brokers)
        }
        cluster = cls(state, nodes, clock)
        cluster.replica_lag_time_max_ms = replica_lag_time_max_ms
        cluster.replica_fetch_max_bytes = replica_fetch_max_bytes
        return cluster._started(as_stored=False)

    @classmethod
    def reopen(
        cls,
        path: AnyPath,
        *,
        clock: Clock,
        scanner: SegmentScanner = PLAIN,
        lock_wait: LockWait | None = None,
        safe_point: Callable[[], object] = go_on,
    ) -> "MiniCluster":
        """Open a cluster as it was left: brokers that had crashed or were stopped stay down.

        So do those that cannot start now: `take_warnings` says why. Raises NoClusterError;
        else as `open`.
        """
        ClusterFiles(path).state()
        state = ControllerState.open(path, lock_wait)
        nodes = {
            node: Broker(node, state.broker_path(node), scanner, safe_point)
            for node in state.brokers
        }
        return cls(state, nodes, clock)._started(as_stored=True)

    def _started(self, *, as_stored: bool) -> "MiniCluster":
        try:
            self._start_all(as_stored=as_stored)
        except BaseException:
            self._end_all(cleanly=False)
            raise
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- for producers

    def produce(self, topic_partition: TopicPartition, data: bytes, *, acks: int) -> Produced:
        """Append the messages of a request at the leader; see requests.Cluster.

        Once it returns, the leader has them and the operating system does. With acks 0 the offsets
        are unknown (-1), and so is whether the leader took the messages. Raises ValueError for
        other acks than -1, 0 and 1.
        """
        if acks not in (-1, 0, 1):
            raise ValueError(f"acks is -1, 0 or 1, not {acks}")
        with self._lock:
            leader = self._leader(topic_partition)
            place = (leader.node, leader.leadership.leader_epoch)
            offsets = range(UNKNOWN_OFFSET, UNKNOWN_OFFSET)
            try:
                now_ms = self._clock.now_ms()
                appended = at_leader(
                    self, topic_partition, lambda copy: copy.append_request(data, now_ms=now_ms)
                )
                if acks:
                    offsets = appended
            except KMiniLogError as error:
                if acks:
                    raise
                self.on_unheard(error)
            return Produced(offsets.start, offsets.stop, *place)

    def _worked(self, leader: LeaderReplica, work: Callable[[Replica], Result]) -> Result:
        try:
            return work(leader.replica)
        except (WriteFailedError, LogClosedError) as error:
            if isinstance(error, WriteFailedError) and error.restored:
                raise
            # Its log refuses writes until it is opened again: another replica can lead meanwhile.
            self._crash_of(leader.node, error)
            topic, partition = leader.replica.log.topic_partition
            raise NotLeaderForPartitionError(
                topic, partition=partition, node=leader.node
            ) from error

    def _crash_of(self, node: int, error: WriteFailedError | LogClosedError) -> None:
        reason = f"{error.path}: {error.reason}" if isinstance(error, WriteFailedError) else error
        self._brokers[node].warn(
            f"it is down now, because a write failed: {reason}; start it again"
        )
        with suppress(OSError):
            self._brokers[node].checkpoint()  # else retention keeps all, and the disk stays full
        self.crash(node)

    def is_replicated(self, topic_partition: TopicPartition, produced: Produced) -> bool:
        """Tell if all in-sync replicas have these messages: then they are committed.

        Raises NotLeaderForPartitionError if another leader, or another epoch, has begun since.
        """
        with self._lock:
            leadership = self._state.leadership(topic_partition)
            current = (leadership.leader, leadership.leader_epoch)
            if current != (produced.leader, produced.leader_epoch):
                raise NotLeaderForPartitionError(
                    topic_partition.topic,
                    partition=topic_partition.partition,
                    node=produced.leader,
                )
            return self.high_watermark(topic_partition) >= produced.next_offset

    # ---- for consumers

    def fetch(
        self, topic_partition: TopicPartition, offset: int, max_bytes: int = FETCH_BYTES
    ) -> Fetched:
        """Return committed messages from `offset` on, as PartitionReader.read does.

        None between the high watermark and the leader's end. Raises OffsetOutOfRangeError outside
        of the leader's log, UnknownTopicOrPartitionError, LeaderNotAvailableError.
        """
        with self._lock:
            replica = self._leader(topic_partition).replica
            high_watermark = replica.high_watermark
            if high_watermark <= offset <= replica.log.log_end_offset:
                return Fetched([], high_watermark)
            messages = replica.fetch(offset, max_bytes)
            return Fetched(messages[: high_watermark - offset], high_watermark)

    def high_watermark(self, topic_partition: TopicPartition) -> int:
        """Return one past the last message that the leader knows to be committed; raises as fetch.

        Under a new leader it can be lower at first: no committed message is lost, but the new
        leader does not know yet that they are committed.
        """
        with self._lock:
            return self._leader(topic_partition).replica.high_watermark

    def in_sync_replicas(self, topic_partition: TopicPartition) -> tuple[int, ...]:
        """Return the node ids of the in-sync replicas, in replica order; never none."""
        with self._lock:
            return self._state.leadership(topic_partition).in_sync

    # ---- among the brokers

    def replicate(self) -> int:
        """Let every follower that runs and is not paused pull once; return the number of messages.

        Up to replica.fetch.max.bytes of each partition, but one message at least. O(messages
        copied). Then followers that lag for too long leave the in-sync replicas, by the
        clock. A broker whose disk refuses a write ends as if it had crashed, as Kafka's does.
        """
        copied = sum(replicate_partition(self, each) for each in list(self._state.partitions))
        checkpoint_if_due(self)
        return copied

    def retain(
        self,
        partition: TopicPartition,
        expired: Mapping[int, list[Segment]],
        now_ms: int,
        free_bytes: int = INT64_MAX,
    ) -> list[str]:
        """Delete segments of copies, by broker, as `expired_in_copies` has found them.

        Also removes `.deleted` files as `Replica.delete_oldest` does, and returns their paths. The
        leader's copy comes last: after a crash in the middle the next call finds the rest. Raises
        OSError.
        """
        with self._lock:
            return [
                path
                for node, segments in expired.items()
                for path in self._brokers[node]
                .replica(partition)
                .delete_oldest(len(segments), now_ms, free_bytes)
            ]

    def close(self) -> None:
        """Stop all brokers that run, in order; leaderships stay as they are."""
        with self._lock:
            if not self._is_closed:
                self._end_all(cleanly=True)

    # ---- steps

    def _pull(self, node: int, partition: TopicPartition) -> int:
        """One fetch request of a follower, its answer, and what the leader learns from it."""
        _, leadership, leader, progress = self._leader(partition)
        broker, now_ms = self._brokers[node], self._clock.now_ms()
        try:
            agree(broker, partition, leader, leadership.leader_epoch, now_ms=now_ms)
            offset = broker.replica(partition).log.log_end_offset
            progress.asked(node, offset, leader_end=leader.log.log_end_offset, now_ms=now_ms)
            may_join = progress.may_join(node, high_watermark=leader.high_watermark)
            if may_join and node not in leadership.in_sync:
                self._change_in_sync(partition, {*leadership.in_sync, node})
            self._advance(partition)
            max_bytes = self.replica_fetch_max_bytes
            return pull(broker, partition, leader, max_bytes=max_bytes, now_ms=now_ms)
        except WriteFailedError as error:
            self._crash_of(node, error)
            return 0

    def _drop_lagging(self, partition: TopicPartition) -> None:
        if self._state.leadership(partition).leader is None:
            return
        _, leadership, leader, progress = self._leader(partition)
        lagging = progress.lagging(
            leadership.in_sync,
            leader_end=leader.log.log_end_offset,
            now_ms=self._clock.now_ms(),
            lag_time_max_ms=self.replica_lag_time_max_ms,
        )
        if lagging:
            self._change_in_sync(partition, set(leadership.in_sync) - lagging)


def at_leader(
    cluster: MiniCluster, topic_partition: TopicPartition, work: Callable[[Replica], Result]
) -> Result:
    """Let `work` read the leader's copy, or append to its log; return what it returns.

    A leader whose log cannot be written any more ends as if it had crashed: then raises
    NotLeaderForPartitionError. Raises UnknownTopicOrPartitionError, LeaderNotAvailableError, and
    what `work` raises.
    """
    with cluster._lock:
        result = cluster._worked(cluster._leader(topic_partition), work)
        cluster._advance(topic_partition)
        return result


def replicate_partition(cluster: MiniCluster, partition: TopicPartition) -> int:
    """Do what `replicate` does, for one partition.

    If a follower cannot copy, because its leader's log is damaged, it lags. Raises what reading
    that log raises, once followers that lag for too long have left the in-sync replicas.
    """
    with cluster._lock:
        copied, leadership = 0, cluster._state.leadership(partition)
        try:
            for node in leadership.followers:
                if leadership.leader is not None and cluster._fetches(node):
                    copied += cluster._pull(node, partition)
        finally:
            cluster._drop_lagging(partition)
        return copied


def checkpoint_if_due(cluster: MiniCluster) -> None:
    """Store the high watermarks of all brokers that run, every few seconds."""
    with cluster._lock:
        now_ms = cluster._clock.now_ms()
        if cluster._checkpointed_ms is None:
            cluster._checkpointed_ms = now_ms
        if now_ms - cluster._checkpointed_ms >= HIGH_WATERMARK_CHECKPOINT_MS:
            cluster._checkpointed_ms = now_ms
            for broker in cluster._brokers.values():
                if broker.is_running:
                    broker.checkpoint()
