"""Faults that no crc, offset or index tells of: put in by a perfect forger, who mends all of that.

Nothing of kminilog is imported here, as in damage.py. A `Forger` takes the partitions of a
topic apart into messages; a forgery changes, drops, moves or invents some; `write` numbers what is
left, names the segments and rebuilds the indexes. What the manifests know of ranges of messages is
read as JSON, and compared with what stands there before and after:

    before   0 a  1 b | 2 c  3 d | 4 e       ranges of two
    after    0 a  1 c | 2 d  3 e |           b was dropped: both whole ranges are altered, and
                                             the log ends before 4
"""

import json
import struct
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.damage import CRC_END, encode_entries, message_positions, offsets_in

_KEY = 22  # where the key begins, after its length
_LENGTH = struct.Struct(">i")


@dataclass(eq=False)
class Forged:
    """One message, without its offset; `line` is what the source says of it, counted from 1."""

    data: bytes
    line: int | None = None

    @property
    def key(self) -> bytes | None:
        (length,) = _LENGTH.unpack_from(self.data, _KEY - 4)
        return None if length < 0 else self.data[_KEY : _KEY + length]

    def value_in(self, values: Collection[bytes]) -> bytes:
        """The value, which must be one of these: its length is in the message or not."""
        behind = self.data[_KEY + len(self.key or b"") :]
        return next(value for value in (behind, behind[4:]) if value in values)

    def copy(self) -> "Forged":
        return Forged(self.data, self.line)

    def mend(self, covered: bytes) -> None:
        """Put in other bytes after the crc, and make size and crc right for them."""
        size = _LENGTH.pack(len(covered) + 4)
        crc = struct.pack(">I", zlib.crc32(covered))
        self.data = self.data[:8] + size + crc + covered

    @property
    def covered(self) -> bytes:
        return self.data[CRC_END:]

    def set_key(self, key: bytes | None) -> None:
        rest = self.data[_KEY + len(self.key or b"") :]
        length = _LENGTH.pack(-1 if key is None else len(key))
        self.mend(self.covered[:2] + length + (key or b"") + rest)

    def flip(self, at: int, mask: int) -> None:
        """Change bits of the byte `at` bytes after the crc; from the end if negative."""
        covered = bytearray(self.covered)
        covered[at] ^= mask
        self.mend(bytes(covered))


class Found(NamedTuple):
    """A finding: its class, partition and offset."""

    kind: str
    partition: int
    offset: int | None


