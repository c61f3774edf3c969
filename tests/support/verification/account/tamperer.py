"""A log and its source as bare files, for one who tampers with them. Nothing of kminilog is here.

What this module knows of the bytes is what docs/format.md says. It reads a topic that a job wrote
as segments of messages, and finds the record of each message. Some changes are those of a perfect
tamperer: `write` numbers the messages of a partition, names its segments, computes each crc and
builds the indexes. Others change bytes, and leave everything else as it is.

    message   offset int64 | size int32 | crc uint32 | magic int8 | attributes int8
              key length int32 | key | (value length int32, in the kafka dialect) | value
    index     relative offset int32 | position int32
"""

import csv
import json
import struct
import zlib
from dataclasses import dataclass
from itertools import accumulate, count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HEADER = struct.Struct(">qiI")
ENTRY = struct.Struct(">ii")
_INT = struct.Struct(">i")
FORMATS = ("text", "csv", "json", "parquet", "kcat", "kminilog")
KEY_REGEX = r"^(k\d+)="


@dataclass(eq=False)
class Record:
    """A record of the source; the same object stays the same record, whatever it becomes."""

    key: bytes | None
    value: bytes


@dataclass(eq=False)
class Message:
    """A message without its offset; `record` is what the source says of it."""

    key: bytes | None
    value: bytes
    record: Record | None
    attributes: int = 0


