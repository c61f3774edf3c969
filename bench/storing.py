"""The engine, one message at a time, against what it stands on.

Messages have keys of 10 and values of 100 bytes. A ratio says how many times as long as its
yardstick a thing takes.
"""

import os
import random
import tempfile
import zlib
from pathlib import Path

from bench.timing import row, seconds
from kminilog.format.dialect import DIALECTS, Dialect
from kminilog.format.message import encode, scan
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import plan_recovery
from kminilog.storage.segment.log_file import scan_file

MESSAGES = 20_000
ORDERS = TopicPartition("orders", 0)


def measure_dialect(dialect: Dialect, directory: Path) -> None:
    rng = random.Random(1)
    pairs = [(rng.randbytes(10), rng.randbytes(100)) for _ in range(MESSAGES)]
    encoded = [encode(dialect, offset, *pair) for offset, pair in enumerate(pairs)]
    data = b"".join(encoded)
    settings = TopicSettings(segment_bytes=len(data) // 50)
    logs = iter(range(10**6))

    def append(batch: int) -> PartitionLog:
        log = PartitionLog.open(directory / str(next(logs)), ORDERS, dialect, settings)
        for start in range(0, MESSAGES, batch):
            log.append(pairs[start : start + batch])
        log.close()
        return log

    log = append(1000)
    one_file = directory / "one.log"
    one_file.write_bytes(data)
    reader = PartitionReader(log.directory, ORDERS, dialect, settings)
    wanted = [rng.randrange(MESSAGES) for _ in range(1000)]
    descriptor = os.open(one_file, os.O_RDONLY)
    positions = [rng.randrange(len(data) - 4096) for _ in range(1000)]

    crc = seconds(lambda: zlib.crc32(data))
    pread = seconds(lambda: [os.pread(descriptor, 4096, position) for position in positions])
    print(f"\n{dialect.name}: {MESSAGES} messages, {len(data)} bytes, 50 segments")
    row("zlib.crc32 of the whole", crc, MESSAGES, "itself", crc)
    work = seconds(lambda: [encode(dialect, n, *pair) for n, pair in enumerate(pairs)])
    row("encode a message", work, MESSAGES, "crc32", crc)
    work = seconds(lambda: list(scan(dialect, data)))
    row("decode a message", work, MESSAGES, "crc32", crc)
    work = seconds(lambda: list(scan_file(dialect, one_file)))
    row("scan a file, a message", work, MESSAGES, "crc32", crc)
    row("append, batches of 1000, a message", seconds(lambda: append(1000)), MESSAGES, "crc32", crc)
    row("append one by one, a message", seconds(lambda: append(1)), MESSAGES, "crc32", crc)
    work = seconds(lambda: plan_recovery(PartitionReader(log.directory, ORDERS, dialect, settings)))
    row("recovery scan, a message", work, MESSAGES, "crc32", crc)
    row("pread of 4 KiB", pread, len(positions), "itself", pread)
    work = seconds(lambda: [reader.find(offset) for offset in wanted])
    row("find a message", work, len(wanted), "pread", pread)


def measure() -> None:
    for dialect in DIALECTS.values():
        with tempfile.TemporaryDirectory() as directory:
            measure_dialect(dialect, Path(directory))
