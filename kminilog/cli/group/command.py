"""`kminilog group`: list groups, show how far each has read, reset and delete them.

`reset` moves the committed offsets of a group, `delete` forgets it. Both say what they would do,
and do it with `--yes`. Neither touches a group that has members: a member would go on where it is,
and commit that over the change. Nothing else here writes to the log dir. `describe` shows the
group's file, without the members whose session has timed out. Lag is the number of messages left to
read: log end minus committed offset. If the committed offset is above the log end, the lag is
unknown, and the output says so. Source: Kafka: ConsumerGroupCommand.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from kminilog.cli.group.demo import demo
from kminilog.cli.shared.cluster_option import topics_at
from kminilog.cli.shared.group_offsets import coordinator_of, group_offsets, offsets_of
from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.options import allow_gaps_option, example, json_option, to_offset
from kminilog.cli.shared.output import named, show, table_of, warn, width
from kminilog.consumer.assignors.interface import text_order
from kminilog.consumer.coordinator import Coordinator, delete_group
from kminilog.consumer.errors import UnknownGroupError
from kminilog.consumer.group import Group
from kminilog.consumer.group_moves import EARLIEST, LATEST, plan_moves
from kminilog.consumer.interface import MessageSource
from kminilog.errors import LogDirError, UnknownTopicOrPartitionError
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.notices import OnGap
from kminilog.system import WallClock
from kminilog.text import count, table


@click.group("group", no_args_is_help=False, epilog=example("kminilog group list"))
def command() -> None:
    """Show, reset and delete consumer groups, and replay rebalances."""


command.add_command(demo)


@command.command("list", epilog=example("kminilog group list"))
@json_option
@click.pass_obj
def list_groups(log_dir_path: Path, as_json: bool) -> int:
    """List all groups.

    If the file of a group cannot be read, the others are listed, and the exit code is 2.
    """
    log_dir = topics_at(log_dir_path)
    coordinator = coordinator_of(log_dir, offsets_of(log_dir, on_gap=None))
    found, code = [], 0
    for name in interruptible(coordinator.groups()):
        try:
            group = coordinator.describe(name)
        except LogDirError as error:
            warn(str(error))
            code = 2
        else:
            found.append({**_summary(group), "members": len(group.members)})
    show(found, as_json, _groups)
    return code


def _groups(groups: list[dict[str, Any]]) -> list[str]:
    if not groups:
        return ["no groups"]
    return table_of(groups, "group", "state", "generation", "members", "strategy")


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
    now_ms, idle = WallClock().now_ms(), group.idle
    description = {
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
    show(description, as_json, _description)


def _summary(group: Group) -> dict[str, Any]:
    return {
        "group": group.name,
        "state": group.state,
        "generation": group.generation,
        "strategy": group.strategy or None,
    }


def _description(group: dict[str, Any]) -> Iterator[str]:
    by = f", shared out by {group['strategy']}" if group["strategy"] else ""
    yield f"{group['group']}: {group['state']}, generation {group['generation']}{by}"
    if group["members"]:
        rows = [
            (
                member["id"],
                member["instance_id"] or None,
                ", ".join(member["topics"]),
                len(member["partitions"]),
                f"{member['heard_ms_ago'] / 1000:.1f} s ago",
            )
            for member in group["members"]
        ]
        yield ""
        yield from table(("member", "static id", "topics", "partitions", "heard of"), rows, width())
    partitions = [*map(named, group["partitions"])]
    if partitions:
        yield ""
        yield from table_of(partitions, "name", "member", "committed", "log_end_offset", "lag")
    for partition in partitions:
        if partition["above_log_end"]:
            yield (
                f"{partition['name']}: committed {partition['committed']} is above the log end "
                f"{partition['log_end_offset']}: the log was cut since, or is damaged there; "
                "reading goes on where auto.offset.reset says"
            )
    if group["idle"]:
        yield ""
        yield f"idle, because there are too few partitions: {', '.join(group['idle'])}"


# ---- reset and delete


def _to_target(text: str) -> int | str:
    """Return "earliest", "latest", an offset, or below zero a distance from the log end."""
    if text in (EARLIEST, LATEST):
        return text
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or text == "-0":
        reason = f"{text!r}: write {EARLIEST}, {LATEST}, an offset, or -N for N before the end"
        raise click.BadParameter(reason)
    return -min(int(digits), MAX_OFFSET) if text.startswith("-") else to_offset(text)


def _to_name(text: str) -> tuple[str, int | None]:
    """Return a topic with the number of a partition, or None for all of them."""
    topic, colon, number = text.partition(":")
    if not topic or (colon and not (number.isascii() and number.isdigit())):
        raise click.BadParameter(f"{text!r}: write TOPIC or TOPIC:PARTITION, like orders:0")
    return topic, int(number) if colon else None


@command.command("reset", epilog=example("kminilog group reset readers --to earliest"))
@click.argument("name", metavar="GROUP")
@click.option(
    "--topic",
    "names",
    multiple=True,
    metavar="T[:P]",
    type=_to_name,
    help="Topic, or one partition of it, to reset. Repeatable.  [default: all that it has read]",
)
@click.option(
    "--to",
    "target",
    required=True,
    metavar="earliest|latest|OFFSET|-N",
    type=_to_target,
    help="Offset to read next. -N is N messages before the log end. OFFSET needs one partition.",
)
@click.option("--yes", "is_done", is_flag=True, help="Change the offsets; else only show them.")
@allow_gaps_option
@json_option
@click.pass_obj
def reset(
    log_dir_path: Path,
    name: str,
    names: tuple[tuple[str, int | None], ...],
    target: int | str,
    is_done: bool,
    on_gap: OnGap | None,
    as_json: bool,
) -> None:
    """Move the committed offsets of GROUP, which must have no members.

    With --topic, a group that does not exist is created. Without --yes the command shows what would
    change, and changes nothing. Messages are counted by their offsets, so gaps count, too.
    """
    log_dir = topics_at(log_dir_path)
    source = offsets_of(log_dir, on_gap=on_gap)
    coordinator, group = _group_without_members(log_dir, source, name, is_made=bool(names))
    partitions = []
    for topic, number in names:
        known = log_dir.topic(topic)
        partitions += known.all_partitions() if number is None else [known.partition(number)]
    partitions = sorted(set(partitions)) if names else _read_before(log_dir, group)
    if isinstance(target, int) and target >= 0 and len(partitions) > 1:
        raise click.UsageError("an offset belongs to one partition: name it with --topic T:P")
    topic_ids = {partition: source.topic_id(partition.topic) for partition in partitions}
    moves = plan_moves(source, group.committed, partitions, target)
    if is_done:
        offsets = {move.topic_partition: move.new_offset for move in moves}
        coordinator.commit(name, offsets, topic_ids=topic_ids)
    document = {
        "group": name,
        "changed": is_done,
        "partitions": [
            {
                **move.topic_partition._asdict(),
                "committed": move.committed,
                "new_offset": move.new_offset,
                "log_start_offset": move.log_start_offset,
                "log_end_offset": move.log_end_offset,
                "again_count": move.again_count,
                "skipped_count": move.skipped_count,
            }
            for move in moves
        ],
    }
    show(document, as_json, _moves)


def _moves(document: dict[str, Any]) -> Iterator[str]:
    moves, is_done = document["partitions"], document["changed"]
    again, skipped = (
        count(messages, "message") if messages else "none"
        for messages in (
            sum(move["again_count"] for move in moves),
            sum(move["skipped_count"] for move in moves),
        )
    )
    reads, skips = ("reads", "skips") if is_done else ("would read", "skip")
    yield from table_of(
        map(named, moves), "name", "committed", "new_offset", "log_start_offset", "log_end_offset"
    )
    yield ""
    yield f"group {document['group']} {reads} {again} again, and {skips} {skipped}"
    if not is_done:
        yield "nothing was changed: --yes moves the offsets"


@command.command("delete", epilog=example("kminilog group delete readers"))
@click.argument("name", metavar="GROUP")
@click.option("--yes", "is_done", is_flag=True, help="Delete the group; else only show it.")
@json_option
@click.pass_obj
def delete(log_dir_path: Path, name: str, is_done: bool, as_json: bool) -> None:
    """Delete GROUP with its committed offsets. It must have no members.

    Without --yes the command shows what would be lost, and deletes nothing.
    """
    log_dir = topics_at(log_dir_path)
    _, group = _group_without_members(log_dir, offsets_of(log_dir, on_gap=None), name)
    if is_done:
        delete_group(log_dir_path, name, now_ms=WallClock().now_ms())
    lost = [{**found._asdict(), "committed": at} for found, at in sorted(group.committed.items())]
    show({"group": name, "deleted": is_done, "partitions": lost}, as_json, _deletion)


def _deletion(document: dict[str, Any]) -> Iterator[str]:
    lost = document["partitions"]
    what = f"group {document['group']} with {count(len(lost), 'committed offset')}"
    if document["deleted"]:
        yield f"deleted {what}"
        return
    if lost:
        yield from table_of(map(named, lost), "name", "committed")
        yield ""
    yield f"nothing was deleted: --yes deletes {what}"


def _group_without_members(
    log_dir: LogDir, source: MessageSource, name: str, *, is_made: bool = False
) -> tuple[Coordinator, Group]:
    coordinator = coordinator_of(log_dir, source)
    try:
        group = coordinator.describe(name)
    except UnknownGroupError:
        if not is_made:
            raise
        group = Group(name)
    group.refuse_members()
    return coordinator, group


def _read_before(log_dir: LogDir, group: Group) -> list[TopicPartition]:
    """Return the partitions with a committed offset; a line tells of those that are gone."""
    found = []
    for partition in sorted(group.committed):
        try:
            found.append(log_dir.topic(partition.topic).partition(partition.partition))
        except UnknownTopicOrPartitionError:
            warn(f"{partition} does not exist any more: its committed offset stays as it is")
    if not found:
        raise ValueError(f"group {group.name} has read nothing that is there: give --topic")
    return found
