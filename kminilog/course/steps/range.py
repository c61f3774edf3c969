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

from kminilog.consumer.assignor_registry import make_assignor
from kminilog.consumer.assignors.interface import Assignment, Member, in_order
from kminilog.consumer.assignors.multiple import runs as multiple_runs
from kminilog.consumer.assignors.range import runs as range_runs
from kminilog.explain.document import Arrow, Bar, Document, Picture, PictureLane, Table, Value
from kminilog.explain.script import Script
from kminilog.format.names import TopicPartition, check_topic
from kminilog.text import count

ASSIGNORS = ("range", "multiple", "roundrobin")
MOST_TOPICS, MOST_PARTITIONS, MOST_MEMBERS = 6, 32, 12
OWNED, GAINED, LOST, FREE = "■", "+", "−", "·"
STEPS = (
    *("A group", "The order of the members", "range", "A run", "range, one more topic"),
    *("multiple", "roundrobin", "Side by side", "A member joins", "What moved"),
)
_TOPICS = {"orders": 10, "views": 4}
# by whether a member had a partition, and has it now
_CELLS = {(True, True): OWNED, (False, True): GAINED, (True, False): LOST, (False, False): FREE}


def document(
    topics: Mapping[str, int] = _TOPICS,
    members: Sequence[str] = ("C2", "C0", "C1"),
    joining: str = "C3",
) -> Document:
    """Return the step-through; its last state has a grid of each topic after `joining` has joined.

    Raises ValueError for no topic or member, for two members with one id, and for more than a grid
    can show; InvalidTopicError for a topic's name.
    """
    _check(topics, members, joining)
    topics = dict(sorted(topics.items()))
    ordered, in_all = _in_order(members), sum(topics.values())
    before = {name: _assigned(name, topics, members) for name in ASSIGNORS}
    after = {name: _assigned(name, topics, [*members, joining]) for name in ASSIGNORS}
    told = Script(
        __file__, "range", STEPS, topics=topics, members=members, ordered=ordered, joining=joining
    )
    given: Assignment = {member: [] for member in ordered}
    joined = tuple(enumerate(members))
    told.tell(
        "A group",
        values={topic: count(partitions, "partition") for topic, partitions in topics.items()},
        tables=[Table("Members in the order in which they joined", ("joined", "member"), joined)],
        picture=owners(topics, given),
    )
    told.tell(
        "The order of the members",
        values={"partitions": in_all, "members": len(members)},
        tables=[Table("Members in order", ("i", "member"), tuple(enumerate(ordered)))],
        picture=owners(topics, given),
    )

    (topic, partitions), *others = topics.items()
    each, extra = divmod(partitions, len(members))
    runs = range_runs(partitions, len(members))
    values = {"P": partitions, "C": len(members), "P div C": each, "P mod C": extra}
    told.tell(
        "range",
        values=values,
        tables=[grid("range", topic, partitions, given)],
        picture=owners({topic: partitions}, given),
        topic=topic,
        partitions=partitions,
        each=each,
        extra=extra,
        counts=_counts(runs),
        counts_of_multiple=_counts(multiple_runs(partitions, len(members))),
        counts_without_rest=[each] * len(members),
        counts_to_last=_to_last(partitions, len(members)),
    )
    for i, (member, (start, taken)) in enumerate(zip(ordered, runs, strict=True)):
        given[member] = before["range"][member]
        told.tell(
            "A run",
            values={**values, "i": i, "start": start, "count": taken},
            tables=[grid("range", topic, partitions, given, marked=(i,))],
            picture=owners({topic: partitions}, given),
            i=i,
            member=member,
            each=each,
            extra=extra,
            start=start,
            taken=taken,
        )
    totals = {member: len(before["range"][member]) for member in ordered}
    to_last = [_to_last(partitions, len(members)) for partitions in topics.values()]
    for topic, partitions in others:
        told.tell(
            "range, one more topic",
            asks=topic == others[-1][0],
            values={f"{member} in all": total for member, total in totals.items()},
            tables=[grid("range", topic, partitions, before["range"])],
            picture=owners(topics, before["range"]),
            topic=topic,
            totals=totals.values(),
            totals_to_last=[sum(some) for some in zip(*to_last, strict=True)],
            totals_as_one_list=_counts(range_runs(in_all, len(members))),
        )

    multiple, turns = before["multiple"], before["roundrobin"]
    for topic, partitions in topics.items():
        shares = _counts(multiple_runs(partitions, len(members)))
        told.tell(
            "multiple",
            values={"P": partitions, "C": len(members), "M": shares[0], "last member": shares[-1]},
            tables=[grid("multiple", topic, partitions, multiple, marked=(len(members) - 1,))],
            picture=owners({topic: partitions}, multiple),
            is_first=topic == next(iter(topics)),
            topic=topic,
            partitions=partitions,
            each=shares[0],
            last=shares[-1],
        )

    dealt = 0
    for topic, partitions in topics.items():
        taker = next(i for i, id in enumerate(ordered) if (topic, 0) in turns[id])
        told.tell(
            "roundrobin",
            asks=dealt > 0,
            values={"given out before": dealt, f"{topic}-0 goes to": ordered[taker]},
            tables=[grid("roundrobin", topic, partitions, turns, marked=(taker,))],
            picture=owners({topic: partitions}, turns),
            topic=topic,
            dealt=dealt,
            taker=ordered[taker],
            last=ordered[taker - 1],
            next=ordered[(taker + 1) % len(ordered)],
        )
        dealt += partitions
    counts: list[tuple[Value, ...]] = [
        (id, *(len(before[name][id]) for name in ASSIGNORS)) for id in ordered
    ]
    told.tell(
        "Side by side",
        tables=[
            *grids_side_by_side(topics, before),
            Table("Partitions of each member in all", ("member", *ASSIGNORS), tuple(counts)),
        ],
        picture=owners(topics, turns),
    )

    moved = {name: len(moves(before[name], after[name])) for name in ASSIGNORS}
    gained = {name: len(after[name][joining]) for name in ASSIGNORS}
    for name in ASSIGNORS:
        told.tell(
            "A member joins",
            values={"moved": moved[name], f"{joining} gets": gained[name]},
            tables=[
                grid(name, topic, partitions, after[name], before=before[name])
                for topic, partitions in topics.items()
            ],
            picture=owners(topics, after[name], before[name]),
            name=name,
            in_all=in_all,
            moved=moved[name],
            gained=gained[name],
        )
    kept = _assigned("sticky", topics, [*members, joining], owned=before["range"])
    fewest = len(moves(before["range"], kept))
    rows = [(name, moved[name], gained[name]) for name in ASSIGNORS]
    rows.append(("sticky, after range", fewest, len(kept[joining])))
    title = f"Partitions that moved when {joining} joined"
    columns = ("assignor", "moved", f"{joining} gets")
    told.tell(
        "What moved",
        values={"partitions": in_all, **moved},
        tables=[*grids_side_by_side(topics, after), Table(title, columns, tuple(rows))],
        picture=owners(topics, kept, before["range"]),
        fewest=fewest,
    )
    return told.document()


