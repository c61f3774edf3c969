"""Random batches that others wrote are read as their writers read them, record by record."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from kminilog.broker_files.codecs import CODECS
from kminilog.broker_files.entries import RecordBatch, scan
from kminilog.broker_files.log_file import walk_log
from kminilog.broker_files.record import Record
from kminilog.broker_files.record_batch import BatchHeader
from kminilog.system import SystemClock
from kminilog.verification.broker_files.report import verify_broker
from tests.broker_files.golden_files import ALL, with_right_crc
from tests.support.conformance.wheel_oracles import (
    LIBRDKAFKA,
    MOCK_BROKER,
    PYTHON_CLIENTS,
    installed,
    require,
    run_java,
    run_python,
)

pytestmark = pytest.mark.conformance

PROGRAMS = Path(__file__).parents[1] / "support" / "conformance"
JAVA = "Kafka's own Java client"
BATCHES = 5000
PYTHON_BATCHES = 1000
MOCK_RECORDS = 2000
Answers = list[tuple[str, list[str]]]
CONTROL_KEYS = {"x00000000": "aborted transactions", "x00000001": "committed transactions"}


def java(text: str) -> Answers:
    """Return for each buffer its bytes, as BatchOracle shows them, and the lines about it."""
    return answers(require(JAVA, lambda: run_java(PROGRAMS / "BatchOracle.java", text)))


def python(client: str, text: str) -> Answers:
    """Return the same of a Python client."""
    program = PROGRAMS / "batch_oracle.py"

    def asked() -> str:
        path = installed(*PYTHON_CLIENTS[client], alone=False)
        return run_python(program, client, path=path, stdin=text)

    return answers(require(client, asked))


def mock_broker(seed: int, count: int) -> Answers:
    """Return what librdkafka's mock broker stores, for each codec and once for a transaction."""
    program = PROGRAMS / "mock_broker.py"

    def asked() -> str:
        return run_python(program, str(seed), str(count), path=installed(LIBRDKAFKA))

    return answers(require(MOCK_BROKER, asked))


def answers(output: str) -> Answers:
    found: Answers = []
    for line in output.splitlines():
        if line.startswith("bytes"):
            found.append((line.removeprefix("bytes").strip(), []))
        else:
            found[-1][1].append(line)
    return found


def read(buffers: Iterable[bytes]) -> str:
    """Return what an oracle is asked about these bytes."""
    return "\n".join(["read", *(data.hex() for data in buffers)])


def is_same(theirs: list[str], lines: list[str]) -> bool:
    """Tell if both say the same; a client that does not tell something says "?"."""
    if len(theirs) != len(lines):
        return False
    words = zip(" ".join(theirs).split(" "), " ".join(lines).split(" "), strict=False)
    return all(their == our or their == "?" for their, our in words)


def counted(buffers: Iterable[list[str]]) -> str:
    lists = list(buffers)
    batches = sum(line.startswith("batch") for lines in lists for line in lines)
    return f"{batches} batches with {sum(map(len, lists)) - batches} records"


def hexed(data: bytes | None) -> str:
    return "null" if data is None else f"x{data.hex()}"


def ours(data: bytes) -> list[str]:
    """Return the lines that BatchOracle should write; raise AssertionError for damage."""
    return lines_about(scan(data))


