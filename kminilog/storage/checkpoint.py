"""A checkpoint file: one offset for each partition, such as up to where it is on the disk.

    0                      version
    2                      number of lines that follow
    orders 0 368776        topic, partition, offset
    orders 1 368769

A missing or unreadable file means "nothing known", and whoever asks must then be safe: without
recovery points, recovery reads everything. A broker keeps its high watermarks in a second file of
this form. Source: Kafka: OffsetCheckpoint.
"""

from collections.abc import Mapping
from pathlib import Path

from kminilog.format.names import TopicPartition
from kminilog.storage.durable_file import replace_file

CHECKPOINT_FILE = "recovery-point-offset-checkpoint"


def read_checkpoint(log_dir: Path, file_name: str = CHECKPOINT_FILE) -> dict[TopicPartition, int]:
    """Return the offsets on record; none if the file is missing or not sound."""
    try:
        version, count, *lines = (log_dir / file_name).read_text("ascii").splitlines()
        if version != "0" or int(count) != len(lines):
            return {}
        points = {}
        for line in lines:
            topic, partition, offset = line.split(" ")
            points[TopicPartition(topic, int(partition))] = int(offset)
    except (FileNotFoundError, ValueError):
        return {}
    return points


def write_checkpoint(
    log_dir: Path, points: Mapping[TopicPartition, int], file_name: str = CHECKPOINT_FILE
) -> None:
    """Put these offsets on record; once it returns, they survive a power failure."""
    lines = [
        f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(points.items())
    ]
    replace_file(log_dir / file_name, "\n".join(["0", str(len(lines)), *lines, ""]).encode())
