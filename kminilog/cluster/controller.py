"""Which brokers run, and who therefore leads what.

The controller starts and stops brokers. By the rules of `leadership` and of `outdone` it then
decides who leads, stores the decision, and only then acts on it. For each partition with a leader
it keeps what that leader knows of its followers. A paused broker runs and leads, but fetches
nothing.

A copy that has lost its end does not lead while another in-sync copy has more:

    broker 0   m0            it had m1 and m2 on record, and finds its file without them
    broker 1   m0 m1 m2      in sync: it leads, and broker 0 copies m1 and m2 from it

If broker 0 led with what is left, broker 1 would have to agree with it and truncate: the last copy
of committed messages would go. So broker 0 leaves the in-sync replicas when it starts, as a broker
does that is down, and joins them again when it has copied. If no copy has more, nothing better is
there than what is left. A broker notices only a loss that it has on record: a log that ends below
its recovery point, or below the high watermark, which are written from time to time.

One lock protects everything. `mini_cluster` adds what clients ask. Source: Kafka:
KafkaController, ReplicaStateMachine, PartitionStateMachine, AdminUtils.assignReplicasToBrokers
without racks, KIP-966; lost ends: ours. Differs: it sees at once when a broker fails, no leader
gives its leadership back to the preferred replica, and where the placing of replicas begins is an
argument (docs/differences.md).
"""

from collections.abc import Collection, Mapping, Sequence
from threading import RLock
from typing import NamedTuple

