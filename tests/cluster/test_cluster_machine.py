"""Random failures, and one promise: what was acknowledged with acks = -1 is there, in its place.

The model is what was acknowledged and what a consumer has read, for each partition. Both must be in
every leader's log, at their offsets, for as long as one in-sync replica keeps its files.
"""

import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kminilog.clock import ManualClock
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.cluster.requests import Produced
from kminilog.errors import LeaderNotAvailableError, NotLeaderForPartitionError
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.names import TopicPartition
from tests.support.cluster.clusters import (
    open_cluster,
    pairs_on,
    replicate_until_quiet,
    request,
    values_on,
)
from tests.support.invariants import check_cluster

NODES = [0, 1, 2]
FETCH_BYTES = 300  # so small that a follower is often on its way
PARTITIONS = [TopicPartition("orders", 0), TopicPartition("orders", 1)]
nodes = st.sampled_from(NODES)
partitions = st.sampled_from(PARTITIONS)


class Waiting(NamedTuple):
    partition: TopicPartition
    produced: Produced
    values: list[bytes]


class ClusterMachine(RuleBasedStateMachine):
    dialect = DOCUMENTED

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name)
        self.clock = ManualClock()
        self.cluster = open_cluster(
            self.path,
            partitions=len(PARTITIONS),
            dialect=self.dialect,
            clock=self.clock,
            replica_fetch_max_bytes=FETCH_BYTES,
        )
        self.count = 0
        self.waiting: list[Waiting] = []
        self.acknowledged: dict[TopicPartition, dict[int, bytes]] = {p: {} for p in PARTITIONS}
        self.consumed: dict[TopicPartition, list[bytes | None]] = {p: [] for p in PARTITIONS}

    # ---- what is known from outside

    def running(self) -> set[int]:
        return {node.id for node in self.cluster.metadata().nodes}

    def leader(self, partition: TopicPartition) -> int | None:
        leader = self.cluster.metadata().leader_for(*partition)
        return leader.id if leader else None

    # ---- clients

    @rule(partition=partitions, sizes=st.lists(st.integers(1, 200), max_size=6), acks=st.data())
    def produce(self, partition: TopicPartition, sizes: list[int], acks: st.DataObject) -> None:
        values = []
        for size in sizes:
            self.count += 1
            values.append(b"%0*d" % (size, self.count))
        chosen = acks.draw(st.sampled_from([-1, -1, 0, 1]))
        try:
            produced = self.cluster.produce(partition, request(*values), acks=chosen)
        except LeaderNotAvailableError:
            assert self.leader(partition) is None
            return
        assert produced.leader == self.leader(partition)
        if chosen == -1:
            self.waiting.append(Waiting(partition, produced, values))

    @rule(partition=partitions, offset=st.integers(0, 20), max_bytes=st.integers(1, 600))
    def fetch(self, partition: TopicPartition, offset: int, max_bytes: int) -> None:
        if self.leader(partition) is None:
            with pytest.raises(LeaderNotAvailableError):
                self.cluster.fetch(partition, offset)
            return
        high_watermark = self.cluster.high_watermark(partition)
        messages = self.cluster.fetch(partition, min(offset, high_watermark), max_bytes).messages
        assert all(message.offset < high_watermark for message in messages)
        assert bool(messages) == (offset < high_watermark)

    # ---- brokers and time

    @rule()
    def replicate(self) -> None:
        self.cluster.replicate()

    @rule(node=nodes, cleanly=st.booleans())
    def end(self, node: int, cleanly: bool) -> None:
        if node in self.running():
            (self.cluster.stop if cleanly else self.cluster.crash)(node)

    @rule(node=nodes, partition=partitions, torn_bytes=st.integers(1, 300))
    def crash_with_a_torn_tail(self, node: int, partition: TopicPartition, torn_bytes: int) -> None:
        others = (set(self.cluster.in_sync_replicas(partition)) - {node}) & self.running()
        if node not in self.running() or not others:
            return
        self.cluster.crash(node)
        log = sorted((self.path / f"broker-{node}" / str(partition)).glob("*.log"))[-1]
        with open(log, "r+b") as file:
            file.truncate(max(log.stat().st_size - torn_bytes, 0))

    @rule(node=nodes)
    def start(self, node: int) -> None:
        if node not in self.running():
            self.cluster.start(node)

    @rule(node=nodes, is_paused=st.booleans())
    def pause_or_resume(self, node: int, is_paused: bool) -> None:
        (self.cluster.pause if is_paused else self.cluster.resume)(node)

    @rule(node=nodes, rounds=st.integers(1, 6))
    def let_only_one_follow(self, node: int, rounds: int) -> None:
        """So one follower is often behind another, and behind what it could know."""
        for other in NODES:
            (self.cluster.resume if other == node else self.cluster.pause)(other)
        for _ in range(rounds):
            self.cluster.replicate()
            self.acknowledge()
        for other in NODES:
            self.cluster.resume(other)

    @rule(duration_ms=st.sampled_from([1_000, 5_000, 10_001]))
    def wait(self, duration_ms: int) -> None:
        self.clock.sleep_ms(duration_ms)

    @precondition(lambda self: self.count > 10)
    @rule(cleanly=st.booleans())
    def end_the_process_and_open_again(self, cleanly: bool) -> None:
        leaders = {partition: self.leader(partition) for partition in PARTITIONS}
        self.acknowledge()
        self.cluster._end_all(cleanly=cleanly)
        self.waiting.clear()
        self.cluster = MiniCluster.open(
            self.path, clock=self.clock, replica_fetch_max_bytes=FETCH_BYTES
        )
        for partition, leader in leaders.items():
            assert leader is None or leader == self.leader(partition)

    # ---- after every step

    def acknowledge(self) -> None:
        still_waiting = []
        for waiting in self.waiting:
            partition, produced, values = waiting
            try:
                if self.cluster.is_replicated(partition, produced):
                    numbered = enumerate(values, produced.first_offset)
                    self.acknowledged[partition] |= dict(numbered)
                else:
                    still_waiting.append(waiting)
            except NotLeaderForPartitionError:
                pass  # nobody knows
        self.waiting = still_waiting

    @invariant()
    def leaders_have_what_was_acknowledged_or_read(self) -> None:
        self.acknowledge()
        for partition in PARTITIONS:
            leader = self.leader(partition)
            if leader is None:
                assert not set(self.cluster.in_sync_replicas(partition)) & self.running()
                continue
            log = values_on(self.path, leader, partition)
            for offset, value in self.acknowledged[partition].items():
                assert log[offset] == value
            consumed = self.consumed[partition]
            assert log[: len(consumed)] == consumed
            high_watermark = self.cluster.high_watermark(partition)
            assert high_watermark <= len(log)
            if high_watermark > len(consumed):
                fetched = self.cluster.fetch(partition, len(consumed)).messages
                consumed += [message.value for message in fetched]
                assert consumed == log[:high_watermark]

    def teardown(self) -> None:
        for node in NODES:
            self.start(node)
            self.cluster.resume(node)
        replicate_until_quiet(self.cluster)
        self.leaders_have_what_was_acknowledged_or_read()
        check_cluster(self.cluster)
        for partition in PARTITIONS:
            assert sorted(self.cluster.in_sync_replicas(partition)) == NODES
            first, *others = (pairs_on(self.path, node, partition) for node in NODES)
            assert all(other == first for other in others)
            committed = self.cluster.high_watermark(partition)
            assert len(values_on(self.path, 0, partition)) == committed
            assert all(offset < committed for offset in self.acknowledged[partition])
        assert not self.waiting
        self.cluster.close()
        self.directory.cleanup()


class KafkaClusterMachine(ClusterMachine):
    dialect = KAFKA


@pytest.mark.usefixtures("without_fsync")
class TestDocumentedCluster(ClusterMachine.TestCase):  # type: ignore[name-defined,misc]
    pass


@pytest.mark.usefixtures("without_fsync")
class TestKafkaCluster(KafkaClusterMachine.TestCase):  # type: ignore[name-defined,misc]
    pass
