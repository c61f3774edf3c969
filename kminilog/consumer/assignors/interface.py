"""What an assignor is asked, what it answers, and what all of them need.

    partitions   topic -> number of partitions; a topic that is not in it does not exist
    members      id, topics, perhaps a static id, and what the member owned before
    answer       member -> its partitions, sorted; every member is in it, perhaps with nothing

An assignor is a function of data: it does not know where members run, who calls it, or what happens
with its answer. The same input gives the same answer, in whatever order members are given.

What every assignor of the suite promises, for any members and topics:

1. Each partition of a topic that somebody subscribes to belongs to exactly one member. (A
   cooperative one may leave a partition out, while another member still owns it.)
2. A member gets partitions of its own topics only. Topics that do not exist are skipped.
3. More members than partitions: some get nothing. No members: the answer is empty.

Source: S1 4, S3; Kafka: ConsumerPartitionAssignor, AbstractPartitionAssignor.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kminilog.format.names import TopicPartition

Assignment = dict[str, list[TopicPartition]]


class Member(NamedTuple):
    """One consumer of a group, as an assignor sees it.

    `owned` is what it says it owned, in `generation` of the group; -1 means that it owned nothing.
    """

    id: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1


class Assignor:
    """Decides which member gets which partition. Subclasses define `assign`."""

    is_cooperative = False
    """Whether members keep reading what they own until the assignor gives it to somebody else."""

    def assign(self, partitions: Mapping[str, int], members: Sequence[Member]) -> Assignment:
        """Return the partitions of every member."""
        raise NotImplementedError


def text_order(text: str) -> bytes:
    """Return a sort key for texts: their UTF-16 units, as Java's String.compareTo compares them.

    Python compares code points, which differs where a character is above U+FFFF: its first unit is
    a surrogate (D800 to DBFF), so it stands before U+E000 to U+FFFF. A lone surrogate is a unit
    like any other. O(length).

    >>> astral, private = chr(0x1F600), chr(0xE000)
    >>> astral > private, text_order(astral) < text_order(private)
    (True, True)
    """
    return text.encode("utf-16-be", "surrogatepass")


def in_order(members: Iterable[Member]) -> list[Member]:
    """Return members in the order in which they are served: static ones first, then by id.

    Ids are compared as texts, by `text_order`. A static member is ordered by its static id, which
    stays the same when it starts again with a new member id; so it gets the same partitions again.

    >>> [member.id for member in in_order([Member("c2", ()), Member("c10", ())])]
    ['c10', 'c2']
    >>> [member.id for member in in_order([Member("a", ()), Member("z", (), instance_id="i")])]
    ['z', 'a']
    """
    return sorted(
        members,
        key=lambda member: (
            member.instance_id is None,
            text_order(member.id if member.instance_id is None else member.instance_id),
            text_order(member.id),
        ),
    )


def members_by_topic(
    partitions: Mapping[str, int], members: Iterable[Member]
) -> dict[str, list[Member]]:
    """Return who subscribes to each topic that exists: topics sorted, members `in_order`.

    Topics that nobody subscribes to are left out.

    >>> found = members_by_topic({"t": 1, "unread": 1}, [Member("c", ("t", "missing"))])
    >>> {topic: [member.id for member in members] for topic, members in found.items()}
    {'t': ['c']}
    """
    ordered = in_order(members)
    found = {
        topic: [member for member in ordered if topic in member.topics]
        for topic in sorted(partitions)
    }
    return {topic: subscribers for topic, subscribers in found.items() if subscribers}


def partitions_of(topic: str, count: int) -> list[TopicPartition]:
    """Return all partitions of a topic.

    >>> [str(partition) for partition in partitions_of("t", 2)]
    ['t-0', 't-1']
    """
    return [TopicPartition(topic, number) for number in range(count)]
