"""The small files beside the segments of a broker: checkpoints, snapshots, who it is.

In a log directory, for all partitions together:

    recovery-point-offset-checkpoint   0             version
    log-start-offset-checkpoint        2             number of lines that follow
    replication-offset-checkpoint      orders 0 40   topic, partition, offset
    meta.properties                    key=value     who the broker is

In the directory of a partition:

    leader-epoch-checkpoint            0, number of lines, then: epoch, its first offset
    partition.metadata                 version: 0 and topic_id: <22 characters>
    <20 digits>.snapshot               producers as they were at this offset, in binary

    snapshot   version int16, 1 | crc uint32 | count int32 | producer*
    producer   producer id int64 | epoch int16 | last sequence int32 | last offset int64 |
               offset delta int32 | timestamp int64 | coordinator epoch int32 |
               first offset of its open transaction int64, -1 for none

Each function raises ValueError, in one line, if the bytes are anything else.
Source: Kafka: CheckpointFile, LeaderEpochCheckpointFile, ProducerStateManager,
PartitionMetadataFile, MetaProperties.
"""

import re
import struct
from typing import NamedTuple

from kminilog.broker_files.crc32c import crc32c
from kminilog.format.names import MAX_OFFSET

_SHOWN = 100
_NUMBER = re.compile(r"[0-9]{1,19}")
_SNAPSHOT = struct.Struct(">hIi")  # version, crc, count
_CRC_END = 6
_PRODUCER = struct.Struct(">qhiqiqiq")
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_ESCAPED = re.compile(r"\\(.)")


class LeaderEpoch(NamedTuple):
    """A leader, by the number of its election, and the first offset that it wrote."""

    epoch: int
    start_offset: int


class ProducerState(NamedTuple):
    """What a broker knew of an idempotent producer: by this it recognises what comes twice."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    first_open_offset: int


def parse_leader_epochs(data: bytes) -> list[LeaderEpoch]:
    """Return the rows of a `leader-epoch-checkpoint`.

    >>> parse_leader_epochs(b"0\\n2\\n0 0\\n3 170\\n")
    [LeaderEpoch(epoch=0, start_offset=0), LeaderEpoch(epoch=3, start_offset=170)]
    >>> parse_leader_epochs(b"0\\n2\\n0 0\\n")
    Traceback (most recent call last):
    ...
    ValueError: Expected 2 entries in checkpoint file, but found only 1
    """
    return [LeaderEpoch(*map(_number, row)) for row in _rows(data, columns=2)]


def parse_offsets(data: bytes) -> dict[tuple[str, int], int]:
    """Return the offset of each topic and partition: a checkpoint of a log directory.

    >>> parse_offsets(b"0\\n1\\norders 0 40\\n")
    {('orders', 0): 40}
    """
    offsets: dict[tuple[str, int], int] = {}
    for topic, partition, offset in _rows(data, columns=3):
        key = topic, _number(partition)
        if key in offsets:
            raise ValueError(f"{topic} {partition} stands there twice")
        offsets[key] = _number(offset)
    return offsets


def parse_producer_snapshot(data: bytes) -> list[ProducerState]:
    """Return the producers in a `.snapshot`. O(bytes).

    >>> entries = bytes(4)
    >>> parse_producer_snapshot(bytes.fromhex("0001 48674bc7") + entries)
    []
    """
    if len(data) < _SNAPSHOT.size:
        raise ValueError(f"a snapshot of {len(data)} bytes, below the smallest, {_SNAPSHOT.size}")
    version, crc, count = _SNAPSHOT.unpack_from(data)
    if version != 1:
        raise ValueError(f"Snapshot contained an unknown file version {version}")
    actual_crc = crc32c(data[_CRC_END:])
    if crc != actual_crc:
        raise ValueError(
            f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: "
            f"{actual_crc}"
        )
    entries = data[_SNAPSHOT.size :]
    if len(entries) != count * _PRODUCER.size:
        raise ValueError(f"{count} producers of {_PRODUCER.size} bytes, but {len(entries)} bytes")
    return [ProducerState(*row) for row in _PRODUCER.iter_unpack(entries)]


def parse_partition_metadata(data: bytes) -> str:
    """Return the id of the topic, in base64 for URLs as Kafka writes it.

    >>> parse_partition_metadata(b"version: 0\\ntopic_id: 4WTCM5k4QEaTjZ_CAFp1Jw")
    '4WTCM5k4QEaTjZ_CAFp1Jw'
    """
    lines = _text(data).splitlines()
    if lines[:1] != ["version: 0"]:
        raise ValueError("its first line is not 'version: 0'")
    name, _, topic_id = (lines[1:] or [""])[0].partition(": ")
    if len(lines) != 2 or name != "topic_id" or not _TOPIC_ID.fullmatch(topic_id):
        raise ValueError("its second and last line is not 'topic_id: ' and 22 characters")
    return topic_id


def parse_meta_properties(data: bytes) -> dict[str, str]:
    """Return the keys and values of a `meta.properties`, such as `cluster.id` and `node.id`.

    >>> parse_meta_properties(b"#Sun Nov 29\\nversion=1\\nnode.id=3\\ncluster.id=a\\\\=b\\n")
    {'version': '1', 'node.id': '3', 'cluster.id': 'a=b'}
    """
    properties: dict[str, str] = {}
    for line in map(str.strip, _text(data).splitlines()):
        if not line or line[0] in "#!":
            continue
        name, is_there, value = line.partition("=")
        if not is_there:
            raise ValueError(f"{line[:_SHOWN]!r} is no key and value")
        properties[name.strip()] = _ESCAPED.sub(r"\1", value.strip())
    if properties.get("version") not in ("0", "1"):
        raise ValueError(f"version {properties.get('version')} is neither 0 nor 1")
    return properties


def _rows(data: bytes, columns: int) -> list[list[str]]:
    """Return the rows of a checkpoint, split; each has so many columns."""
    lines = _text(data).splitlines()
    if not lines:
        raise ValueError("the file is empty")
    if lines[0] != "0":
        raise ValueError(f"Unrecognized version of the checkpoint file: {lines[0][:_SHOWN]!r}")
    count = _number(lines[1]) if lines[1:] else 0
    rows = lines[2:]
    if len(rows) < count or not lines[1:]:
        raise ValueError(f"Expected {count} entries in checkpoint file, but found only {len(rows)}")
    if len(rows) > count:
        raise ValueError(f"{len(rows)} entries in checkpoint file, but it says {count}")
    split = [row.split(" ") for row in rows]
    for row, fields in zip(rows, split, strict=True):
        if len(fields) != columns:
            raise ValueError(f"Malformed line in checkpoint file: {row[:_SHOWN]!r}")
    return split


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text) or int(text) > MAX_OFFSET:
        raise ValueError(f"Malformed line in checkpoint file: {text[:_SHOWN]!r} is no offset")
    return int(text)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
