"""Random batches that a Python client writes, and what it reads in them: BatchOracle.java's like.

    python batch_oracle.py aiokafka | kafka

The input is the same, and so is the output. For what a client does not tell stands "?". These
clients have no classes for a broker's work, so no compacted batch and no marker is written here.
"""

import importlib
import importlib.util
import random
import sys
import types
from collections.abc import Iterator
from typing import Any

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
TIMESTAMP_TYPES = ["CreateTime", "LogAppendTime"]


def main(client: str) -> None:
    """Answer stdin."""
    package = types.ModuleType(client)  # not its own: that imports the whole client
    package.__path__ = importlib.util.find_spec(client).submodule_search_locations  # type: ignore
    sys.modules[client] = package
    modules = [f"{client}.record.{name}_records" for name in ("legacy", "default", "memory")]
    legacy, default, memory = map(importlib.import_module, modules)
    command, *words = sys.stdin.read().split()
    if command == "write":
        chance = random.Random(int(words[0]))
        has_old_lz4 = client == "kafka"  # aiokafka refuses lz4 in format v0
        for _ in range(int(words[1])):
            written = write(legacy, default, chance, has_old_lz4)
            print("bytes", hexed(written))
            print("\n".join(read(memory, written)))
        return
    for data in words:
        try:
            lines = list(read(memory, bytes.fromhex(data)))
        except Exception as error:  # noqa: BLE001  # whatever the client raises is its answer
            lines = [f"refused {type(error).__name__} {error}"]
        print("bytes", *lines, sep="\n")


def write(legacy: Any, default: Any, chance: random.Random, has_old_lz4: bool) -> bytes:
    """Return what a broker stores of a batch: it gives the offsets."""
    magic = chance.randrange(3)
    codec = chance.randrange(5 if magic == 2 else 4)
    if magic == 0 and codec == 3 and not has_old_lz4:
        codec = 0
    base = chance.randrange(1 << chance.randrange(1, 61))
    producer = False, -1, -1, -1
    if magic == 2 and chance.randrange(2):
        number, epoch = chance.randrange(1 << 50), chance.randrange(1 << 15)
        producer = chance.random() < 0.5, number, epoch, chance.randrange((1 << 31) - 1)
    if magic == 2:
        builder = default.DefaultRecordBatchBuilder(2, codec, *producer, 1 << 20)
    else:
        builder = legacy.LegacyRecordBatchBuilder(magic, codec, 1 << 20)
    count = chance.randrange(1, 13)
    is_absolute = magic == 0 or (magic == 1 and codec == 0)
    for number in range(count):
        headers = []
        if magic == 2 and not chance.randrange(3):
            many = 100 if not chance.randrange(10) else chance.randrange(9)
            headers = [(f"h{chance.randrange(300)}", some_bytes(chance)) for _ in range(many)]
        timestamp = chance.randrange(1 << chance.randrange(1, 46)) if magic else None
        offset = base * is_absolute + number
        builder.append(offset, timestamp, some_bytes(chance), some_bytes(chance), headers)
    written = bytes(builder.build())
    if magic < 2 and codec == 0:
        return written
    first = base if magic == 2 else base + count - 1
    return first.to_bytes(8) + written[8:]


def some_bytes(chance: random.Random) -> bytes | None:
    """Return a key or a value: null, empty or of some length; half of them compress well."""
    if not chance.randrange(5):
        return None
    length = chance.randrange(2000 if not chance.randrange(20) else 60)
    return chance.randbytes(length) if chance.randrange(2) else bytes(length)


def read(memory: Any, data: bytes) -> Iterator[str]:
    """Yield the lines about these bytes; raise what the client raises."""
    batches = memory.MemoryRecords(data)
    while batches.has_next():
        batch = batches.next_batch()
        assert batch.validate_crc(), "wrong crc"
        magic, codec, kind, base, greatest = "?????"
        last = batch.next_offset - 1 if hasattr(batch, "next_offset") else batch.base_offset
        producer = "-1 -1 -1 false false"
        if hasattr(batch, "last_offset_delta"):
            codec, kind = CODECS[batch.compression_type], TIMESTAMP_TYPES[batch.timestamp_type]
            magic, base, greatest = batch.magic, batch.base_offset, batch.max_timestamp
            flags = bool(batch.is_transactional), bool(batch.is_control_batch)
            producer = f"{batch.producer_id} {batch.producer_epoch} {batch.base_sequence} "
            producer += " ".join(str(flag).lower() for flag in flags)
        yield f"batch {magic} {base} {last} {codec} {kind} {greatest} {producer}"
        for record in batch:
            timestamp = -1 if record.timestamp is None else record.timestamp
            headers = "".join(f" {name}={hexed(value)}" for name, value in record.headers)
            yield (
                f"record {record.offset} {timestamp} ? {hexed(record.key)} {hexed(record.value)}"
                f"{headers}"
            )


def hexed(data: Any) -> str:
    return "null" if data is None else f"x{bytes(data).hex()}"


if __name__ == "__main__":
    main(sys.argv[1])
