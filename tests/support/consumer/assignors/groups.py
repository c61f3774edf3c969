"""Groups for tests: by hand, by Hypothesis, and from one generation to the next."""

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from kminilog.consumer.assignors.interface import Assignment, Assignor, Member
from kminilog.format.names import TopicPartition

MISSING = "missing"


def group(**subscriptions: str) -> list[Member]:
    """Return members by their topics: `group(c0="t0 t1")`."""
    return [Member(id, tuple(topics.split())) for id, topics in subscriptions.items()]


def same(topics: str, *ids: str) -> list[Member]:
    """Return members that subscribe to the same topics."""
    return group(**dict.fromkeys(ids, topics))


def named(*names: str) -> tuple[TopicPartition, ...]:
    """Return partitions: `named("t0-0", "t1-2")`."""
    parts = [name.rpartition("-") for name in names]
    return tuple(TopicPartition(topic, int(number)) for topic, _, number in parts)


def shown(assignment: Assignment) -> dict[str, str]:
    """Return an assignment as texts: `{"c0": "t0-0 t1-2"}`."""
    return {member: " ".join(map(str, given)) for member, given in assignment.items()}


def after(members: Sequence[Member], assignment: Assignment, generation: int = 1) -> list[Member]:
    """Return the members as they are when they own what they were given."""
    return [
        member._replace(owned=tuple(assignment[member.id]), generation=generation)
        for member in members
    ]


def without(members: Sequence[Member], *ids: str) -> list[Member]:
    """Return the members but some."""
    return [member for member in members if member.id not in ids]


def moved(members: Sequence[Member], assignment: Assignment) -> set[TopicPartition]:
    """Return the partitions that a member owned, and another one has now."""
    taker = {partition: id for id, given in assignment.items() for partition in given}
    return {
        partition
        for member in members
        for partition in member.owned
        if taker.get(partition, member.id) != member.id
    }


def run_rounds(
    assignor: Assignor, partitions: Mapping[str, int], members: Sequence[Member], rounds: int
) -> list[Member]:
    """Play a cooperative group: each round gives, then everybody gives up what it was not given.

    Asserts that no partition is given to one member while another owns it.
    """
    for generation in range(100, 100 + rounds):
        answer = assignor.assign(partitions, members)
        for member in members:
            elsewhere = {p for other in members if other.id != member.id for p in other.owned}
            newly_given = set(answer[member.id]) - set(member.owned)
            assert not newly_given & elsewhere, "given while another one still owns it"
        members = after(members, answer, generation)
    return list(members)


def owned_by(members: Sequence[Member]) -> Assignment:
    """Return what members own."""
    return {member.id: sorted(member.owned) for member in members}


topic_counts = st.dictionaries(
    st.sampled_from(["t0", "t1", "t2", "t10"]), st.integers(1, 7), min_size=1
)


@st.composite
def groups(draw, *, min_members=0, is_equal=None, with_claims=False):
    """Topics and members: subscriptions of all kinds, missing topics, static ids, claims."""
    topics = draw(topic_counts)
    numbers = draw(st.sets(st.integers(0, 14), min_size=min_members, max_size=8))
    subscription = st.sets(st.sampled_from([*sorted(topics), MISSING])).map(sorted)
    if is_equal if is_equal is not None else draw(st.booleans()):
        subscription = st.just(sorted(topics))
    static = draw(st.sets(st.sampled_from(sorted(numbers)))) if numbers else set()
    members = [
        Member(f"c{number}", tuple(draw(subscription)), f"i{number % 3}-{number}")
        if number in static
        else Member(f"c{number}", tuple(draw(subscription)))
        for number in sorted(numbers)
    ]
    if with_claims and members:
        members = draw(claims(topics, members))
    return topics, members


@st.composite
def claims(draw, topics, members):
    """Have each partition be owned by any one of the members, or by nobody; generation 7."""
    owned: dict[str, list[TopicPartition]] = {member.id: [] for member in members}
    for topic, count in topics.items():
        for number in range(count):
            owner = draw(st.none() | st.sampled_from(members))
            if owner is not None:
                owned[owner.id].append(TopicPartition(topic, number))
    return after(members, owned, generation=7)
