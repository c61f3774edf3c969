"""The recovery-point checkpoint: up to which offset each partition is on the disk.

    0                      version
    2                      number of lines that follow
    orders 0 368776        topic, partition, offset
    orders 1 368769

A missing or unreadable file means "nowhere known": recovery then reads everything. Source: Kafka:
OffsetCheckpoint.
"""

from collections.abc import Mapping
from pathlib import Path

from kminilog.format.names import TopicPartition
from kminilog.storage.durable_file import replace_file

CHECKPOINT_FILE = "recovery-point-offset-checkpoint"


def read_checkpoint(log_dir: Path) -> dict[TopicPartition, int]:
    """Return the recovery points on record; none if the file is missing or not sound."""
    try:
        version, count, *lines = (log_dir / CHECKPOINT_FILE).read_text("ascii").splitlines()
        if version != "0" or int(count) != len(lines):
            return {}
        points = {}
        for line in lines:
            topic, partition, offset = line.split(" ")
            points[TopicPartition(topic, int(partition))] = int(offset)
    except (FileNotFoundError, ValueError):
        return {}
    return points


def write_checkpoint(log_dir: Path, points: Mapping[TopicPartition, int]) -> None:
    """Put these recovery points on record; once it returns, they survive a power failure."""
    lines = [
        f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(points.items())
    ]
    replace_file(log_dir / CHECKPOINT_FILE, "\n".join(["0", str(len(lines)), *lines, ""]).encode())
