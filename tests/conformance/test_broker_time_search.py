"""`find --time` finds what Kafka's broker finds, in all formats, with and without indexes."""

import struct
from pathlib import Path
from random import Random

import pytest

from kminilog.broker_files.crc32c import crc32c
from kminilog.broker_files.directory import BrokerDirectory
from kminilog.broker_files.entries import RecordBatch, scan
from kminilog.broker_files.partition import BrokerPartition
from kminilog.format.names import TopicPartition
from tests.broker_files.golden_files import java as golden
from tests.broker_files.partitions import at, write_segment
from tests.support.conformance.wheel_oracles import require, run_java

pytestmark = pytest.mark.conformance

PROGRAM = Path(__file__).parents[1] / "support" / "conformance" / "TimeSearchOracle.java"
PLAIN = ("v0-none", "v1-none", "v2-none", "v2-gzip", "v2-zstd", "v2-compacted", "v2-transactional")
PARTITIONS, TIMES = 40, 30


def later(batch: bytes, milliseconds: int) -> bytes:
    """Return a batch of format v2 whose timestamps are so much greater, with a right crc."""
    after_crc = bytearray(batch[21:])
    times = struct.unpack_from(">qq", after_crc, 6)
    struct.pack_into(">qq", after_crc, 6, *(time + milliseconds for time in times))
    return batch[:17] + struct.pack(">I", crc32c(bytes(after_crc))) + after_crc


def random_partition(path: Path, chance: Random) -> BrokerPartition:
    """Make a partition of some segments whose timestamps go up and down."""
    offset = 0
    for _ in range(chance.randint(1, 4)):
        base_offset, data = offset, b""
        for _ in range(chance.randint(1, 12)):
            case = chance.choice(PLAIN)
            batch = golden(case)
            if case.startswith("v2"):
                batch = later(batch, chance.randint(-(10**6), 10**6))
            data += at(offset, batch)
            *_, last = scan(data)
            assert isinstance(last, RecordBatch)
            offset = last.last_offset + 1
        write_segment(path / "orders-0", base_offset, data, interval_bytes=chance.choice((0, 300)))
    (path / "log-start-offset-checkpoint").write_text(
        f"0\n1\norders 0 {chance.randrange(offset)}\n"
    )
    if chance.random() < 0.3:
        for index in path.rglob("*.timeindex"):
            index.unlink()
    return BrokerPartition(BrokerDirectory(path), TopicPartition("orders", 0))


def test_first_record_that_is_not_earlier_is_the_one_that_kafka_finds(tmp_path: Path) -> None:
    chance, asked, found = Random(60), [], list[str]()
    for number in range(PARTITIONS):
        partition = random_partition(tmp_path / str(number), chance)
        for _ in range(TIMES):
            timestamp = 1_700_000_000_000 + chance.randint(-2 * 10**6, 2 * 10**6)
            ours = partition.find_time(timestamp)
            record = ours and ours.stored.record
            found.append(f"{record.offset} {record.timestamp}" if record else "none")
            start = partition.log_start_offset
            asked.append([f"{one.log_path} {timestamp} {start}" for one in partition.segments])
    text = "\n".join(line for lines in asked for line in lines)
    answers = iter(require("Kafka's own Java client", lambda: run_java(PROGRAM, text)).splitlines())
    # A broker takes the first segment in which there is one.
    theirs = [
        next((answer for answer in answers_of if answer != "none"), "none")
        for answers_of in ([next(answers) for _ in lines] for lines in asked)
    ]
    assert found == theirs
    assert 0 < found.count("none") < PARTITIONS * TIMES / 2