class Forger:
    """The messages of all partitions of a topic, by segments."""

    def __init__(self, log_dir: Path, topic: str, *, interval_bytes: int) -> None:
        self.log_dir = log_dir
        self._interval_bytes = interval_bytes
        directories = sorted(log_dir.glob(f"{topic}-*"))
        self._directories = {int(d.name.rpartition("-")[2]): d for d in directories}
        self.segments: dict[int, list[list[Forged]]] = {}
        self._first_offsets: dict[int, int] = {}
        self._named_by_previous = False
        for partition, directory in self._directories.items():
            logs = [(path.stem, path.read_bytes()) for path in sorted(directory.glob("*.log"))]
            self._named_by_previous |= any(int(name) != offsets_in(d)[0] for name, d in logs if d)
            self._first_offsets[partition] = offsets_in(logs[0][1])[0]
            self.segments[partition] = [_messages(data) for _, data in logs]
        self._before = {p: self._numbered(p) for p in self.segments}

    def messages(self, partition: int) -> list[Forged]:
        """All messages of a partition, in order; a new list."""
        return [message for segment in self.segments[partition] for message in segment]

    def place(self, message: Forged) -> tuple[int, int]:
        """Return partition and offset of a message, as things stand."""
        for partition in self.segments:
            messages = self.messages(partition)
            if message in messages:
                return partition, self._first_offsets[partition] + messages.index(message)
        raise AssertionError("it is in no partition")

    def is_of_a_job(self, partition: int, offset: int) -> bool:
        entries = (entry for job in self.manifests() for entry in job["partitions"])
        return any(
            entry["partition"] == partition
            and entry["first_offset"] <= offset < entry["next_offset"]
            for entry in entries
        )

    def take_out(self, message: Forged) -> None:
        for segments in self.segments.values():
            for segment in segments:
                if message in segment:
                    segment.remove(message)

    def put_behind(self, message: Forged, new: Forged) -> None:
        for segments in self.segments.values():
            for segment in segments:
                if message in segment:
                    segment.insert(segment.index(message) + 1, new)

    def exchange(self, one: Forged, other: Forged) -> None:
        one.data, other.data = other.data, one.data
        one.line, other.line = other.line, one.line

    def write(self) -> None:
        """Make files of all messages: offsets, names and indexes are without a flaw."""
        for partition, directory in self._directories.items():
            for path in directory.iterdir():
                path.unlink()
            offset = self._first_offsets[partition]
            for segment in filter(None, self.segments[partition]):
                number = max(offset - 1, 0) if self._named_by_previous else offset
                log, index = self._files(segment, offset, number)
                (directory / f"{number:020d}.log").write_bytes(log)
                (directory / f"{number:020d}.index").write_bytes(index)
                offset += len(segment)

    def _files(self, segment: list[Forged], offset: int, number: int) -> tuple[bytes, bytes]:
        log, entries, last_indexed = b"", [], 0
        for slot, message in enumerate(segment):
            if len(log) - last_indexed > self._interval_bytes:
                last_indexed = len(log)
                entries.append((offset + slot - number, len(log)))
            log += struct.pack(">q", offset + slot) + message.data[8:]
        return log, encode_entries(entries)

    def _numbered(self, partition: int) -> dict[int, bytes]:
        messages = enumerate(self.messages(partition), self._first_offsets[partition])
        return {offset: message.data[8:] for offset, message in messages}

    # ---- what the manifests know

    def manifests(self) -> list[dict[str, Any]]:
        paths = sorted((self.log_dir / ".manifests").glob("*.json"))
        return [json.loads(path.read_bytes()) for path in paths]

    def altered_ranges(self) -> list[Found]:
        """The ranges that have as many messages as before, but others."""
        found = []
        for entry in (entry for job in self.manifests() for entry in job["partitions"]):
            partition = entry["partition"]
            now, before = self._numbered(partition), self._before[partition]
            for first, count, _ in entry["fingerprints"]:
                offsets = range(first, first + count)
                if offsets[-1] in now and any(now[o] != before[o] for o in offsets):
                    found.append(Found("altered", partition, first))
        return found

    def missing_ends(self) -> list[Found]:
        """Where a log ends before the last job did."""
        found = []
        for partition in self.segments:
            entries = [e for job in self.manifests() for e in job["partitions"]]
            ends = [e["next_offset"] for e in entries if e["partition"] == partition]
            end = self._first_offsets[partition] + len(self.messages(partition))
            if end < max(ends, default=0):
                found.append(Found("manifest-mismatch", partition, end))
        return found

    def other_key(self, message: Forged, *, same_partition: bool) -> bytes:
        """A key that stands in the same or in another partition, and is another one."""
        here, _ = self.place(message)
        for partition in self.segments:
            if (partition == here) == same_partition:
                for other in self.messages(partition):
                    if other.key not in (None, message.key):
                        return other.key
        raise AssertionError("there is none")


def _messages(data: bytes) -> list[Forged]:
    positions = message_positions(data)
    return [Forged(data[start:end]) for start, end in pairwise(positions)]


# ---- forgeries: of a message; they return what the storage alone tells of them


Forgery = Callable[[Forger, Forged], list[Found] | None]


def flip(at: int, mask: int) -> Forgery:
    def forgery(forger: Forger, message: Forged) -> list[Found]:
        message.flip(at, mask)
        return forger.altered_ranges()

    return forgery


