"""A cluster that is served: a listener for each broker that runs, and followers that copy.

    broker 0   127.0.0.1:9092   -.
    broker 1   127.0.0.1:9093    >  one process, one event loop, the same answers
    broker 2   127.0.0.1:9094   -'  but only the leader of a partition has its messages

A broker that crashes closes its listener and its connections. Its clients then ask another one for
the metadata, and follow the new leaders. Between the requests the followers copy: at once after an
append, else every TICK_SECONDS, when a broker may also be asked to crash or to start (`asked`).
Source: ours; Kafka: KafkaServer, ReplicaFetcherThread.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping

from kminilog.clock import Chance
from kminilog.cluster.asked import CRASH, START, take_asked
from kminilog.cluster.leadership import Leadership
from kminilog.cluster.mini_cluster import (
    MiniCluster,
    at_leader,
    checkpoint_if_due,
    replicate_partition,
)
from kminilog.cluster.requests import Produced
from kminilog.errors import KMiniLogError, NotLeaderForPartitionError, in_words
from kminilog.format.names import TopicPartition
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.topics import Topic
from kminilog.wire.broker import ServingBroker
from kminilog.wire.errors import Code, RefusedError
from kminilog.wire.served import Address, Led, Result
from kminilog.wire.server import Server
from kminilog.wire.watching import AnsweredRequest

TICK_SECONDS = 0.05
COPIED_BYTES = 1 << 15
"""The most that a follower copies of a partition before the requests have their turn."""


class ServedCluster:
    """What is served of a cluster, which stays the caller's to close."""

    def __init__(self, cluster: MiniCluster, addresses: Mapping[int, Address]) -> None:
        self.path = cluster.state.path
        self.addresses = addresses
        self.cluster = cluster
        cluster.replica_fetch_max_bytes = COPIED_BYTES

    @property
    def topics(self) -> Mapping[str, Topic]:
        return self.cluster.state.topics

    def create(self, topic: Topic, replicas: int, chance: Chance) -> None:
        self.cluster.create_topic(topic, replicas, chance=chance)

    def delete(self, name: str) -> None:
        raise RefusedError(Code.TOPIC_DELETION_DISABLED, "a cluster keeps its topics")

    def enlarge(self, name: str, partitions: int) -> None:
        reason = "a topic of a cluster keeps its number of partitions"
        raise RefusedError(Code.INVALID_PARTITIONS, reason)

    def nodes(self) -> Mapping[int, Address]:
        return {node: self.addresses[node] for node in _running(self.cluster)}

    def leadership(self, partition: TopicPartition) -> Leadership:
        return self.cluster.state.leadership(partition)

    def led(self, partition: TopicPartition, node: int) -> Led:
        leadership = self.leadership(partition)
        if leadership.leader not in (node, None):
            topic, number = partition
            raise NotLeaderForPartitionError(topic, partition=number, node=node)
        epoch = leadership.leader_epoch
        return at_leader(
            self.cluster, partition, lambda copy: Led(copy.log, copy.high_watermark, epoch)
        )

    def append(self, partition: TopicPartition, write: Callable[[PartitionLog], Result]) -> Result:
        return at_leader(self.cluster, partition, lambda copy: write(copy.log))

    def is_replicated(self, partition: TopicPartition, produced: Produced) -> bool:
        return self.cluster.is_replicated(partition, produced)


def _running(cluster: MiniCluster) -> set[int]:
    return {node.id for node in cluster.metadata().nodes}


class ClusterServer:
    """The listeners of a served cluster. `bind` returns a socket at the address of a broker.

    `told` gets each request, and `warn` what the user should know, each line once.
    """

    def __init__(
        self,
        served: ServedCluster,
        broker: ServingBroker,
        bind: Callable[[int], socket.socket],
        told: Callable[[AnsweredRequest], None] = lambda asked: None,
        warn: Callable[[str], None] = lambda line: None,
        *,
        most_connections: int = 10_000,
    ) -> None:
        self._served = served
        self._cluster = served.cluster
        self._broker = broker
        self._bind = bind
        self._told = told
        self._warn = warn
        self._most_connections = most_connections  # of each broker
        self._warned: set[str] = set()
        self._listening: dict[int, tuple[asyncio.Server, Server]] = {}

    async def settle(self) -> None:
        """Do what is asked; then listen for the brokers that run, and for no others."""
        for node in self._served.addresses:
            what = take_asked(self._served.path, node)
            if what in (CRASH, START):
                self._obey(node, what)
        for line in self._cluster.take_warnings():
            self._warn(line)
        running = _running(self._cluster)
        for node in self._listening.keys() - running:
            await self._close(node)
        for node in sorted(running - self._listening.keys()):
            try:
                server = Server(
                    self._broker,
                    self._told,
                    self._warn,
                    node=node,
                    most_connections=self._most_connections,
                )
                self._listening[node] = await server.listen(self._bind(node)), server
            except OSError as error:  # somebody has its port: the next look tries again
                self._warn_once(f"broker {node} cannot listen: {error.strerror}")

    async def run(self) -> None:
        """Serve, until the task is cancelled."""
        known, was_busy = self._cluster.metadata(), False
        while True:
            await self.settle()
            copied = await self._copy()
            is_news = self._cluster.metadata() is not known
            known = self._cluster.metadata()
            if copied or was_busy or is_news:  # one round later the leaders know what was copied
                self._broker.wake()
                await asyncio.sleep(0)
            else:
                await self._broker.woken(asyncio.get_running_loop().time() + TICK_SECONDS)
            was_busy = bool(copied)

    async def close(self) -> None:
        """End all listeners and connections."""
        for node in [*self._listening]:
            await self._close(node)

    async def _close(self, node: int) -> None:
        listener, server = self._listening.pop(node)
        listener.close()
        await server.close()

    def _obey(self, node: int, what: str) -> None:
        try:
            (self._cluster.crash if what == CRASH else self._cluster.start)(node)
        except (KMiniLogError, OSError, ValueError) as error:
            self._warn(f"{what} of broker {node}: {in_words(error)}")
        else:
            self._warn(f"broker {node} is {'down' if what == CRASH else 'live'}")

    async def _copy(self) -> int:
        """Let each follower copy once; return how many messages."""
        copied = 0
        for partition in [*self._cluster.state.partitions]:
            try:
                step = replicate_partition(self._cluster, partition)
            except (KMiniLogError, OSError) as error:  # the other partitions go on
                self._warn_once(f"followers of {partition} cannot copy: {in_words(error)}")
                continue
            copied += step
            if step:
                await asyncio.sleep(0)
        try:
            checkpoint_if_due(self._cluster)
        except OSError as error:
            self._warn_once(f"high watermarks cannot be stored: {in_words(error)}")
        return copied

    def _warn_once(self, line: str) -> None:
        if line not in self._warned:
            self._warned.add(line)
            self._warn(line)
