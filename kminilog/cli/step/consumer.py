"""`step range`, `rebalance`, `streams`, `journey`: what they take."""

import random

import click

from kminilog.cli.group.demo import rebalance_options, replayed_rebalance
from kminilog.cli.shared.options import refuse_given, to_separator, topic_counts_option
from kminilog.cli.step.scene import dialect_option, scene
from kminilog.explain.document import Document
from kminilog.explain.replays.rebalance import DEFAULT_PLAN
from kminilog.format.dialect import DOCUMENTED, Dialect


@scene(
    "range",
    "Show who gets which partition, and what moves when a member joins.",
    shows="kminilog step range --topic orders=10 --member a --member b --member c --joining d",
)
@topic_counts_option(default=("orders=10", "views=4"))
@click.option(
    "--member",
    "members",
    multiple=True,
    default=("C2", "C0", "C1"),
    metavar="M",
    help="Member, in the order in which they joined. Repeatable.",
)
@click.option("--joining", default="C3", metavar="M", help="Member that joins afterwards.")
def range(topics: dict[str, int], members: tuple[str, ...], joining: str) -> Document:
    """Share out partitions by range, multiple and round robin; then a member joins."""
    from kminilog.course.steps.range import document

    return document(topics, members, joining)


@scene(
    "rebalance",
    "Watch a group while members come, go and hang.",
    shows="kminilog step rebalance --strategy cooperative-sticky",
)
@rebalance_options
def rebalance(strategy: str, partitions: int, seed: int) -> Document:
    """Replay a group, second by second: who reads what, who is idle, what is read twice."""
    from kminilog.explain.rebalance import document

    plan = DEFAULT_PLAN._replace(partitions=partitions)
    seconds, other = replayed_rebalance(strategy, plan, seed)
    return document(seconds, strategy=strategy, plan=plan, other=other)


@scene(
    "streams",
    "Share partitions among streams that come, go and die.",
    shows="kminilog step streams --streams 3 --partitions 5",
)
@click.option(
    "--streams",
    type=click.IntRange(2, 8),
    default=2,
    metavar="N",
    help="Number of streams before there are too many.",
)
@click.option(
    "--partitions",
    type=click.IntRange(1, 8),
    default=4,
    metavar="N",
    help="Number of partitions of the topic.",
)
def streams(streams: int, partitions: int) -> Document:
    """Open and close streams of a group: who reads what, who waits, what is read again."""
    from kminilog.course.steps.streams import document

    return document(streams, partitions)


@scene(
    "journey",
    "Follow a line from its source to a committed offset.",
    shows="kminilog step journey alice:book --partitions 2",
)
@click.argument("line", default="customer-20:two teapots", metavar="[LINE]")
@click.option(
    "--key-separator",
    default=":",
    metavar="S",
    type=to_separator,
    help="Separator: the text before its first occurrence in the line is the key.",
)
@click.option(
    "--partitions",
    type=click.IntRange(1, 20),
    default=3,
    metavar="N",
    help="Number of partitions of the topic.",
)
@dialect_option(DOCUMENTED)
def journey(
    line: str, key_separator: bytes, partitions: int, dialect: Dialect, seed: int
) -> Document:
    """Follow LINE through producer, batch, segment, index, search and consumer group.

    Without LINE, it follows "customer-20:two teapots".
    """
    from kminilog.course.steps.journey import document, split_line

    data = line.encode("utf-8", "surrogateescape")
    key, _ = split_line(data, key_separator)
    if key is not None:
        refuse_given("seed", "the line has a key, so its hash chooses the partition")
    if partitions == 1:
        refuse_given("seed", "the topic has one partition")
    return document(
        data,
        chance=random.Random(seed),
        partitions=partitions,
        dialect=dialect,
        separator=key_separator,
    )
