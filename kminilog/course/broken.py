"""A log that is broken by a student's own seed, and what `verify` says of it afterwards.

The student gets the files of a partition without the settings of its topic: `verify` needs them, so
it cannot answer before the student has. `dump` can read the files. The files are those of partition
0 of 5, and `default-2.4` has placed the keys; so a key of another partition is a fault, too.
Source: ours.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from kminilog.clock import Chance
from kminilog.format.dialect import KAFKA
from kminilog.format.hashing import murmur2
from kminilog.format.index_entry import (
    ENTRY_SIZE_BYTES,
    IndexEntry,
    decode_entries,
    encode_entry,
)
from kminilog.format.message import Message, encode, scan
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX, TopicPartition, segment_name
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic

TOPIC = "ev"
PARTITION = TopicPartition(TOPIC, 0)
FOLDER = "broken"
_SETTINGS = TopicSettings(segment_bytes=400, index_interval_bytes=60)
PARTITIONS = 5
PARTITIONER = "default-2.4"
_TOPIC = Topic(TOPIC, PARTITIONS, KAFKA, _SETTINGS)
_KEYS = [b"k%02d" % number for number in range(100)]


class Diagnosis(NamedTuple):
    """What is wrong: the class of the finding, the segment's name, the offset of the message."""

    finding: str
    segment: str
    offset: int


class FaultPlace(NamedTuple):
    """One message of a segment, where a fault may be put."""

    log_path: Path
    position: int
    message: Message


Fault = Callable[[FaultPlace, Chance], None]


def _rewrite(path: Path, position: int, data: bytes) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:position] + data + content[position + len(data) :])


def _flip(path: Path, position: int, mask: int) -> None:
    _rewrite(path, position, bytes([path.read_bytes()[position] ^ mask]))


def _flipped_value(place: FaultPlace, chance: Chance) -> None:
    end = place.position + place.message.length_bytes
    _flip(place.log_path, end - 1 - chance.randrange(4), 1 << chance.randrange(8))


def _changed_offset(place: FaultPlace, chance: Chance) -> None:
    offset = place.message.offset + (100, 256, 4096)[chance.randrange(3)]
    _rewrite(place.log_path, place.position, offset.to_bytes(8, "big"))


def _changed_size(place: FaultPlace, chance: Chance) -> None:
    _rewrite(place.log_path, place.position + 8, chance.randrange(10).to_bytes(4, "big"))


def _grown_size(place: FaultPlace, chance: Chance) -> None:
    rest = place.log_path.stat().st_size - place.position
    size = rest + 1 + chance.randrange(1_000)
    _rewrite(place.log_path, place.position + 8, size.to_bytes(4, "big"))


