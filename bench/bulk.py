"""Whole columns against one message at a time: kafka-python's classes, and loops in plain Python.

    fixed    keys of 10 bytes, values of 100
    mixed    keys of 5 to 16 bytes, values of 50 to 150

All works of a table take turns; what a message takes is a median. A ratio, the median of those of
each round, says how many times as fast as its yardstick a thing is; for recovery (`scan`), the
storage check of a segment with fingerprints (`check`), offsets put in (`number`) and fingerprints
alone, how many times as long as `zlib.crc32` over the file, in memory or read, it takes. Whole
columns are compared with `memcpy` of the messages too: nothing that writes as many bytes is faster.
Decoding is measured with fewer messages as well: a loop's objects are found faster while they fit
into a cache.
kafka-python is fetched, and left out if it cannot be had. `python -m bench.bulk` shows this
part only.
"""

import random
import statistics
import struct
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.timing import ratio, rounds_of_each
from kminilog.columns.boundaries import Positions, find_beginnings
from kminilog.columns.checking import check, read_structure
from kminilog.columns.crc import crc32
from kminilog.columns.decoding import to_batch
from kminilog.columns.encoding import encode_columns
from kminilog.columns.fingerprints import fingerprint_messages
from kminilog.columns.murmur2 import partition_column
from kminilog.columns.segment_scan import scan_segment
from kminilog.columns.unnumbered import put_numbers
from kminilog.columns.windows import WINDOW_BYTES, index_hints
from kminilog.columns.writing import ColumnWriter
from kminilog.format.dialect import DIALECTS, KAFKA, Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.publish.fingerprints import RangeSums, range_borders
from kminilog.verification.fast_segment_checks import check_segment
from tests.support.conformance.wheel_oracles import OracleAbsentError, kafka_python

MESSAGES = 1_000_000
FEWER_MESSAGES = (50_000, 300_000)
THEIR_MESSAGES = 10_000  # theirs take so long that a few are enough
ROUNDS = 9
WHOLE_FILE = ("scan", "check", "number", "fingerprint")
ORDERS = TopicPartition("orders", 0)
Pairs = list[tuple[bytes, bytes]]
_HEADER = struct.Struct(">qiIbbi")
_LENGTH = struct.Struct(">i")


def make_pairs(kind: str, count: int = MESSAGES) -> Pairs:
    rng = random.Random(1)
    if kind == "fixed":
        return [(rng.randbytes(10), rng.randbytes(100)) for _ in range(count)]
    return [
        (rng.randbytes(rng.randrange(5, 17)), rng.randbytes(rng.randrange(50, 151)))
        for _ in range(count)
    ]


class Theirs:
    """kafka-python's way to make messages of the old format, and to read and check them."""

    def __init__(self) -> None:
        self._records, default = kafka_python(
            "kafka.record.memory_records", "kafka.partitioner.default"
        )
        self.murmur2: Callable[[bytes], int] = default.murmur2

    def encode(self, pairs: Pairs) -> bytes:
        builder = self._records.MemoryRecordsBuilder(0, 0, 1 << 30)
        for key, value in pairs:
            builder.append(timestamp=None, key=key, value=value)
        builder.close()
        return bytes(builder.buffer())

    def verify(self, data: bytes) -> None:
        records = self._records.MemoryRecords(data)
        while (batch := records.next_batch()) is not None:
            assert batch.validate_crc()
            for record in batch:
                assert record.offset >= 0


def decode_in_a_loop(data: bytes) -> Any:
    """Decode messages of the kafka dialect to Arrow, as fast as a plain loop can."""
    offsets, positions, keys, values = [], [], [], []
    header, length = _HEADER.unpack_from, _LENGTH.unpack_from
    position, end = 0, len(data)
    while position < end:
        offset, size, _, _, _, key_length = header(data, position)
        key_end = position + 22 + key_length
        offsets.append(offset)
        positions.append(position)
        keys.append(data[position + 22 : key_end] if key_length >= 0 else None)
        following = position + 12 + size
        is_null = length(data, key_end)[0] < 0
        values.append(None if is_null else data[key_end + 4 : following])
        position = following
    columns = [pa.array(offsets), pa.array(positions), pa.array(keys), pa.array(values)]
    return pa.table(columns, names=["offset", "position", "key", "value"])


