"""Where topics are: in a log dir, or with `--cluster DIR` in a cluster.

What a cluster needs is imported only for one, so that other commands start as fast as before.
Source: ours.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir import LogDir

if TYPE_CHECKING:
    from kminilog.cluster.cluster_files import ClusterFiles


def is_cluster() -> bool:
    """Tell if the command was given --cluster in place of --log-dir."""
    return click.get_current_context().find_root().params.get("cluster") is not None


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


def broker_of(path: Path, topic_partition: TopicPartition) -> int | None:
    """Return the broker whose copy counts, the leader's; None in a log dir."""
    return cluster_at(path).leadership(topic_partition).leader if is_cluster() else None
