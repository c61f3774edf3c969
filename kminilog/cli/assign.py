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
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from kminilog.cli.shared.named_files import InputFile
from kminilog.cli.shared.options import example, json_option, topic_counts_option
from kminilog.cli.shared.output import show, warn, width
from kminilog.consumer.assignor_registry import ASSIGNORS, assignor_name, make_assignor
from kminilog.consumer.assignors.interface import (
    Assignment,
    Member,
    members_by_topic,
    text_order,
)
from kminilog.consumer.assignors.interface import partitions_of as all_partitions_of
from kminilog.consumer.assignors.multiple import runs as multiple_runs
from kminilog.consumer.assignors.range import runs as range_runs
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.format.names import TopicPartition
from kminilog.plugins import look_in_current_directory
from kminilog.text import count, table

_DEFAULT = str(CONSUMER_SETTINGS["partition.assignment.strategy"].default)


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
    "several to compare them.",
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
    assignors = [make_assignor(name) for name in names]
    members = _members(member_texts, topics)
    owned = _read_previous(previous) if previous else {}
    members = [member._replace(owned=tuple(owned.get(member.id, ()))) for member in members]
    answers = [
        {"strategy": name, **_answer(assignor.assign(topics, members), topics, members, owned)}
        for name, assignor in zip(names, assignors, strict=True)
    ]
    for member in members:
        for topic in member.topics:
            if topic not in topics:
                warn(f"{member.id} subscribes to {topic}, which no --topic names: skipped")
    if len(answers) > 1:
        show({"strategies": answers}, as_json, _side_by_side)
        return
    (answer,) = answers
    if explain:
        answer["explanation"] = {
            "topics": _shares(names[0], topics, members),
            "nothing": [member for member, given in answer["assignment"].items() if not given],
        }
    show(answer, as_json, partial(_lines, has_previous=previous is not None))


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
    assignment: Assignment, topics: Mapping[str, int], members: list[Member], owned: Assignment
) -> dict[str, Any]:
    """Return an assignment, and which partitions change owners, or have to wait for that."""
    # Members in the order of the command line, whatever order an assignor of one's own gives them.
    ids = [member.id for member in members if member.id in assignment]
    assignment = {**{id: assignment[id] for id in ids}, **assignment}
    owner = {partition: member for member, given in owned.items() for partition in given}
    taker = {partition: member for member, given in assignment.items() for partition in given}
    return {
        "assignment": assignment,
        "moved": [
            found for found in sorted(taker) if owner.get(found, taker[found]) != taker[found]
        ],
        "left_out": [
            partition
            for topic in members_by_topic(topics, members)
            for partition in all_partitions_of(topic, topics[topic])
            if partition not in taker
        ],
    }


def _lines(answer: dict[str, Any], *, has_previous: bool) -> Iterator[str]:
    rows = [
        [member, len(given), _runs(given) or "idle"]
        for member, given in answer["assignment"].items()
    ]
    yield from table(["member", "count", "partitions"], rows, width())
    if has_previous:
        yield f"{count(len(answer['moved']), 'partition')} moved"
    if answer["left_out"]:
        yield f"waiting until their owners give them up: {_runs(answer['left_out'])}"
    if "explanation" in answer:
        yield from _explanation(answer["strategy"], **answer["explanation"])


def _side_by_side(document: dict[str, Any]) -> list[str]:
    answers = document["strategies"]
    rows = []
    for member in answers[0]["assignment"]:
        taken = [answer["assignment"][member] for answer in answers]
        rows.append([member, *(f"{len(given)}: {_runs(given) or 'idle'}" for given in taken)])
    return table(["member", *(answer["strategy"] for answer in answers)], rows, width())


def _runs(partitions: list[TopicPartition]) -> str:
    """Return partitions in short: `orders 0-3 5, views 1`."""
    by_topic: dict[str, list[str]] = {}
    # In a run of neighbours, number and place grow together.
    for (topic, _), run in groupby(
        enumerate(partitions), lambda one: (one[1][0], one[1][1] - one[0])
    ):
        numbers = [number for _, (_, number) in run]
        text = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
        by_topic.setdefault(topic, []).append(text)
    return ", ".join(f"{topic} {' '.join(texts)}" for topic, texts in by_topic.items())


# ---- the numbers behind an assignment


def _shares(
    strategy: str, topics: Mapping[str, int], members: Sequence[Member]
) -> list[dict[str, Any]]:
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
        shares = [
            {"position": i, "member": ids[i], "start": start, "count": number}
            for i, (start, number) in enumerate(runs)
        ]
        topic_facts = {"topic": topic, "partitions": partitions, "members": ids}
        found.append({**topic_facts, **numbers, "shares": shares})
    return found


def _explanation(strategy: str, topics: list[dict[str, Any]], nothing: list[str]) -> Iterator[str]:
    for each in topics:
        yield ""
        partitions, members = each["partitions"], each["members"]
        size = f"P = {count(partitions, 'partition')}, C = {count(len(members), 'member')}"
        yield f"{each['topic']}: {size}"
        if not each["shares"]:
            yield f"{strategy} assigns no runs of neighbours, so there is no start and no count"
            yield f"members in order: {', '.join(members)}"
            continue
        if "M" in each:
            yield f"M = P / C, rounded up = {each['M']}"
            yield "position i begins at i * M and gets M, as long as there are partitions"
        else:
            yield f"n = P div C = {each['n']}, extra = P mod C = {each['extra']}"
            yield "position i begins at n * i + min(i, extra) and gets n, one more if i < extra"
        rows = [list(share.values()) for share in each["shares"]]
        yield from table(["position", "member", "start", "count"], rows, width())
        without = [share["member"] for share in each["shares"] if not share["count"]]
        if without:
            yield f"members without partitions of {each['topic']}: {', '.join(without)}"
    yield ""
    yield f"members without partitions: {', '.join(nothing) or 'none'}"
