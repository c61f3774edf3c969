"""Round robin: one partition after the other to each member in turn.

All partitions, sorted by topic and number, go one by one to the members in order. A member that
does not subscribe to the topic is passed over, and has lost its turn: it gets nothing instead.

    c0 {t0}, c1 {t0, t1}, c2 {t0, t1, t2}; t0 has 1 partition, t1 has 2, t2 has 3

    t0-0 -> c0    t1-0 -> c1    t1-1 -> c2    t2-0: c0, c1 passed over -> c2    t2-1, t2-2 -> c2

With equal subscriptions the members' counts differ by one at most, over all topics together; range
promises that for each topic only. With different ones it may be lopsided: above, c1 could have had
t1-1. And when a member comes or goes, nearly all partitions change hands.

Source: S3 names it; Kafka from 0.9 on: RoundRobinAssignor.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle

from kminilog.consumer.assignors.interface import (
    Assignment,
    Assignor,
    Member,
    in_order,
    members_by_topic,
    partitions_of,
)


class RoundRobin(Assignor):
    """One partition for each member in turn.

    >>> given = RoundRobin().assign({"t": 3}, [Member(id, ("t",)) for id in ("a", "b")])
    >>> {member: [partition for _, partition in found] for member, found in given.items()}
    {'a': [0, 2], 'b': [1]}
    """

    def assign(self, partitions: Mapping[str, int], members: Sequence[Member]) -> Assignment:
        """Return the partitions of every member."""
        assignment: Assignment = {member.id: [] for member in members}
        turns = cycle(in_order(members))
        for topic in members_by_topic(partitions, members):
            for partition in partitions_of(topic, partitions[topic]):
                taker = next(member for member in turns if topic in member.topics)
                assignment[taker.id].append(partition)
        return assignment
