"""Finding one message in a partition of 1,000 segments.

Keys have 10 bytes, values 50 to 150; segments 128 KiB. The yardsticks are one `pread` of 4 KiB, at
as many places of the same files, and the scan of a segment of 1 MiB. All files are in the cache.
"""

import os
import random
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from bench.timing import Work, row, seconds_of_each
from kminilog.format.dialect import DIALECTS, Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.segment.log_file import scan_file
from kminilog.storage.topics import Topic

ORDERS_0 = TopicPartition("orders", 0)
SEGMENTS = 1000
LOOKUPS = 5000
ROUNDS = 15


def measure() -> None:
    for dialect in DIALECTS.values():
        with tempfile.TemporaryDirectory() as directory:
            measure_dialect(dialect, Path(directory))


def measure_dialect(dialect: Dialect, directory: Path) -> None:
    rng = random.Random(1)
    end = write(directory, dialect, rng)
    reader = LogDir(directory).reader(ORDERS_0)
    files = [os.open(segment.log_path, os.O_RDONLY) for segment in reader.segments()]
    offsets = [rng.randrange(end) for _ in range(LOOKUPS)]
    places = [(rng.choice(files[:-1]), rng.randrange(120 << 10)) for _ in range(LOOKUPS)]
    one_mebibyte = directory / "one.log"
    with open(one_mebibyte, "wb") as file:
        for segment in reader.segments()[: (1 << 20) // (128 << 10)]:
            file.write(segment.log_path.read_bytes())

    def pread() -> None:
        for descriptor, position in places:
            os.pread(descriptor, 4096, position)

    def scan() -> None:
        for _ in scan_file(dialect, one_mebibyte):
            pass

    works = [
        each(offsets, reader.find),
        each(offsets, lambda offset: reader.read(offset, 1)),
    ]
    pread_taken, scan_taken, *taken = seconds_of_each([pread, scan, *works], ROUNDS)
    for descriptor in files:
        os.close(descriptor)
    print(f"\n{dialect.name}: {end} messages in {SEGMENTS} segments")
    row("pread of 4 KiB", pread_taken, LOOKUPS, "itself", pread_taken)
    row("scan of a segment of 1 MiB", scan_taken, 1, "itself", scan_taken)
    for name, work_taken in zip(("find", "read one"), taken, strict=True):
        row(name, work_taken, LOOKUPS, "pread", pread_taken)
        print(f"{'':48}{scan_taken / (work_taken / LOOKUPS):12,.0f} times as fast as the scan")


def each(offsets: Iterable[int], look_up: Callable[[int], object]) -> Work:
    def work() -> None:
        for offset in offsets:
            look_up(offset)

    return work


def write(directory: Path, dialect: Dialect, rng: random.Random) -> int:
    """Write a partition of as many segments, and return its end."""
    with LogDirWriter.open(directory) as writer:
        settings = TopicSettings(segment_bytes=128 << 10)
        writer.create_topic(Topic("orders", 1, dialect, settings))
        log = writer.log(ORDERS_0)
        while len(log.segments()) < SEGMENTS:
            log.append(
                (rng.randbytes(10), rng.randbytes(rng.randrange(50, 151))) for _ in range(1000)
            )
        return log.log_end_offset