def alter_magic(forger: Forger, message: Forged) -> list[Found]:
    message.flip(0, 0x01)
    return [Found("bad-magic", *forger.place(message))]


def alter_key(forger: Forger, message: Forged) -> list[Found] | None:
    if message.key is None:
        return None
    message.set_key(forger.other_key(message, same_partition=True))
    return forger.altered_ranges()


def take_away_key(forger: Forger, message: Forged) -> list[Found] | None:
    if message.key is None:
        return None
    message.set_key(None)
    return forger.altered_ranges()


def alter_key_to_one_of_another_partition(forger: Forger, message: Forged) -> list[Found]:
    message.set_key(forger.other_key(message, same_partition=False))
    return [Found("wrong-partition", *forger.place(message))]


def swap(by: int) -> Forgery:
    """Exchange it with another message of its partition, after it or in front of it."""

    def forgery(forger: Forger, message: Forged) -> list[Found] | None:
        messages = forger.messages(forger.place(message)[0])
        other = messages[(messages.index(message) + by) % len(messages)]
        if other.data[8:] == message.data[8:]:
            return None
        partition, first = forger.place(message)
        places = (first, first + 1)
        are_neighbours = forger.place(other) == (partition, first + 1)
        forger.exchange(message, other)
        if are_neighbours and all(forger.is_of_a_job(partition, place) for place in places):
            return [Found("altered", partition, first)]
        return forger.altered_ranges()

    return forgery


def replace_by_copy(forger: Forger, message: Forged) -> list[Found]:
    messages = forger.messages(forger.place(message)[0])
    message.data = messages[messages.index(message) - 1].data
    return forger.altered_ranges()


def drop(forger: Forger, message: Forged) -> list[Found]:
    forger.take_out(message)
    return forger.altered_ranges() + forger.missing_ends()


def write_again(copies: int) -> Forgery:
    def forgery(forger: Forger, message: Forged) -> list[Found]:
        for _ in range(copies):
            forger.put_behind(message, message.copy())
        return forger.altered_ranges()

    return forgery


def drop_and_write_another_again(forger: Forger, message: Forged) -> list[Found]:
    messages = forger.messages(forger.place(message)[0])
    other = messages[(messages.index(message) + 17) % len(messages)]
    forger.put_behind(other, other.copy())
    forger.take_out(message)
    return forger.altered_ranges()


def invent(forger: Forger, message: Forged) -> list[Found]:
    new = message.copy()
    new.flip(-1, 0x40)
    forger.put_behind(message, new)
    return forger.altered_ranges()


def move_to_another_partition(forger: Forger, message: Forged) -> list[Found]:
    partition, _ = forger.place(message)
    other = (partition + 1) % len(forger.segments)
    has_key = message.key is not None
    forger.take_out(message)
    forger.segments[other][-1].append(message)
    found = forger.altered_ranges() + forger.missing_ends()
    return [*found, Found("wrong-partition", *forger.place(message))] if has_key else found


def drop_segment(forger: Forger, message: Forged) -> list[Found] | None:
    partition, _ = forger.place(message)
    segments = forger.segments[partition]
    if len(segments) < 2:
        return None
    segments[:] = [segment for segment in segments if message not in segment]
    return forger.altered_ranges() + forger.missing_ends()


FORGERIES: dict[str, Forgery] = {
    "value altered": flip(-1, 0x01),
    "attributes altered": flip(1, 0x08),
    "magic altered": alter_magic,
    "key altered": alter_key,
    "key taken away": take_away_key,
    "key altered to one of another partition": alter_key_to_one_of_another_partition,
    "swapped with the next": swap(1),
    "swapped with one far away": swap(23),
    "replaced by a copy of the one before": replace_by_copy,
    "dropped": drop,
    "written twice": write_again(1),
    "written three times": write_again(2),
    "dropped, another one written twice": drop_and_write_another_again,
    "invented": invent,
    "moved to another partition": move_to_another_partition,
    "segment dropped": drop_segment,
}
