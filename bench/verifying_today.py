"""Checking the files of a Kafka broker: `kminilog verify`, and Kafka's own reader.

    kminilog   a process: every batch, its checksum, its place, and both indexes
    kafka      a process: FileRecords of kafka-clients, by a program of ours that was compiled
               before; it does what DumpLogSegments does without `--deep-iteration`: it looks at
               every checksum, and prints a line for every batch, here into the null device
    bytes      reading the files and their CRC-32C, in a C library and nothing else: no program
               that looks at every checksum takes less

1 GB of format v2 for each codec, in batches of 16 KB before compression; a segment has 256 MB. The
processes take turns, so each reads from the page cache. `python -m bench.verifying_today
[GIGABYTES]` shows this part only.
"""

import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from bench.timing import ratio, rounds_of_each
from kminilog.broker_files.crc32c import crc32c
from kminilog.verification.broker_files.batch_reader import WINDOW_BYTES
from tests.support.conformance.wheel_oracles import java_client_jars

CODECS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "none": (0, bytes),
    "gzip": (1, lambda data: zlib.compress(data, wbits=31)),
    "lz4": (3, lambda data: pa.Codec("lz4").compress(data, asbytes=True)),
    "zstd": (4, lambda data: pa.Codec("zstd").compress(data, asbytes=True)),
}
GIGABYTES, ROUNDS = 1.0, 5
RECORDS, VALUE_BYTES, BATCHES = 100, 150, 64  # in a batch; batches that are not the same
SEGMENT_BYTES, INTERVAL_BYTES = 256 << 20, 4096
TIMESTAMP = 1_700_000_000_000
_BATCH = struct.Struct(">qiibIhiqqqhii")
PROGRAM = "FileRecordsOracle"
SOURCE = Path(__file__).parents[1] / "tests" / "support" / "conformance" / f"{PROGRAM}.java"


def batches(codec: str) -> list[bytes]:
    """Return some batches, each with the offset 0: it stands before the checksum."""
    rng = random.Random(1)
    number, compress = CODECS[codec]
    made = []
    for _ in range(BATCHES):
        payload = b"".join(_record(delta, rng) for delta in range(RECORDS))
        packed = compress(payload)
        fields = (number, RECORDS - 1, TIMESTAMP, TIMESTAMP, -1, -1, -1, RECORDS)
        data = _BATCH.pack(0, 49 + len(packed), 0, 2, 0, *fields) + packed
        made.append(data[:17] + struct.pack(">I", crc32c(data[21:])) + data[21:])
    return made


def _record(delta: int, rng: random.Random) -> bytes:
    """Return a record without a key; half of its value are random letters."""
    letters = bytes(rng.choices(b"abcdefghijklmnop", k=VALUE_BYTES // 2))
    body = b"\0\0" + _varint(delta) + b"\1" + _varint(VALUE_BYTES) + letters * 2 + b"\0"
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    low, high = 2 * number & 0x7F, 2 * number >> 7
    return bytes([low | 0x80, high]) if high else bytes([low])


def write_partition(log_dir: Path, codec: str, size_bytes: int) -> Path:
    """Write a partition of that size as a broker does, with its indexes; return its directory."""
    directory = log_dir / "orders-0"
    directory.mkdir(parents=True)
    (log_dir / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=bench\n")
    tails = [data[8:] for data in batches(codec)]
    offset, left_bytes = 0, size_bytes
    while left_bytes > 0:
        path = directory / f"{offset:020}"
        base, position, since_entry, entries = offset, 0, 0, bytearray()
        with open(path.with_suffix(".log"), "wb") as log:
            while position < min(SEGMENT_BYTES, left_bytes):
                tail = tails[offset // RECORDS % BATCHES]
                if since_entry > INTERVAL_BYTES:
                    entries += struct.pack(">ii", offset + RECORDS - 1 - base, position)
                    since_entry = 0
                log.write(struct.pack(">q", offset) + tail)
                since_entry += 8 + len(tail)
                position += 8 + len(tail)
                offset += RECORDS
        path.with_suffix(".index").write_bytes(entries)
        time_entry = struct.pack(">qi", TIMESTAMP, RECORDS - 1)
        path.with_suffix(".timeindex").write_bytes(time_entry)
        left_bytes -= position
    return directory


def kminilog(log_dir: Path) -> None:
    command = [sys.executable, "-m", "kminilog", "--log-dir", str(log_dir), "verify", "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def kafka(java: list[str], logs: list[Path]) -> None:
    names = "".join(f"{log}\n" for log in logs)
    subprocess.run(java, input=names, check=True, stdout=subprocess.DEVNULL, text=True)


def checksums(logs: list[Path]) -> None:
    for log in logs:
        with open(log, "rb", buffering=0) as file:
            while data := file.read(WINDOW_BYTES):
                crc32c(data)


def compiled(directory: Path) -> list[str]:
    """Return the command of Kafka's reader; its argument: as DumpLogSegments does."""
    home = os.environ.get("JAVA_HOME")
    binaries = Path(home) / "bin" if home else Path(shutil.which("java") or "java").parent
    jars = os.pathsep.join(map(str, java_client_jars()))
    compile_it = [binaries / "javac", "-cp", jars, "-d", directory, SOURCE]
    subprocess.run(compile_it, check=True)
    path = os.pathsep.join([str(directory), jars])
    return [str(binaries / "java"), "-cp", path, PROGRAM, "dump"]


def measured(java: list[str], directory: Path, size_bytes: int) -> Iterator[str]:
    for codec in CODECS:
        log_dir = directory / codec
        logs = sorted(write_partition(log_dir, codec, size_bytes).glob("*.log"))
        ours, theirs, least = rounds_of_each(
            [
                lambda at=log_dir: kminilog(at),
                lambda at=logs: kafka(java, at),
                lambda at=logs: checksums(at),
            ],
            ROUNDS,
        )
        stored = sum(log.stat().st_size for log in logs)
        told = f"  {codec:5}{stored / 1e9:6.2f} GB"
        for name, times in ("kminilog", ours), ("kafka", theirs):
            median = statistics.median(times)
            told += f"   {name}{median:7.2f} s{stored / median / 1e6:6.0f} MB/s"
        yield f"{told}{ratio(theirs, ours):6.2f} x   bytes{statistics.median(least):6.2f} s"
        shutil.rmtree(log_dir)


def measure(gigabytes: float = GIGABYTES) -> None:
    print(f"checking the files of a broker, v2, median of {ROUNDS} processes each")
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        java = compiled(directory / "classes")
        for line in measured(java, directory, round(gigabytes * 1e9)):
            print(line, flush=True)


if __name__ == "__main__":
    measure(*map(float, sys.argv[1:]))
