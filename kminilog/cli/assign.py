"""`kminilog assign`: which member would get which partition, by one strategy or several.

The command needs no topic and no group. `--previous` reads the present assignment, as `assign
--json` printed it. So you can follow a group from one run to the next: a sticky strategy shows what
it keeps, and a cooperative one reaches its second round.

`--explain` shows the numbers behind an assignment, topic by topic, and who gets nothing:

    range       n = P div C and extra = P mod C; each position's start and count
    multiple    M = P / C, rounded up; each position's start and count
    all others  give no runs of neighbours: only the order of the members, and who gets nothing

P is the number of partitions of a topic, C that of the members that subscribe to it, i a member's
position among these. A user's own class may be in the current directory. Source: S1 4, S3.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click

from kminilog.cli.shared.named_files import InputFile
from kminilog.cli.shared.options import example, json_option, topic_counts_option
from kminilog.cli.shared.output import (
    warn,
    width,
    write_document,
    write_line,
    write_lines,
    write_table,
)
from kminilog.consumer.assignors.interface import (
    Assignment,
    Assignor,
    Member,
    members_by_topic,
    text_order,
)
from kminilog.consumer.assignors.interface import partitions_of as all_partitions_of
from kminilog.consumer.assignors.multiple import runs as multiple_runs
from kminilog.consumer.assignors.range import runs as range_runs
from kminilog.consumer.assignors.registry import ASSIGNORS, assignor_name, make_assignor
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.format.names import TopicPartition
from kminilog.plugins import look_in_current_directory
from kminilog.text import count, table

_DEFAULT = str(CONSUMER_SETTINGS["partition.assignment.strategy"].default)


class Answer(NamedTuple):
    """The assignment of one strategy, and the figures that follow from it."""

    assignment: Assignment
    moved: list[TopicPartition]
    """Partitions that somebody owned, and now another one has."""
    left_out: list[TopicPartition]
    """Partitions that nobody gets before somebody else has given them up."""


@click.command(
    "assign",
    epilog=example(
        "kminilog assign --strategy range --topic orders=10 --member a --member b --member c"
    ),
)
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    default=[_DEFAULT],
    metavar="NAME",
    help=f"Assignor: {', '.join(ASSIGNORS)}, or your own class as package.module.Class. Give "
    f"several to compare them.  [default: {_DEFAULT}]",
)
@topic_counts_option(required=True)
@click.option(
    "--member",
    "member_texts",
    multiple=True,
    required=True,
    metavar="M[@INSTANCE][:T1,T2]",
    help="Member, its static id, and the topics it subscribes to (without any: all). Repeatable.",
)
@click.option(
    "--previous",
    type=InputFile(),
    metavar="FILE",
    help="File with the present assignment, as `assign --json` printed it.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Show how the numbers were calculated, topic by topic, and which members get nothing.",
)
@json_option
def command(
    strategies: tuple[str, ...],
    topics: dict[str, int],
    member_texts: tuple[str, ...],
    previous: Path | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Show which member of a group gets which partitions."""
    names = list(dict.fromkeys(map(assignor_name, strategies)))
    if explain and len(names) > 1:
        raise click.UsageError("--explain takes one --strategy")
    if not set(names) <= set(ASSIGNORS):
        look_in_current_directory()
    assignors = {name: make_assignor(name) for name in names}
    members = _members(member_texts, topics)
    owned = _read_previous(previous) if previous else {}
    members = [member._replace(owned=tuple(owned.get(member.id, ()))) for member in members]
    answers = {
        name: _answer(assignor, topics, members, owned) for name, assignor in assignors.items()
    }
    _warn_of_missing(topics, members)
    shares = explained(names[0], topics, members) if explain else []
    given = answers[names[0]].assignment
    if as_json:
        more = {"explanation": explanation_fields(shares, given)} if explain else {}
        write_document({**_document(answers), **more})
    elif len(answers) == 1:
        _show(answers[names[0]], has_previous=previous is not None)
        if explain:
            write_lines(explanation_lines(names[0], shares, given))
    else:
        _show_side_by_side(answers)