def lines_about(outcomes: Iterable[object]) -> list[str]:
    lines = []
    for batch in outcomes:
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
    kinds = Counter(kind for _, lines in buffers for kind in kinds_of(lines))
    print(f"{counted(lines for _, lines in buffers)} agree: {dict(sorted(kinds.items()))}")
    codecs = {f"v{magic} {codec}" for magic in (0, 1, 2) for codec in CODECS[: 4 + magic // 2]}
    others = {"empty", "gap", "null key", "null value", "100 headers", "offset above 2^31"}
    assert kinds.keys() == codecs | others | {*CONTROL_KEYS.values()}


def kinds_of(lines: list[str]) -> Iterator[str]:
    """Yield what is special in one buffer; a kind may come twice."""
    for line, following in pairwise([*lines, "end"]):
        word, *fields = line.split(" ")
        if word == "batch":
            magic, base, last, codec, *_, is_control = fields
            yield f"v{magic} {codec}"
            if int(base) > 1 << 31:
                yield "offset above 2^31"
            if not following.startswith("record"):
                yield "empty"
        else:
            offset, _, _, key, value, *headers = fields
            if magic == "2" and not following.startswith("record") and offset != last:
                yield "gap"
            if is_control == "true":
                yield CONTROL_KEYS[key]
            elif "null" in (key, value):
                yield "null key" if key == "null" else "null value"
            if len(headers) == 100:
                yield "100 headers"


def test_golden_batches_are_read_as_javas_client_reads_them():
    for (_, lines), (name, data) in zip(java(read(ALL.values())), ALL.items(), strict=True):
        assert ours(data) == lines, name


@pytest.mark.parametrize("client", PYTHON_CLIENTS)
def test_batches_of_a_python_client_are_read_as_it_and_javas_read_them(client):
    buffers = python(client, f"write 60 {PYTHON_BATCHES}")
    assert len(buffers) == PYTHON_BATCHES
    written = [bytes.fromhex(data[1:]) for data, _ in buffers]
    here = [ours(data) for data in written]
    for (_, theirs), lines in zip(buffers, here, strict=True):
        assert is_same(theirs, lines)
    assert [lines for _, lines in java(read(written))] == here
    print(f"{client}: {counted(here)} are read alike by it, by Java's client and here")


@pytest.mark.parametrize("client", PYTHON_CLIENTS)
def test_batches_of_javas_client_are_read_as_a_python_client_reads_them(client):
    written = [bytes.fromhex(data[1:]) for data, _ in java(f"write 61 {PYTHON_BATCHES}")]
    written = [data for data in written if data]  # compaction has left nothing of some
    here = [ours(data) for data in written]
    refused = 0
    for (_, theirs), lines in zip(python(client, read(written)), here, strict=True):
        if theirs[0].startswith("refused UnsupportedCodecError"):
            assert (client, lines[0].split(" ")[1]) == ("aiokafka", "0")
            refused += 1
        else:
            assert is_same(theirs, lines)
    print(f"{client}: {counted(here)} of Java's client; {refused} buffers refused (lz4 in v0)")


def test_file_of_all_writers_and_formats_is_read_as_every_client_reads_it(tmp_path):
    buffers = [*java("write 62 600")]
    for client in PYTHON_CLIENTS:
        buffers += python(client, "write 62 600")
    Random(62).shuffle(buffers)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(bytes.fromhex(data[1:]) for data, _ in buffers))
    lines = lines_about(walk_log(path))
    ((_, theirs),) = java(read([path.read_bytes()]))
    assert theirs == lines
    ((_, theirs),) = python("kafka", read([path.read_bytes()]))
    assert is_same(theirs, lines)
    print(f"one file, all formats: {counted([lines])}")


def test_what_librdkafkas_mock_broker_stores_is_read_as_librdkafka_reads_it(tmp_path):
    found = mock_broker(seed=63, count=MOCK_RECORDS)
    assert len(found) == len(CODECS) + 1
    for number, (data, theirs) in enumerate(found):
        is_transaction = number == len(CODECS)
        log_dir = tmp_path / str(number)
        directory = log_dir / "orders-0"
        directory.mkdir(parents=True)
        path = directory / "00000000000000000000.log"
        path.write_bytes(bytes.fromhex(data[1:]))
        batches = list(walk_log(path))
        lines = lines_about(batches)
        assert len(theirs) == MOCK_RECORDS
        assert is_same(theirs, [line for line in lines if line.startswith("record")])
        ((_, javas),) = java(read([path.read_bytes()]))
        assert javas == lines
        codec = "zstd" if is_transaction else CODECS[number]
        assert {batch.codec for batch in batches} == {codec}
        assert {batch.fields.is_transactional for batch in batches} == {is_transaction}
        report = verify_broker(log_dir, clock=SystemClock(), full=True)
        no_indexes = {"index-sparse", "time-index-sparse"}
        open_one = {"open-transaction"} if is_transaction else set()
        assert {kind.value for kind in report.tally.counts()} == no_indexes | open_one
    print(f"mock broker: {counted([lines_about(scan(bytes.fromhex(d[1:]))) for d, _ in found])}")


STRICTER = {
    "bytes after its value": "Kafka ignores what follows the value of a message",
    "record set is cut short": "Kafka ends there, and does not say that messages are missing",
    "frameSize_wrong": "Kafka ignores the content size of lz4",
}
"""What is damage for us and not for Kafka's reader, and why."""


def damaged(data: bytes, chance: Random) -> bytes:
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
    chance = Random(7)
    buffers = [damaged(ALL[chance.choice(sorted(ALL))], chance) for _ in range(3000)]
    found = java(read(buffers))
    differences, refused, stricter = [], 0, 0
    for (_, lines), data in zip(found, buffers, strict=True):
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
