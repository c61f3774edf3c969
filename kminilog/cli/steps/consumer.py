"""`step range`, `rebalance`, `journey`: what they take."""

import click

from kminilog.cli.group import rebalance_options, replayed_rebalance
from kminilog.cli.options import topic_counts_option
from kminilog.cli.steps.scene import scene
from kminilog.steps.document import Document


@scene(
    "range",
    "Who gets which partition, and what moves",
    shows="kminilog step range --topic orders=10 --member a --member b --member c --joining d",
)
@topic_counts_option(default=("orders=10", "views=4"))
@click.option(
    "--member",
    "members",
    multiple=True,
    default=("C2", "C0", "C1"),
    show_default=True,
    metavar="M",
    help="Member, in the order in which they joined. Repeatable.",
)
@click.option(
    "--joining",
    default="C3",
    show_default=True,
    metavar="M",
    help="Member that joins afterwards.",
)
def range(topics: dict[str, int], members: tuple[str, ...], joining: str, seed: int) -> Document:
    """Share out partitions by range, multiple and round robin; then a member joins."""
    from kminilog.steps.consumer.range import document

    return document(topics, members, joining)


@scene(
    "rebalance",
    "Members come, go and hang",
    shows="kminilog step rebalance --strategy cooperative-sticky",
)
@rebalance_options
def rebalance(strategy: str, partitions: int, seed: int) -> Document:
    """Replay a group, second by second: who reads what, who is idle, what is read twice."""
    from kminilog.replays.rebalance import DEFAULT_PLAN
    from kminilog.steps.consumer.rebalance import document

    plan = DEFAULT_PLAN._replace(partitions=partitions)
    return document(replayed_rebalance(strategy, plan, seed), strategy=strategy, plan=plan)