def partition_of(key: bytes, partitions: int) -> int:
    """Where Kafka puts a key: murmur2, as Kafka's Utils.murmur2 computes it."""
    factor, mask = 0x5BD1E995, 0xFFFFFFFF
    hashed = 0x9747B28C ^ len(key)
    whole = len(key) - len(key) % 4
    for (word,) in struct.iter_unpack("<I", key[:whole]):
        word = word * factor & mask
        word = (word ^ word >> 24) * factor & mask
        hashed = (hashed * factor & mask) ^ word
    if rest := key[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * factor & mask
    hashed = (hashed ^ hashed >> 13) * factor & mask
    return ((hashed ^ hashed >> 15) & 0x7FFFFFFF) % partitions


def keys_of(partition: int, partitions: int, wanted: int, *, start: int = 0) -> list[bytes]:
    """Return some keys that belong to a partition, from number `start` on."""
    found: list[bytes] = []
    while len(found) < wanted:
        key = b"k%05d" % start
        start += 1
        if partition_of(key, partitions) == partition:
            found.append(key)
    return found


def encode(offset: int, key: bytes | None, rest: bytes, attributes: int = 0) -> bytes:
    """Return a message; `rest` is what follows its key."""
    covered = struct.pack(">bbi", 0, attributes, -1 if key is None else len(key))
    covered += (key or b"") + rest
    return HEADER.pack(offset, len(covered) + 4, zlib.crc32(covered)) + covered


# ---- the source


class SourceFile:
    """The one file of a source: its records, in order, in one of the formats.

    `name` is how a command names the source. A topic has one partition of one segment.
    """

    def __init__(self, directory: Path, form: str, partitions: int) -> None:
        """Write a source: for each partition three keys, for each key three records.

        Two records of a key follow each other, the third one comes later.
        """
        self.path, self.form, self.partitions = directory / f"source.{form}", form, partitions
        self.name = str(self.path)
        if form == "kminilog":
            log_dir, self.path = self.path, self.path / "copied-0" / f"{0:020}.log"
            self.name = f"{log_dir}:copied"
            self.path.parent.mkdir(parents=True, exist_ok=True)
            about = {"topic": "copied", "partitions": 1, "dialect": "documented", "config": {}}
            (log_dir / "copied.json").write_text(json.dumps(about))
        keys = [keys_of(partition, partitions, 3) for partition in range(partitions)]
        self._numbers = count(1)
        self.records: list[Record] = []
        twice_then_once = [key for keys in zip(*keys, strict=True) for key in keys for _ in "12"]
        twice_then_once += twice_then_once[::2]
        for number, key in enumerate(twice_then_once):
            self.records.append(self.record(key))
            if number % 8 == 3:
                self.records.append(self.record(None))
        self.write()

    def record(self, key: bytes | None) -> Record:
        """Return a record that is like no other; every fifth needs quotes in CSV."""
        number = next(self._numbers)
        value = b"%s=%d" % (key, number) if key else b"none %d" % number
        if number % 5 == 0:
            value += b' "a, b"' if self.form == "text" else b' "a,\nb"'
        return Record(key, value)

    def place(self, record: Record) -> str:
        """Return where a record is, as its reader counts: from 1, without a header."""
        number = self.records.index(record)
        if self.form == "kminilog":
            return f"{self.path}, offset {number}"
        unit = "row" if self.form in ("csv", "parquet") else "line"
        return f"{self.path}, {unit} {number + 1}"

    def offset_at(self, position: int) -> int:
        """Return the offset of the message that begins at a byte of a topic."""
        sizes = [len(encode(n, r.key, r.value)) for n, r in enumerate(self.records)]
        return [0, *accumulate(sizes)].index(position)

    def write(self) -> None:
        rows = [(r.key.decode() if r.key else None, r.value.decode()) for r in self.records]
        if self.form == "text":
            self.path.write_text("".join(value + "\n" for _, value in rows))
        elif self.form == "csv":
            with open(self.path, "w", newline="") as file:
                csv.writer(file).writerows([("k", "v"), *rows])
        elif self.form == "json":
            lines = [json.dumps({"k": key, "v": value}) + "\n" for key, value in rows]
            self.path.write_text("".join(lines))
        elif self.form == "kcat":
            lines = [json.dumps({"key": key, "payload": value}) + "\n" for key, value in rows]
            self.path.write_text("".join(lines))
        elif self.form == "kminilog":
            stored = [encode(n, r.key, r.value) for n, r in enumerate(self.records)]
            self.path.write_bytes(b"".join(stored))
        else:
            keys, values = (pa.array(column, pa.string()) for column in zip(*rows, strict=True))
            pq.write_table(pa.table({"k": keys, "v": values}), self.path, row_group_size=40)


# ---- the log


class LogFiles:
    """The partitions of one topic, as segments of messages, and as files."""

    def __init__(self, log_dir: Path, topic: str, source: SourceFile) -> None:
        """Read all messages. Each must be a record of the source, in its partition, once."""
        self.log_dir, self.topic = log_dir, topic
        settings = json.loads((log_dir / f"{topic}.json").read_text())
        self.is_kafkas = settings["dialect"] == "kafka"
        self._interval_bytes = settings["config"]["index.interval.bytes"]
        self.segments: dict[int, list[list[Message]]] = {}
        records = {(r.key, r.value): r for r in source.records}
        assert len(records) == len(source.records), "records that are copies of each other"
        for partition in range(source.partitions):
            logs = [path.read_bytes() for path in self.logs(partition)]
            self.segments[partition] = [self._messages(data, records) for data in logs]
            keys = [message.key for message in self.messages(partition) if message.key]
            assert {partition_of(key, source.partitions) for key in keys} == {partition}
        assert not records, f"records that are not stored: {records}"

    def directory(self, partition: int) -> Path:
        return self.log_dir / f"{self.topic}-{partition}"

    def logs(self, partition: int) -> list[Path]:
        return sorted(self.directory(partition).glob("*.log"))

    def _messages(
        self, data: bytes, records: dict[tuple[bytes | None, bytes], Record]
    ) -> list[Message]:
        found, position = [], 0
        while position < len(data):
            _, size, crc = HEADER.unpack_from(data, position)
            covered = data[position + HEADER.size : position + 12 + size]
            assert zlib.crc32(covered) == crc
            (key_bytes,) = _INT.unpack_from(covered, 2)
            end = 6 + max(key_bytes, 0)
            key = None if key_bytes < 0 else covered[6:end]
            value = covered[end + 4 * self.is_kafkas :]
            found.append(Message(key, value, records.pop((key, value))))
            position += 12 + size
        return found

    def messages(self, partition: int) -> list[Message]:
        return [message for segment in self.segments[partition] for message in segment]

    def offset(self, partition: int, message: Message) -> int:
        return self.messages(partition).index(message)

    def segment_of(self, partition: int, message: Message) -> list[Message]:
        return next(s for s in self.segments[partition] if message in s)

    def encode(self, offset: int, message: Message) -> bytes:
        length = _INT.pack(len(message.value)) if self.is_kafkas else b""
        return encode(offset, message.key, length + message.value, message.attributes)

    def write(self, *partitions: int) -> None:
        """Write whole partitions anew: offsets from 0 on, names, crcs, indexes and the recorded
        ends are right."""
        for partition in partitions:
            for path in self.directory(partition).iterdir():
                path.unlink()
            first = 0
            for messages in self.segments[partition]:
                base = first if self.is_kafkas else max(first - 1, 0)
                self.write_segment(partition, base, [*enumerate(messages, first)])
                first += len(messages)
            self.record_end(partition, first)

    def record_end(self, partition: int, end: int) -> None:
        """Say up to which offset the partition was on the disk: its recovery point."""
        path = self.log_dir / "recovery-point-offset-checkpoint"
        place = f"{self.topic} {partition} "
        lines = path.read_text().splitlines()
        assert any(line.startswith(place) for line in lines)
        kept = [f"{place}{end}" if line.startswith(place) else line for line in lines]
        path.write_text("\n".join([*kept, ""]))

    def write_segment(self, partition: int, base: int, numbered: list[tuple[int, Message]]) -> None:
        """Write one segment, whose messages have these offsets."""
        log, index, last = b"", b"", 0
        for offset, message in numbered:
            if len(log) - last > self._interval_bytes:
                last = len(log)
                index += ENTRY.pack(offset - base, last)
            log += self.encode(offset, message)
        path = self.directory(partition) / f"{base:020}.log"
        path.write_bytes(log)
        path.with_suffix(".index").write_bytes(index)

    # ---- where the bytes of a message are, before anything has moved

    def log_with(self, partition: int, message: Message) -> Path:
        slot = self.segments[partition].index(self.segment_of(partition, message))
        return self.logs(partition)[slot]

    def bytes_of(self, partition: int, message: Message) -> range:
        """Return which bytes of its file a message has."""
        start, offset = 0, self.offset(partition, message)
        for before in self.segment_of(partition, message):
            size = len(self.encode(offset, before))
            if before is message:
                return range(start, start + size)
            start += size
        raise AssertionError

    def change(self, partition: int, message: Message, at: int, data: bytes) -> None:
        """Overwrite bytes of a message, from its byte `at` on; all else stays."""
        path, there = self.log_with(partition, message), self.bytes_of(partition, message)
        found = bytearray(path.read_bytes())
        start = there[at]
        assert found[start : start + len(data)] != data, "nothing would change"
        found[start : start + len(data)] = data
        path.write_bytes(found)
