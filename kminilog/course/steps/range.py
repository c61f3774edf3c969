"""`step range`: three assignors on one grid, and what moves when a member joins.

    range        P div C each, the first P mod C members one more        S3, Kafka
    multiple     M = P / C rounded up for each, as far as they go        S1
    roundrobin   one after the other, over all topics                    S3 names it, Kafka

    member  0  1  2  3  count
    C0      ■  −  ·  ·      1        owned before and now; given away
    C1      ·  +  ■  ■      3        gained

The runs are those of the assignors' own functions `runs`, and every grid is the answer of an
assignor. Right and wrong answers of a question are computed, too, so they fit any topics and
members; where too many of them are the same, there is no question. Source: S1 4, S3; librdkafka
issue 3170 for the lopsided shares of many topics; the wrong answers are usual misconceptions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kminilog.consumer.assignor_registry import make_assignor
from kminilog.consumer.assignors.interface import Assignment, Member, in_order
from kminilog.consumer.assignors.multiple import runs as multiple_runs
from kminilog.consumer.assignors.range import runs as range_runs
from kminilog.explain.document import (
    Arrow,
    Ask,
    Bar,
    Document,
    Picture,
    PictureLane,
    Table,
    Value,
)
from kminilog.explain.recording import Recording, ask, question_with_enough_choices
from kminilog.format.names import TopicPartition, check_topic
from kminilog.text import agreeing, count

# ---- the grid


OWNED, GAINED, LOST, FREE = "■", "+", "−", "·"


def grid(
    name: str,
    topic: str,
    partitions: int,
    assignment: Assignment,
    *,
    before: Assignment | None = None,
    marked: tuple[int, ...] = (),
) -> Table:
    """Return the answer of the assignor `name` for one topic, and what has changed since `before`.

    Members are in the order of an assignor.

    >>> grid("range", "t", 2, {"a": [TopicPartition("t", 0)], "b": []}).rows
    (('a', '■', '·', 1), ('b', '·', '·', 0))
    """
    had = assignment if before is None else before
    rows: list[tuple[Value, ...]] = []
    for member in in_order(Member(id, ()) for id in assignment):
        has_now = _numbers(assignment[member.id], topic)
        has_had = _numbers(had.get(member.id, ()), topic)
        cells = [_cell(n in has_had, n in has_now) for n in range(partitions)]
        rows.append((member.id, *cells, len(has_now)))
    columns = ("member", *map(str, range(partitions)), "count")
    return Table(f"{topic} by {name}", columns, tuple(rows), marked)


def grids_side_by_side(topics: Mapping[str, int], answers: Mapping[str, Assignment]) -> list[Table]:
    """Return one grid for each topic, with the answers of all assignors below each other."""
    tables = []
    for topic, partitions in topics.items():
        found = {name: grid(name, topic, partitions, given) for name, given in answers.items()}
        columns = ("assignor", *next(iter(found.values())).columns)
        rows = tuple((name, *row) for name, one in found.items() for row in one.rows)
        tables.append(Table(topic, columns, rows))
    return tables


def moves(before: Assignment, after: Assignment) -> list[TopicPartition]:
    """Return the partitions that have another owner than before, ascending."""
    owner = {partition: member for member, given in before.items() for partition in given}
    return sorted(p for member, given in after.items() for p in given if owner[p] != member)


def _cell(had: bool, has: bool) -> str:
    if has:
        return OWNED if had else GAINED
    return LOST if had else FREE


def _numbers(given: Iterable[TopicPartition], topic: str) -> set[int]:
    return {partition.partition for partition in given if partition.topic == topic}


def owners(
    topics: Mapping[str, int], assignment: Assignment, before: Assignment | None = None
) -> Picture:
    """Return a lane for each member: its partitions, topic beside topic; arrows for what moved."""
    had = assignment if before is None else before
    firsts, at = {}, 0
    for topic, partitions in topics.items():
        firsts[topic] = at
        at += partitions
    ordered = [member.id for member in in_order(Member(id, ()) for id in assignment)]
    lanes, arrows = [], []
    owner_before = {partition: member for member, given in had.items() for partition in given}
    for slot, member in enumerate(ordered):
        bars = []
        for partition in sorted(p for p in assignment[member] if p.topic in firsts):
            place = firsts[partition.topic] + partition.partition
            old = owner_before.get(partition, member)
            style = "" if partition.topic == next(iter(topics)) else "value"
            style += " here" if old != member else ""
            label = str(partition.partition)
            bars.append(Bar(place, place + 1, label, style.strip(), str(partition)))
            if old != member and old in ordered:
                arrows.append(Arrow(ordered.index(old), place + 0.5, slot, place + 0.5))
        lanes.append(PictureLane(member, 0, at, tuple(bars)))
    title = "Who has which partition of " + " and ".join(topics)
    return Picture(title, tuple(lanes), tuple(arrows))


# ---- the questions


def who_is_first(joined: Sequence[str], ordered: Sequence[str]) -> Ask | None:
    """Ask for the order in which members are served."""
    return question_with_enough_choices(
        ask(
            f"The members joined in the order {', '.join(joined)}. Which member is served first?",
            ordered[0],
            "An assignor sorts the members by their ids, as texts. So the answer does not depend "
            "on which member was faster.",
            {
                ordered[-1]: "That is the greatest id. But the smallest id comes first.",
                joined[-1]: "That is the last member that joined. But the time of joining does "
                "not count.",
                joined[0]: "That is the first member that joined. But the time of joining does "
                "not count.",
            },
        )
    )


def shares_of_range(topic: str, partitions: int, members: int) -> Ask | None:
    """Ask for the counts of one topic by range."""
    each, extra = divmod(partitions, members)
    return question_with_enough_choices(
        ask(
            f"range: P of {topic} is {partitions}, and the group has {count(members, 'member')} "
            "(C). How many does each member get, in order?",
            _counts(range_runs(partitions, members)),
            f"Each member gets P div C = {each}. The first P mod C = {extra} "
            f"{agreeing('get', extra)} one more.",
            {
                _counts(multiple_runs(partitions, members)): "That rounds P / C up for each "
                "member. It is another rule, multiple.",
                _listed([each] * members): "That gives the remainder to no member. Then nobody "
                "would read these partitions.",
                _listed(_to_last(partitions, members)): "That gives the remainder to the last "
                "member. But the first members get it, one partition each.",
            },
        )
    )


def totals_of_range(
    topics: Mapping[str, int], ordered: Sequence[str], assignment: Assignment
) -> Ask | None:
    """Ask for the counts of all topics together by range."""
    lasts = [_to_last(partitions, len(ordered)) for partitions in topics.values()]
    return question_with_enough_choices(
        ask(
            f"range, {count(len(topics), 'topic')}: how many partitions does each member get in "
            "all?",
            _listed(len(assignment[member]) for member in ordered),
            "Each topic is shared out from the first member on. So the first members get the "
            "remainder of each topic.",
            {
                _listed(map(sum, zip(*lasts, strict=True))): "That gives the remainder of each "
                "topic to the last member. But the first members get it.",
                _counts(range_runs(sum(topics.values()), len(ordered))): "That shares out all "
                "partitions of all topics as one list. But range shares out one topic at a time.",
            },
        )
    )


def last_share_of_multiple(topic: str, partitions: int, members: int) -> Ask | None:
    """Ask how much is left for the last member by multiple."""
    shares = multiple_runs(partitions, members)
    each, last = shares[0][1], shares[-1][1]
    return question_with_enough_choices(
        ask(
            f"multiple: {topic} has {count(partitions, 'partition')}, and M = {partitions} / "
            f"{members} rounded up = {each}. How many does the last member get?",
            str(last),
            f"The members before it take {partitions - last} of {partitions}.",
            {
                str(each + 1): "That adds a remainder to M for the last member. But M is rounded "
                "up, so there is no remainder.",
                str(each): "That is M. But M is rounded up, so there may not be enough partitions "
                "for all members.",
                str(partitions // members): "That is the answer of range. By multiple, each "
                "member takes M, as long as there are enough.",
            },
        )
    )


def first_of_topic(
    topic: str, ordered: Sequence[str], assignment: Assignment, dealt: int
) -> Ask | None:
    """Ask who gets the first partition of a topic by round robin, after `dealt` of others."""
    taker = next(i for i, member in enumerate(ordered) if (topic, 0) in assignment[member])
    last, after = ordered[taker - 1], ordered[(taker + 1) % len(ordered)]
    return question_with_enough_choices(
        ask(
            f"roundrobin has given out {count(dealt, 'partition')}, the last one to {last}. Who "
            "gets "
            f"{topic}-0?",
            ordered[taker],
            f"The turn goes on after {last}, also for another topic. For roundrobin all topics are "
            "one list.",
            {
                last: f"{last} got the last one. Each member gets one partition in turn.",
                after: f"That leaves out {ordered[taker]}. Each member gets one partition in turn.",
                ordered[0]: "That begins again for each topic, as range does. But roundrobin goes "
                "on where it was.",
            },
        )
    )


def how_many_move(
    name: str, joining: str, partitions: int, *, moved: int, gained: int
) -> Ask | None:
    """Ask how many of all partitions move when a member joins, of which it gets `gained`."""
    between = moved - gained
    return question_with_enough_choices(
        ask(
            f"{joining} joins. How many of {count(partitions, 'partition')} get another owner, by "
            f"{name}?",
            str(moved),
            f"{gained} {agreeing('go', gained)} to {joining}. {between} {agreeing('go', between)} "
            "from one of the other members to another one.",
            {
                str(partitions): "That gives each partition to another member. All members stop "
                "reading for a moment. But some get back partitions that they had.",
                "0": "That leaves the new member without partitions until another member leaves. "
                "But a group makes a new assignment whenever a member joins.",
                str(gained): f"That counts only what {joining} gets. But partitions move between "
                "the other members, too.",
            },
        )
    )


def _to_last(partitions: int, members: int) -> list[int]:
    """Return the counts of those who give the remainder to the last member."""
    each, extra = divmod(partitions, members)
    return [*[each] * (members - 1), each + extra]


def _counts(shares: Iterable[tuple[int, int]]) -> str:
    return _listed(taken for _, taken in shares)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


# ---- the steps


ASSIGNORS = ("range", "multiple", "roundrobin")
MOST_TOPICS, MOST_PARTITIONS, MOST_MEMBERS = 6, 32, 12
_TOPICS = {"orders": 10, "views": 4}


class JoinPlan(NamedTuple):
    """The topics by name, the members in the order in which they joined, and the one to come."""

    topics: Mapping[str, int]
    members: tuple[str, ...]
    joining: str

    @property
    def ordered(self) -> list[str]:
        """The ids in the order in which an assignor serves them, before the last one joins."""
        return [member.id for member in in_order(self.asking())]

    def asking(self, *more: str, owned: Assignment | None = None) -> list[Member]:
        """Return members as an assignor gets them: all subscribe to all topics."""
        had = owned or {}
        return [
            Member(id, tuple(self.topics), owned=tuple(had.get(id, ())), generation=1)
            for id in (*self.members, *more)
        ]


def document(
    topics: Mapping[str, int] = _TOPICS,
    members: Sequence[str] = ("C2", "C0", "C1"),
    joining: str = "C3",
) -> Document:
    """Return the step-through; its last state has a grid of each topic after `joining` has joined.

    Raises ValueError for no topic or member, for two members with one id, and for more than a grid
    can show; InvalidTopicError for a topic's name.
    """
    plan = JoinPlan(dict(sorted(topics.items())), tuple(members), joining)
    _check(plan)
    before = {name: make_assignor(name).assign(plan.topics, plan.asking()) for name in ASSIGNORS}
    recording = Recording(
        "range", "How three assignors share out partitions: range, multiple, round robin"
    )
    joined = tuple(enumerate(plan.members))
    recording.step(
        f"{count(len(plan.members), 'member', 'read')} {count(len(plan.topics), 'topic')} as a "
        "group. An assignor decides which member gets which partition. Each partition goes to "
        "exactly one member of the group.",
        values={topic: count(partitions, "partition") for topic, partitions in plan.topics.items()},
        tables=[Table("Members in the order in which they joined", ("joined", "member"), joined)],
        picture=owners(plan.topics, {member: [] for member in plan.ordered}),
    )
    recording.step(
        "An assignor first sorts the members by their ids, as texts. The number i is the place of "
        "a member in this order, from 0 on.",
        ask=who_is_first(plan.members, plan.ordered),
        values={"partitions": sum(plan.topics.values()), "members": len(plan.members)},
        tables=[Table("Members in order", ("i", "member"), tuple(enumerate(plan.ordered)))],
        picture=owners(plan.topics, {member: [] for member in plan.ordered}),
    )
    _say_range(recording, plan, before["range"])
    _say_multiple(recording, plan, before["multiple"])
    _say_round_robin(recording, plan, before["roundrobin"])
    _say_side_by_side(recording, plan, before)
    _say_joining(recording, plan, before)
    return recording.document()


def _check(plan: JoinPlan) -> None:
    everybody = [*plan.members, plan.joining]
    if not plan.topics or not plan.members:
        raise ValueError("give at least one topic and one member")
    for topic, partitions in plan.topics.items():
        check_topic(topic)
        if not 1 <= partitions <= MOST_PARTITIONS:
            raise ValueError(f"{topic}: a grid shows 1 to {MOST_PARTITIONS} partitions of a topic")
    if "" in everybody:
        raise ValueError("the id of a member must not be empty")
    if len(set(everybody)) < len(everybody):
        named = ", ".join(everybody)
        raise ValueError(f"each member, also the one that joins, needs an id of its own: {named}")
    if len(plan.topics) > MOST_TOPICS or len(everybody) > MOST_MEMBERS:
        most = f"{MOST_TOPICS} topics and {MOST_MEMBERS} members, with the one that joins"
        raise ValueError(f"a grid shows at most {most}")


def _say_range(recording: Recording, plan: JoinPlan, assignment: Assignment) -> None:
    (topic, partitions), *others = plan.topics.items()
    each, extra = divmod(partitions, len(plan.members))
    values = {"P": partitions, "C": len(plan.members), "P div C": each, "P mod C": extra}
    given: Assignment = {member: [] for member in plan.ordered}
    recording.step(
        f"range shares out one topic at a time. Of {topic}, each member gets P div C = {each}. The "
        f"first P mod C = {extra} of them {agreeing('get', extra)} one more. The partitions of "
        "a member have consecutive numbers: they are a run.",
        ask=shares_of_range(topic, partitions, len(plan.members)),
        values=values,
        tables=[grid("range", topic, partitions, given)],
        picture=owners({topic: partitions}, given),
    )
    shares = range_runs(partitions, len(plan.members))
    for i, (member, (start, taken)) in enumerate(zip(plan.ordered, shares, strict=True)):
        given[member] = assignment[member]
        recording.step(
            f"{member} starts at {each} × {i} + min({i}, {extra}) = {start}, and takes {taken}.",
            values={**values, "i": i, "start": start, "count": taken},
            tables=[grid("range", topic, partitions, given, marked=(i,))],
            picture=owners({topic: partitions}, given),
        )
    for topic, partitions in others:
        is_last = topic == others[-1][0]
        recording.step(
            f"{topic} is shared out separately, again from {plan.ordered[0]} on. So the first "
            "members get one more partition of each topic that has a remainder.",
            ask=totals_of_range(plan.topics, plan.ordered, assignment) if is_last else None,
            values={f"{member} in all": len(assignment[member]) for member in plan.ordered},
            tables=[grid("range", topic, partitions, assignment)],
            picture=owners(plan.topics, assignment),
        )


def _say_multiple(recording: Recording, plan: JoinPlan, assignment: Assignment) -> None:
    members = len(plan.members)
    for topic, partitions in plan.topics.items():
        shares = multiple_runs(partitions, members)
        each, last = shares[0][1], shares[-1][1]
        is_first = topic == next(iter(plan.topics))
        recording.step(
            ("multiple is another rule. Member" if is_first else "By multiple, too, member")
            + f" i gets the partitions i × M to (i + 1) × M − 1 of {topic}, if they exist.",
            ask=last_share_of_multiple(topic, partitions, members),
            values={"P": partitions, "C": members, "M": each, "last member": last},
            tables=[grid("multiple", topic, partitions, assignment, marked=(members - 1,))],
            picture=owners({topic: partitions}, assignment),
        )


def _say_round_robin(recording: Recording, plan: JoinPlan, assignment: Assignment) -> None:
    dealt = 0
    for topic, partitions in plan.topics.items():
        taker = next(i for i, id in enumerate(plan.ordered) if (topic, 0) in assignment[id])
        recording.step(
            f"roundrobin gives out the partitions of {topic} one by one, each to the next member.",
            ask=first_of_topic(topic, plan.ordered, assignment, dealt) if dealt else None,
            values={"given out before": dealt, f"{topic}-0 goes to": plan.ordered[taker]},
            tables=[grid("roundrobin", topic, partitions, assignment, marked=(taker,))],
            picture=owners({topic: partitions}, assignment),
        )
        dealt += partitions


def _say_side_by_side(
    recording: Recording, plan: JoinPlan, before: Mapping[str, Assignment]
) -> None:
    counts: tuple[tuple[Value, ...], ...] = tuple(
        (id, *(len(before[name][id]) for name in ASSIGNORS)) for id in plan.ordered
    )
    recording.step(
        "All three answers on one grid. range and multiple give runs, and share out each topic "
        "separately. roundrobin shares out all topics together, one partition at a time, as "
        "evenly as possible.",
        tables=[
            *grids_side_by_side(plan.topics, before),
            Table("Partitions of each member in all", ("member", *ASSIGNORS), counts),
        ],
        picture=owners(plan.topics, before["roundrobin"]),
    )


def _say_joining(recording: Recording, plan: JoinPlan, before: Mapping[str, Assignment]) -> None:
    joining, partitions = plan.joining, sum(plan.topics.values())
    asking = plan.asking(joining)
    after = {name: make_assignor(name).assign(plan.topics, asking) for name in ASSIGNORS}
    moved = {name: len(moves(before[name], after[name])) for name in ASSIGNORS}
    gained = {name: len(after[name][joining]) for name in ASSIGNORS}
    for name in ASSIGNORS:
        recording.step(
            f"{joining} joins, and {name} makes a new assignment. In the grid, {GAINED} marks a "
            f"partition that came from another member, {LOST} one that went to another member. "
            f"{count(moved[name], 'partition')} moved.",
            ask=how_many_move(name, joining, partitions, moved=moved[name], gained=gained[name]),
            values={"moved": moved[name], f"{joining} gets": gained[name]},
            tables=[
                grid(name, topic, number, after[name], before=before[name])
                for topic, number in plan.topics.items()
            ],
            picture=owners(plan.topics, after[name], before[name]),
        )
    owning = plan.asking(joining, owned=before["range"])
    kept = make_assignor("sticky").assign(plan.topics, owning)
    fewest = len(moves(before["range"], kept))
    rows = [(name, moved[name], gained[name]) for name in ASSIGNORS]
    rows.append(("sticky, after range", fewest, len(kept[joining])))
    title = f"Partitions that moved when {joining} joined"
    columns = ("assignor", "moved", f"{joining} gets")
    recording.step(
        "None of the three looks at who had which partition. A member that gets a partition "
        "begins at its committed offset. The assignor sticky does look: after the first answer of "
        f"range, it moves {fewest}.",
        values={"partitions": partitions, **moved},
        tables=[*grids_side_by_side(plan.topics, after), Table(title, columns, tuple(rows))],
        picture=owners(plan.topics, kept, before["range"]),
    )
