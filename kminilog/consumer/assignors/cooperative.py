"""Cooperative sticky: the sticky assignment, in two rounds, without stopping anybody.

When a group changes, its members normally give up everything, and then get their new share. With
this assignor they go on reading meanwhile. So a partition must not be given to one member while
another one still reads it:

    first round    everybody gets its part of the sticky assignment, except for the partitions that
                   another member still owns; whoever sees that one of its partitions is missing
                   gives it up, and joins again
    second round   now nobody owns the missing ones: they go to whoever has the fewest

    t has 4 partitions; a owns 0 1 2 3; b is new        sticky: a 0 1, b 2 3

    first round    a 0 1      b -          2 and 3 are left out: a still owns them
    second round   a 0 1      b 2 3

If nothing must move, there is nothing to leave out, and one round is enough. With equal
subscriptions the second round always ends it. Otherwise the second may find a better balance than
the first did, and need another.

Source: Kafka: CooperativeStickyAssignor (KIP-429).
"""

from collections.abc import Mapping, Sequence

from kminilog.consumer.assignors.interface import Assignment, Assignor, Member
from kminilog.consumer.assignors.sticky import Sticky, possible_owners, valid_claims
from kminilog.format.names import TopicPartition


class CooperativeSticky(Assignor):
    """Sticky, without what another member has to give up first.

    >>> from kminilog.consumer.assignors.interface import partitions_of
    >>> a = Member("a", ("t",), owned=tuple(partitions_of("t", 4)), generation=1)
    >>> given = CooperativeSticky().assign({"t": 4}, [a, Member("b", ("t",))])
    >>> {member: [partition for _, partition in found] for member, found in given.items()}
    {'a': [0, 1], 'b': []}
    """

    is_cooperative = True

    def assign(self, partitions: Mapping[str, int], members: Sequence[Member]) -> Assignment:
        """Return the partitions of every member, without those that another one still owns."""
        target = Sticky().assign(partitions, members)
        kept = valid_claims(possible_owners(partitions, members), members)
        return {
            member: [
                partition
                for partition in given
                if partition in kept[member] or not _owned_by_another(partition, member, members)
            ]
            for member, given in target.items()
        }


def _owned_by_another(partition: TopicPartition, id: str, members: Sequence[Member]) -> bool:
    # A claim of an old generation gives no right to a partition, but somebody may be reading it.
    return any(partition in member.owned for member in members if member.id != id)
