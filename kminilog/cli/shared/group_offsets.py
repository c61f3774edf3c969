"""What commands ask of a group: its coordinator, and how far it has read each partition.

In a cluster a group reads up to the high watermark, as it is stored; nobody copies while we look.

Source: Kafka: ConsumerGroupCommand.
"""

import random
from typing import Any

from kminilog.cli.shared.cluster_option import cluster_at, is_cluster
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.group import Group
from kminilog.consumer.interface import MessageSource
from kminilog.consumer.readers import ClusterFilesSource, LogDirSource
from kminilog.errors import LeaderNotAvailableError, UnknownTopicOrPartitionError
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.notices import OnGap
from kminilog.system import WallClock


def coordinator_of(log_dir: LogDir, source: MessageSource) -> Coordinator:
    """Return the coordinator of the groups that read `source`, the topics of `log_dir`."""
    return Coordinator(
        log_dir.path, source.topics, source.topic_id, clock=WallClock(), chance=random.Random()
    )


def offsets_of(log_dir: LogDir, *, on_gap: OnGap | None) -> MessageSource:
    """Return what tells where logs begin and end, without changing anything."""
    if is_cluster():
        return ClusterFilesSource(cluster_at(log_dir.path), let_copy=lambda: None)
    return LogDirSource(log_dir, on_gap=on_gap)


def group_offsets(group: Group, source: MessageSource) -> list[dict[str, Any]]:
    """Return committed offset and lag for each partition that the group reads or has read."""
    return [_partition_fields(group, source, partition) for partition in _partitions(group, source)]


def _partitions(group: Group, source: MessageSource) -> list[TopicPartition]:
    """Return what the group reads, has read or is to read."""
    subscribed = {topic for member in group.members.values() for topic in member.topics}
    existing = [
        TopicPartition(topic, partition)
        for topic, partitions in source.topics().items()
        if topic in subscribed
        for partition in range(partitions)
    ]
    return sorted({*existing, *group.owners, *group.committed})


def _partition_fields(
    group: Group, source: MessageSource, partition: TopicPartition
) -> dict[str, Any]:
    committed = group.committed.get(partition)
    try:
        end = source.log_end(partition)
    except (UnknownTopicOrPartitionError, LeaderNotAvailableError):
        end = None
    lag = None if committed is None or end is None else end - committed
    is_above = lag is not None and lag < 0
    return {
        **partition._asdict(),
        "member": group.owners.get(partition),
        "committed": committed,
        "log_end_offset": end,
        "lag": None if is_above else lag,
        "above_log_end": is_above,
    }