def _check(topics: Mapping[str, int], members: Sequence[str], joining: str) -> None:
    everybody = [*members, joining]
    if not topics or not members:
        raise ValueError("give at least one topic and one member")
    for topic, partitions in sorted(topics.items()):
        check_topic(topic)
        if not 1 <= partitions <= MOST_PARTITIONS:
            raise ValueError(f"{topic}: a grid shows 1 to {MOST_PARTITIONS} partitions of a topic")
    if "" in everybody:
        raise ValueError("the id of a member must not be empty")
    if len(set(everybody)) < len(everybody):
        named = ", ".join(everybody)
        raise ValueError(f"each member, also the one that joins, needs an id of its own: {named}")
    if len(topics) > MOST_TOPICS or len(everybody) > MOST_MEMBERS:
        most = f"{MOST_TOPICS} topics and {MOST_MEMBERS} members, with the one that joins"
        raise ValueError(f"a grid shows at most {most}")


def _assigned(
    name: str, topics: Mapping[str, int], members: Sequence[str], owned: Assignment | None = None
) -> Assignment:
    """Return the answer of an assignor to members that all subscribe to all topics."""
    had = owned or {}
    asking = [
        Member(id, tuple(topics), owned=tuple(had.get(id, ())), generation=1) for id in members
    ]
    return make_assignor(name).assign(topics, asking)


def _in_order(ids: Iterable[str]) -> list[str]:
    """Return the ids of members in the order in which an assignor serves them."""
    return [member.id for member in in_order(Member(id, ()) for id in ids)]


def _to_last(partitions: int, members: int) -> list[int]:
    """Return the counts of those who give the remainder to the last member."""
    each, extra = divmod(partitions, members)
    return [*[each] * (members - 1), each + extra]


def _counts(runs: Iterable[tuple[int, int]]) -> list[int]:
    return [taken for _, taken in runs]


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
    earlier = assignment if before is None else before
    places = [TopicPartition(topic, number) for number in range(partitions)]
    rows: list[tuple[Value, ...]] = []
    for member in _in_order(assignment):
        had = [place in earlier.get(member, ()) for place in places]
        has = [place in assignment[member] for place in places]
        cells = [_CELLS[pair] for pair in zip(had, has, strict=True)]
        rows.append((member, *cells, sum(has)))
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


def owners(
    topics: Mapping[str, int], assignment: Assignment, before: Assignment | None = None
) -> Picture:
    """Return a lane for each member: its partitions, topic beside topic; arrows for what moved."""
    had = assignment if before is None else before
    firsts, at = {}, 0
    for topic, partitions in topics.items():
        firsts[topic] = at
        at += partitions
    ordered = _in_order(assignment)
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