def _false_entry(place: FaultPlace, chance: Chance) -> None:
    path = place.log_path.with_suffix(INDEX_SUFFIX)
    content = path.read_bytes()
    last_byte = ENTRY_SIZE_BYTES * (1 + chance.randrange(len(content) // ENTRY_SIZE_BYTES)) - 1
    _flip(path, last_byte, 1 << chance.randrange(4))


def _torn_tail(place: FaultPlace, chance: Chance) -> None:
    end = place.position + 1 + chance.randrange(place.message.length_bytes - 1)
    place.log_path.write_bytes(place.log_path.read_bytes()[:end])


def _repeated(place: FaultPlace, chance: Chance) -> None:
    content = place.log_path.read_bytes()
    end = place.position + place.message.length_bytes
    place.log_path.write_bytes(content[:end] + content[place.position : end] + content[end:])


def _left_out(place: FaultPlace, chance: Chance) -> None:
    content = place.log_path.read_bytes()
    end = place.position + place.message.length_bytes
    place.log_path.write_bytes(content[: place.position] + content[end:])


def _changed_magic(place: FaultPlace, chance: Chance) -> None:
    _rewrite(place.log_path, place.position + 16, bytes([1 + chance.randrange(8)]))


def _placed_by(formula: Callable[[bytes], int]) -> Fault:
    """Return the fault that adds a valid message whose key a client placed by its own formula."""

    def placed(place: FaultPlace, chance: Chance) -> None:
        here = [key for key in _KEYS if formula(key) % PARTITIONS == PARTITION.partition]
        keys = [key for key in here if murmur2_partition(key, PARTITIONS) != PARTITION.partition]
        key = keys[chance.randrange(len(keys))]
        message = encode(KAFKA, place.message.offset, key, place.message.value)
        _rewrite(place.log_path, place.position, message)

    return placed


def _renamed(place: FaultPlace, chance: Chance) -> None:
    base_offset = int(place.log_path.stem) + 1 + chance.randrange(3)
    for path in (place.log_path, place.log_path.with_suffix(INDEX_SUFFIX)):
        path.rename(path.with_name(segment_name(base_offset) + path.suffix))


def _shifted_entry(place: FaultPlace, chance: Chance) -> None:
    _change_entry(place, chance.randrange(_entry_count(place)), -1, 0)


def _far_entry(place: FaultPlace, chance: Chance) -> None:
    """Change the last entry: then no other class is found but that it points past the end."""
    _change_entry(place, _entry_count(place) - 1, 0, 256 << chance.randrange(4))


def _entry_count(place: FaultPlace) -> int:
    return place.log_path.with_suffix(INDEX_SUFFIX).stat().st_size // ENTRY_SIZE_BYTES


def _change_entry(place: FaultPlace, slot: int, offsets: int, positions: int) -> None:
    path = place.log_path.with_suffix(INDEX_SUFFIX)
    entry = decode_entries(path.read_bytes())[slot]
    changed = IndexEntry(entry.relative_offset + offsets, entry.position + positions)
    _rewrite(path, slot * ENTRY_SIZE_BYTES, encode_entry(changed))


IN_LAST_MESSAGE = ("torn-tail", "flipped-tail")
FAULTS: dict[str, Fault] = {
    "flipped-value": _flipped_value,
    "changed-offset": _changed_offset,
    "changed-size": _changed_size,
    "changed-magic": _changed_magic,
    "grown-size": _grown_size,
    "false-entry": _false_entry,
    "torn-tail": _torn_tail,
    "flipped-tail": _flipped_value,
    "repeated": _repeated,
    "left-out": _left_out,
    "placed-by-abs": _placed_by(lambda key: abs(murmur2(key))),
    "placed-unsigned": _placed_by(lambda key: murmur2(key) & 0xFFFF_FFFF),
    "placed-by-crc32": _placed_by(crc32),
    "renamed": _renamed,
    "shifted-entry": _shifted_entry,
    "far-entry": _far_entry,
}


def write_broken(folder: Path, faults: tuple[str, ...], chance: Chance) -> str:
    """Write the files of a broken partition into `folder`/broken; chance chooses fault and place.

    Deterministic. Replaces what stands there. Returns the name of the fault.
    """
    target = folder / FOLDER
    shutil.rmtree(target, ignore_errors=True)
    log_dir = folder / f"{FOLDER}.new"
    shutil.rmtree(log_dir, ignore_errors=True)
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(_TOPIC)
        log = writer.log(PARTITION)
        keys = [key for key in _KEYS if murmur2_partition(key, PARTITIONS) == PARTITION.partition]
        for number in range(40):
            log.append([(keys[chance.randrange(9)], b"event %d" % (number * 7))])
    name = faults[chance.randrange(len(faults))]
    segments = sorted((log_dir / str(PARTITION)).glob(f"*{LOG_SUFFIX}"))
    last_only = name in IN_LAST_MESSAGE
    path = segments[-1] if last_only else segments[chance.randrange(len(segments) - 1)]
    messages = [pair for pair in scan(KAFKA, path.read_bytes()) if isinstance(pair[1], Message)]
    slot = len(messages) - 1 if last_only else 1 + chance.randrange(len(messages) - 2)
    position, message = messages[slot]
    assert isinstance(message, Message)
    FAULTS[name](FaultPlace(path, position, message), chance)
    target.mkdir()
    (log_dir / str(PARTITION)).rename(target / str(PARTITION))
    shutil.rmtree(log_dir)
    return name


def write_copy(folder: Path, log_dir: Path) -> None:
    """Write a log dir with the topic's settings and the files of `folder`/broken, for `verify`."""
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(_TOPIC)
    shutil.rmtree(log_dir / str(PARTITION), ignore_errors=True)
    shutil.copytree(folder / FOLDER / str(PARTITION), log_dir / str(PARTITION))
