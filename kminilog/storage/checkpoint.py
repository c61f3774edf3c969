"""A checkpoint file: one offset for each partition, such as its recovery point.

    0                      version
    2                      number of lines that follow
    orders 0 368776        topic, partition, offset
    orders 1 368769

A missing or invalid file means that no offset is known. The caller must then take the safe way:
without recovery points, recovery reads everything. An invalid file is kept under another name when
a writer begins a new one. Files of the same format hold the log starts, below which retention has
deleted all, and the high watermarks of a broker. Source: Kafka: OffsetCheckpoint; LogManager, which
has log starts in a file of that name since 0.11.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from kminilog.format.names import TopicPartition, parse_topic_partition
from kminilog.storage.files import read_regular, replace_file
from kminilog.storage.json_file import number

CHECKPOINT_FILE = "recovery-point-offset-checkpoint"
LOG_START_FILE = "log-start-offset-checkpoint"
BROKEN_SUFFIX = ".broken"
_SHOWN = 100
_LINE = re.compile(r"(\S+) ([0-9]+) ([0-9]{1,19})")


def read_checkpoint(log_dir: Path, file_name: str = CHECKPOINT_FILE) -> dict[TopicPartition, int]:
    """Return the offsets in the file; an empty dict if it is missing or invalid. O(partitions)."""
    try:
        return parse_checkpoint(read_regular(log_dir / file_name))
    except (FileNotFoundError, ValueError):
        return {}


def parse_checkpoint(data: bytes) -> dict[TopicPartition, int]:
    """Return the offsets in the bytes of a checkpoint file; ValueError if they are invalid."""
    lines = data.decode("ascii", "backslashreplace").splitlines()
    if lines[:1] != ["0"]:
        raise ValueError("its first line is not 0, the version")
    if lines[1:2] != [str(len(lines) - 2)]:
        raise ValueError("its second line is not the number of lines that follow")
    points = {}
    for line in lines[2:]:
        match = _LINE.fullmatch(line)
        topic_partition = match and parse_topic_partition(f"{match[1]}-{match[2]}")
        if not match or not topic_partition:
            raise ValueError(f"{line[:_SHOWN]!r} is no topic, partition and offset")
        points[topic_partition] = number(int(match[3]))
    return points


def set_aside(log_dir: Path, file_name: str = CHECKPOINT_FILE) -> str:
    """Give a checkpoint file that is invalid another name, and return that; raises OSError."""
    name = file_name + BROKEN_SUFFIX
    os.replace(log_dir / file_name, log_dir / name)
    return name


def write_checkpoint(
    log_dir: Path, points: Mapping[TopicPartition, int], file_name: str = CHECKPOINT_FILE
) -> None:
    """Replace the file atomically; once it returns, the offsets survive a power failure."""
    lines = [
        f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(points.items())
    ]
    replace_file(log_dir / file_name, "\n".join(["0", str(len(lines)), *lines, ""]).encode())


def lower_checkpoint(log_dir: Path, points: Mapping[TopicPartition, int]) -> None:
    """Lower, never raise, offsets in the file; once it returns, they survive a power failure."""
    known = read_checkpoint(log_dir)
    lowered = {tp: min(offset, points.get(tp, offset)) for tp, offset in known.items()}
    if lowered != known:
        write_checkpoint(log_dir, lowered)


def record_log_starts(log_dir: Path, starts: Mapping[TopicPartition, int]) -> None:
    """Put on record where logs begin; once it returns, the record survives a power failure.

    Whoever creates a partition, or deletes the beginning of its log, calls this first: then
    messages that are missing from that offset on were not deleted.
    """
    known = read_checkpoint(log_dir, LOG_START_FILE)
    if {**known, **starts} != known:
        write_checkpoint(log_dir, {**known, **starts}, LOG_START_FILE)
