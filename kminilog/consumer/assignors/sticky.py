"""Sticky: first as balanced as possible, then as few partitions as possible change hands.

Balanced means: no member could take a partition from one that has at least two more. A member says
what it owned (`Member.owned`), and keeps what it may keep (`valid_claims`). Then:

    1 hand out   what nobody keeps, each partition to the member with the fewest; those first that
                 have the fewest possible owners; then even out by moving these alone
    2 even out   as long as one member could take from another that has at least two more: of all
                 such, the member with the most gives one up, to the member with the fewest:
                 first one that it did not own, because that is no move

Each step of 2 makes the group more even, so it ends.

    t has 7 partitions; a owned 0 1 2 3, b owned 4 5 6; c is new

    kept         a 0 1 2 3      b 4 5 6      c -        nothing is free
    even out     a 0 1 2        b 4 5 6      c 3        4 > 0 + 1: 3 moves from a to c
                 a 0 1 2        b 4 5        c 3 6      3 > 1 + 1: 6 moves from b to c
    answer       3 > 2 + 1 is false: it is even

Two partitions moved. Fewer is impossible, since c needs two.

    a {t0}, b {t0, t1}, c {t0, t1, t2}; t0 has 1 partition, t1 has 2, t2 has 3; nobody owns any

    t2 -> c c c     only c can
    t1 -> b b       b has the fewest
    t0 -> a         a has the fewest
    answer          a 1, b 2, c 3; round robin gives a 1, b 1, c 4

Without claims, and with the same topics for all, this is round robin. With the same topics for all,
no assignment that is as balanced moves fewer partitions. With different ones that is not promised:
for that, whole chains of members that hand on one partition each would have to be compared.

Source: Kafka: AbstractStickyAssignor (KIP-54), of which this is a shorter form: without claims it
answers the same. Differs: which claims count, and who gives up first (docs/differences.md).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kminilog.consumer.assignors.interface import (
    Assignment,
    Assignor,
    Member,
    members_by_topic,
    partitions_of,
    text_order,
)
from kminilog.format.names import TopicPartition

# Who could own each partition: in the order in which they are handed out, ids in `text_order`.
PossibleOwners = dict[TopicPartition, list[str]]


class Sticky(Assignor):
    """Balance first, then as many partitions as possible where they are.

    >>> t = partitions_of("t", 7)
    >>> a = Member("a", ("t",), owned=tuple(t[:4]), generation=1)
    >>> b = Member("b", ("t",), owned=tuple(t[4:]), generation=1)
    >>> given = Sticky().assign({"t": 7}, [a, b, Member("c", ("t",))])
    >>> {member: [partition for _, partition in found] for member, found in given.items()}
    {'a': [0, 1, 2], 'b': [4, 5], 'c': [3, 6]}
    """

    def assign(self, partitions: Mapping[str, int], members: Sequence[Member]) -> Assignment:
        """Return the partitions of every member."""
        possible = possible_owners(partitions, members)
        kept = valid_claims(possible, members)
        given = {member: list(owned) for member, owned in kept.items()}
        owner = {partition: member for member, owned in given.items() for partition in owned}
        free = [partition for partition in possible if partition not in owner]
        kept_by = dict(owner)
        _hand_out(free, possible, owner, given)
        # Move partitions from those with the most to those with the fewest, until it is even.
        while step := _next_step(possible, given, kept_by):
            _move(*step, owner, given)
        return {member: sorted(found) for member, found in given.items()}


def possible_owners(partitions: Mapping[str, int], members: Iterable[Member]) -> PossibleOwners:
    """Return who could own each partition: partitions with the fewest possible owners first.

    >>> possible_owners({"t0": 1, "t1": 1}, [Member("b", ("t0", "t1")), Member("a", ("t0",))])
    {TopicPartition(topic='t1', partition=0): ['b'], TopicPartition(topic='t0', partition=0): \
['a', 'b']}
    """
    found = {
        topic: sorted((member.id for member in subscribers), key=text_order)
        for topic, subscribers in members_by_topic(partitions, members).items()
    }
    return {
        partition: found[topic]
        for topic in sorted(found, key=lambda topic: (len(found[topic]), topic))
        for partition in partitions_of(topic, partitions[topic])
    }


def valid_claims(possible: PossibleOwners, members: Iterable[Member]) -> Assignment:
    """Return what each member owned and may keep, sorted.

    Only the newest generation's claims count: a member that comes back with an older one has missed
    that its partitions were given to others. A partition that is gone, or of a topic that the
    member does not subscribe to any more, is not kept; nor is one that two members claim.

    >>> t0, t1 = partitions_of("t", 2)
    >>> possible = {t0: ["a", "b"], t1: ["a", "b"]}
    >>> late = Member("a", ("t",), owned=(t0, t1), generation=4)
    >>> valid_claims(possible, [late, Member("b", ("t",), owned=(t0,), generation=5)])
    {'a': [], 'b': [TopicPartition(topic='t', partition=0)]}
    """
    everybody = list(members)
    newest = max((member.generation for member in everybody), default=-1)
    claims = {
        member.id: set(member.owned) if member.generation == newest else set()
        for member in everybody
    }
    claimed = Counter(partition for owned in claims.values() for partition in owned)
    return {
        id: sorted(
            partition
            for partition in owned
            if claimed[partition] == 1 and id in possible.get(partition, ())
        )
        for id, owned in claims.items()
    }


def _hand_out(
    free: Sequence[TopicPartition],
    possible: PossibleOwners,
    owner: dict[TopicPartition, str],
    given: Assignment,
) -> None:
    """Give away what is free, and move it about as long as that makes the group more even."""
    for partition in free:
        owner[partition] = _fewest(possible[partition], given)
        given[owner[partition]].append(partition)
    has_moved = True
    while has_moved:
        has_moved = False
        for partition in free:
            taker = _fewest(possible[partition], given)
            if len(given[owner[partition]]) > len(given[taker]) + 1:
                _move(partition, taker, owner, given)
                has_moved = True


def _next_step(
    possible: PossibleOwners, given: Assignment, kept_by: Mapping[TopicPartition, str]
) -> tuple[TopicPartition, str] | None:
    """Return a partition and who is to take it, from the member with the most who can give any."""
    fullest_first = sorted(
        given, key=lambda member: (len(given[member]), text_order(member)), reverse=True
    )
    for giver in fullest_first:
        # What it did not own goes first, then high numbers, of all topics alike.
        ordered = sorted(
            given[giver],
            key=lambda found: (kept_by.get(found) != giver, found.partition, found.topic),
            reverse=True,
        )
        for partition in ordered:
            taker = _fewest(possible[partition], given)
            if len(given[giver]) > len(given[taker]) + 1:
                return partition, taker
    return None


def _move(
    partition: TopicPartition, taker: str, owner: dict[TopicPartition, str], given: Assignment
) -> None:
    given[owner[partition]].remove(partition)
    given[taker].append(partition)
    owner[partition] = taker


def _fewest(members: Iterable[str], given: Assignment) -> str:
    """Return the member with the fewest partitions; of several the first, as `members` are."""
    return min(members, key=lambda member: len(given[member]))
