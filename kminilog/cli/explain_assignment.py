"""`assign --explain`: the numbers behind an assignment, topic by topic, and who gets nothing.

    range       n = P div C and extra = P mod C; each position's start and count
    multiple    M = P / C, rounded up; each position's start and count
    all others  give no runs of neighbours: only the order of the members, and who gets nothing

P is the number of partitions of a topic, C that of the members that subscribe to it, i a member's
position among these. Source: S1 4, S3.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any, NamedTuple

from kminilog.consumer.assignors.interface import Assignment, Member, members_by_topic, text_order
from kminilog.consumer.assignors.multiple import runs as multiple_runs
from kminilog.consumer.assignors.range import runs as range_runs
from kminilog.text import count, table


@dataclass(frozen=True)
class Share:
    """The run of one member: its first partition, and how many."""

    position: int
    member: str
    start: int
    count: int


class TopicShares(NamedTuple):
    """How one topic is shared out; `numbers` are n and extra, or M, or none at all."""

    topic: str
    partitions: int
    members: list[str]
    numbers: dict[str, int]
    shares: list[Share]

    @property
    def nothing(self) -> list[str]:
        """The members that get nothing of this topic, as far as runs tell."""
        return [share.member for share in self.shares if not share.count]


def explained(
    strategy: str, topics: Mapping[str, int], members: Sequence[Member]
) -> list[TopicShares]:
    """Return for each topic that somebody subscribes to how it is shared out."""
    found = []
    for topic, subscribers in members_by_topic(topics, members).items():
        partitions, ids = topics[topic], [member.id for member in subscribers]
        numbers: dict[str, int] = {}
        runs: list[tuple[int, int]] = []
        if strategy == "range":
            numbers = dict(zip(("n", "extra"), divmod(partitions, len(ids)), strict=True))
            runs = range_runs(partitions, len(ids))
        elif strategy == "multiple":
            ids.sort(key=text_order)
            numbers = {"M": -(-partitions // len(ids))}
            runs = multiple_runs(partitions, len(ids))
        shares = [Share(i, ids[i], *run) for i, run in enumerate(runs)]
        found.append(TopicShares(topic, partitions, ids, numbers, shares))
    return found


def explanation_fields(topics: Sequence[TopicShares], assignment: Assignment) -> dict[str, Any]:
    """Return the JSON fields that explain an assignment."""
    return {
        "topics": [
            {
                "topic": each.topic,
                "partitions": each.partitions,
                "members": each.members,
                **each.numbers,
                "shares": [asdict(share) for share in each.shares],
            }
            for each in topics
        ],
        "nothing": _idle(assignment),
    }


def explanation_lines(
    strategy: str, topics: Sequence[TopicShares], assignment: Assignment
) -> Iterator[str]:
    """Yield the lines of text that explain an assignment."""
    for each in topics:
        yield ""
        size = (
            f"P = {count(each.partitions, 'partition')}, C = {count(len(each.members), 'member')}"
        )
        yield f"{each.topic}: {size}"
        if not each.shares:
            yield f"{strategy} gives no runs of neighbours, so there is no start and no count"
            yield f"members in order: {', '.join(each.members)}"
            continue
        yield from _rule(each.numbers)
        yield from table(["position", "member", "start", "count"], map(astuple, each.shares))
        if each.nothing:
            yield f"nothing of {each.topic} for: {', '.join(each.nothing)}"
    yield ""
    yield f"nothing at all for: {', '.join(_idle(assignment)) or 'nobody'}"


def _rule(numbers: Mapping[str, int]) -> list[str]:
    if "M" in numbers:
        return [
            f"M = P / C, rounded up = {numbers['M']}",
            "position i begins at i * M and gets M, as long as there are partitions",
        ]
    return [
        f"n = P div C = {numbers['n']}, extra = P mod C = {numbers['extra']}",
        "position i begins at n * i + min(i, extra) and gets n, one more if i < extra",
    ]


def _idle(assignment: Assignment) -> list[str]:
    return [member for member, given in assignment.items() if not given]
