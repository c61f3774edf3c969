"""`kminilog group`: list groups, show how far each has read, and replay a rebalance.

Only `reset` and `delete` (group_changes.py) write to the log dir. `describe` shows the group's
file, without the members whose session has timed out. Lag is the number of messages left to read:
log end minus committed offset. If the committed offset is above the log end, the lag is unknown,
and the output says so.
Source: Kafka: ConsumerGroupCommand.
"""

import random
import tempfile
from pathlib import Path
from typing import Any

import click

from kminilog.cli.current_directory import make_importable
from kminilog.cli.group_changes import delete, reset
from kminilog.cli.group_offsets import coordinator_of, group_offsets, offsets_of
from kminilog.cli.interrupts import interruptible
from kminilog.cli.options import Command, allow_gaps_option, example, json_option
from kminilog.cli.output import warn, write_document, write_lines
from kminilog.cli.places import topics_at
from kminilog.consumer.assignors.interface import text_order
from kminilog.consumer.assignors.registry import ASSIGNORS, assignor_name
from kminilog.consumer.group import Group
from kminilog.consumer.interface import MessageSource
from kminilog.course.replays.rebalance import DEFAULT_PLAN, Plan, Second, replay_rebalance
from kminilog.course.steps.rebalance import document
from kminilog.course.steps.text import render_short
from kminilog.errors import LogDirError
from kminilog.storage.notices import OnGap
from kminilog.system import WallClock
from kminilog.text import table

NONE = "-"


@click.group("group", no_args_is_help=False, epilog=example("kminilog group list"))
def command() -> None:
    """Show, reset and delete consumer groups, and replay rebalances."""


command.add_command(reset)
command.add_command(delete)


@command.command("list", epilog=example("kminilog group list"))
@json_option
@click.pass_obj
def list_groups(log_dir_path: Path, as_json: bool) -> int:
    """List all groups.

    If the file of a group cannot be read, the others are listed, and the exit code is 2.
    """
    log_dir = topics_at(log_dir_path)
    coordinator = coordinator_of(log_dir, offsets_of(log_dir, on_gap=None))
    groups, code = [], 0
    for name in interruptible(coordinator.groups()):
        try:
            groups.append(coordinator.describe(name))
        except LogDirError as error:
            warn(str(error))
            code = 2
    if as_json:
        write_document([_summary(group) | {"members": len(group.members)} for group in groups])
        return code
    rows = [
        (group.name, group.state, group.generation, len(group.members), group.strategy or NONE)
        for group in groups
    ]
    headings = ("group", "state", "generation", "members", "strategy")
    write_lines(table(headings, rows) if rows else ["no groups"])
    return code


@command.command("describe", epilog=example("kminilog group describe readers"))
@click.argument("name", metavar="GROUP")
@allow_gaps_option
@json_option
@click.pass_obj
def describe(log_dir_path: Path, name: str, on_gap: OnGap | None, as_json: bool) -> None:
    """Show members, assignment, committed offsets and lag of GROUP."""
    log_dir = topics_at(log_dir_path)
    source = offsets_of(log_dir, on_gap=on_gap)
    coordinator = coordinator_of(log_dir, source)
    group = coordinator.describe(name)
    for partition, offset in sorted(coordinator.outdated(name).items()):
        why = f"topic {partition.topic} was deleted and created again"
        warn(f"{partition}: the committed offset {offset} does not count any more: {why}")
    description = _describe(group, source, WallClock().now_ms())
    if as_json:
        write_document(description)
    else:
        write_lines(_lines(description))


def rebalance_options(command: Command) -> Command:
    """Add the options of a replay of a rebalance."""
    strategy = click.option(
        "--strategy",
        default="range",
        show_default=True,
        callback=lambda ctx, param, name: assignor_name(name),
        metavar="NAME",
        help=f"Assignor: {', '.join(ASSIGNORS)}, or your own class as package.module.Class.",
    )
    partitions = click.option(
        "--partitions",
        type=click.IntRange(1, 20),
        default=DEFAULT_PLAN.partitions,
        show_default=True,
        metavar="N",
        help="Number of partitions of the topic.",
    )
    return strategy(partitions(command))


