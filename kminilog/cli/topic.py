"""`kminilog topic`: create, list, describe, alter and delete topics."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from kminilog.cli.shared.cluster_option import cluster_at, is_cluster, topics_at
from kminilog.cli.shared.options import (
    allow_gaps_option,
    config_option,
    dialect_option,
    example,
    json_option,
)
from kminilog.cli.shared.output import (
    Broken,
    show,
    table_of,
    warn,
    warn_all,
    width,
    write_document,
    write_line,
)
from kminilog.cli.shared.progress import working_if_long
from kminilog.cli.shared.recovery_reading import open_writer
from kminilog.cli.shared.topic_files import (
    describe_topic,
    offset_range,
    topic_size,
    warn_of_orphans,
)
from kminilog.config import parse_config, topic_settings
from kminilog.consumer.coordinator import forget_topic
from kminilog.errors import TopicExistsError, UnknownTopicOrPartitionError
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.settings import TOPIC_SETTINGS
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.notices import OnGap
from kminilog.storage.topics import Topic, read_topic
from kminilog.text import count, table


@click.group("topic", no_args_is_help=False, epilog=example("kminilog topic list"))
def command() -> None:
    """Create, list, describe, alter and delete topics."""


@command.command(
    "create",
    epilog=example("kminilog topic create payments --partitions 3 --config segment.bytes=1048576"),
)
@click.argument("name")
@click.option("--partitions", type=int, required=True, metavar="N", help="Number of partitions.")
@click.option(
    "--replicas",
    type=int,
    metavar="R",
    help="With --cluster: number of copies of each partition, on different brokers.  [default: 1]",
)
@click.option(
    "--if-not-exists",
    "is_kept",
    is_flag=True,
    help="If the topic exists already, leave it as it is; no error.",
)
@dialect_option
@config_option("Setting of the topic, by its Kafka name, e.g. segment.bytes=4096. Repeatable.")
@json_option
@click.pass_obj
def create(
    log_dir_path: Path,
    name: str,
    partitions: int,
    replicas: int | None,
    is_kept: bool,
    dialect: Dialect | None,
    config: tuple[str, ...],
    as_json: bool,
) -> None:
    """Create the topic NAME, and the log dir if it is not there."""
    if replicas is not None and not is_cluster():
        raise click.UsageError("--replicas needs --cluster: a log dir has one copy")
    changes = parse_config(config, TOPIC_SETTINGS)
    topic = Topic(name, partitions, dialect or DOCUMENTED, topic_settings(changes))
    existing = made = _existing(log_dir_path, name) if is_kept else None
    if made is None:
        try:
            made = _create(log_dir_path, topic, 1 if replicas is None else replicas)
        except TopicExistsError:
            existing = made = _existing(log_dir_path, name) if is_kept else None
            if made is None:
                raise
    if existing:
        others = _other_copies(log_dir_path, existing, replicas)
        warn_all(_differences(existing, topic, dialect, changes, others))
    copies = f", {count(replicas or 1, 'copy')}" if is_cluster() and not existing else ""
    what = f"{count(made.partitions, 'partition')}{copies}, {made.dialect.name} dialect"
    told = f"topic {name} exists already: {what}" if existing else f"created topic {name}: {what}"
    if as_json:
        write_document(describe_topic(topics_at(log_dir_path), made))
    else:
        write_line(told)


def _existing(log_dir_path: Path, name: str) -> Topic | None:
    if not log_dir_path.exists() and not is_cluster():
        return None
    with suppress(UnknownTopicOrPartitionError):
        return topics_at(log_dir_path).topic(name)
    return None


def _other_copies(log_dir_path: Path, existing: Topic, replicas: int | None) -> list[str]:
    """Return how many copies a topic of a cluster has, if others were asked for."""
    if replicas is None:
        return []
    copies = len(cluster_at(log_dir_path).leadership(existing.partition(0)).replicas)
    return [f"{count(copies, 'copy')}, not {replicas}"] if copies != replicas else []


def _differences(
    existing: Topic,
    asked: Topic,
    dialect: Dialect | None,
    changes: Mapping[str, Any],
    others: list[str],
) -> list[str]:
    """Return a line if a topic that exists is not what was asked for."""
    now, found = existing.settings.to_config(), list(others)
    if existing.partitions != asked.partitions:
        found.insert(0, f"{count(existing.partitions, 'partition')}, not {asked.partitions}")
    if dialect and existing.dialect != dialect:
        found.append(f"{existing.dialect.name} dialect, not {dialect.name}")
    found += [
        f"{one} = {now[one]}, not {changes[one]}" for one in changes if now[one] != changes[one]
    ]
    told = f"topic {existing.name} is different, and stays as it is"
    return [f"{told}: {'; '.join(found)}"] if found else []


def _create(log_dir_path: Path, topic: Topic, replicas: int) -> Topic:
    if is_cluster():
        from kminilog.cli.shared.clusters import create_in_cluster

        return create_in_cluster(log_dir_path, topic, replicas)
    with open_writer(log_dir_path, create=True) as writer:
        warn_all(writer.warnings)
        with working_if_long(f"Creating {topic.name}") as at:
            return writer.create_topic(topic, progress=at)


@command.command("list", epilog=example("kminilog topic list"))
@json_option
@click.pass_obj
def list_topics(log_dir_path: Path, as_json: bool) -> int:
    """List all topics, with their messages and bytes.

    Messages are counted by their offsets, so damaged messages and gaps count, too.

    If a topic or a partition cannot be read, the rest is listed, and the exit code is 2.
    """
    log_dir, broken = topics_at(log_dir_path), Broken()
    topics = log_dir.topics(broken)
    warn_of_orphans(log_dir)
    found = [{**topic.to_json(), **topic_size(log_dir, topic, broken)} for topic in topics]
    show(found, as_json, _topics)
    return broken.exit_code


def _topics(topics: list[dict[str, Any]]) -> list[str]:
    if not topics:
        return ["no topics"]
    return table_of(topics, "topic", "partitions", "message_count", "size_bytes", "dialect")


@command.command("describe", epilog=example("kminilog topic describe orders"))
@click.argument("name")
@allow_gaps_option
@json_option
@click.pass_obj
def describe(log_dir_path: Path, name: str, on_gap: OnGap | None, as_json: bool) -> int:
    """Show the settings, partitions and segments of the topic NAME.

    If a partition cannot be read, the others are shown, and the exit code is 2.
    """
    log_dir, broken = topics_at(log_dir_path), Broken()
    topic = log_dir.topic(name)
    description = describe_topic(log_dir, topic, on_gap=on_gap, on_broken=broken)
    show(description, as_json, partial(_description, partitions=topic.partitions))
    return broken.exit_code


def _description(topic: dict[str, Any], partitions: int) -> Iterator[str]:
    yield f"{topic['topic']}: {count(partitions, 'partition')}, {topic['dialect']} dialect"
    yield f"topic id: {topic['topic_id'] or 'none'}"
    yield ""
    changed = topic_settings(topic["config"]).changed()
    settings = [
        (name, value, "" if name in changed else "default", TOPIC_SETTINGS[name].meaning)
        for name, value in topic["config"].items()
    ]
    yield from table(("setting", "value", "", "meaning"), settings, width())
    yield ""
    ranges = [
        {
            **found,
            "offsets": offset_range(found["log_start_offset"], found["log_end_offset"]),
            "segments": len(found["segments"]),
        }
        for found in topic["partitions"]
    ]
    yield from table_of(ranges, "partition", "offsets", "size_bytes", "segments")


@command.command("alter", epilog=example("kminilog topic alter orders --partitions 4"))
@click.argument("name")
@click.option(
    "--partitions", type=int, metavar="N", help="New number of partitions; it can only grow."
)
@config_option("Setting to change; all others keep their values. Repeatable.")
@json_option
@click.pass_obj
def alter(
    log_dir_path: Path, name: str, partitions: int | None, config: tuple[str, ...], as_json: bool
) -> None:
    """Add partitions to the topic NAME, or change its settings."""
    if is_cluster():
        raise click.UsageError(
            "a topic of a cluster stays as it was created: create another one, with "
            f"`kminilog --cluster {log_dir_path} topic create NAME --partitions N`"
        )
    changes = parse_config(config, TOPIC_SETTINGS)
    if partitions is None and not changes:
        raise click.UsageError("nothing to alter: give --partitions or --config")
    before = LogDir(log_dir_path).topic(name)
    with open_writer(log_dir_path) as writer:
        warn_all(writer.warnings)
        settings = topic_settings({**before.settings.to_config(), **changes})
        with working_if_long(f"Altering {name}") as at:
            topic = writer.alter_topic(name, partitions=partitions, settings=settings, progress=at)
        description = describe_topic(writer, topic)
    if topic.partitions > before.partitions:
        warn(f"{name} has more partitions now: keys may go to other ones than before")
    told = f"altered topic {name}: {count(topic.partitions, 'partition')}"
    show(description, as_json, lambda _: [told])


@command.command("delete", epilog=example("kminilog topic delete orders --yes"))
@click.argument("name")
@click.option("--yes", is_flag=True, help="Confirm the deletion.")
@json_option
@click.pass_obj
def delete(log_dir_path: Path, name: str, yes: bool, as_json: bool) -> None:
    """Delete the topic NAME with all its messages."""
    if is_cluster():
        raise click.UsageError(
            "a cluster keeps its topics: begin with a new cluster, which has none, with "
            "`kminilog cluster create DIR --brokers N`"
        )
    read_topic(LogDir(log_dir_path).path, name)
    if not yes:
        raise click.UsageError(f"this deletes all messages of {name}: add --yes if you mean it")
    with open_writer(log_dir_path, recover=False) as writer:
        forget_topic(log_dir_path, name)
        with working_if_long(f"Deleting {name}") as at:
            writer.delete_topic(name, progress=at)
        # Again: members may have committed until it was marked for deletion.
        forget_topic(log_dir_path, name)
        warn_all(writer.warnings)
    show({"topic": name, "deleted": True}, as_json, lambda done: [f"deleted topic {done['topic']}"])
