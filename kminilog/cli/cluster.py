"""`kminilog cluster demo`: a broker dies and comes back, second by second.

Replays both figures of S4 in a small cluster with real files and a simulated clock.
"""

import random
import tempfile
from pathlib import Path
from typing import Any

import click

from kminilog.cli.interrupts import interruptible
from kminilog.cli.options import example, json_option
from kminilog.cli.output import write_document, write_line, write_lines
from kminilog.plain_text import count, table
from kminilog.producer.delivery import DeliveryReport
from kminilog.replays.failover import PARTITIONS, Second, replay_failover

SWITCH = "send.switch.broker.enable"


@click.group("cluster", no_args_is_help=False, epilog=example("kminilog cluster demo"))
def command() -> None:
    """Replay what happens in a small cluster of brokers."""


@command.command("demo", epilog=example("kminilog cluster demo --switch on"))
@click.option(
    "--switch",
    type=click.Choice(["on", "off", "both"]),
    default="both",
    show_default=True,
    help=f"Value of the setting {SWITCH}.",
)
@click.option(
    "--on-failure",
    type=click.Choice(["go-on", "stop"]),
    default="go-on",
    show_default=True,
    help="What the producer does after it has lost a message.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed for the random choice of substitute partitions.",
)
@json_option
def demo(switch: str, on_failure: str, seed: int, as_json: bool) -> None:
    """Stop one of four brokers and start it again, second by second.

    While it is down, messages for its partition go to other partitions, or are lost.
    """
    replays = {
        which: _replay(which, is_stopping=on_failure == "stop", seed=seed)
        for which in ("on", "off")
        if switch in (which, "both")
    }
    if as_json:
        write_document({"replays": [_fields(which, seen) for which, seen in replays.items()]})
        return
    for which, seen in replays.items():
        write_lines(_lines(which, seen))
        write_line()
    write_line("A message in its own partition's column is where it belongs; keys 0, 1, 2, 3 come")
    write_line("in turn, so each second brings as many for each partition.")


def _replay(which: str, *, is_stopping: bool, seed: int) -> list[Second]:
    with tempfile.TemporaryDirectory(prefix="kminilog-cluster-") as path:
        replay = replay_failover(
            Path(path),
            is_switch_on=which == "on",
            is_stopping=is_stopping,
            chance=random.Random(seed),
        )
        return list(interruptible(replay))


def _total(seen: list[Second]) -> DeliveryReport:
    return DeliveryReport(*map(sum, zip(*(second.report for second in seen), strict=True)))


def _lines(which: str, seen: list[Second]) -> list[str]:
    headings = ["second", *(f"p{n}" for n in range(PARTITIONS)), "retries", "lost", "what happens"]
    rows = [
        [
            second.second,
            *second.by_partition.values(),
            second.report.retries,
            second.report.lost,
            second.event,
        ]
        for second in seen
    ]
    total = _total(seen)
    errors = [second.error for second in seen if second.error]
    return [
        f"{SWITCH} = {'true' if which == 'on' else 'false'}",
        *table(headings, rows),
        f"{count(total.acknowledged, 'message')} acknowledged, {total.lost} lost",
        *(f"the first that was lost was told: {error}" for error in errors[:1]),
    ]


def _fields(which: str, seen: list[Second]) -> dict[str, Any]:
    return {
        "switch": which == "on",
        "seconds": [
            {
                "second": second.second,
                "event": second.event or None,
                "partitions": {str(n): sent for n, sent in second.by_partition.items()},
                **second.report._asdict(),
                "error": second.error or None,
            }
            for second in seen
        ],
        **_total(seen)._asdict(),
    }
