"""Which files a sequence of messages makes: the documented rules once more, in the plainest way.

The oracle of the layout tests. It keeps everything in memory, knows nothing of batches, openings or
crashes, and imports nothing of kminilog.
"""

import struct
import zlib
from dataclasses import dataclass, field
from typing import NamedTuple

KeyValue = tuple[bytes | None, bytes | None]


class Rules(NamedTuple):
    is_kafka: bool
    segment_bytes: int
    index_interval_bytes: int
    segment_index_bytes: int


def encode_message(is_kafka: bool, offset: int, key: bytes | None, value: bytes | None) -> bytes:
    """Return the bytes of a message, as the documents or Kafka 0.8 lay them out."""
    body = struct.pack(">bbi", 0, 0, -1 if key is None else len(key)) + (key or b"")
    if is_kafka:
        body += struct.pack(">i", -1 if value is None else len(value))
    body += value or b""
    return struct.pack(">qiI", offset, 4 + len(body), zlib.crc32(body)) + body


@dataclass
class ExpectedSegment:
    name: int
    messages: list[bytes] = field(default_factory=list)
    entries: list[tuple[int, int]] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.messages))


class ExpectedLog:
    """The segments that the rules give, message by message."""

    def __init__(self, rules: Rules, first_name: int = 0) -> None:
        self.rules = rules
        self.segments = [ExpectedSegment(first_name)]
        self.next_offset = first_name
        if not rules.is_kafka and first_name > 0:
            self.next_offset += 1

    def append(self, key: bytes | None, value: bytes | None) -> None:
        data = encode_message(self.rules.is_kafka, self.next_offset, key, value)
        active = self.segments[-1]
        is_too_large = active.size_bytes + len(data) > self.rules.segment_bytes
        has_no_room_for_an_entry = 8 * (len(active.entries) + 1) > self.rules.segment_index_bytes
        if is_too_large or has_no_room_for_an_entry:
            self.roll()
            active = self.segments[-1]
        position = active.size_bytes
        last_indexed = active.entries[-1][1] if active.entries else 0
        if position - last_indexed > self.rules.index_interval_bytes:
            active.entries.append((self.next_offset - active.name, position))
        active.messages.append(data)
        self.next_offset += 1

    def roll(self) -> bool:
        """Begin a new segment unless the last one is empty or would lend the new one its name."""
        name = self.next_offset if self.rules.is_kafka else max(self.next_offset - 1, 0)
        if not self.segments[-1].messages or name == self.segments[-1].name:
            return False
        self.segments.append(ExpectedSegment(name))
        return True

    def files(self) -> dict[str, bytes]:
        """Return the contents of each file by its name."""
        files = {}
        for segment in self.segments:
            files[f"{segment.name:020d}.log"] = b"".join(segment.messages)
            entries = (struct.pack(">ii", *entry) for entry in segment.entries)
            files[f"{segment.name:020d}.index"] = b"".join(entries)
        return files
