"""Range: consecutive partitions of each topic; the first members get one more (S3's assignment).

Of one topic, with P partitions for C members in order:

    every member       P div C
    one more           the first P mod C of them
    member i starts at (P div C) * i + min(i, P mod C)

    P = 10, C = 3      0 1 2 3 | 4 5 6 | 7 8 9        start, count: 0,4  4,3  7,3

It works topic by topic, and begins with the same members each time: with many topics the first ones
collect all the extras. In return, topics with as many partitions are split alike, so that a member
gets the same numbers of each: two topics can be joined by key.

Source: S3 (there the members are threads); Kafka: RangeAssignor.
"""

from collections.abc import Mapping, Sequence

from kminilog.consumer.assignors.interface import (
    Assignment,
    Assignor,
    Member,
    members_by_topic,
    partitions_of,
)


def runs(partitions: int, members: int) -> list[tuple[int, int]]:
    """Return the run of each member, of whom there is at least one: its start and its count.

    >>> runs(10, 3)
    [(0, 4), (4, 3), (7, 3)]
    >>> runs(1, 2)
    [(0, 1), (1, 0)]
    """
    each, extra = divmod(partitions, members)
    return [(each * i + min(i, extra), each + 1 if i < extra else each) for i in range(members)]


class Range(Assignor):
    """A run of each topic for each member.

    >>> given = Range().assign({"t0": 3, "t1": 3}, [Member(id, ("t0", "t1")) for id in ("a", "b")])
    >>> {member: [str(partition) for partition in found] for member, found in given.items()}
    {'a': ['t0-0', 't0-1', 't1-0', 't1-1'], 'b': ['t0-2', 't1-2']}
    """

    def assign(self, partitions: Mapping[str, int], members: Sequence[Member]) -> Assignment:
        """Return the partitions of every member."""
        assignment: Assignment = {member.id: [] for member in members}
        for topic, subscribers in members_by_topic(partitions, members).items():
            numbered = partitions_of(topic, partitions[topic])
            shares = runs(len(numbered), len(subscribers))
            for member, (start, count) in zip(subscribers, shares, strict=True):
                assignment[member.id] += numbered[start : start + count]
        return assignment
