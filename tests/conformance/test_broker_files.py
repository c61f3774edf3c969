"""Random batches that others wrote are read as their writers read them, record by record."""

import random
from pathlib import Path

import pytest

from kminilog.broker_files.entries import RecordBatch, scan
from kminilog.broker_files.record import NO_SEQUENCE, Record
from kminilog.broker_files.record_batch import BatchHeader
from tests.broker_files.golden_files import ALL, with_right_crc
from tests.support.conformance.wheel_oracles import kafka_python, require, run_java

pytestmark = pytest.mark.conformance

PROGRAM = Path(__file__).parents[1] / "support" / "conformance" / "BatchOracle.java"
JAVA = "Kafka's own Java client"
BATCHES = 5000


def java(text: str) -> list[tuple[str, list[str]]]:
    """Return for each buffer its bytes, as BatchOracle shows them, and the lines about it."""
    lines = require(JAVA, lambda: run_java(PROGRAM, text)).splitlines()
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("bytes"):
            found.append((line.removeprefix("bytes").strip(), []))
        else:
            found[-1][1].append(line)
    return found


def hexed(data: bytes | None) -> str:
    return "null" if data is None else f"x{data.hex()}"


def ours(data: bytes) -> list[str]:
    """Return the lines that BatchOracle should write; raise AssertionError for damage."""
    lines = []
    for batch in scan(data):
        assert isinstance(batch, RecordBatch), batch
        records = list(batch.records())
        assert all(isinstance(record, Record) for record in records), records
        base_offset = batch.base_offset
        if base_offset is None:
            base_offset = records[0].offset
        producer = "-1 -1 -1 false false"
        if isinstance(batch.fields, BatchHeader):
            flags = batch.fields.is_transactional, batch.fields.is_control
            header = batch.fields
            producer = f"{header.producer_id} {header.producer_epoch} {header.base_sequence} "
            producer += " ".join(str(flag).lower() for flag in flags)
        lines.append(
            f"batch {batch.magic} {base_offset} {batch.last_offset} {batch.codec} "
            f"{batch.timestamp_type} {batch.max_timestamp} {producer}"
        )
        for record in records:
            headers = "".join(f" {name}={hexed(value)}" for name, value in record.headers)
            lines.append(
                f"record {record.offset} {record.timestamp} {record.sequence} "
                f"{hexed(record.key)} {hexed(record.value)}{headers}"
            )
    return lines


def test_batches_of_javas_client_are_read_as_it_reads_them():
    buffers = java(f"write 60 {BATCHES}")
    assert len(buffers) == BATCHES
    for data, lines in buffers:
        assert ours(bytes.fromhex(data[1:])) == lines
    counts = {
        word: sum(line.startswith(word) for _, lines in buffers for line in lines)
        for word in ("batch", "record")
    }
    print(f"{counts['batch']} batches with {counts['record']} records agree")


def test_golden_batches_are_read_as_javas_client_reads_them():
    text = "\n".join(["read", *(data.hex() for data in ALL.values())])
    for (_, lines), (name, data) in zip(java(text), ALL.items(), strict=True):
        assert ours(data) == lines, name


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_batches_of_kafka_python_are_read_as_they_were_written(magic):
    name = "legacy_records" if magic < 2 else "default_records"
    (module,) = require("kafka-python", lambda: kafka_python(f"kafka.record.{name}"))
    chance = random.Random(magic)
    count = 0
    for _ in range(1000):
        codec = chance.choice([0, 1])  # what it needs no package for
        rows = [
            (
                chance.randrange(1 << 42) if magic else -1,
                chance.choice([None, chance.randbytes(chance.randrange(40))]),
                chance.choice([None, chance.randbytes(chance.randrange(200))]),
                [("name", chance.randbytes(3))] * chance.randrange(3) if magic == 2 else [],
            )
            for _ in range(chance.randrange(1, 20))
        ]
        if magic == 2:
            builder = module.DefaultRecordBatchBuilder(2, codec, 1, 4000, 5, 17, 1 << 16)
        else:
            builder = module.LegacyRecordBatchBuilder(magic, codec, 1 << 16)
        for offset, (timestamp, key, value, headers) in enumerate(rows):
            fields = [offset, timestamp if magic else None, key, value]
            builder.append(*fields, headers)
        found = [record for batch in scan(bytes(builder.build())) for record in batch.records()]
        sequences = [17 + number if magic == 2 else NO_SEQUENCE for number in range(len(rows))]
        assert found == [
            Record(offset, timestamp, key, value, tuple(headers), sequence)
            for offset, ((timestamp, key, value, headers), sequence) in enumerate(
                zip(rows, sequences, strict=True)
            )
        ]
        count += len(rows)
    print(f"1000 buffers of format v{magic} with {count} records agree")


STRICTER = {
    "bytes after its value": "Kafka ignores what follows the value of a message",
    "record set is cut short": "Kafka ends there, and does not say that messages are missing",
    "frameSize_wrong": "Kafka ignores the content size of lz4",
}
"""What is damage for us and not for Kafka's reader, and why."""


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return the first batch with some bytes changed and a right crc: its writer was wrong."""
    batch = next(scan(data))
    assert isinstance(batch, RecordBatch)
    start = 23 if batch.magic == 2 else 17  # Kafka looks at the codec of an empty batch, too
    changed = bytearray(batch.data)
    for _ in range(chance.randrange(1, 4)):
        new = chance.choice([0, 1, 0x7F, 0xFF, chance.randrange(256)])
        changed[chance.randrange(start, len(changed))] = new
    return with_right_crc(bytes(changed))


def test_batches_of_a_wrong_writer_are_refused_where_javas_client_refuses_them():
    chance = random.Random(7)
    buffers = [damaged(ALL[chance.choice(sorted(ALL))], chance) for _ in range(3000)]
    answers = java("\n".join(["read", *(data.hex() for data in buffers)]))
    differences, refused, stricter = [], 0, 0
    for (_, lines), data in zip(answers, buffers, strict=True):
        theirs = next((line for line in lines if line.startswith("refused")), "")
        try:
            ours(data)
            said = ""
        except AssertionError as error:
            said = str(error)
        refused += bool(theirs and said)
        if any(words in said for words in STRICTER) and not theirs:
            stricter += 1
        elif bool(theirs) != bool(said):
            differences.append((data.hex(), theirs, said))
    print(f"of {len(buffers)} both refuse {refused}, and {stricter} more are refused only here")
    assert differences == []
