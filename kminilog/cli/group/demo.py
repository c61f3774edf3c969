"""`kminilog group demo`: a rebalance, second by second.

The text is the step-through `rebalance`, in short; `step rebalance` takes the same options.
"""

import random
import tempfile
from pathlib import Path
from typing import Any

import click

from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.options import Command, example, json_option
from kminilog.cli.shared.output import show, width
from kminilog.consumer.assignor_registry import ASSIGNORS, assignor_name
from kminilog.explain.rebalance import document
from kminilog.explain.replays.rebalance import (
    DEFAULT_PLAN,
    OTHER_GROUP,
    OtherGroup,
    RebalancePlan,
    RebalanceSecond,
    read_by_other_group,
    replay_rebalance,
)
from kminilog.explain.text import render_short
from kminilog.plugins import look_in_current_directory


def rebalance_options(command: Command) -> Command:
    """Add the options of a replay of a rebalance."""
    strategy = click.option(
        "--strategy",
        default="range",
        callback=lambda ctx, param, name: assignor_name(name),
        metavar="NAME",
        help=f"Assignor: {', '.join(ASSIGNORS)}, or your own class as package.module.Class.",
    )
    partitions = click.option(
        "--partitions",
        type=click.IntRange(1, 20),
        default=DEFAULT_PLAN.partitions,
        metavar="N",
        help="Number of partitions of the topic.",
    )
    return strategy(partitions(command))


def replayed_rebalance(
    strategy: str, plan: RebalancePlan, seed: int
) -> tuple[list[RebalanceSecond], OtherGroup]:
    """Return all seconds of a replay, and what another group then reads.

    A user's own strategy may be in the current directory.
    """
    look_in_current_directory()
    with tempfile.TemporaryDirectory(prefix="kminilog-group-") as path:
        chance = random.Random(seed)
        replay = replay_rebalance(Path(path), strategy=strategy, chance=chance, plan=plan)
        seconds = list(interruptible(replay))
        other = read_by_other_group(Path(path), strategy=strategy, chance=chance, plan=plan)
        return seconds, other


@click.command("demo", epilog=example("kminilog group demo --strategy cooperative-sticky"))
@rebalance_options
@click.option("--seed", type=int, default=0, help="Seed for the members' ids.")
@json_option
def demo(strategy: str, partitions: int, seed: int, as_json: bool) -> None:
    """Replay three members that join, leave and hang, and show who reads what."""
    plan = DEFAULT_PLAN._replace(partitions=partitions)
    seconds, other = replayed_rebalance(strategy, plan, seed)
    whole = {
        "strategy": strategy,
        "seconds": [_fields(second) for second in seconds],
        "read_again": sum(second.read_again for second in seconds),
        "other_group": {"group": OTHER_GROUP, **other._asdict()},
    }
    arguments = ("--strategy", strategy, "--partitions", partitions, "--seed", seed)
    show(
        whole,
        as_json,
        lambda _: render_short(
            document(seconds, strategy=strategy, plan=plan, other=other), arguments, width=width()
        ),
    )


def _fields(second: RebalanceSecond) -> dict[str, Any]:
    return {
        "second": second.second,
        "event": second.event or None,
        "state": second.state,
        "generation": second.generation,
        "reader_by_partition": second.reader_by_partition,
        "idle": second.idle,
        "read_again": second.read_again,
        "error": second.error or None,
    }
