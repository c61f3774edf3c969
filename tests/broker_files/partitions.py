"""Partitions as a broker writes them: golden batches at chosen offsets, and indexes by the format.

The offset of a batch of format v2 and of a plain message stands in front of its crc: so a golden
batch stays whole at another offset.
"""

import struct
from pathlib import Path

from kminilog.broker_files.entries import RecordBatch, scan
from tests.broker_files.golden_files import java

RECORDS = 4  # in each of the golden cases that are named after a format and a codec


def at(offset: int, data: bytes) -> bytes:
    """Return a batch of format v2, or plain messages, that begin at this offset."""
    batches = []
    for batch in scan(data):
        assert isinstance(batch, RecordBatch)
        first = next(scan(data))
        assert isinstance(first, RecordBatch)
        relative = (batch.base_offset or 0) - (first.base_offset or 0)
        batches.append(struct.pack(">q", offset + relative) + batch.data[8:])
    return b"".join(batches)


def write_segment(
    partition: Path,
    base_offset: int,
    data: bytes,
    *,
    interval_bytes: int = 300,
    padding_bytes: int = 0,
) -> Path:
    """Write a segment with both indexes, which may be padded; return its `.log`."""
    partition.mkdir(parents=True, exist_ok=True)
    entries, times = b"", b""
    last_position, max_timestamp, its_offset = 0, -1, base_offset
    for batch in scan(data):
        assert isinstance(batch, RecordBatch)
        if batch.max_timestamp > max_timestamp:
            max_timestamp, its_offset = batch.max_timestamp, batch.last_offset
        if batch.position - last_position > interval_bytes:
            entries += struct.pack(">ii", batch.last_offset - base_offset, batch.position)
            times += struct.pack(">qi", max_timestamp, its_offset - base_offset)
            last_position = batch.position
    name = partition / f"{base_offset:020}"
    name.with_suffix(".index").write_bytes(entries + bytes(8 * padding_bytes))
    name.with_suffix(".timeindex").write_bytes(times + bytes(12 * padding_bytes))
    name.with_suffix(".log").write_bytes(data)
    return name.with_suffix(".log")


def transactions(offset: int, *fates: str) -> bytes:
    """Return a record and its marker for each fate, `commit` or `abort`; `open` has no marker."""
    data = b""
    for place, fate in enumerate(fates):
        data += at(offset + 2 * place, java("v2-transactional"))
        if fate != "open":
            data += at(offset + 2 * place + 1, java(f"v2-{fate}"))
    return data


def broker_directory(path: Path) -> Path:
    """Make a broker's log directory with two topics in formats v0 to v2, and return it.

    `mixed-0`: v0 at 0, v1 at 4, v2 from 8 to 27 in five codecs, in two segments; then transactions.
    """
    path.mkdir()
    (path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    (path / "log-start-offset-checkpoint").write_text("0\n1\nmixed 0 1\n")
    old = at(0, java("v0-none")) + at(4, java("v1-none"))
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    new = [at(8 + 4 * place, java(f"v2-{codec}")) for place, codec in enumerate(codecs)]
    write_segment(path / "mixed-0", 0, old + b"".join(new[:2]))
    last = b"".join(new[2:]) + transactions(28, "commit", "abort", "commit")
    write_segment(path / "mixed-0", 16, last, padding_bytes=40)
    (path / "mixed-0" / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (path / "mixed-0" / "partition.metadata").write_text("version: 0\ntopic_id: x\n")
    write_segment(path / "big-3", 2**31 + 5, at(2**31 + 5, java("v2-hundred-headers")))
    (path / "big-3" / f"{0:020}.log.deleted").touch()
    (path / f"mixed-1.{'0' * 32}-stray").mkdir()
    return path
