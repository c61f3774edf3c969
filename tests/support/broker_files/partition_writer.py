"""A partition's directory as a Kafka broker of today writes it, from the description of its files.

Only the checksum is kminilog's: the layout of batches, the rule for index entries (Kafka 4:
LogSegment.append) and that of the transaction index stand here a second time.
"""

import gzip
import struct
from pathlib import Path
from typing import NamedTuple

from kminilog.broker_files.crc32c import crc32c

_BATCH = struct.Struct(">qiibIhiqqqhii")
_TRANSACTIONAL, _CONTROL = 0x10, 0x20
ABORT, COMMIT = 0, 1
START_MS = 1_700_000_000_000


class Producer(NamedTuple):
    """A producer's id and epoch, and the sequence of its next record."""

    number: int
    epoch: int = 0
    sequence: int = 0
    is_transactional: bool = False

    def after(self, count: int) -> "Producer":
        return self._replace(sequence=(self.sequence + count) % (1 << 31))


NOBODY = Producer(-1, -1, -1)


def varint(number: int) -> bytes:
    unsigned = 2 * number if number >= 0 else -2 * number - 1
    encoded = bytearray()
    while unsigned >= 0x80:
        encoded.append(unsigned & 0x7F | 0x80)
        unsigned >>= 7
    return bytes([*encoded, unsigned])


def record(delta: int, key: bytes | None, value: bytes | None, time_delta: int = 0) -> bytes:
    body = b"\0" + varint(time_delta) + varint(delta)
    for part in (key, value):
        body += varint(-1) if part is None else varint(len(part)) + part
    body += varint(0)
    return varint(len(body)) + body


def batch(
    base_offset: int,
    records: list[tuple[bytes | None, bytes | None]],
    *,
    epoch: int = 0,
    timestamp: int = START_MS,
    producer: Producer = NOBODY,
    is_control: bool = False,
    is_gzip: bool = False,
    deltas: list[int] | None = None,
    last_delta: int | None = None,
    max_timestamp: int | None = None,
    count: int | None = None,
) -> bytes:
    """Return the bytes of a batch; record n has offset delta and time delta n, or those given."""
    deltas = list(range(len(records))) if deltas is None else deltas
    payload = b"".join(
        record(delta, *each, time_delta=delta) for delta, each in zip(deltas, records, strict=True)
    )
    if is_gzip:
        payload = gzip.compress(payload, mtime=0)
    last_delta = (deltas[-1] if deltas else 0) if last_delta is None else last_delta
    greatest = timestamp + (deltas[-1] if deltas else 0) if max_timestamp is None else max_timestamp
    attributes = is_gzip * 1 | producer.is_transactional * _TRANSACTIONAL | is_control * _CONTROL
    count = len(records) if count is None else count
    fields = (attributes, last_delta, timestamp, greatest, *producer[:3], count)
    packed = _BATCH.pack(base_offset, 49 + len(payload), epoch, 2, 0, *fields) + payload
    return packed[:17] + struct.pack(">I", crc32c(packed[21:])) + packed[21:]