class Ours:
    """One dialect's messages in a segment file, and in memory window by window, with hints."""

    def __init__(self, dialect: Dialect, directory: Path, pairs: Pairs) -> None:
        self.dialect = dialect
        self.keys = pa.array([key for key, _ in pairs])
        self.values = pa.array([value for _, value in pairs])
        writer = ColumnWriter(PartitionLog.open(directory, ORDERS, dialect, TopicSettings()))
        writer.append(self.keys, self.values)
        (self.segment,) = writer.reopen().segments()
        self.data = self.segment.log_path.read_bytes()
        self.windows = list(self._windows(index_hints(self.segment.index.path)))

    def _windows(self, hints: Positions) -> Any:
        """Cut at index entries, so that no message is cut."""
        cuts, start = hints.tolist(), 0
        for cut, following in zip(cuts, [*cuts[1:], 1 << 62], strict=True):
            if following - start > WINDOW_BYTES and cut > start:
                inside = hints[(hints > start) & (hints < cut)] - start
                yield self.data[start:cut], inside
                start = cut
        yield self.data[start:], hints[hints > start] - start

    def encode(self) -> None:
        for _ in encode_columns(self.dialect, 0, self.keys, self.values):
            pass

    def verify(self) -> None:
        for data, hints in self.windows:
            boundaries = find_beginnings(self.dialect, data, hints)
            assert check(self.dialect, data, boundaries).end == len(data)

    def decode(self) -> None:
        for data, hints in self.windows:
            boundaries = find_beginnings(self.dialect, data, hints)
            messages = read_structure(self.dialect, data, boundaries)
            assert to_batch(data, messages).num_rows == len(boundaries) - 1

    def check(self) -> None:
        borders = range_borders(0, MESSAGES)
        assert not check_segment(ORDERS, self.segment, (), borders).findings

    def number(self) -> None:
        for data, hints in self.windows:
            copy = bytearray(data)
            starts = find_beginnings(self.dialect, copy, hints)[:-1]
            put_numbers(copy, starts, np.arange(len(starts)))

    def fingerprint(self) -> None:
        sums = RangeSums(range_borders(0, MESSAGES))
        for data, hints in self.windows:
            fingerprint_messages(data, find_beginnings(self.dialect, data, hints), sums)

    def scan(self) -> None:
        assert scan_segment(self.segment).next_offset == MESSAGES


def measure_messages(kind: str, directory: Path, theirs: Theirs | None) -> None:
    pairs = make_pairs(kind)
    both = [Ours(dialect, directory / name, pairs) for name, dialect in DIALECTS.items()]
    data = both[list(DIALECTS.values()).index(KAFKA)].data
    here = np.frombuffer(data, np.uint8)
    room = np.zeros_like(here)
    works: dict[str, tuple[int, Callable[[], object]]] = {
        "memcpy": (MESSAGES, lambda: np.copyto(room, here)),
        "crc32": (MESSAGES, lambda: zlib.crc32(data)),
        "read and crc32": (MESSAGES, lambda: read_and_crc(both[-1].segment.log_path)),
        "loop": (MESSAGES, lambda: decode_in_a_loop(data)),
    }
    if theirs:
        few = pairs[:THEIR_MESSAGES]
        their_data = theirs.encode(few)
        works["builder"] = (THEIR_MESSAGES, lambda: theirs.encode(few))
        works["reader"] = (THEIR_MESSAGES, lambda: theirs.verify(their_data))
    for ours in both:
        for step in ("encode", "verify", "decode", *WHOLE_FILE):
            works[f"{ours.dialect.name} {step}"] = (MESSAGES, getattr(ours, step))
    taken = nanoseconds(works)
    print(f"\n{kind} lengths, ns a message; crc32 by {crc32.__module__}")
    for name in works:
        if " " not in name or name == "read and crc32":
            print(f"  {name:38}{statistics.median(taken[name]):10.1f}")
    for ours in both:
        name = ours.dialect.name
        for step, yardstick in (("encode", "builder"), ("verify", "reader"), ("decode", "loop")):
            faster(f"{name} {step}", taken, yardstick, "memcpy")
        for step in WHOLE_FILE:
            work, once, read = taken[f"{name} {step}"], taken["crc32"], taken["read and crc32"]
            print(f"  {name + ' ' + step:38}{statistics.median(work):10.1f}"
                  f"{ratio(work, once):10.2f} x as long as crc32, "
                  f"{ratio(work, read):.2f} x read and crc32")  # fmt: skip