def _members(texts: tuple[str, ...], topics: Mapping[str, int]) -> list[Member]:
    members: list[Member] = []
    for text in texts:
        name, has_topics, listed = text.partition(":")
        id, has_instance, instance_id = name.partition("@")
        subscribed = listed.split(",") if has_topics else list(topics)
        if not id or (has_instance and not instance_id) or "" in subscribed:
            raise click.UsageError(
                f"--member {text!r}: write MEMBER, MEMBER@INSTANCE or MEMBER:TOPIC,TOPIC"
            )
        member = Member(id, tuple(subscribed), instance_id if has_instance else None)
        for other in members:
            if other.id == member.id:
                raise click.UsageError(f"--member {text}: there is a member {id} already")
            if has_instance and other.instance_id == instance_id:
                reason = f"{other.id} has the static id {instance_id} already"
                raise click.UsageError(f"--member {text}: {reason}")
        members.append(member)
    return members


def _read_previous(path: Path) -> Assignment:
    """Return the assignment in a file; ClickException if it is not what `assign --json` prints."""
    try:
        document = json.loads(path.read_bytes())
        found = {
            str(member): [_partition(pair) for pair in given]
            for member, given in document["assignment"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        reason = "not what `assign --json` prints for one strategy"
        raise click.ClickException(f"{path}: {reason}") from None
    times = Counter(partition for given in found.values() for partition in given)
    if times and max(times.values()) > 1:
        raise click.ClickException(f"{path}: {times.most_common(1)[0][0]} is there more than once")
    return found


def _partition(pair: Any) -> TopicPartition:
    topic, number = pair
    if not isinstance(topic, str) or type(number) is not int:
        raise ValueError(pair)
    return TopicPartition(topic, number)


def _answer(
    assignor: Assignor, topics: Mapping[str, int], members: list[Member], owned: Assignment
) -> Answer:
    assignment = assignor.assign(topics, members)
    owner = {partition: member for member, given in owned.items() for partition in given}
    taker = {partition: member for member, given in assignment.items() for partition in given}
    moved = [found for found in sorted(taker) if owner.get(found, taker[found]) != taker[found]]
    left_out = [
        partition
        for topic in members_by_topic(topics, members)
        for partition in all_partitions_of(topic, topics[topic])
        if partition not in taker
    ]
    return Answer(assignment, moved, left_out)


def _warn_of_missing(topics: Mapping[str, int], members: Iterable[Member]) -> None:
    for member in members:
        for topic in member.topics:
            if topic not in topics:
                warn(f"{member.id} subscribes to {topic}, which no --topic names: skipped")


def _document(answers: Mapping[str, Answer]) -> dict[str, Any]:
    documents = [
        {
            "strategy": name,
            "assignment": answer.assignment,
            "moved": answer.moved,
            "left_out": answer.left_out,
        }
        for name, answer in answers.items()
    ]
    return documents[0] if len(documents) == 1 else {"strategies": documents}


def _show(answer: Answer, *, has_previous: bool) -> None:
    rows = [
        [member, len(given), _runs(given) or "idle"] for member, given in answer.assignment.items()
    ]
    write_table(["member", "count", "partitions"], rows)
    if has_previous:
        write_line(f"{count(len(answer.moved), 'partition')} moved")
    if answer.left_out:
        write_line(f"left out until their owners give them up: {_runs(answer.left_out)}")


def _show_side_by_side(answers: Mapping[str, Answer]) -> None:
    members = next(iter(answers.values())).assignment
    rows = [
        [member, *(_cell(answer.assignment[member]) for answer in answers.values())]
        for member in members
    ]
    write_table(["member", *answers], rows)


def _cell(given: list[TopicPartition]) -> str:
    return f"{len(given)}: {_runs(given)}" if given else "0: idle"


def _runs(partitions: list[TopicPartition]) -> str:
    """Return partitions in short: `orders 0-3 5, views 1`."""
    runs: list[tuple[str, int, int]] = []
    for topic, number in partitions:
        if runs and runs[-1][0] == topic and runs[-1][2] == number - 1:
            runs[-1] = (topic, runs[-1][1], number)
        else:
            runs.append((topic, number, number))
    by_topic: dict[str, list[str]] = {}
    for topic, first, last in runs:
        text = str(first) if first == last else f"{first}-{last}"
        by_topic.setdefault(topic, []).append(text)
    return ", ".join(f"{topic} {' '.join(texts)}" for topic, texts in by_topic.items())


# ---- the numbers behind an assignment


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
        headings = ["position", "member", "start", "count"]
        yield from table(headings, map(astuple, each.shares), width())
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