class PartitionWriter:
    """Appends batches to a partition; `close` writes the small files beside it."""

    def __init__(
        self,
        log_dir: Path,
        name: str = "orders-0",
        *,
        start: int = 0,
        segment_bytes: int = 1 << 30,
        interval_bytes: int = 400,
    ) -> None:
        self.log_dir, self.name, self.directory = log_dir, name, log_dir / name
        self.directory.mkdir(parents=True)
        (log_dir / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
        self.offset = start
        self.segment_bytes, self.interval_bytes = segment_bytes, interval_bytes
        self.epochs: list[tuple[int, int]] = []
        self.batches: list[tuple[Path, int, int]] = []  # file, position, size
        self._open: dict[int, int] = {}
        self._clock_ms = START_MS
        self._roll()

    def append(
        self,
        count: int = 5,
        *,
        epoch: int = 0,
        producer: Producer = NOBODY,
        value: bytes = b"value",
        **options: object,
    ) -> Producer:
        """Append a batch of so many records; return its producer with the next sequence."""
        records = [(b"key %d" % n, value) for n in range(count)]
        if producer.is_transactional:
            self._open.setdefault(producer.number, self.offset)
        data = batch(
            self.offset,
            records,
            epoch=epoch,
            producer=producer,
            timestamp=self._clock_ms,
            **options,  # type: ignore[arg-type]
        )
        self.append_bytes(data)
        return producer.after(count)

    def end(self, producer: Producer, kind: int = COMMIT, *, epoch: int = 0) -> None:
        """Append a marker; an abort gets its entry in the transaction index."""
        marker = struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 3)
        controller = producer._replace(sequence=-1, is_transactional=True)
        offset = self.offset
        data = batch(
            offset,
            [marker],
            epoch=epoch,
            producer=controller,
            timestamp=self._clock_ms,
            is_control=True,
        )
        self.append_bytes(data)
        first = self._open.pop(producer.number, None)
        if kind == ABORT and first is not None:
            stable = min(self._open.values(), default=offset + 1)
            with self.path(".txnindex").open("ab") as file:
                file.write(struct.pack(">hqqqq", 0, producer.number, first, offset, stable))

    def append_bytes(self, data: bytes, *, next_offset: int | None = None) -> None:
        """Append a batch as it is, and index it."""
        if self._log_bytes and self._log_bytes + len(data) > self.segment_bytes:
            self._become_inactive()
            self._roll()
        fields = _BATCH.unpack_from(data)
        epoch, last_offset, greatest = fields[2], fields[0] + fields[6], fields[8]
        if not self.epochs or epoch > self.epochs[-1][0]:
            self.epochs.append((epoch, fields[0]))
        if greatest > self._greatest[0]:
            self._greatest = greatest, last_offset
        self.batches.append((self.path(".log"), self._log_bytes, len(data)))
        self._write(".log", data)
        if self._since_entry > self.interval_bytes:
            self._write(".index", struct.pack(">ii", last_offset - self.base, self._log_bytes))
            self._index_time()
            self._since_entry = 0
        self._log_bytes += len(data)
        self._since_entry += len(data)
        self._clock_ms += 1000
        self.offset = last_offset + 1 if next_offset is None else next_offset

    def close(self, *, high_watermark: int | None = None, with_epochs: bool = True) -> Path:
        """Write the checkpoints, and end in order; return the log directory."""
        self._become_inactive()
        if with_epochs:
            rows = "".join(f"{epoch} {start}\n" for epoch, start in self.epochs)
            text = f"0\n{len(self.epochs)}\n{rows}"
            (self.directory / "leader-epoch-checkpoint").write_text(text)
        self.checkpoint("recovery-point-offset-checkpoint", self.offset)
        mark = self.offset if high_watermark is None else high_watermark
        self.checkpoint("replication-offset-checkpoint", mark)
        return self.log_dir

    def checkpoint(self, file: str, offset: int) -> None:
        topic, _, partition = self.name.rpartition("-")
        (self.log_dir / file).write_text(f"0\n1\n{topic} {partition} {offset}\n")

    def path(self, suffix: str) -> Path:
        return self.directory / f"{self.base:020d}{suffix}"

    def _roll(self) -> None:
        self.base, self._log_bytes, self._since_entry = self.offset, 0, 0
        self._greatest, self._indexed_time = (-1, -1), -1
        for suffix in (".log", ".index", ".timeindex"):
            self.path(suffix).touch()

    def _become_inactive(self) -> None:
        self._index_time()

    def _index_time(self) -> None:
        timestamp, offset = self._greatest
        if timestamp > self._indexed_time:
            self._write(".timeindex", struct.pack(">qi", timestamp, offset - self.base))
            self._indexed_time = timestamp

    def _write(self, suffix: str, data: bytes) -> None:
        with self.path(suffix).open("ab") as file:
            file.write(data)
