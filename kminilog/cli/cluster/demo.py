"""`kminilog cluster demo`: a broker dies and comes back.

It replays both figures of S4 in a small cluster with real files and a simulated clock. The text
is the step-through `failover`, in short; with another partitioner than 0.8's, the figures alone.
"""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.options import WatchedChance, example, json_option, refuse_given
from kminilog.cli.shared.output import chapters, show, width
from kminilog.explain.failover import SWITCH, document, total
from kminilog.explain.replays.failover import (
    DEFAULT_PARTITIONER,
    PARTITIONS,
    FailoverSecond,
    replay_failover,
)
from kminilog.explain.text import render_short
from kminilog.partitioners.registry import checked_name, is_path
from kminilog.plugins import look_in_current_directory
from kminilog.text import count, table


@click.command("demo", epilog=example("kminilog cluster demo --switch on"))
@click.option(
    "--switch",
    type=click.Choice(["on", "off", "both"]),
    default="both",
    help=f"Value of the setting {SWITCH}.",
)
@click.option(
    "--on-failure",
    type=click.Choice(["go-on", "stop"]),
    default="go-on",
    help="What the producer does after it has lost a message.",
)
@click.option(
    "--seed", type=int, default=0, help="Seed for the random choice of substitute partitions."
)
@click.option(
    "--partitioner",
    default=DEFAULT_PARTITIONER,
    metavar="NAME",
    help="Partitioner: its name (`kminilog partition --help` lists them), or your own class as "
    "package.module.Class.",
)
@json_option
def demo(switch: str, on_failure: str, seed: int, partitioner: str, as_json: bool) -> None:
    """Stop one of four brokers and start it again, second by second.

    While it is down, messages for its partition go to other partitions, or are lost.
    """
    partitioner = checked_name(partitioner)
    if is_path(partitioner):
        look_in_current_directory()
    switches = ["on", "off"] if switch == "both" else [switch]
    replays = replayed_failovers(switches, on_failure, seed, partitioner)

    def told(which: str) -> Iterable[str]:
        if partitioner != DEFAULT_PARTITIONER:
            return _figures(replays[which], f"{partitioner}, {SWITCH} {which}")
        shown = document(replays[which], is_switch_on=which == "on")
        acting = ("--seed", seed) if which == "on" else ("--on-failure", on_failure)
        return render_short(shown, ("--switch", which, *acting), width=width())

    whole = {"replays": [_fields(which, seen) for which, seen in replays.items()]}
    show(whole, as_json, lambda _: chapters(*map(told, replays)))


def replayed_failovers(
    switches: Sequence[str],
    on_failure: str,
    seed: int,
    partitioner: str = DEFAULT_PARTITIONER,
    replicas: int = 1,
) -> dict[str, list[FailoverSecond]]:
    """Return the seconds of a replay for each switch, "on" or "off"; its files are gone.

    Raises UsageError if `--seed` or `--on-failure` was given and changed nothing in any of them.
    """
    chances = {switch: WatchedChance(seed) for switch in switches}
    replays = {}
    for switch, chance in chances.items():
        with tempfile.TemporaryDirectory(prefix="kminilog-cluster-") as path:
            replay = replay_failover(
                Path(path),
                is_switch_on=switch == "on",
                is_stopping=on_failure == "stop",
                chance=chance,
                partitioner=partitioner,
                replicas=replicas,
            )
            replays[switch] = list(interruptible(replay))
    if not any(chance.has_acted for chance in chances.values()):
        refuse_given("seed", "nothing is chosen at random")
    if not any(second.report.lost for seconds in replays.values() for second in seconds):
        refuse_given("on_failure", "no message is lost")
    return replays


def _figures(seen: list[FailoverSecond], title: str) -> list[str]:
    """Return the messages that arrived in each partition, second by second, as lines."""
    headings = ["second", *(f"p{number}" for number in range(PARTITIONS)), "lost", "what happens"]
    rows = [
        [one.second, *one.by_partition.values(), one.report.lost, one.event or "-"] for one in seen
    ]
    report = total(seen)
    told = f"{count(report.acknowledged, 'message')} acknowledged, {report.lost} lost."
    return [title, *table(headings, rows, width()), told]


def _fields(which: str, seen: list[FailoverSecond]) -> dict[str, Any]:
    return {
        "switch": which == "on",
        "seconds": [
            {
                "second": second.second,
                "event": second.event or None,
                "partitions": second.by_partition,
                **second.report._asdict(),
                "error": second.error or None,
            }
            for second in seen
        ],
        **total(seen)._asdict(),
    }