from kminilog.clock import Chance, Clock
from kminilog.cluster.broker import Broker, take_back
from kminilog.cluster.controller_state import ControllerState
from kminilog.cluster.leadership import Leadership, node_of, partition_info, settle, with_in_sync
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.cluster.replica import Replica
from kminilog.cluster.replication import FollowerProgress
from kminilog.cluster.state_file import MAX_BROKERS
from kminilog.errors import (
    ClientClosedError,
    LeaderNotAvailableError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from kminilog.format.names import TopicPartition
from kminilog.progress import Progress, untold
from kminilog.storage.topics import Topic, with_topic_id
from kminilog.system import SYSTEM_CHANCE

# ---- the replicas of a new topic


def place_replicas(
    partitions: int,
    replication_factor: int,
    brokers: Sequence[int],
    *,
    start: int = 0,
    shift: int = 0,
) -> list[tuple[int, ...]]:
    """Return the brokers of each partition; the first of them is to lead it.

    The first replicas are placed on the brokers in turn. The other replicas of a partition follow
    its first one at a distance that grows by one with each full round. So a broker that fails is
    not always replaced by the same one.

    `start` is the slot of the broker that gets the first replica of partition 0; `shift` how many
    brokers its second replica leaves out. Raises ValueError for a replication factor below 1 or
    above the number of brokers.

    >>> place_replicas(4, 2, [0, 1, 2])
    [(0, 1), (1, 2), (2, 0), (0, 2)]
    """
    count = len(brokers)
    if not 1 <= replication_factor <= count:
        reason = f"replication factor {replication_factor} with {count} available brokers"
        raise ValueError(f"{reason}; it is 1 to the number of brokers that run")
    placed = []
    for partition in range(partitions):
        first = partition + start
        distances = [0]
        for follower in range(replication_factor - 1):
            distances.append(1 + (shift + partition // count + follower) % (count - 1))
        placed.append(tuple(brokers[(first + distance) % count] for distance in distances))
    return placed


# ---- copies that have lost their end


def outdone(
    brokers: Mapping[int, Broker],
    partition: TopicPartition,
    leadership: Leadership,
    running: Collection[int],
) -> set[int]:
    """Return the in-sync brokers which have lost what another one that runs still has.

    Each loss is told once, in the warnings of its broker; then it counts no more.
    """
    copies = {n: brokers[n].replica(partition) for n in leadership.replicas if n in running}
    in_sync = [node for node in copies if node in leadership.in_sync]
    longest = max((copies[node].log.log_end_offset for node in in_sync), default=0)
    found = set()
    for node, copy in copies.items():
        lost, copy.lost = copy.lost, range(0)
        if not lost or node not in in_sync:  # a copy that is not in sync copies in any case
            continue
        told = f"it has lost offsets {lost[0]}..{lost[-1]} of {partition}, "
        if copy.log.log_end_offset < longest:
            found.add(node)
            told += "so it copies them from another broker that is in sync"
        else:
            told += "and no other live broker that is in sync has them: they are gone"
        brokers[node].warn(told)
    return found


# ---- the controller


class LeaderReplica(NamedTuple):
    """A partition that has a leader: that node's copy, and what it knows of its followers."""

    node: int
    leadership: Leadership
    replica: Replica
    progress: FollowerProgress


class Controller:
    """The brokers of a cluster by node id, and the state of its partitions.

    Invariant: in-sync lists are never empty. A partition has a leader if one of them runs, and then
    all of them run, and there is a FollowerProgress.
    """

    def __init__(self, state: ControllerState, brokers: dict[int, Broker], clock: Clock) -> None:
        self._lock = RLock()
        self._brokers = brokers
        self._state = state
        self._clock = clock
        self._progress: dict[TopicPartition, FollowerProgress] = {}
        self._paused: set[int] = set()
        self._metadata: ClusterMetadata | None = None
        self._is_closed = False

    # ---- brokers begin and end

    def start(self, node: int) -> None:
        """Start a broker that is down; partitions that waited for it get a leader again.

        Raises what Broker.start raises; ValueError for a broker that runs, or that does not exist.
        """
        with self._lock:
            broker = self._broker(node, is_running=False)
            broker.start(self._hosted(node), self._state.topics.values())
            self._settle()

    def stop(self, node: int) -> None:
        """Stop a broker in order: its partitions get other leaders, then it closes its files.

        Raises ValueError for a broker that is down, or that does not exist.
        """
        with self._lock:
            broker = self._broker(node, is_running=True)
            self._settle(going=node)
            broker.stop()

    def crash(self, node: int) -> None:
        """End a broker as if its process were killed; its partitions then get other leaders.

        Raises ValueError for a broker that is down, or that does not exist.
        """
        with self._lock:
            self._broker(node, is_running=True).crash()
            self._settle()

    def add_broker(self) -> int:
        """Add a broker without replicas, start it, and return its node id: the highest one + 1.

        New topics may use it. Raises ValueError if there are MAX_BROKERS already.
        """
        with self._lock:
            if self._is_closed:
                raise ClientClosedError("cluster")
            node = max(self._brokers, default=-1) + 1
            if node >= MAX_BROKERS:
                raise ValueError(f"a cluster has at most {MAX_BROKERS} brokers")
            broker = Broker(node, self._state.broker_path(node))
            broker.start([])
            self._brokers[node] = broker
            self._settle()
            return node

    def pause(self, node: int) -> None:
        """Stop the fetching of a broker's followers until `resume`, so that they lag."""
        with self._lock:
            self._paused.add(self._broker(node).node)

    def resume(self, node: int) -> None:
        """Let a broker's followers fetch again."""
        with self._lock:
            self._paused.discard(self._broker(node).node)

    # ---- topics and partitions

    def create_topic(
        self,
        topic: Topic,
        replication_factor: int = 1,
        progress: Progress = untold,
        *,
        chance: Chance = SYSTEM_CHANCE,
    ) -> Topic:
        """Make a topic and return it; `place_replicas` places its replicas over running brokers.

        `chance` draws its id, unless it has one; all brokers store the same one. Once this returns,
        the topic survives a power failure; a crash before that leaves none, or one that the next
        attempt takes over; an interrupt leaves none. `progress` is as in Broker. Raises
        TopicExistsError; ValueError for a factor below 1 or above the number of brokers up.
        """
        with self._lock:
            if self._is_closed:
                raise ClientClosedError("cluster")
            if topic.name in self._state.topics:
                raise TopicExistsError(topic.name, remedy="choose another name")
            topic = with_topic_id(topic, chance)
            running = sorted(self._running())
            placed = place_replicas(topic.partitions, replication_factor, running)
            partitions = dict(zip(topic.all_partitions(), placed, strict=True))
            try:
                for node in running:
                    if hosted := [name for name, nodes in partitions.items() if node in nodes]:
                        self._brokers[node].create_topic(topic, hosted, progress)
            except KeyboardInterrupt:
                for node in running:
                    take_back(self._brokers[node], topic)
                raise
            led = {name: Leadership.of_new_partition(nodes) for name, nodes in partitions.items()}
            self._record(led, topic=topic)
            return topic

    @property
    def state(self) -> ControllerState:
        """The brokers, the topics, and who leads what; only the cluster changes it."""
        return self._state

    def topic_id(self, name: str) -> str | None:
        """Return the identity of a topic; UnknownTopicOrPartitionError if there is none."""
        with self._lock:
            if name not in self._state.topics:
                raise UnknownTopicOrPartitionError(name)
            return self._state.topics[name].topic_id

    def metadata(self) -> ClusterMetadata:
        """Return the current leaders and nodes; the same object until something changes."""
        with self._lock:
            if self._metadata is None:
                running, partitions = self._running(), self._state.partitions.items()
                infos = [partition_info(*item, running) for item in partitions]
                self._metadata = ClusterMetadata(map(node_of, sorted(running)), infos)
            return self._metadata

    def take_warnings(self) -> list[str]:
        """Return, once, what starts of brokers have cut or rebuilt, and why others are down."""
        with self._lock:
            return [line for broker in self._brokers.values() for line in broker.take_warnings()]

    # ---- for those who add the requests

    def _leader(self, partition: TopicPartition) -> LeaderReplica:
        """Return what leads a partition.

        Raises UnknownTopicOrPartitionError, LeaderNotAvailableError, ClientClosedError.
        """
        if self._is_closed:
            raise ClientClosedError("cluster")
        leadership = self._state.leadership(partition)
        node = leadership.leader
        if node is None:
            raise LeaderNotAvailableError(partition.topic, partition=partition.partition)
        replica = self._brokers[node].replica(partition)
        return LeaderReplica(node, leadership, replica, self._progress[partition])

    def _change_in_sync(self, partition: TopicPartition, nodes: set[int]) -> Leadership:
        leadership = with_in_sync(self._state.leadership(partition), nodes)
        self._record({partition: leadership})
        return leadership

    def _fetches(self, node: int) -> bool:
        """Tell if a broker's followers fetch: it runs and is not paused."""
        return self._brokers[node].is_running and node not in self._paused

    # ---- steps

    def _start_all(self, *, as_stored: bool) -> None:
        """Start the brokers of a cluster that was closed, with the leaders that it had.

        All of them; or, with `as_stored`, those that were live. One that cannot start is then down.
        """
        leaderships, topics = self._state.partitions.values(), self._state.topics.values()
        holders = {node for leadership in leaderships for node in leadership.replicas}
        if not holders <= set(self._brokers):
            raise ValueError(f"there are replicas on brokers {sorted(holders)}; name them all")
        for node in self._brokers:
            if not as_stored:
                self._brokers[node].start(self._hosted(node), topics)
            elif self._state.brokers[node]:
                self._brokers[node].start_if_valid(self._hosted(node), topics)
        self._settle()
        for partition, leadership in self._state.partitions.items():
            if leadership.leader is not None and partition not in self._progress:
                self._begin_epoch(partition)
                self._advance(partition)

    def _end_all(self, *, cleanly: bool) -> None:
        """Stop every broker that runs; leaderships stay as they are."""
        self._is_closed = True
        try:
            for broker in self._brokers.values():
                if broker.is_running:
                    broker.stop() if cleanly else broker.crash()
        finally:
            self._state.close()

    def _broker(self, node: int, *, is_running: bool | None = None) -> Broker:
        if self._is_closed:
            raise ClientClosedError("cluster")
        if node not in self._brokers:
            raise ValueError(f"no broker {node}; there are {sorted(self._brokers)}")
        broker = self._brokers[node]
        if is_running is not None and broker.is_running != is_running:
            raise ValueError(f"broker {node} is {'running' if broker.is_running else 'down'}")
        return broker

    def _running(self) -> set[int]:
        return {node for node, broker in self._brokers.items() if broker.is_running}

    def _hosted(self, node: int) -> list[TopicPartition]:
        partitions = self._state.partitions.items()
        return [name for name, leadership in partitions if node in leadership.replicas]

    def _settle(self, going: int | None = None) -> None:
        """Adapt every leadership to the brokers that run; `going` is about to stop."""
        running = self._running() - {going}
        changed = {}
        for partition, old in self._state.partitions.items():
            new = settle(old, running - outdone(self._brokers, partition, old, running))
            if new != old:
                changed[partition] = new
        self._record(changed, live={node: node in running for node in self._brokers})

    def _record(
        self,
        changed: dict[TopicPartition, Leadership],
        *,
        topic: Topic | None = None,
        live: dict[int, bool] | None = None,
    ) -> None:
        self._metadata = None
        before = {partition: self._state.partitions.get(partition) for partition in changed}
        if topic:
            self._state.add_topic(topic, changed)
        else:
            self._state.record(changed, live)
        for partition, old in before.items():
            new = changed[partition]
            is_same = old and (new.leader, new.leader_epoch) == (old.leader, old.leader_epoch)
            if not is_same or partition not in self._progress:
                self._begin_epoch(partition)
            if new.leader is not None:
                self._advance(partition)

    def _advance(self, partition: TopicPartition) -> None:
        """Compute the leader's high watermark from what it knows now."""
        leader = self._leader(partition)
        leader.replica.high_watermark = leader.progress.high_watermark(
            leader.leadership.in_sync,
            leader_end=leader.replica.log.log_end_offset,
            current=leader.replica.high_watermark,
        )

    def _begin_epoch(self, partition: TopicPartition) -> None:
        """Let the stored leader begin to lead; it knows nothing of its followers yet."""
        leadership = self._state.partitions[partition]
        self._progress.pop(partition, None)
        if leadership.leader is not None:
            end_offset = self._brokers[leadership.leader].replica(partition).log.log_end_offset
            self._progress[partition] = FollowerProgress(
                leadership.followers, epoch_start_offset=end_offset, now_ms=self._clock.now_ms()
            )
