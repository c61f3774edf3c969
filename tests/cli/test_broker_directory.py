"""A Kafka broker's log directory as `--log-dir`: some commands read it, nothing changes there."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kminilog.cli.broker_files import door
from kminilog.cli.main import COMMANDS
from kminilog.format.names import segment_name
from tests.broker_files.golden_files import java
from tests.broker_files.partitions import at, broker_directory, transactions, write_segment
from tests.support.broker_files.partition_writer import PartitionWriter
from tests.support.cli.command_line import CommandLine, assert_one_line, environment
from tests.support.processes import Process
from tests.support.shared_data import shared_file

FIRST, SECOND = segment_name(0), segment_name(16)
READING = (
    "ls",
    "ls mixed",
    "ls --json",
    "ls --html {out}",
    "find mixed-0 17",
    "find mixed-0 17 --json",
    "find mixed-0 99",
    "find mixed-0 --time 1700000000001",
    "find mixed-0 --time 2023-11-14T22:13:20Z --json",
    "find mixed-0 --key key",
    "dump mixed-0 --print-data",
    "dump mixed-0 --json",
    "dump mixed-0 --deep --json",
    f"dump {{path}}/mixed-0/{FIRST}.log",
    f"dump {{path}}/mixed-0/{SECOND}.index",
    f"dump {{path}}/mixed-0/{SECOND}.timeindex",
    "dump {path}/mixed-0/leader-epoch-checkpoint",
    "consume mixed --until-end",
    "consume mixed --until-end --json",
    "verify",
    "verify mixed --full --json",
    "consume mixed --group g",
)
WRITING = (
    "topic create new",
    "topic delete mixed --yes",
    "topic alter mixed --partitions 5",
    "produce mixed {lines}",
    "recover mixed-0",
    "recover mixed-0 --dry-run",
    "retain",
    "compact mixed",
    "ingest {lines} --topic mixed",
    "group list",
    "group reset g --to earliest --yes",
)


@pytest.fixture
def kafka(tmp_path: Path) -> CommandLine:
    (tmp_path / "lines.txt").write_text("a line\n")
    return CommandLine(broker_directory(tmp_path / "kafka"))


def listing(path: Path) -> dict[str, tuple[Any, ...]]:
    """Return what the operating system says of each name: size, times, inode, mode."""
    found = {}
    for one in sorted([path, *path.rglob("*")]):
        status = one.lstat()
        times = status.st_mtime_ns, status.st_ctime_ns, status.st_atime_ns
        found[str(one)] = (status.st_size, status.st_mode, status.st_ino, *times)
    return found


def words(line: str, kafka: CommandLine) -> list[str]:
    out, lines = kafka.log_dir.parent / "out.html", kafka.log_dir.parent / "lines.txt"
    return line.format(path=kafka.log_dir, out=out, lines=lines).split()


def code_of(line: str) -> int:
    """Return how a reading command ends: no such offset, findings, or refused."""
    if line == "find mixed-0 99" or line.startswith("verify"):
        return 1
    return 2 if "--group" in line else 0


def age(path: Path) -> None:
    """Make times of access old, so that reading would set them anew, whatever the mount says."""
    for one in [*path.rglob("*"), path]:
        os.utime(one, ns=(10**18, one.stat().st_mtime_ns))


@pytest.mark.parametrize("line", READING)
def test_reading_command_changes_nothing(kafka: CommandLine, line: str) -> None:
    age(kafka.log_dir)
    before = listing(kafka.log_dir)
    code = kafka(*words(line, kafka)).code
    assert code == code_of(line)
    assert listing(kafka.log_dir) == before


@pytest.mark.parametrize("line", WRITING)
def test_writing_command_is_refused_in_one_line(kafka: CommandLine, line: str) -> None:
    before = listing(kafka.log_dir)
    assert kafka(*words(line, kafka)) == (
        2,
        "",
        f"kminilog: log dir {kafka.log_dir}: a Kafka broker's directory, which is read-only here; "
        "these commands read it: ls, find, dump, consume, verify\n",
        b"",
    )
    assert listing(kafka.log_dir) == before


def test_every_command_reads_is_refused_or_needs_no_log_dir() -> None:
    """A new command that takes a log dir has to be in one of the lists."""
    elsewhere = {"demo", "partition", "assign", "cluster", "step"}
    course = {"lab", "course", "playground"}
    assert {*door.READING, *door.WRITING} == {*COMMANDS} - elsewhere - course


def test_help_of_a_refused_command_is_shown(kafka: CommandLine) -> None:
    assert kafka.ok("produce", "--help").out.startswith("Usage:")


@pytest.mark.processes
def test_nothing_changes_while_a_broker_appends_and_rolls(kafka: CommandLine) -> None:
    """All that is new was written by the other process; no record is read twice."""
    writer = Process(
        [sys.executable, "-m", "tests.support.cli.appending_broker", kafka.log_dir / "live-0"],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with writer:
        assert writer.stdout
        assert writer.stdin
        writer.stdout.readline()  # its first segments are there
        age(kafka.log_dir / "mixed-0")
        before = listing(kafka.log_dir / "mixed-0")
        for _ in range(5):
            for line in ("ls", "find live-0 0", "dump live-0", "consume live --until-end --json"):
                run = kafka(*words(line, kafka))
                is_half_written = line.startswith("dump") and "torn-tail" in run.out
                is_refused = line == "find live-0 0" or is_half_written
                assert run.code == int(is_refused), (line, run)
            offsets = [one["offset"] for one in run.records]
            assert offsets == sorted({*offsets})
        assert listing(kafka.log_dir / "mixed-0") == before
        writer.stdin.close()
        written = {*writer.stdout.read().decode().split()}
    assert {path.name for path in (kafka.log_dir / "live-0").iterdir()} == written
    others = {path.name for path in broker_directory(kafka.log_dir.parent / "b").iterdir()}
    assert {path.name for path in kafka.log_dir.iterdir()} == {*others, "live-0"}


def test_directory_that_nobody_may_write_is_read(kafka: CommandLine) -> None:
    for path in [*kafka.log_dir.rglob("*"), kafka.log_dir]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    age(kafka.log_dir)
    before = listing(kafka.log_dir)
    for line in READING[:-1]:
        assert kafka(*words(line, kafka)).code == code_of(line), line
    assert listing(kafka.log_dir) == before


# ---- what is shown


def test_ls_lists_segments_and_names_all_else(kafka: CommandLine) -> None:
    shown = kafka.ok("ls").out
    assert f"mixed-0\n  {FIRST}  0..15 " in shown
    assert f"mixed-0    {SECOND}  16..33" in kafka.ok("ls", "mixed").out
    assert f"mixed-1.{'0' * 32}-stray: a partition that is not assigned to this broker" in shown
    assert f"big-3/{FIRST}.log.deleted: deleted by the broker" in shown
    (segment,) = json.loads(kafka("ls", "big", "--json").out)
    assert (segment["topic"], segment["base_offset"]) == ("big", 2**31 + 5)
    assert set(segment["files"]) == {
        f"{2**31 + 5:020}{suffix}" for suffix in (".log", ".index", ".timeindex")
    }


def test_ls_of_a_segment_under_a_greater_name_begins_with_its_first_batch(tmp_path: Path) -> None:
    writer = PartitionWriter(tmp_path / "kafka", start=30)
    writer.append(5)
    writer.close()
    for file in writer.directory.glob("0*"):
        file.rename(file.with_name(f"{73:020}{file.suffix}"))
    (segment,) = json.loads(CommandLine(tmp_path / "kafka")("ls", "--json").out)
    assert (segment["first_offset"], segment["next_offset"], segment["message_count"]) == (
        30,
        35,
        5,
    )
    assert segment["base_offset"] == 73


@pytest.mark.parametrize("offset", [2**31 + 5, 10**11 - 3])
def test_ls_table_of_large_offsets_fits_80_columns(tmp_path: Path, offset: int) -> None:
    """Below the name of its partition, which may be long, a segment is one line."""
    name = "a-topic-with-quite-a-long-name-12"
    write_segment(tmp_path / "kafka" / name, offset, at(offset, java("v2-none")))
    os.truncate(tmp_path / "kafka" / name / f"{segment_name(offset)}.log", 10**6)
    heads, partition, segment = CommandLine(tmp_path / "kafka").ok("ls").out.splitlines()
    assert heads.split() == ["segment", "offsets", "messages", "bytes", "entries"]
    assert partition == name
    assert segment.split()[1:] == [f"{offset}..{offset + 3}", "4", f"{10**6}", "0"]
    assert len(segment) <= 80


WRONG = (
    ("ls nobody", 2, "{path} has no topic nobody; `kminilog ls` shows what is there"),
    ("ls --html {path}/out.html", 2, "it is in the log dir {path}; name a file elsewhere"),
    ("find mixed 3", 2, "Invalid value for 'TOPIC-P': 'mixed' names no partition"),
    ("find mixed-7 3", 2, "{path} has no partition mixed-7; "),
    ("find mixed-0 99", 1, "offset 99 is out of range; it holds offsets from 1 up to"),
    ("find mixed-0 -1", 2, "-1 is no offset"),
    ("find mixed-0", 2, "give an OFFSET, a time with --time, or a key with --key"),
    ("find mixed-0 --time -5", 2, "'-5' is no time: write milliseconds since 1970"),
    ("find mixed-0 3 --explain", 2, "no --explain in a Kafka broker's directory: "),
    ("find mixed --key nobody", 1, 'no record of mixed has the key "nobody"'),
    ("find nobody --key k", 2, "{path} has no topic nobody; "),
    ("dump nothing.log", 2, "Invalid value for 'FILE|TOPIC-P': 'nothing.log' is no file, and no "),
    ("dump {path}/mixed-0", 2, "is no file, and no partition like orders-0; `kminilog ls`"),
    ("dump mixed-7", 2, "{path} has no partition mixed-7; "),
    ("dump mixed-0 --at 3", 2, "--at is a byte of one file: name the file"),
    ("dump mixed-0 --offset 99", 1, "mixed-0: no batch holds offset 99"),
    ("dump mixed-0 --at 3 --offset 3", 2, "give one of them"),
    ("consume mixed --until-end --offset 99", 1, "offset 99 is out of range"),
    (
        "consume mixed --until-end --format %Q",
        2,
        "%Q: the letters are %t %p %o %k %s %K %S %R %T %h",
    ),
    ("consume mixed --partition 7", 2, "{path} has no partition mixed-7; "),
    ("consume --pattern x.*", 2, "no topic matches 'x.*'"),
    ("consume mixed --group g", 2, "a group commits offsets, and nothing is written"),
    ("consume mixed --streams 2", 2, "no --streams in a Kafka broker's directory: "),
    ("verify nobody", 2, "{path} has no topic nobody; "),
    ("verify --engine spark", 2, "{path} is a Kafka broker's: no --engine spark, this process "),
    ("verify --against x", 2, "no --against, verify compares a broker's files with no source"),
    (
        "verify --same-places",
        2,
        "no option about a source, verify compares a broker's files with no",
    ),
)


@pytest.mark.parametrize(("line", "code", "said"), WRONG)
def test_wrong_input_is_told_in_one_line(kafka: CommandLine, line: str, code: int, said: str):
    run = kafka(*words(line, kafka))
    assert_one_line(run, code, said.format(path=kafka.log_dir))
    assert run.out == ""


def test_ls_html_is_a_page_of_segments_and_other_files(kafka: CommandLine) -> None:
    out = kafka.log_dir.parent / "out.html"
    kafka.ok("ls", "--html", out)
    page = out.read_text()
    assert SECOND in page
    assert ".index&nbsp;336, .log&nbsp;934, .timeindex&nbsp;504" in page
    assert "Left out" not in page
    assert f"big-3/{FIRST}.log.deleted" in page


def test_ls_html_says_which_partition_is_left_out(kafka: CommandLine) -> None:
    out = kafka.log_dir.parent / "out.html"
    index = kafka.log_dir / "big-3" / f"{2**31 + 5:020}.index"
    index.unlink()
    index.symlink_to(index)
    run = kafka("ls", "--html", out)
    said = f"{index}: a symbolic link that leads nowhere"
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert said in run.err
    assert f"Left out: {said}" in out.read_text()


def test_output_file_in_a_brokers_directory_is_refused(kafka: CommandLine) -> None:
    (kafka.log_dir / "log-start-offset-checkpoint").unlink()
    for place in (kafka.log_dir, kafka.log_dir / "mixed-0"):
        assert kafka("ls", "--html", place / "out.html").code == 2
        assert not (place / "out.html").exists()


def test_find_by_time_takes_milliseconds_and_a_date(kafka: CommandLine) -> None:
    by_number = kafka.ok("find", "mixed-0", "--time", 1_700_000_000_001, "--json").document
    by_date = kafka.ok("find", "mixed-0", "--time", "2023-11-14T22:13:20.001Z", "--json").document
    elsewhere = "2023-11-14T23:13:20.001+01:00"
    assert kafka.ok("find", "mixed-0", "--time", elsewhere, "--json").document == by_date
    assert by_number == by_date
    assert (by_date["offset"], by_date["message"]["timestamp"]) == (5, 1_700_000_000_005)
    late = kafka("find", "mixed-0", "--time", "2100-01-01")
    assert (late.code, late.out) == (1, "")
    assert "no record has a timestamp of 2100-01-01T00:00:00.000Z or later" in late.err
    assert kafka("find", "mixed-0", "--time", "noon").code == 2
    assert kafka("find", "mixed-0").code == 2
    assert kafka("find", "mixed-0", "3", "--time", "1").code == 2


def test_find_by_key_reads_all_formats(kafka: CommandLine) -> None:
    found = kafka.ok("find", "mixed", "--key", "key", "--json").records
    assert [one["offset"] for one in found] == [4, 8, 12, 16, 20, 24]
    none = kafka("find", "mixed-0", "--key", "nobody")
    assert (none.code, none.out) == (1, "")
    assert none.err == 'kminilog: no record of mixed-0 has the key "nobody"; 33 records read\n'


def test_dump_shows_batches_and_records(kafka: CommandLine) -> None:
    batches = kafka.ok("dump", "mixed-0", "--json").records
    assert [one["magic"] for one in batches] == [0] * 4 + [1] * 4 + [2] * 11
    assert batches[8] == {
        "base_offset": 8,
        "last_offset": 11,
        "count": 4,
        "position": 466,
        "size": 215,
        "crc": 0x8A3341E8,
        "valid": True,
        "magic": 2,
        "attributes": 0,
        "codec": "none",
        "timestamp_type": "CreateTime",
        "base_timestamp": 1_700_000_000_000,
        "max_timestamp": 1_700_000_100_000,
        "leader_epoch": 3,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
        "transactional": False,
        "control": False,
    }
    records = kafka.ok("dump", "mixed-0", "--json", "--deep").records
    assert [one["offset"] for one in records] == list(range(34))
    assert records[8]["headers"] == [
        {"key": "h1", "value": "x"},
        {"key": "null", "value": None},
        {"key": "ключ", "value": ""},
    ]
    types = [one.get("control_type") for one in records[28:]]
    assert types == [None, "COMMIT", None, "ABORT", None, "COMMIT"]
    lines = kafka.ok("dump", "mixed-0", "--print-data").out
    assert (
        "transactional, control\n    offset 29, 2023-11-14T22:13:20.500Z, control record: COMMIT"
        in lines
    )
    assert 'headers h1="x", null=null, ключ=""' in lines


def test_dump_of_a_place_shows_one_batch(kafka: CommandLine) -> None:
    log = kafka.log_dir / "mixed-0" / f"{FIRST}.log"
    assert kafka.ok("dump", log, "--at", 500, "--json").records[0]["base_offset"] == 8
    (found,) = kafka.ok("dump", "mixed-0", "--offset", 18, "--json").records
    assert found["base_offset"] == 16
    assert len(kafka.ok("dump", "mixed-0", "--offset", 18, "--count", 3, "--json").records) == 3
    assert kafka("dump", "mixed-0", "--offset", 99).code == 1


def test_dump_of_an_index_shows_the_entry_of_a_place(kafka: CommandLine) -> None:
    """As `verify` advises it: --at is a byte of the index."""
    index = kafka.log_dir / "mixed-0" / f"{SECOND}.index"
    times = index.with_suffix(".timeindex")
    for asked in ((index, "--at", 8), (index, "--at", 15), (index, "--offset", 31)):
        assert kafka.ok("dump", *asked).out == "offset 30, byte 638 (relative 14)\n"
    assert len(kafka.ok("dump", index, "--count", 1).out.splitlines()) == 1
    assert kafka.ok("dump", index, "--at", 8, "--hex").out.splitlines()[1:] == [
        "  00000008  00 00 00 0e 00 00 02 7e                          |.......~|"
    ]
    (found,) = kafka.ok("dump", times, "--at", 23, "--hex", "--json").records
    assert (found["index_position"], found["hex"]) == (12, times.read_bytes()[12:24].hex())
    assert_one_line(kafka("dump", index, "--at", 16), 1, f"{index}: no entry for byte 16")
    assert_one_line(kafka("dump", index, "--offset", 26), 1, "no entry for offset 26 or below")
    epochs = index.with_name("leader-epoch-checkpoint")
    assert_one_line(
        kafka("dump", epochs, "--at", 3), 2, "--at and --hex are for a .log or an index"
    )
    assert_one_line(kafka("dump", epochs, "--offset", 3), 2, "--offset is for .index, .timeindex")


def test_dump_hex_shows_the_bytes_by_field(kafka: CommandLine) -> None:
    lines = kafka.ok("dump", "mixed-0", "--offset", 28, "--hex").out.splitlines()
    assert lines[1] == "  00000490  00 00 00 00 00 00 00 1c    base offset 28"
    assert lines[-1] == "  00000559  00                         header count 0"
    (found,) = kafka.ok("dump", "mixed-0", "--offset", 28, "--hex", "--json").records
    assert bytes.fromhex(found["hex"]) == at(28, java("v2-transactional"))


def test_dump_goes_on_after_damage(kafka: CommandLine) -> None:
    log = kafka.log_dir / "mixed-0" / f"{SECOND}.log"
    data = bytearray(log.read_bytes())
    data[200] ^= 1
    log.write_bytes(data[:-1])
    run = kafka("dump", log, "--json")
    assert run.code == 1
    damaged = [one for one in run.records if not one["valid"]]
    assert [(one["fault"], one["position"]) for one in damaged] == [
        ("bad-crc", 170),
        ("torn-tail", 856),
    ]
    assert "\nbyte 170: DAMAGED, bad-crc: Record is corrupt" in kafka("dump", log).out
    whole = f"\nmixed-0/{SECOND}.log, byte 170: DAMAGED, bad-crc: Record is corrupt"
    assert whole in kafka("dump", "mixed-0").out
    assert {one["segment"] for one in damaged} == {SECOND}


def test_dump_of_a_lone_file_of_a_later_format_reads_it(
    kminilog: CommandLine, tmp_path: Path
) -> None:
    """Wherever it lies: its magic says what it is."""
    copy = tmp_path / "copy.log"
    copy.write_bytes(java("v2-gzip"))
    assert kminilog.ok("dump", copy, "--json").records[0]["codec"] == "gzip"


def test_consume_leaves_out_what_was_aborted_and_says_so(kafka: CommandLine) -> None:
    run = kafka("consume", "mixed", "--until-end", "--offset", 26, "--json")
    assert [one["offset"] for one in run.records] == [26, 27, 28, 32]
    assert run.records[0]["timestamp"] == 1_699_999_999_993
    assert run.err == (
        "kminilog: mixed-0: left out: 1 record of aborted transactions, 3 control records\n"
    )
    text = kafka("consume", "mixed", "--until-end", "--offset", 8, "--max-messages", 1)
    assert (text.out, text.err) == ("value\n", "")
    form = "%t-%p %o %T %h %k %s\\n"
    run = kafka("consume", "--pattern", "m.*", "--tail", 26, "--max-messages", 1, "--format", form)
    assert run.out == "mixed-0 8 1700000000000 h1=x,null=,ключ= key value\n"


def test_consume_says_where_a_transaction_is_open(kafka: CommandLine) -> None:
    write_segment(kafka.log_dir / "mixed-0", 34, transactions(34, "open"))
    run = kafka("consume", "mixed", "--offset", "latest", "--until-end")
    assert (run.code, run.out, run.err) == (0, "", "")
    run = kafka("consume", "mixed", "--offset", 33, "--config", "consumer.timeout.ms=0")
    assert (run.code, run.out) == (0, "")
    assert "a transaction is open, so the records from offset 34 on are left out" in run.err


def damage(path: Path, chance: Random) -> str:
    """Change a file at random: bits, its length, a range of zeros, or what is written twice."""
    data = bytearray(path.read_bytes())
    at, length = chance.randrange(len(data)), chance.randint(1, 40)
    kind = chance.choice(("bit", "cut", "zeros", "double"))
    if kind == "bit":
        data[at] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del data[at:]
    elif kind == "zeros":
        data[at : at + length] = bytes(len(data[at : at + length]))
    else:
        data[at:at] = data[at : at + 10 * length]
    path.write_bytes(data)
    return f"{kind} at {at} of {path.name}"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(25))
def test_no_damage_makes_a_command_fail_in_another_way(kafka: CommandLine, seed: int) -> None:
    """It shows what is there, or says what is damaged, in one line, and where."""
    chance = Random(seed)
    files = [path for path in (kafka.log_dir / "mixed-0").iterdir() if path.stat().st_size]
    before = {path: path.read_bytes() for path in sorted(files)}
    for _ in range(4):
        path = chance.choice(sorted(files))
        told = damage(path, chance)
        for line in (
            "ls",
            f"find mixed-0 {chance.randrange(1, 34)}",
            f"find mixed-0 --time {1_700_000_000_000 + chance.choice((0, 6, 10**5))}",
            "dump mixed-0 --print-data --hex",
            f"dump {path}",
            "consume mixed --until-end --json",
        ):
            run = kafka(*line.split())
            assert run.code in (0, 1, 2), (told, line, run)
            assert "--debug" not in run.err, (told, line, run)
        path.write_bytes(before[path])


@pytest.mark.processes
def test_consume_waits_for_what_the_broker_appends(kafka: CommandLine) -> None:
    batch = java("v2-none")
    log = write_segment(kafka.log_dir / "live-0", 0, at(0, batch))
    wanted = ("--max-messages", "9", "--format", "%o\\n")
    with kafka.start("consume", "live", *wanted) as process:
        assert process.stdout
        assert [process.stdout.readline() for _ in range(4)] == [b"0\n", b"1\n", b"2\n", b"3\n"]
        with open(log, "ab") as file:
            file.write(at(4, batch))
        write_segment(kafka.log_dir / "live-0", 8, at(8, batch))
        assert process.stdout.read() == b"4\n5\n6\n7\n8\n"
    assert process.returncode == 0


def test_v0_directory_is_shown_as_a_topic_in_the_kafka_dialect(
    kminilog: CommandLine, tmp_path: Path
) -> None:
    """The same lines, and the same fields of JSON, where both have them."""
    config = ["--config", "segment.bytes=200", "--config", "index.interval.bytes=60"]
    kminilog.ok("topic", "create", "orders", "--partitions", 1, "--dialect", "kafka", *config)
    lines = b"".join(b"key%d:value%d\n" % (number, number) for number in range(20))
    kminilog.ok("produce", "orders", "--key-separator", ":", stdin=lines)
    kafka = CommandLine(tmp_path / "kafka")
    shutil.copytree(kminilog.log_dir / "orders-0", kafka.log_dir / "orders-0")
    name = sorted(path.stem for path in (kafka.log_dir / "orders-0").glob("*.log"))[1]
    for line in (
        "ls orders",
        "find orders-0 13",
        "find orders --key key13 --allow-gaps",
        f"dump {{path}}/orders-0/{name}.log",
        f"dump {{path}}/orders-0/{name}.log --print-data",
        f"dump {{path}}/orders-0/{name}.index",
        "consume orders --until-end --print-key",
        "consume orders --tail 3 --until-end",
    ):
        shown, expected = (one(*words(line, one)).out for one in (kafka, kminilog))
        assert shown == expected, line
    for line in (
        "ls orders --json",
        "find orders-0 13 --json",
        "find orders-0 --key key13 --json",
        f"dump {{path}}/orders-0/{name}.log --json",
        f"dump {{path}}/orders-0/{name}.index --json",
        "consume orders --until-end --json",
    ):
        runs = (one(*words(line, one)) for one in (kafka, kminilog))
        is_stream = line.startswith(("dump", "consume")) or "--key" in line
        shown, expected = (run.records if is_stream else run.document for run in runs)
        assert same_fields(shown, expected) == expected, line


def test_segment_of_a_real_broker_is_read_as_its_authors_recorded(
    tmp_path: Path, kafka: CommandLine
) -> None:
    source = shared_file("kafka-0.8-segment/00000000000000000000.log")
    expected = gzip.decompress(shared_file("kafka-0.8-segment/expected.txt.gz").read_bytes())
    (kafka.log_dir / "numbers-0").mkdir()
    shutil.copy(source, kafka.log_dir / "numbers-0")
    (segment,) = kafka("ls", "numbers", "--json").document
    assert segment["message_count"] == 11_394
    dumped = kafka.ok("dump", "numbers-0", "--json").records
    consumed = kafka.ok("consume", "numbers", "--until-end", "--json").records
    for records in (dumped, consumed):
        lines = [f"{one['offset']}: {json.dumps(one['value'])}" for one in records]
        assert lines == expected.decode().splitlines()
    for offset in (0, 5_000, 11_393):
        found = kafka.ok("find", "numbers-0", offset, "--json").document
        assert found["position"] == dumped[offset]["position"]


def same_fields(shown: Any, expected: Any) -> Any:
    """Return what is shown, without the fields that the other has not."""
    if isinstance(expected, dict):
        expected.pop("dialect", None)  # a topic has one, with who says so
        expected.pop("dialect_source", None)
        return {name: same_fields(shown.get(name), value) for name, value in expected.items()}
    if isinstance(expected, list):
        return [same_fields(*pair) for pair in zip(shown, expected, strict=True)]
    return shown


def test_topic_is_ingested_and_accounted_for_and_stays_as_it_was(kafka: CommandLine) -> None:
    """What format v0 cannot hold is said by both commands, and so is what is no message."""
    age(kafka.log_dir)
    before = listing(kafka.log_dir)
    mine = CommandLine(kafka.log_dir.parent / "log")
    findings = kafka.log_dir.parent / "findings.jsonl"
    source = (f"{kafka.log_dir}:mixed", "--format", "kminilog")
    told = (
        "left out: 1 record of aborted transactions",
        "left out: 3 control records",
        "5 records with headers, which format v0 has not",
        "26 records with a timestamp, which format v0 has not",
    )
    ingested = mine.ok("ingest", *source, "--topic", "copy", "--dialect", "kafka")
    assert ingested.out.splitlines()[1:5] == [*told]
    verified = mine.ok("verify", "copy", "--against", *source, "--json").document
    assert verified["conservation"]["source"] == verified["conservation"]["stored"] == 29
    assert {*told} <= {one["why"] for one in verified["unchecked"]}
    mine.ok("topic", "create", "empty", "--partitions", "2", "--dialect", "kafka")
    missing = mine("verify", "empty", "--against", *source, "--findings", findings, "--json")
    assert missing.document["conservation"]["missing"] == 29
    lines = findings.read_text().splitlines(keepends=True)
    for segment in (SECOND, FIRST):  # a partition is one piece, whichever segment is wanted of it
        findings.write_text("".join(line for line in lines if f"{segment}.log" in line))
        mine.ok("ingest", *source, "--topic", "empty", "--only", findings)
    assert mine.ok("verify", "empty", "--against", *source, "--json").document["verdict"] == "ok"
    assert listing(kafka.log_dir) == before


def test_null_is_rejected_by_a_documented_topic(kafka: CommandLine) -> None:
    mine = CommandLine(kafka.log_dir.parent / "log")
    source = (f"{kafka.log_dir}:mixed", "--format", "kminilog", "--topic", "copy")
    refused = mine("ingest", *source)
    assert_one_line(refused, 2, f"{kafka.log_dir}/mixed-0/{FIRST}.log, offset 2: ")
    taken = mine.ok("ingest", *source, "--max-rejected", "10", "--json").document
    assert taken["rejected"] + taken["count"] == 29
