"""Multiple: consecutive partitions, the same number for each member, until none is left (S1).

Of one topic, with P partitions for C members, sorted by id: M = ceil(P / C), and member i gets the
partitions i*M to (i+1)*M - 1, as far as they exist.

    P = 4,  C = 2      M = 2      0 1 | 2 3
    P = 10, C = 4      M = 3      0 1 2 | 3 4 5 | 6 7 8 | 9       range: 3, 3, 2, 2
    P = 4,  C = 3      M = 2      0 1 | 2 3 |                     range: 2, 1, 1

It is not balanced: a member may get nothing although there are as many partitions as members and
more. A static id does not count: the document knows none, and Kafka has never had this assignor.
Source: S1 4.
"""

from collections.abc import Mapping, Sequence

from kminilog.consumer.assignors.interface import (
    Assignment,
    Assignor,
    Member,
    members_by_topic,
    partitions_of,
    text_order,
)


def runs(partitions: int, members: int) -> list[tuple[int, int]]:
    """Return the run of each member, of whom there is at least one: its start and its count.

    >>> runs(10, 4), runs(4, 3)
    ([(0, 3), (3, 3), (6, 3), (9, 1)], [(0, 2), (2, 2), (4, 0)])
    """
    each = -(-partitions // members)  # rounded up
    starts = [min(i * each, partitions) for i in range(members)]
    return [(start, min(each, partitions - start)) for start in starts]


class Multiple(Assignor):
    """M neighbours of each topic for each member, as long as there are any.

    >>> given = Multiple().assign({"t": 4}, [Member(id, ("t",)) for id in ("a", "b", "c")])
    >>> {member: [partition for _, partition in found] for member, found in given.items()}
    {'a': [0, 1], 'b': [2, 3], 'c': []}
    """

    def assign(self, partitions: Mapping[str, int], members: Sequence[Member]) -> Assignment:
        """Return the partitions of every member."""
        assignment: Assignment = {member.id: [] for member in members}
        for topic, subscribers in members_by_topic(partitions, members).items():
            numbered = partitions_of(topic, partitions[topic])
            by_id = sorted(subscribers, key=lambda member: text_order(member.id))
            shares = runs(len(numbered), len(by_id))
            for member, (start, count) in zip(by_id, shares, strict=True):
                assignment[member.id] += numbered[start : start + count]
        return assignment
