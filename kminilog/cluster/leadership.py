"""Who leads a partition, and who may: the rules by which the controller decides.

The in-sync replicas have every committed message. So only they may lead. The list never becomes
empty: when the last of them fails, the partition has no leader until one replica of the list is
back. The epoch counts the leaders, so an answer of an earlier leader is recognised.

Source: Kafka: LeaderAndIsr, PartitionLeaderSelector (OfflinePartitionLeaderSelector, with
unclean.leader.election.enable = false).
"""

from collections.abc import Collection
from typing import NamedTuple

from kminilog.cluster.metadata import Node, PartitionInfo
from kminilog.format.names import TopicPartition

FIRST_PORT = 9092


class Leadership(NamedTuple):
    """The replicas of a partition (the first is preferred), its leader and its in-sync replicas."""

    replicas: tuple[int, ...]
    leader: int | None
    leader_epoch: int
    in_sync: tuple[int, ...]

    @property
    def followers(self) -> tuple[int, ...]:
        """The replicas that do not lead, in order; all of them if there is no leader."""
        return tuple(node for node in self.replicas if node != self.leader)

    @classmethod
    def of_new_partition(cls, replicas: tuple[int, ...]) -> "Leadership":
        """Return the first leadership: the first replica leads, and all (empty) ones are in sync.

        >>> Leadership.of_new_partition((2, 0)).leader
        2
        """
        return cls(replicas, replicas[0], 0, replicas)


def settle(leadership: Leadership, running: Collection[int]) -> Leadership:
    """Return the leadership when exactly these brokers run.

    Those that are down leave the in-sync replicas, unless all would. A leader that runs stays; else
    the next in-sync replica in replica order leads, in the next epoch; none, if none runs.
    `in_sync` is a tuple, in its order of before.

    >>> first = Leadership.of_new_partition((0, 1, 2))
    >>> second = settle(first, running={1, 2})
    >>> second
    Leadership(replicas=(0, 1, 2), leader=1, leader_epoch=1, in_sync=(1, 2))
    >>> last = settle(settle(second, running={2}), running=())
    >>> last
    Leadership(replicas=(0, 1, 2), leader=None, leader_epoch=2, in_sync=(2,))
    >>> settle(last, running={0, 1}).leader is None  # they may lack messages
    True
    >>> settle(last, running={0, 1, 2}).leader
    2
    """
    alive = tuple(node for node in leadership.in_sync if node in running)
    if not alive:
        return leadership._replace(leader=None)
    if leadership.leader in alive:
        return leadership._replace(in_sync=alive)
    leader = next(node for node in leadership.replicas if node in alive)
    return Leadership(leadership.replicas, leader, leadership.leader_epoch + 1, alive)


def with_in_sync(leadership: Leadership, nodes: Collection[int]) -> Leadership:
    """Return the same with these in-sync replicas, in replica order.

    >>> with_in_sync(Leadership((2, 0, 1), 0, 5, (0,)), {0, 2}).in_sync
    (2, 0)
    """
    return leadership._replace(in_sync=tuple(node for node in leadership.replicas if node in nodes))


def node_of(node: int) -> Node:
    """Return a broker as the metadata names it.

    >>> node_of(2)
    Node(id=2, host='localhost', port=9094)
    """
    return Node(node, port=FIRST_PORT + node)


def partition_info(
    partition: TopicPartition, leadership: Leadership, running: Collection[int]
) -> PartitionInfo:
    """Return what the metadata says of a partition when exactly these brokers run."""
    return PartitionInfo(
        *partition,
        None if leadership.leader is None else node_of(leadership.leader),
        tuple(map(node_of, leadership.replicas)),
        tuple(map(node_of, leadership.in_sync)),
        tuple(node_of(node) for node in leadership.replicas if node not in running),
    )
