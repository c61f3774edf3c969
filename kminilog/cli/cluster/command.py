"""`kminilog cluster`: a cluster in a directory, made, shown, broken and mended.

Each command finds the cluster as the one before has left it. `crash` ends a broker as kill -9 ends
a process, and it stays down until `start`. If `serve` has the cluster open, both let it do that:
then a broker crashes while clients use it. `describe` takes no lock: it shows the metadata that any
live broker can tell a client, and how far each log goes. Source: S0 1, S4; Kafka: TopicCommand.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from kminilog.cli.cluster.demo import demo
from kminilog.cli.shared.cluster_option import cluster_at
from kminilog.cli.shared.clusters import (
    is_done_by_holder,
    let_followers_copy,
    make_cluster,
    open_cluster,
)
from kminilog.cli.shared.options import CLUSTER, example, json_option, to_directory
from kminilog.cli.shared.output import Broken, show, table_of, width
from kminilog.cluster.asked import CRASH, START
from kminilog.cluster.cluster_files import ClusterFiles, refuse_lost_end
from kminilog.cluster.metadata import ClusterMetadata, Node, PartitionInfo
from kminilog.cluster.state_file import MAX_BROKERS, StoredState
from kminilog.errors import KMiniLogError, in_words, typed
from kminilog.format.names import TopicPartition
from kminilog.text import count, wrap

_COPIES = ("replicas", "in_sync", "offline")


@click.group("cluster", no_args_is_help=False, epilog=example("kminilog cluster demo"))
def command() -> None:
    """Make a small cluster, break it and mend it; or watch a replay."""


command.add_command(demo)


def _note_cluster(ctx: click.Context, param: click.Parameter, path: Path) -> Path:
    ctx.meta[CLUSTER] = path
    return path


_directory = click.argument("directory", metavar="DIR", type=to_directory, callback=_note_cluster)


_broker = click.argument("broker", metavar="BROKER", type=int)


@command.command("create", epilog=example("kminilog cluster create shop --brokers 4"))
@_directory
@click.option(
    "--brokers",
    type=click.IntRange(1, MAX_BROKERS),
    required=True,
    metavar="N",
    help="Number of brokers; they get the numbers 0 to N - 1.",
)
@json_option
def create(directory: Path, brokers: int, as_json: bool) -> None:
    """Make a cluster in DIR, which is new or empty; all of its brokers are live."""
    make_cluster(directory, brokers)
    told = f"created a cluster of {count(brokers, 'broker')} in {directory}"
    show(_description(cluster_at(directory), None, None, Broken()), as_json, lambda _: [told])


@command.command("describe", epilog=example("kminilog cluster describe shop"))
@_directory
@click.argument("topic", required=False)
@click.option(
    "--ask",
    type=int,
    metavar="BROKER",
    help="Broker to ask; each live one gives the same answer.  [default: the first live one]",
)
@json_option
def describe(directory: Path, topic: str | None, ask: int | None, as_json: bool) -> int:
    """Show the brokers of the cluster in DIR, and who leads and copies TOPIC, or all topics.

    If a partition cannot be read, the others are shown, and the exit code is 2.
    """
    files = cluster_at(directory)
    if ask is not None:
        _check_live(files.state(), directory, ask)
    broken = Broken()
    show(_description(files, topic, ask, broken), as_json, _lines)
    return broken.exit_code


@command.command("crash", epilog=example("kminilog cluster crash shop 0"))
@_directory
@_broker
@json_option
def crash(directory: Path, broker: int, as_json: bool) -> None:
    """End BROKER of the cluster in DIR as if its process were killed.

    The followers copy nothing first. Messages that only this broker has are lost if another broker
    becomes the leader.
    """
    files = cluster_at(directory)
    _check_live(files.state(), directory, broker)
    before = files.metadata()
    if is_done_by_holder(directory, broker, CRASH):
        changes = _changes(before, files.metadata())
    else:
        with open_cluster(directory) as cluster:
            before = cluster.metadata()
            cluster.crash(broker)
            changes = _changes(before, cluster.metadata())
    show({"broker": broker, "live": False, "changes": changes}, as_json, _change)


@command.command("start", epilog=example("kminilog cluster start shop 0"))
@_directory
@_broker
@json_option
def start(directory: Path, broker: int, as_json: bool) -> None:
    """Start BROKER of the cluster in DIR, which is down; followers then copy what they lack."""
    files, copied = cluster_at(directory), 0
    _check_known(files.state(), broker)
    if files.state().brokers[broker]:
        raise ValueError(f"broker {broker} is live already")
    before = files.metadata()
    if is_done_by_holder(directory, broker, START):
        changes = _changes(before, files.metadata())
    else:
        with open_cluster(directory) as cluster:
            before = cluster.metadata()
            cluster.start(broker)
            copied = let_followers_copy(cluster)
            changes = _changes(before, cluster.metadata())
    show({"broker": broker, "live": True, "copied": copied, "changes": changes}, as_json, _change)


@command.command("add-broker", epilog=example("kminilog cluster add-broker shop"))
@_directory
@json_option
def add_broker(directory: Path, as_json: bool) -> None:
    """Add a broker to the cluster in DIR and start it; new topics may use it."""
    with open_cluster(directory) as cluster:
        broker = cluster.add_broker()
    show({"broker": broker, "live": True, "copied": 0, "changes": []}, as_json, _change)


# ---- checks


def _check_known(state: StoredState, broker: int) -> None:
    if broker not in state.brokers:
        there_are = ", ".join(map(str, state.brokers))
        raise ValueError(f"there is no broker {broker}; the brokers are {there_are}")


def _check_live(state: StoredState, directory: Path, broker: int) -> None:
    _check_known(state, broker)
    if not state.brokers[broker]:
        advice = f"{typed('cluster start', directory, broker)} starts it"
        raise ValueError(f"broker {broker} is down; {advice}")


# ---- what is told


def _changes(before: ClusterMetadata, after: ClusterMetadata) -> list[dict[str, Any]]:
    """Return the partitions that have another leader, or none, or one again."""
    return [
        {
            "topic": info.topic,
            "partition": info.partition,
            "leader": _id(info.leader),
            "leader_before": _id(before.leader_for(info.topic, info.partition)),
        }
        for topic in after.topics
        for info in after.partitions_for_topic(topic)
        if info.leader != before.leader_for(info.topic, info.partition)
    ]


def _change(done: dict[str, Any]) -> Iterator[str]:
    yield f"broker {done['broker']} is {'live' if done['live'] else 'down'}"
    for change in done["changes"]:
        now, before = (
            "no leader" if node is None else f"leader {node}"
            for node in (change["leader"], change["leader_before"])
        )
        yield f"{change['topic']}-{change['partition']}: {now}, before: {before}"
    if done.get("copied"):
        yield f"{count(done['copied'], 'message')} copied by followers"


def _description(
    files: ClusterFiles, topic: str | None, ask: int | None, broken: Broken
) -> dict[str, Any]:
    """Return what `cluster describe --json` prints."""
    state, metadata = files.state(), files.metadata()
    names = [
        found.name for found in ([files.topic(topic)] if topic is not None else files.topics())
    ]
    return {
        "brokers": [{"id": node, "live": is_live} for node, is_live in state.brokers.items()],
        "answered_by": ask if ask is not None else next(iter(state.live), None),
        "topics": [
            {
                "topic": name,
                "partitions": [
                    _partition(files, info, broken) for info in metadata.partitions_for_topic(name)
                ],
            }
            for name in names
        ],
    }


def _partition(files: ClusterFiles, info: PartitionInfo, broken: Broken) -> dict[str, Any]:
    end, high_watermark = None, None
    if info.leader:
        partition = TopicPartition(info.topic, info.partition)
        try:
            end = files.reader(partition).log_end_offset
            high_watermark = files.high_watermark(partition)
            refuse_lost_end(files, partition)
        except (KMiniLogError, OSError) as error:  # the other partitions are shown all the same
            broken(KMiniLogError(f"{partition}: {in_words(error)}"))
    return {
        "partition": info.partition,
        "leader": _id(info.leader),
        "replicas": [node.id for node in info.replicas],
        "in_sync": [node.id for node in info.in_sync_replicas],
        "offline": [node.id for node in info.offline_replicas],
        "log_end_offset": end,
        "high_watermark": high_watermark,
    }


def _lines(description: dict[str, Any]) -> Iterator[str]:
    # A number stays beside its state: a no-break space is none where lines are broken.
    states = [
        f"{one['id']}\xa0{'live' if one['live'] else 'down'}" for one in description["brokers"]
    ]
    answer = f"broker {description['answered_by']} answers; each live broker gives the same answer"
    if description["answered_by"] is None:
        answer = "no broker is live: this is the stored state of the cluster"
    for line in wrap(f"brokers: {', '.join(states)}", width(), later=" " * len("brokers: ")):
        yield line.replace("\xa0", " ")
    yield answer
    for topic in description["topics"]:
        yield ""
        yield f"{topic['topic']} (leader, replicas, in sync, offline: numbers of brokers)"
        rows = [
            {
                **one,
                # Numbers of brokers are names: they stand on the left.
                "partition": str(one["partition"]),
                "leader": None if one["leader"] is None else str(one["leader"]),
                **{name: " ".join(map(str, one[name])) or None for name in _COPIES},
            }
            for one in topic["partitions"]
        ]
        ends = ("log_end_offset", "high_watermark")
        yield from table_of(rows, "partition", "leader", *_COPIES, *ends)


def _id(node: Node | None) -> int | None:
    return node.id if node else None
