"""A checkpoint file: one offset for each partition, such as its recovery point.

    0                      version
    2                      number of lines that follow
    orders 0 368776        topic, partition, offset
    orders 1 368769

A missing or invalid file means that no offset is known, and an invalid row that its partition's is
not. The caller must then take the safe way: without recovery points, recovery reads everything. An
invalid file is kept under another name when a writer begins a new one. Files of the same format
hold the log starts, below which retention has deleted all, and the high watermarks of a broker.
Source: Kafka: OffsetCheckpoint; LogManager, which has log starts in a file of that name since 0.11.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from kminilog.format.names import MAX_OFFSET, TopicPartition, parse_topic_partition
from kminilog.storage.durable_files import replace_file
from kminilog.storage.files import read_regular
from kminilog.storage.json_file import number

CHECKPOINT_FILE = "recovery-point-offset-checkpoint"
LOG_START_FILE = "log-start-offset-checkpoint"
BROKEN_SUFFIX = ".broken"
_SHOWN = 100
_LINE = re.compile(r"(\S+) ([0-9]+) ([0-9]{1,19})")


class BrokenRowsError(ValueError):
    """Rows of a checkpoint tell of no offset; `others` are the offsets of the other rows."""

    def __init__(self, reason: str, others: dict[TopicPartition, int]) -> None:
        super().__init__(reason)
        self.others = others


def known_offsets(error: ValueError) -> dict[TopicPartition, int]:
    """Return which offsets are known in spite of an error of `parse_checkpoint`."""
    return error.others if isinstance(error, BrokenRowsError) else {}


def read_checkpoint(log_dir: Path, file_name: str = CHECKPOINT_FILE) -> dict[TopicPartition, int]:
    """Return the offsets in the file, as far as it is there and valid. O(partitions)."""
    try:
        return parse_checkpoint(read_regular(log_dir / file_name))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        return known_offsets(error)


def parse_checkpoint(data: bytes) -> dict[TopicPartition, int]:
    """Return the offsets in the bytes of a checkpoint file.

    Raises ValueError if they are invalid; BrokenRowsError, a ValueError, if only some rows are.
    """
    lines = data.decode("ascii", "backslashreplace").splitlines()
    if lines[:1] != ["0"]:
        raise ValueError("its first line is not 0, the version")
    if lines[1:2] != [str(len(lines) - 2)]:
        raise ValueError("its second line is not the number of lines that follow")
    points, broken = dict[TopicPartition, int](), list[str]()
    for line in lines[2:]:
        match = _LINE.fullmatch(line)
        topic_partition = match and parse_topic_partition(f"{match[1]}-{match[2]}")
        if not match or not topic_partition:
            broken.append(f"{line[:_SHOWN]!r} is no topic, partition and offset")
        elif int(match[3]) > MAX_OFFSET:
            broken.append(f"{match[3]} is outside of 0 to {MAX_OFFSET}: {line[:_SHOWN]!r}")
        else:
            points[topic_partition] = int(match[3])
    if broken:
        more = f"; {len(broken) - 1} more are broken" if broken[1:] else ""
        raise BrokenRowsError(f"{broken[0]}{more}", points)
    return points


def set_aside(
    log_dir: Path, known: Mapping[TopicPartition, int], file_name: str = CHECKPOINT_FILE
) -> str:
    """Keep a checkpoint file that is invalid under another name, and return that; raises OSError.

    A new file has the offsets that are known.
    """
    name = file_name + BROKEN_SUFFIX
    replace_file(log_dir / name, read_regular(log_dir / file_name))
    write_checkpoint(log_dir, known, file_name)
    return name


def write_checkpoint(
    log_dir: Path, points: Mapping[TopicPartition, int], file_name: str = CHECKPOINT_FILE
) -> None:
    """Replace the file atomically; once it returns, the offsets survive a power failure.

    Raises ValueError, with nothing changed, for an offset that no reader takes.
    """
    lines = [
        f"{topic} {partition} {number(offset)}"
        for (topic, partition), offset in sorted(points.items())
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