def measure_decoding(count: int, directory: Path) -> None:
    """Decode fewer messages, and say how many times as fast as the loop that is."""
    for kind in ("fixed", "mixed"):
        pairs = make_pairs(kind, count)
        both = [Ours(dialect, directory / kind / name, pairs) for name, dialect in DIALECTS.items()]
        data = both[list(DIALECTS.values()).index(KAFKA)].data
        works = {"loop": (count, lambda data=data: decode_in_a_loop(data))}
        for ours in both:
            works[f"{count:,} {kind}, {ours.dialect.name}"] = (count, ours.decode)
        taken = nanoseconds(works)
        for name in list(works)[1:]:
            faster(name, taken, "loop")


def read_and_crc(path: Path) -> int:
    crc = 0
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            crc = zlib.crc32(data, crc)
    return crc


def measure_keys(theirs: Theirs | None) -> None:
    if theirs is None:
        return
    rng = random.Random(1)
    lengths = {"8": (8, 8), "10": (10, 10), "16": (16, 16), "8 to 40": (8, 40)}
    works: dict[str, tuple[int, Callable[[], object]]] = {}
    for name, (shortest, longest) in lengths.items():
        keys = [rng.randbytes(rng.randint(shortest, longest)) for _ in range(MESSAGES)]
        column, few, murmur2 = pa.array(keys), keys[:THEIR_MESSAGES], theirs.murmur2
        works[f"theirs {name}"] = (
            THEIR_MESSAGES,
            lambda few=few, murmur2=murmur2: [murmur2(key) for key in few],
        )
        works[f"murmur2 of {name} bytes"] = (
            MESSAGES,
            lambda column=column: partition_column(column, 12),
        )
    taken = nanoseconds(works)
    print("\nmurmur2, ns a key")
    for name in lengths:
        faster(f"murmur2 of {name} bytes", taken, f"theirs {name}")


def nanoseconds(works: dict[str, tuple[int, Callable[[], object]]]) -> dict[str, list[float]]:
    """Return what a message took, round by round."""
    times = rounds_of_each([work for _, work in works.values()], ROUNDS)
    return {
        name: [seconds / count * 1e9 for seconds in taken]
        for (name, (count, _)), taken in zip(works.items(), times, strict=True)
    }


def faster(
    name: str, taken: dict[str, list[float]], yardstick: str, least: str | None = None
) -> None:
    if yardstick in taken:
        times, others = taken[name], taken[yardstick]
        median, found = statistics.median(times), ratio(others, times)
        told = f"  {name:38}{median:10.1f}{found:10.1f} x as fast as {yardstick}"
        print(told + (f", {ratio(times, taken[least]):.1f} x as long as {least}" if least else ""))


def measure() -> None:
    theirs = None
    try:
        theirs = Theirs()
    except OracleAbsentError as error:
        print(f"bulk: not compared with kafka-python: {error}")
    for kind in ("fixed", "mixed"):
        with tempfile.TemporaryDirectory() as directory:
            measure_messages(kind, Path(directory), theirs)
    print("\ndecode fewer messages, ns a message")
    for count in FEWER_MESSAGES:
        with tempfile.TemporaryDirectory() as directory:
            measure_decoding(count, Path(directory))
    measure_keys(theirs)


if __name__ == "__main__":
    measure()
