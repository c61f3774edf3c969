"""Random damage to the files of a partition: one that changes a byte at least, and says what."""

import struct
from pathlib import Path
from random import Random

from tests.support.broker_files.partition_writer import (
    ABORT,
    COMMIT,
    PartitionWriter,
    Producer,
)

_LAYOUTS = {".index": ">ii", ".timeindex": ">qi", ".txnindex": ">hqqqq"}


def partition_of_all_kinds(log_dir: Path, rounds: int = 60) -> PartitionWriter:
    """Return a partition of some hundred batches and several segments, closed in order."""
    writer = PartitionWriter(log_dir, segment_bytes=8000, interval_bytes=500)
    plain, sender, other = Producer(7), Producer(8, 2), Producer(9, is_transactional=True)
    for number in range(rounds):
        epoch = 3 * (number * 3 // rounds)
        plain = writer.append(5, producer=plain, epoch=epoch)
        writer.append(3, epoch=epoch, is_gzip=True)
        sender = writer.append(2, producer=sender, epoch=epoch, value=b"x" * (number % 90))
        other = writer.append(4, producer=other, epoch=epoch)
        writer.end(other, ABORT if number % 3 else COMMIT, epoch=epoch)
    writer.close()
    return writer


def damage(random: Random, directory: Path, writer: PartitionWriter) -> str:
    """Damage one file of a copy of a partition; return what was done, and where."""
    while True:
        files = sorted(file for file in directory.iterdir() if file.suffix in (".log", *_LAYOUTS))
        suffix = random.choice([".log"] * 5 + [".index", ".timeindex", ".txnindex"])
        file = random.choice([file for file in files if file.suffix == suffix])
        before = file.read_bytes()
        kinds = [_bit, _cut, _swap, _zeros]
        kinds += [_double, _header_bit, _swap_batches] if suffix == ".log" else [_shift]
        kind = random.choice(kinds)
        after = kind(random, before, file, writer)
        if after != before:
            file.write_bytes(after)
            return f"{kind.__name__[1:]} in {file.name}, {_where(before, after)}"


def _where(before: bytes, after: bytes) -> str:
    at = next((n for n, (a, b) in enumerate(zip(before, after)) if a != b), None)  # noqa: B905
    first = min(len(before), len(after)) if at is None else at
    return f"from byte {first}, {len(before)} to {len(after)} bytes"


def _bit(random: Random, data: bytes, file: Path, writer: PartitionWriter) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def _header_bit(random: Random, data: bytes, file: Path, writer: PartitionWriter) -> bytes:
    """A bit of what stands in front of the checksum, or of the checksum."""
    at = _batch(random, file, writer)[0] + random.randrange(21)
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def _cut(random: Random, data: bytes, file: Path, writer: PartitionWriter) -> bytes:
    """The end is gone, or a piece in the middle."""
    start = random.randrange(len(data))
    return data[:start] + random.choice([b"", data[start + random.randrange(1, 200) :]])


def _swap(random: Random, data: bytes, file: Path, writer: PartitionWriter) -> bytes:
    """Two ranges of the same length change places."""
    length = random.randrange(1, 100)
    first = random.randrange(len(data))
    second = first + length + random.randrange(200)
    one, other = data[first : first + length], data[second : second + length]
    if len(one) != len(other):
        return data
    between = data[first + length : second]
    return data[:first] + other + between + one + data[second + length :]


def _zeros(random: Random, data: bytes, file: Path, writer: PartitionWriter) -> bytes:
    start = random.randrange(len(data))
    length = min(random.randrange(1, 300), len(data) - start)
    return data[:start] + bytes(length) + data[start + length :]


def _double(random: Random, data: bytes, file: Path, writer: PartitionWriter) -> bytes:
    start, size = _batch(random, file, writer)
    return data[: start + size] + data[start : start + size] + data[start + size :]


def _swap_batches(random: Random, data: bytes, file: Path, writer: PartitionWriter) -> bytes:
    places = sorted(random.sample(_batches(file, writer), 2))
    (first, size), (second, other_size) = places
    one, other = data[first : first + size], data[second : second + other_size]
    between = data[first + size : second]
    return data[:first] + other + between + one + data[second + other_size :]


def _shift(random: Random, data: bytes, file: Path, writer: PartitionWriter) -> bytes:
    """One of the numbers of each entry is another one; or all entries are an entry later."""
    layout = _LAYOUTS[file.suffix]
    rows = [list(row) for row in struct.iter_unpack(layout, data)]
    slot = random.randrange(len(rows[0])) if rows else 0
    by = random.choice([-100, -3, -1, 1, 2, 50])
    for row in rows:
        row[slot] += by
    return b"".join(struct.pack(layout, *row) for row in rows)


def _batch(random: Random, file: Path, writer: PartitionWriter) -> tuple[int, int]:
    return random.choice(_batches(file, writer))


def _batches(file: Path, writer: PartitionWriter) -> list[tuple[int, int]]:
    return [(at, size) for log, at, size in writer.batches if log.name == file.name]
