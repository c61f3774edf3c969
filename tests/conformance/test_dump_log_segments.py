"""Kafka's own DumpLogSegments reads what kminilog writes, and `dump --format kafka` says the same.

Byte for byte, over sound and damaged files. Both tools are given the same paths.
"""

import gzip
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from tests.support.cli.command_line import CommandLine
from tests.support.conformance.kafka_oracle import dump_log_segments
from tests.support.damage import cut_to, flip_byte, zero_range
from tests.support.shared_data import shared_file

pytestmark = pytest.mark.conformance

LOG = "0" * 20 + ".log"
MESSAGES: list[tuple[bytes | None, bytes | None]] = [
    (None, b"no key"),
    (b"key", b"value"),
    (b"", b""),
    (None, None),
    (b"key", None),
    (b"", None),
    ("ключ".encode(), "naïve 日本 😀".encode()),
    (b"\xff\xfe", b"a\xffb"),
    (b"tab\tand\nnewline", b"\r\n"),
    *((b"key%d" % number, b"v" * number) for number in range(60)),
]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A partition in the kafka dialect with several segments, written by kminilog."""
    settings = TopicSettings(segment_bytes=700, index_interval_bytes=100)
    with LogDirWriter.open(tmp_path / "log-dir", create=True) as writer:
        writer.create_topic(Topic("t", dialect=KAFKA, settings=settings))
        writer.log(TopicPartition("t", 0)).append(MESSAGES)
    return tmp_path / "log-dir" / "t-0"


def assert_same(files: Sequence[Path], kafka_options: list[str], options: list[str]) -> bytes:
    """Assert that both tools say the same about some files, and return what they said."""
    out, complaints = dump_log_segments(files, *kafka_options)
    runs = [
        CommandLine(Path("unused"))("dump", file, "--format", "kafka", *options) for file in files
    ]
    assert b"".join(run.out_bytes for run in runs) == out
    assert "".join(run.err for run in runs) == complaints
    return out


def test_dump_log_segments_reads_every_message_of_a_kafka_topic(directory):
    files = sorted(directory.glob("*.log"))
    assert len(files) > 3
    out, complaints = dump_log_segments(files, "--print-data-log")
    assert complaints == ""
    assert b"isvalid: false" not in out
    assert b"invalid bytes" not in out
    assert out.count(b"isvalid: true") == len(MESSAGES)
    assert out.count(b"Starting offset: ") == len(files)


@pytest.mark.parametrize(
    ("kafka_options", "options"), [([], []), (["--print-data-log"], ["--print-data"])]
)
def test_dump_kafka_format_equals_kafka_on_a_log(directory, kafka_options, options):
    assert_same(sorted(directory.glob("*.log")), kafka_options, options)


def test_dump_kafka_format_equals_kafka_on_an_index(directory):
    files = sorted(directory.glob("*.index"))
    out = assert_same(files, [], [])
    assert out.count(b"position: ") > 2 * len(files)


def test_dump_log_segments_finds_every_index_entry_true(directory):
    files = sorted(directory.glob("*.index"))
    out, complaints = dump_log_segments(files, "--verify-index-only")
    assert out.decode().splitlines() == [f"Dumping {file}" for file in files]
    assert complaints == ""


def test_dump_kafka_format_equals_kafka_on_a_wrong_index(directory):
    index = directory / LOG.replace(".log", ".index")
    flip_byte(index, 3, mask=1)
    _, complaints = dump_log_segments([index])
    assert complaints.startswith("Mismatches in :")
    assert_same([index], [], [])


def test_dump_kafka_format_equals_kafka_on_any_bytes(tmp_path):
    chance = random.Random(82)
    alphabet = (
        bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100)) * 2 + b"\xed\xa0\x80\xe0\xf0\xf4"
    )
    messages = [
        encode(
            KAFKA,
            offset,
            bytes(chance.choices(alphabet, k=chance.randrange(9))),
            bytes(chance.choices(alphabet, k=chance.randrange(40))),
        )
        for offset in range(5_000)
    ]
    path = tmp_path / LOG
    path.write_bytes(b"".join(messages))
    out = assert_same([path], ["--print-data-log"], ["--print-data", "--dialect", "kafka"])
    assert out.count("\ufffd".encode()) > 10_000


def _torn(path: Path) -> None:
    cut_to(path, path.stat().st_size - 5)


def _zeros(path: Path) -> None:
    size = path.stat().st_size
    zero_range(path, size, size + 100)


def _value(path: Path) -> None:
    flip_byte(path, path.stat().st_size - 1, mask=1)


def _magic(path: Path) -> None:
    flip_byte(path, 16, value=5)


def _offset(path: Path) -> None:
    flip_byte(path, 7, value=9)


@pytest.mark.parametrize("damage", [_torn, _zeros, _value, _magic, _offset])
def test_dump_kafka_format_equals_kafka_on_damage(directory, damage):
    path = directory / LOG
    sound = path.read_bytes()
    damage(path)
    assert path.read_bytes() != sound
    assert_same([path], ["--print-data-log"], ["--print-data"])


def test_dump_kafka_format_equals_kafka_on_compressed_messages(tmp_path):
    inner = b"".join(encode(KAFKA, offset, b"k", b"v%d" % offset) for offset in range(5))
    path = tmp_path / LOG
    path.write_bytes(
        encode(KAFKA, 4, None, gzip.compress(inner), attributes=1)
        + encode(KAFKA, 5, b"k", b"plain")
        + encode(KAFKA, 6, None, b"not looked into", attributes=2)
    )
    out = assert_same([path], ["--print-data-log"], ["--print-data", "--dialect", "kafka"])
    assert b"GZIPCompressionCodec" in out
    assert b"SnappyCompressionCodec" in out
    cut_to(path, path.stat().st_size - 26 - len(b"not looked into"))
    deep = ["--deep", "--print-data", "--dialect", "kafka"]
    out = assert_same([path], ["--deep-iteration", "--print-data-log"], deep)
    assert out.count(b"position: 0 ") == 5


def test_dump_kafka_format_equals_kafka_on_a_real_broker_segment():
    path = shared_file("kafka-0.8-segment/00000000000000000000.log")
    out = assert_same([path], ["--print-data-log"], ["--print-data", "--dialect", "kafka"])
    assert out.count(b"isvalid: true") == 11_394