def replayed_rebalance(strategy: str, plan: Plan, seed: int) -> list[Second]:
    """Return all seconds of a replay; a user's own strategy may be in the current directory."""
    make_importable()
    with tempfile.TemporaryDirectory(prefix="kminilog-group-") as path:
        chance = random.Random(seed)
        seconds = replay_rebalance(Path(path), strategy=strategy, chance=chance, plan=plan)
        return list(interruptible(seconds))


@command.command("demo", epilog=example("kminilog group demo --strategy cooperative-sticky"))
@rebalance_options
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for the members' ids.")
@json_option
def demo(strategy: str, partitions: int, seed: int, as_json: bool) -> None:
    """Replay three members that join, leave and hang, and show who reads what."""
    plan = DEFAULT_PLAN._replace(partitions=partitions)
    seconds = replayed_rebalance(strategy, plan, seed)
    if as_json:
        write_document(
            {
                "strategy": strategy,
                "seconds": [_second_fields(second) for second in seconds],
                "read_again": sum(second.read_again for second in seconds),
            }
        )
    else:
        arguments = ("--strategy", strategy, "--partitions", partitions, "--seed", seed)
        write_lines(render_short(document(seconds, strategy=strategy, plan=plan), arguments))


# ---- describe


def _summary(group: Group) -> dict[str, Any]:
    return {
        "group": group.name,
        "state": group.state,
        "generation": group.generation,
        "strategy": group.strategy or None,
    }


def _describe(group: Group, source: MessageSource, now_ms: int) -> dict[str, Any]:
    idle = group.idle
    return {
        **_summary(group),
        "members": [
            {
                "id": member.id,
                "instance_id": member.instance_id,
                "topics": list(member.topics),
                "partitions": [list(p) for p in group.assignment.get(member.id, ())],
                "idle": member.id in idle,
                "heard_ms_ago": max(0, now_ms - member.heard_ms),
            }
            for member in sorted(group.members.values(), key=lambda member: text_order(member.id))
        ],
        "partitions": group_offsets(group, source),
        "idle": idle,
    }


def _lines(description: dict[str, Any]) -> list[str]:
    lines = [
        f"{description['group']}: {description['state']}, generation {description['generation']}"
        + (f", shared out by {description['strategy']}" if description["strategy"] else "")
    ]
    if description["members"]:
        rows = [
            (
                member["id"],
                member["instance_id"] or NONE,
                ", ".join(member["topics"]),
                len(member["partitions"]),
                f"{member['heard_ms_ago'] / 1000:.1f} s ago",
            )
            for member in description["members"]
        ]
        headings = ("member", "static id", "topics", "partitions", "heard of")
        lines += ["", *table(headings, rows)]
    if description["partitions"]:
        fields = ("member", "committed", "log_end_offset", "lag")
        cells = [
            (f"{p['topic']}-{p['partition']}", *(NONE if p[f] is None else p[f] for f in fields))
            for p in description["partitions"]
        ]
        lines += ["", *table(("partition", "member", "committed", "log end", "lag"), cells)]
    lines += [_above_log_end(p) for p in description["partitions"] if p["above_log_end"]]
    if description["idle"]:
        idle = ", ".join(description["idle"])
        lines += ["", f"idle, because there are not partitions enough: {idle}"]
    return lines


def _above_log_end(partition: dict[str, Any]) -> str:
    where = f"{partition['topic']}-{partition['partition']}"
    return (
        f"{where}: committed {partition['committed']} is above the log end "
        f"{partition['log_end_offset']}: the log was cut since, or is damaged there; "
        "reading goes on where auto.offset.reset says"
    )


# ---- demo


def _second_fields(second: Second) -> dict[str, Any]:
    readers = {str(n): reader for n, reader in second.reader_by_partition.items()}
    return {
        "second": second.second,
        "event": second.event or None,
        "state": second.state,
        "generation": second.generation,
        "reader_by_partition": readers,
        "idle": list(second.idle),
        "read_again": second.read_again,
        "error": second.error or None,
    }
