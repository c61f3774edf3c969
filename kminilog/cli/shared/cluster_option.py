"""Where topics are: in a log dir, or with `--cluster DIR` in a cluster.

What a cluster needs is imported only for one, so that other commands start as fast as before.
Source: ours.
"""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir

if TYPE_CHECKING:
    from kminilog.cluster.cluster_files import ClusterFiles

CLUSTER_COMMANDS = (
    "topic",
    "produce",
    "consume",
    "find",
    "ls",
    "verify",
    "retain",
    "group",
    "serve",
)
"""The commands that take --cluster."""


def is_cluster() -> bool:
    """Tell if the command was given --cluster in place of --log-dir."""
    return given_cluster() is not None


def given_cluster() -> Path | None:
    """Return what the command was given with --cluster."""
    found: Path | None = click.get_current_context().find_root().params.get("cluster")
    return found


def topics_at(path: Path) -> LogDir:
    """Return the topics of a log dir; with --cluster those of a cluster, as its leaders have them.

    Raises LogDirError or NoClusterError if there is none.
    """
    return cluster_at(path) if is_cluster() else LogDir(path)


def cluster_at(path: Path) -> "ClusterFiles":
    """Return a cluster, read without its lock; raises NoClusterError if there is none."""
    from kminilog.cluster.cluster_files import ClusterFiles

    files = ClusterFiles(path)
    files.state()
    return files


def placed(text: str, cluster: Path | None) -> str:
    """Return a text whose commands in backquotes name this cluster; None changes nothing.

    >>> placed("`kminilog topic list` shows those that do", Path("shop"))
    '`kminilog --cluster shop topic list` shows those that do'
    """
    if cluster is None:
        return text
    commands = "|".join(CLUSTER_COMMANDS)
    return re.sub(
        rf"`kminilog (?=(?:{commands})\b)",
        lambda found: f"`kminilog --cluster {shlex.quote(str(cluster))} ",
        text,
    )


def broker_of(path: Path, topic_partition: TopicPartition) -> int | None:
    """Return the broker whose copy counts, the leader's; None in a log dir."""
    return cluster_at(path).leadership(topic_partition).leader if is_cluster() else None
