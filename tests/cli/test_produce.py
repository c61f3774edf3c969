"""`produce`: from lines to messages, byte for byte."""

import base64
import json
import os
import pty
import resource
import signal
import subprocess
import time
from functools import partial
from itertools import pairwise, permutations
from typing import ClassVar

import pytest

from kminilog.cli.produce import command as produce
from kminilog.cli.produce import input_lines
from kminilog.cli.shared import interrupts
from kminilog.format.dialect import KAFKA
from kminilog.format.java_hashing import java_bytes_hash, java_string_hash
from kminilog.format.message import encode
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from tests.support.cli.command_line import (
    PROGRAM,
    CommandLine,
    assert_one_line,
    assert_refused,
    environment,
)
from tests.support.damage import files_of
from tests.support.processes import Process, wait_until

ALWAYS_TWO = "kminilog.partitioners.examples.AlwaysTwo"


@pytest.fixture
def topic(kminilog: CommandLine) -> CommandLine:
    """`kminilog` with an empty topic `t` of one partition, in the kafka dialect."""
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", "kafka")
    return kminilog


def stored(kminilog: CommandLine, name: str = "t") -> list[list[tuple[bytes | None, bytes | None]]]:
    """Return keys and values of a topic by partition, read without the command line."""
    log_dir = LogDir(kminilog.log_dir)
    readers = [log_dir.reader(found) for found in log_dir.topic(name).all_partitions()]
    return [
        [
            (message.key, message.value)
            for segment in reader.segments()
            for _, message in segment.scan()
        ]  # type: ignore[union-attr]
        for reader in readers
    ]


@pytest.mark.parametrize(
    ("stdin", "values"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\nb", [b"a", b"b"]),
        (b"a\r\nb\x0b\x0c\xe2\x80\xa8c\x85\n", [b"a\r", b"b\x0b\x0c\xe2\x80\xa8c\x85"]),
        (b"\x00\xff\xfe\n\n", [b"\x00\xff\xfe", b""]),
    ],
)
def test_produce_ends_lines_at_newlines_only_and_keeps_their_bytes(topic, stdin, values):
    topic.ok("produce", "t", stdin=stdin)
    assert stored(topic) == [[(None, value) for value in values]]


def test_produce_takes_a_file(topic, tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\n")
    assert topic.ok("produce", "t", path).out == "t-0: offsets 0..1 (2 messages)\n"
    assert topic.ok("produce", "t", "-", stdin=b"3\n").out == "t-0: offsets 2..2 (1 message)\n"
    assert [value for _, value in stored(topic)[0]] == [b"one", b"two", b"3"]


def test_produce_separates_key_and_value_at_the_first_separator(topic):
    stdin = b"k::v::w\n::v\nno separator\nk::\n\xff::\xfe\n"
    topic.ok("produce", "t", "--key-separator", "::", stdin=stdin)
    assert stored(topic) == [
        [(b"k", b"v::w"), (b"", b"v"), (None, b"no separator"), (b"k", b""), (b"\xff", b"\xfe")]
    ]


def test_produce_with_key_regex_keeps_the_line_as_value(topic):
    topic.ok("produce", "t", "--key-regex", r"id=(\w+)", stdin=b"x id=7 y\nnone\n")
    assert stored(topic) == [[(b"7", b"x id=7 y"), (None, b"none")]]


def test_produce_with_key_regex_without_group_takes_the_whole_match(topic):
    topic.ok("produce", "t", "--key-regex", r"[0-9]+", stdin=b"a 42 b\n\xff7\xff\n")
    assert stored(topic) == [[(b"42", b"a 42 b"), (b"7", b"\xff7\xff")]]


def test_produce_null_token_is_null_and_only_as_whole_value(topic):
    options = ["--key-separator", ":", "--null-value", "NULL"]
    topic.ok("produce", "t", *options, stdin=b"k:NULL\nk:NULLS\nNULL\n")
    assert stored(topic) == [[(b"k", None), (b"k", b"NULLS"), (None, None)]]


def test_produce_json_has_a_line_for_each_line_of_input_in_its_order(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 3)
    keys = [b"key%d" % number for number in range(50)]
    stdin = b"".join(b"%s:v\n" % key for key in keys)
    options = ["--key-separator", ":", "--config", "batch.size=100", "--json"]
    records = kminilog.ok("produce", "t", *options, stdin=stdin).records
    assert [record["topic"] for record in records] == ["t"] * 50
    assert [record["partition"] for record in records] == [
        murmur2_partition(key, 3) for key in keys
    ]
    by_partition = stored(kminilog)
    for key, record in zip(keys, records, strict=True):
        assert by_partition[record["partition"]][record["offset"]] == (key, b"v")


def test_produce_to_a_partition_ignores_the_keys(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 3)
    options = ["--key-separator", ":", "--partition", 2]
    run = kminilog.ok("produce", "t", *options, stdin=b"a:1\nb:2\nc\n")
    assert run.out == "t-2: offsets 0..2 (3 messages)\n"


def test_produce_keeps_to_one_partition_for_the_keyless_of_a_batch(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 5)
    options = ["--seed", 1, "--config", "batch.size=70", "--json"]  # two of 35 bytes
    records = kminilog.ok("produce", "t", *options, stdin=b"123456789\n" * 60).records
    chosen = [record["partition"] for record in records]
    assert chosen[0::2] == chosen[1::2]
    assert all(a != b for a, b in pairwise(chosen[0::2]))
    assert set(chosen) == set(range(5))


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (["--partitioner", "round-robin"], [0, 1, 2, 0, 1, 2]),
        (["--config", "partitioner.class=round-robin"], [0, 1, 2, 0, 1, 2]),
        (
            ["--partitioner", "round-robin", "--config", "round-robin.double-call-bug=true"],
            [1, 0, 1, 0, 1, 0],  # each call that finds no open batch is made twice
        ),
        (["--partitioner", ALWAYS_TWO], [2] * 6),
    ],
)
def test_produce_with_another_partitioner_goes_where_that_says(kminilog, options, chosen):
    kminilog.ok("topic", "create", "t", "--partitions", 3)
    options = [*options, "--key-separator", ":", "--json"]
    records = kminilog.ok("produce", "t", *options, stdin=b"k:v\n" * 6).records
    assert [record["partition"] for record in records] == chosen


def test_produce_key_is_text_if_it_is_utf_8_and_the_0_8_partitioner_hashes_it_so(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1000)
    keys = ["é".encode(), b"\xe9", b"polygenelubricants", b""]
    stdin = b"".join(key + b":v\n" for key in keys)
    options = ["--partitioner", "default-0.8", "--key-separator", ":", "--json"]
    records = kminilog.ok("produce", "t", *options, stdin=stdin).records
    hashes = [java_string_hash("é"), java_bytes_hash(b"\xe9"), -(2**31), 0]
    assert [record["partition"] for record in records] == [
        (hashed & 0x7FFFFFFF) % 1000 for hashed in hashes
    ]


def test_produce_finds_a_partitioner_of_the_user_in_the_current_directory(
    kminilog, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_partitioner.py").write_text(
        "class Last:\n"
        "    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):\n"
        "        return len(cluster.partitions_for_topic(topic)) - 1\n"
    )
    kminilog.ok("topic", "create", "t", "--partitions", 4)
    run = kminilog.ok("produce", "t", "--partitioner", "my_partitioner.Last", stdin=b"x\n")
    assert run.out == "t-3: offsets 0..0 (1 message)\n"


def damage_partition_0(kminilog: CommandLine) -> None:
    """Make the partition refuse all writes, with valid messages after the damage."""
    kminilog.ok("topic", "create", "t", "--partitions", 2)
    kminilog.ok("produce", "t", "--partition", 0, stdin=b"one\ntwo\n")
    log = kminilog.log_dir / "t-0" / ("0" * 20 + ".log")
    data = bytearray(log.read_bytes())
    data[20] ^= 1
    log.write_bytes(data)
    (kminilog.log_dir / ".clean-shutdown").unlink()


ROUND_ROBIN_OF_4 = ["--partitioner", "round-robin", "--config", "batch.size=1"]


def test_produce_that_goes_on_after_a_failure_counts_what_was_lost(kminilog):
    damage_partition_0(kminilog)
    options = [*ROUND_ROBIN_OF_4, "--on-failure", "go-on"]
    run = kminilog("produce", "t", *options, stdin=b"a\nb\nc\nd\n")
    assert (run.code, run.out) == (1, "t-1: offsets 0..1 (2 messages)\nt: 2 messages lost\n")
    assert "byte 0: damaged" in run.err


def test_produce_that_stops_after_a_failure_says_why(kminilog):
    damage_partition_0(kminilog)
    run = kminilog("produce", "t", *ROUND_ROBIN_OF_4, stdin=b"a\nb\nc\nd\n")
    assert (run.code, run.out) == (2, "")
    assert "byte 0: damaged" in run.err


def test_produce_names_the_line_that_cannot_be_sent(topic, tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\n" + bytes(2_000_000) + b"\n")
    assert_one_line(topic("produce", "t", path, "--json"), 2, f"{path}, line 3: a message of")


def less_memory() -> None:
    """Let this process have less memory than the line takes."""
    resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))


@pytest.mark.processes
@pytest.mark.parametrize("is_piped", [False, True], ids=["file", "pipe"])
def test_produce_refuses_a_line_of_400_mb_without_holding_it(topic, tmp_path, is_piped):
    path = tmp_path / "line"
    path.write_bytes(b"one\n")
    os.truncate(path, 400 << 20)
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
        word, stdin = ("-", cat.stdout) if is_piped else (str(path), subprocess.DEVNULL)
        process = topic.start("produce", "t", word, stdin=stdin, preexec_fn=less_memory)
        cat.stdout.close()
        _, error = process.communicate()
    assert process.returncode == 2
    name = "<stdin>" if is_piped else path
    reason, _, places = error.decode().partition("; send less or raise max.message.bytes; ")
    assert reason == (
        f"kminilog: source {name}, line 2: a message of at least 1000039 bytes is larger than "
        "max.message.bytes = 1000012; nothing of its batch was written"
    )
    paused = {"acknowledged: t-0 offsets 0..0 (1 message); not written: all from line 2 on\n"}
    assert places in {"not written: all from line 1 on\n"} | (paused if is_piped else set())


def test_produce_takes_a_line_that_just_fits_whatever_it_leaves_out(topic):
    topic.ok("topic", "alter", "t", "--config", "max.message.bytes=100")
    room = 100 - len(encode(KAFKA, 0, b"", b""))
    value, key = b"v" * room, b"k" * room
    stdin = b"::" + value + b"\n" + key + b"::NULL\n" + b"v" * room + b"\n"
    topic.ok("produce", "t", "--key-separator", "::", "--null-value", "NULL", stdin=stdin)
    assert stored(topic) == [[(b"", value), (key, None), (None, b"v" * room)]]
    options = ["--key-separator", "::", "--null-value", "NULL"]
    for line in (b"::" + value + b"v", key + b"k::NULL"):
        run = topic("produce", "t", *options, stdin=line + b"\n")
        assert_one_line(run, 2, "line 1: a message of 101 bytes")


def test_produce_seed_repeats_the_draws(kminilog, tmp_path):
    options = ["--config", "batch.size=4", "--json", "--seed"]
    runs = []
    for number, seed in enumerate((7, 7, 8)):
        kminilog.ok("topic", "create", f"t{number}", "--partitions", 9)
        records = kminilog.ok("produce", f"t{number}", *options, seed, stdin=b"abc\n" * 20).records
        runs.append([record["partition"] for record in records])
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(("acks", "offsets"), [("0", [-1, -1]), ("1", [0, 1]), ("-1", [0, 1])])
def test_produce_reports_offsets_unless_acks_is_0(topic, acks, offsets):
    records = topic.ok("produce", "t", "--acks", acks, "--json", stdin=b"a\nb\n").records
    assert [record["offset"] for record in records] == offsets
    assert len(stored(topic)[0]) == 2


def test_produce_without_input_says_so(topic):
    assert topic.ok("produce", "t").out == "t: no messages\n"
    assert topic.ok("produce", "t", "--json").out == ""


@pytest.mark.parametrize("is_clean", [True, False])
def test_produce_says_what_recovery_has_cut(topic, is_clean):
    topic.ok("produce", "t", stdin=b"whole\n")
    log = topic.log_dir / "t-0" / ("0" * 20 + ".log")
    log.write_bytes(log.read_bytes() + b"torn")
    if not is_clean:
        (topic.log_dir / ".clean-shutdown").unlink()
    run = topic("produce", "t", stdin=b"next\n")
    assert (run.code, run.out) == (0, "t-0: offsets 1..1 (1 message)\n")
    assert "torn-tail" in run.err
    assert run.err.count("\n") == 1


WRONG = [
    ("--config batch.bytes=1", "batch.size"),
    ("--config segment.bytes=99", "segment.bytes"),
    ("--partition 2", "record: 2 is not in the range [0...1]; not written"),
    ("--partition -1", "record: -1 is not in the range [0...1]; not written"),
    ("--partitioner no-such", "there is: default-0.8"),
    ("--partitioner no.such", "cannot import no"),
    (f"--partitioner {ALWAYS_TWO} --key-separator :", "Invalid partition id: 2"),
    ("--key-separator ''", "must not be empty"),
    (r"--key-separator '\d'", "'--key-separator': \\d: after a backslash write n, t,"),
    (r"--key-separator '\x1'", "'--key-separator': \\x: after a backslash write"),
    (r"--key-separator '\'", "'--key-separator': \\: after a backslash write"),
    ("--key-separator : --key-regex x", "not both"),
    ("--key-regex '('", "--key-regex '('"),
    ("--acks 2", "'2' is not one of"),
    ("--acks 2", "'--acks': '2' is not one of '0', '1', '-1', 'all'"),
    ("no-such-file", "no-such-file"),
    ("--null-value x", "documented dialect has no null value"),
]


@pytest.fixture
def short(kminilog: CommandLine) -> CommandLine:
    """`kminilog` with a topic `t` of two partitions, whose messages have at most 250 bytes."""
    kminilog.ok("topic", "create", "t", "--partitions", 2, "--config", "max.message.bytes=250")
    return kminilog


def test_produce_bad_input_is_one_line_and_changes_nothing(short):
    command = partial(short, stdin=b"k:v\nx\n")
    assert_refused(command, short.log_dir.parent, WRONG, "produce", "t", "--json")
    refused = [("--partition 2", "record: 2 is not in the range [0...1]; not written")]
    assert_refused(short, short.log_dir.parent, refused, "produce", "t", "--json")  # no line


def test_produce_of_a_message_that_is_too_large_is_one_line_and_changes_nothing(short):
    command = partial(short, stdin=b"a:1\nb:2\nc:%s\n" % (b"x" * 300))
    rows = [("--key-separator :", "max.message.bytes = 250")]
    assert_refused(command, short.log_dir.parent, rows, "produce", "t", "--json")


def test_produce_message_above_segment_bytes_is_one_line_and_changes_nothing(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--config", "segment.bytes=100")
    before = files_of(kminilog.log_dir)
    run = kminilog("produce", "t", "--json", stdin=b"ok\n" + b"x" * 100 + b"\n")
    assert_one_line(run, 2, "a message of 122 bytes", "segment.bytes = 100")
    assert files_of(kminilog.log_dir) == before


def test_produce_failure_after_earlier_batches_says_what_is_there(topic):
    topic.ok("topic", "alter", "t", "--config", "max.message.bytes=100")
    options = ["--config", "batch.size=1"]
    run = topic("produce", "t", *options, stdin=b"one\ntwo\n" + b"x" * 100 + b"\nfour\n")
    assert (run.code, run.out) == (2, "t-0: offsets 0..1 (2 messages)\n")
    assert len(stored(topic)[0]) == 2


def test_produce_unknown_topic_is_one_line(topic):
    assert_one_line(topic("produce", "other", stdin=b"x\n"), 2, "Topic other doesn't exist")


def test_produce_beside_another_writer_is_one_line(topic):
    with LogDirWriter.open(topic.log_dir):
        assert_one_line(topic("produce", "t", stdin=b"x\n"), 2, "only one writer at a time")


@pytest.mark.processes
def test_produce_goes_on_when_nobody_reads_the_offsets(topic):
    process = topic.start("produce", "t", "--json", stdin=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    process.stdin.write(b"some line\n" * 20_000)
    process.stdin.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()
    assert len(stored(topic)[0]) == 20_000


def test_produce_then_consume_gives_back_any_bytes(topic):
    lines = [bytes([byte, other]) for byte in range(256) for other in (0, 10, 255)]
    lines = [line.replace(b"\n", b"") for line in lines]
    stdin = b"\n".join(lines) + b"\n"
    topic.ok("produce", "t", stdin=stdin)
    end = ["--config", "consumer.timeout.ms=0"]
    assert topic.ok("consume", "t", *end).out_bytes == stdin
    records = topic.ok("consume", "t", *end, "--json").records
    values = [
        record["value"].encode() if "value" in record else base64.b64decode(record["value_base64"])
        for record in records
    ]
    assert values == lines


# ---- figures


def figures(kminilog, *options, lines=100):
    stdin = b"x\n" * lines
    run = kminilog.ok("produce", "t", "--stats", "--json", *options, stdin=stdin)
    *messages, last = run.records
    assert len(messages) == lines
    assert list(last) == ["stats"]
    return last["stats"]


def test_produce_stats_shows_small_batches_of_round_robin_and_a_full_one_of_sticky(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 4)
    size = ["--config", "batch.size=2700"]  # 100 of 27 bytes
    in_turn = figures(kminilog, "--partitioner", "round-robin", *size)
    assert (in_turn["batches"], in_turn["records"], in_turn["mean_fill"]) == (4, 100, 0.25)
    assert [each["records"] for each in in_turn["partitions"]] == [25] * 4
    sticky = figures(kminilog, "--partitioner", "uniform-sticky", *size)
    assert (sticky["batches"], sticky["records"], sticky["mean_fill"]) == (1, 100, 1.0)
    found = sorted(each["records"] for each in sticky["partitions"])
    assert found == [0, 0, 0, 100]
    assert {each["mean_fill"] for each in sticky["partitions"]} == {None, 1.0}


def test_produce_stats_shows_waits_for_memory_only_where_somebody_waits(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 4)
    options = ["--partitioner", "round-robin", "--config", "batch.size=2700"]
    at_once = figures(kminilog, *options)
    assert (at_once["bufferpool_wait_time_ns"], at_once["bufferpool_wait_ratio"]) == (0, 0)
    waits = figures(kminilog, *options, "--config", "buffer.memory=5400")
    assert waits["batches"] > 4
    assert waits["bufferpool_wait_time_ns"] > 0
    window_ns = 30 * 10**9
    assert waits["bufferpool_wait_ratio"] * window_ns == pytest.approx(
        waits["bufferpool_wait_time_ns"]
    )


def test_produce_stats_as_text_and_of_nothing(topic):
    lines = topic.ok("produce", "t", "--stats", stdin=b"").out.splitlines()
    assert lines[0] == "t: no messages"
    assert [line.split() for line in lines[1:4]] == [
        ["partition", "batches", "records", "mean", "fill"],
        ["t-0", "0", "0", "-"],
        ["all", "0", "0", "-"],
    ]
    assert lines[4:] == [
        "retries: 0",
        "bufferpool-wait-time: 0 ns",
        "bufferpool-wait-ratio: 0.000000",
    ]


def test_produce_stats_as_text_has_a_row_for_each_partition_and_one_for_all(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 2)
    options = ["--partitioner", "round-robin", "--config", "batch.size=2700", "--stats"]
    lines = kminilog.ok("produce", "t", *options, stdin=b"x\n" * 150).out.splitlines()
    assert [line.split() for line in lines[3:6]] == [
        ["t-0", "1", "75", "75.0%"],
        ["t-1", "1", "75", "75.0%"],
        ["all", "2", "150", "75.0%"],
    ]


def test_produce_stats_does_not_count_what_was_lost_as_sent(kminilog):
    damage_partition_0(kminilog)
    options = [*ROUND_ROBIN_OF_4, "--on-failure", "go-on", "--stats", "--json"]
    run = kminilog("produce", "t", *options, stdin=b"a\nb\nc\nd\n")
    assert run.code == 1
    stats = run.records[-1]["stats"]
    assert [each["records"] for each in stats["partitions"]] == [0, 2]
    assert (stats["batches"], stats["records"]) == (2, 2)


# ---- separators of bytes that nobody can type


@pytest.mark.parametrize(
    ("written", "separator"),
    [
        (r"\t", b"\t"),
        (r"\0", b"\0"),
        (r"\x1f", b"\x1f"),
        (r"\xFF\xfe", b"\xff\xfe"),
        (r"\\t", b"\\t"),
        (r"\r", b"\r"),
        ("\t", b"\t"),
        ("键", "键".encode()),
    ],
)
def test_produce_separator_with_escapes_is_the_bytes_that_they_stand_for(topic, written, separator):
    stdin = b"k" + separator + b"v\nno key\n"
    topic.ok("produce", "t", "--key-separator", written, "--partition", 0, stdin=stdin)
    read = topic.ok("consume", "t", "--until-end", "--json").records
    assert [(each["key"], each["value"]) for each in read] == [("k", "v"), (None, "no key")]


@pytest.mark.parametrize("is_of_a_file", [True, False])
def test_produce_says_once_if_no_line_has_the_separator(topic, tmp_path, is_of_a_file):
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"k;v\n" * 3)
    file, name = (lines, str(lines)) if is_of_a_file else ("-", "<stdin>")
    run = topic("produce", "t", file, "--key-separator", r"\t", stdin=lines.read_bytes())
    assert run.code == 0
    assert "(3 messages)" in run.out
    said = f"{name}: no line has the separator '\\t', so no message has a key"
    assert run.err == f"kminilog: {said}\n"


@pytest.mark.parametrize("stdin", [b"", b"a\tb\nno key\n", b"no key\n\tempty key\n"])
def test_produce_says_nothing_if_a_line_has_the_separator_or_there_is_none(topic, stdin):
    topic.ok("produce", "t", "--key-separator", r"\t", stdin=stdin)


# ---- interceptors hear of what was refused at once


class Hears:
    """Notes what it is told."""

    heard: ClassVar = []

    def on_send(self, record):
        self.heard.append(("sent", record.partition))
        return record

    def on_acknowledgement(self, metadata, error):
        self.heard.append(("heard", (metadata.partition, type(error).__name__)))


@pytest.mark.parametrize("linger", [[], ["--config", "linger.ms=10"]], ids=["by hand", "thread"])
def test_produce_to_a_partition_that_is_not_there_tells_interceptors(topic, linger):
    Hears.heard.clear()
    options = [*linger, "--config", f"interceptor.classes={__name__}.Hears", "--partition", 7]
    run = topic("produce", "t", *options, stdin=b"a\nb\n")
    assert_one_line(
        run, 2, "record: 7 is not in the range [0...0]; not written: all from line 1 on"
    )
    assert Hears.heard == [("sent", 7), ("heard", (7, "PartitionOfRecordError"))]


@pytest.mark.parametrize("linger", [[], ["--config", "linger.ms=10"]], ids=["by hand", "thread"])
@pytest.mark.parametrize(
    ("line", "error"),
    [(b"NULL", "NullValueError"), (b"x" * 300, "MessageTooLargeError")],
    ids=["null", "too large"],
)
def test_produce_of_a_line_that_cannot_be_stored_tells_interceptors(kminilog, line, error, linger):
    """As the producer in Python does, for a record that the log refuses."""
    limit = ["--config", "max.message.bytes=250"]
    kminilog.ok("topic", "create", "t", "--partitions", 1, *limit)
    Hears.heard.clear()
    hears = ["--config", f"interceptor.classes={__name__}.Hears", "--null-value", "NULL"]
    run = kminilog("produce", "t", *linger, *hears, stdin=line + b"\n")
    assert run.code == 2
    assert Hears.heard == [("sent", None), ("heard", (-1, error))]


# ---- a line of the log for each choice


@pytest.mark.parametrize("linger", [[], ["--config", "linger.ms=10"]], ids=["by hand", "thread"])
def test_produce_verbose_logs_each_choice_in_the_words_of_the_documents(kminilog, linger):
    kminilog.ok("topic", "create", "t", "--partitions", 3)
    options = ["--partitioner", "round-robin", "--key-separator", ":", *linger]
    stdin = "Zoë:1\nno key\n:empty\n".encode() + b"\xff:bytes\ntab\t:4\n"
    run = kminilog("produce", "t", "--verbose", *options, stdin=stdin)
    assert run.code == 0
    keys = ["Zoë", "[none]", "", "\\xff", "tab\\t"]
    assert run.err.splitlines() == [
        f"kminilog: Assigning message of topic t and key {key} to a selected partition {number % 3}"
        for number, key in enumerate(keys)
    ]
    assert kminilog.ok("produce", "t", *options, stdin=stdin).err == "", "it ends with the command"


def test_produce_verbose_logs_the_partition_that_is_given(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 3)
    run = kminilog("produce", "t", "--partition", 2, "--verbose", "--json", stdin=b"x\n")
    assert run.records == [{"topic": "t", "partition": 2, "offset": 0}]
    assert run.err == (
        "kminilog: Assigning message of topic t and key [none] to a selected partition 2\n"
    )


# ---- input that makes pauses, and an end that comes early


@pytest.mark.processes
def test_produce_with_linger_writes_while_the_input_makes_a_pause(topic):
    process = topic.start("produce", "t", "--config", "linger.ms=10", stdin=subprocess.PIPE)
    assert process.stdin
    process.stdin.write(b"one\n")
    process.stdin.flush()
    wait_until(lambda: len(stored(topic)[0]) == 1, alive=process)
    out, err = process.communicate(b"two\n")
    assert (out, err) == (b"t-0: offsets 0..1 (2 messages)\n", b"")


def ctrl_c_while_a_line_is_waited_for(topic, **options):
    """Return the process that was told so; it has read two lines and written both."""
    process = topic.start("produce", "t", "--json", stdin=subprocess.PIPE, **options)
    process.stdin.write(b"one\ntwo\n")
    process.stdin.flush()
    assert [json.loads(process.stdout.readline())["offset"] for _ in range(2)] == [0, 1]
    process.send_signal(signal.SIGINT)
    return process


@pytest.mark.processes
def test_produce_ended_by_ctrl_c_has_written_what_it_has_read(topic):
    process = ctrl_c_while_a_line_is_waited_for(topic)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")
    assert [value for _, value in stored(topic)[0]] == [b"one", b"two"]


class PressesCtrlC:
    """An interceptor for which Ctrl-C is pressed at the worst moment, once."""

    def __init__(self):
        self.is_pressed = False

    def on_acknowledgement(self, metadata, error):
        if not self.is_pressed:
            self.is_pressed = True
            signal.raise_signal(signal.SIGINT)


@pytest.mark.processes
def test_produce_finishes_what_it_does_before_ctrl_c_ends_it(topic):
    """The batch is in the log, and the producer has not heard of it yet."""
    options = ["--config", f"interceptor.classes={__name__}.PressesCtrlC"]
    options += ["--json", "--config", "batch.size=40"]  # one message fits, two do not
    process = topic.start("produce", "t", *options, stdin=subprocess.PIPE)
    try:
        out, err = process.communicate(b"one\ntwo\nthree\n")
    finally:
        process.kill()
    assert (process.returncode, err) == (130, b"")
    assert [json.loads(line)["offset"] for line in out.splitlines()] == [0, 1]
    assert [value for _, value in stored(topic)[0]] == [b"one", b"two"]


@pytest.mark.processes
def test_produce_in_the_background_does_not_hear_ctrl_c(topic):
    def ignore():  # as shells do
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    process = ctrl_c_while_a_line_is_waited_for(topic, preexec_fn=ignore)
    _, err = process.communicate(b"three\n")
    assert (process.returncode, err) == (0, b"")
    assert [value for _, value in stored(topic)[0]] == [b"one", b"two", b"three"]


def test_produce_closes_the_log_dir_whatever_ctrl_c_says(topic, monkeypatch):
    close = LogDirWriter.close

    def pressed(writer):
        signal.raise_signal(signal.SIGINT)
        close(writer)

    monkeypatch.setattr(LogDirWriter, "close", pressed)
    run = topic("produce", "t", stdin=b"one\n")
    assert (run.code, run.err) == (130, "")
    assert (topic.log_dir / CLEAN_SHUTDOWN_FILE).exists()


class PressesCtrlCTwice:
    """An interceptor for which Ctrl-C is pressed twice, in no time, and both count."""

    def on_acknowledgement(self, metadata, error):
        interrupts.SAME_SECONDS = 0
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.processes
def test_produce_ends_at_once_when_ctrl_c_is_pressed_twice(topic):
    options = ["--config", f"interceptor.classes={__name__}.PressesCtrlCTwice"]
    options += ["--config", "batch.size=40"]  # one message fits, two do not
    process = topic.start("produce", "t", *options, stdin=subprocess.PIPE)
    try:
        out, err = process.communicate(b"one\ntwo\nthree\n")
    finally:
        process.kill()
    assert (process.returncode, out, err) == (130, b"", b"")
    assert [value for _, value in stored(topic)[0]] == [b"one"]


# ---- pipes that make pauses


def write(process, data: bytes) -> None:
    process.stdin.write(data)
    process.stdin.flush()


@pytest.mark.processes
def test_produce_from_a_slow_pipe_writes_each_line_at_once(topic):
    process = topic.start("produce", "t", "--json", stdin=subprocess.PIPE)
    for number in range(3):
        write(process, b"line %d\n" % number)
        assert json.loads(process.stdout.readline())["offset"] == number
        assert len(stored(topic)[0]) == number + 1
    process.stdin.close()
    assert process.wait() == 0


@pytest.mark.processes
def test_produce_from_a_slow_pipe_does_not_wait_for_the_end_of_a_line_that_has_begun(topic):
    process = topic.start("produce", "t", "--json", stdin=subprocess.PIPE)
    write(process, b"one\ntwo\nthr")
    assert [json.loads(process.stdout.readline())["offset"] for _ in range(2)] == [0, 1]
    write(process, b"ee\n")
    assert json.loads(process.stdout.readline())["offset"] == 2
    write(process, b"four")
    process.stdin.close()
    assert json.loads(process.stdout.readline())["offset"] == 3
    assert process.wait() == 0
    assert [value for _, value in stored(topic)[0]] == [b"one", b"two", b"three", b"four"]


class CountsBatches:
    """An interceptor that counts how many records were acknowledged at a time."""

    runs: ClassVar = [0]

    def on_send(self, record):
        if self.runs[-1]:
            self.runs.append(0)
        return record

    def on_acknowledgement(self, metadata, error):
        self.runs[-1] += 1


@pytest.mark.processes
@pytest.mark.parametrize("is_piped", [False, True], ids=["file", "pipe"])
def test_produce_of_a_file_fills_its_batches_whether_it_comes_through_a_pipe(
    topic, tmp_path, monkeypatch, is_piped
):
    monkeypatch.setattr(CountsBatches, "runs", [0])
    for name in ("PAUSE_SECONDS", "LONGEST_SECONDS"):
        monkeypatch.setattr(input_lines, name, 10**6)  # this machine may be busy
    path, fifo = tmp_path / "lines", tmp_path / "fifo"
    path.write_bytes((b"y" * 73 + b"\n") * 5000)  # ten of 99 bytes are a batch
    options = ["--config", f"interceptor.classes={__name__}.CountsBatches"]
    options += ["--config", "batch.size=1000"]
    os.mkfifo(fifo)
    with subprocess.Popen(["sh", "-c", f"exec cat {path} > {fifo}"]) as cat:
        topic.ok("produce", "t", fifo if is_piped else path, *options)
        cat.kill()
    assert CountsBatches.runs == [10] * 500


@pytest.mark.processes
def test_produce_with_linger_lets_a_pipe_pause(topic):
    options = ["--config", "linger.ms=600000"]
    process = topic.start("produce", "t", *options, stdin=subprocess.PIPE)
    write(process, b"one\n")
    time.sleep(0.5)
    assert stored(topic) == [[]]
    out, err = process.communicate(b"two\n")
    assert (out, err) == (b"t-0: offsets 0..1 (2 messages)\n", b"")


@pytest.mark.processes
def test_produce_of_an_empty_pipe_and_of_the_null_device_says_so(topic):
    for stdin in (subprocess.PIPE, subprocess.DEVNULL):
        process = topic.start("produce", "t", stdin=stdin)
        assert process.communicate() == (b"t: no messages\n", b"")


# ---- terminals


class Typist:
    """A command that believes to be on a terminal, and what is seen there."""

    def __init__(self, topic: CommandLine, *words: str) -> None:
        self.ours, theirs = pty.openpty()
        command = [*PROGRAM, "--log-dir", str(topic.log_dir), "produce", "t", *words]
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        self.process: Process[bytes] = Process(command, env=environment(), **streams)
        os.close(theirs)

    def read_until(self, end: str) -> str:
        seen = b""
        while not seen.endswith(end.encode()):
            seen += os.read(self.ours, 1)
        return seen.decode().replace("\r\n", "\n")

    def type(self, text: bytes) -> None:
        os.write(self.ours, text)


@pytest.mark.processes
def test_produce_on_a_terminal_prompts_and_acknowledges_each_line(topic):
    typist = Typist(topic)
    assert typist.read_until("> ") == "Each line becomes a message; Ctrl-D ends.\n> "
    for number in range(2):
        typist.type(b"typed\n")
        assert typist.read_until("> ") == f"typed\nt-0 offset {number}\n> "
        assert len(stored(topic)[0]) == number + 1
    typist.type(b"\x04")  # the end of the input
    assert typist.read_until("s)\r\n") == "\nt-0: offsets 0..1 (2 messages)\n"
    assert typist.process.wait() == 0


@pytest.mark.processes
def test_produce_on_a_terminal_ended_by_ctrl_c_leaves_the_line_of_the_prompt(topic):
    typist = Typist(topic)
    typist.read_until("> ")
    typist.type(b"typed\n")
    typist.read_until("> ")
    typist.process.send_signal(signal.SIGINT)
    assert typist.read_until(")\r\n") == "\nt-0: offsets 0..0 (1 message)\n"
    assert typist.process.wait() == 130


@pytest.mark.processes
@pytest.mark.parametrize(
    ("options", "told"),
    [(["--config", "linger.ms=600000"], "offset 0"), (["--acks", "0"], "not waited for")],
    ids=["linger", "acks-0"],
)
def test_produce_on_a_terminal_answers_each_line_whatever_it_waits_for(topic, options, told):
    typist = Typist(topic, *options)
    typist.read_until("> ")
    typist.type(b"typed\n")
    assert typist.read_until("> ") == f"typed\nt-0 {told}\n> "
    typist.type(b"\x04")
    assert typist.process.wait() == 0


@pytest.mark.processes
def test_produce_writes_each_line_that_is_typed_and_shows_no_prompt_elsewhere(topic):
    ours, theirs = pty.openpty()
    process = topic.start("produce", "t", "--json", stdin=theirs)
    os.write(ours, b"typed\nboth at once\n")
    assert [json.loads(process.stdout.readline())["offset"] for _ in range(2)] == [0, 1]
    assert [value for _, value in stored(topic)[0]] == [b"typed", b"both at once"]
    os.write(ours, b"\x04")  # the end of the input
    assert process.wait() == 0
    for descriptor in (ours, theirs):
        os.close(descriptor)
    assert process.communicate() == (b"", b"")


class Faulty:
    """An interceptor that is out of order."""

    def on_send(self, record):
        raise RuntimeError("out of order")


def test_produce_says_what_an_interceptor_does_wrong(topic):
    option = f"interceptor.classes={__name__}.Faulty"
    run = topic("produce", "t", "--config", option, stdin=b"x\n")
    assert (run.code, run.out) == (0, "t-0: offsets 0..0 (1 message)\n")
    assert "interceptor Faulty: on_send: RuntimeError: out of order" in run.err


@pytest.mark.parametrize(
    "setting",
    [
        "serializer.class=kafka.serializer.StringEncoder",
        "value.serializer=string",
        "key.serializer=bytes",
    ],
)
def test_produce_takes_lines_for_text_and_for_bytes(topic, setting):
    topic.ok("produce", "t", "--key-separator", ":", "--config", setting, stdin=b"k:v\n\xff:\xfe\n")
    assert stored(topic) == [[(b"k", b"v"), (b"\xff", b"\xfe")]]


def test_produce_says_that_a_switch_of_another_partitioner_has_no_effect(topic):
    switch = "send.switch.broker.enable=true"
    run = topic("produce", "t", "--config", switch, stdin=b"x\n")
    told = "setting send.switch.broker.enable has no effect: default-2.4 ignores it; it is for"
    assert (run.code, run.out) == (0, "t-0: offsets 0..0 (1 message)\n")
    assert run.err == f"kminilog: {told} default-0.8\n"
    topic.ok("produce", "t", "--config", switch, "--partitioner", "default-0.8", stdin=b"x\n")


def test_produce_json_that_goes_on_counts_what_was_lost_on_stderr(kminilog):
    damage_partition_0(kminilog)
    options = [*ROUND_ROBIN_OF_4, "--on-failure", "go-on", "--json"]
    run = kminilog("produce", "t", *options, stdin=b"a\nb\nc\nd\n")
    assert (run.code, len(run.records)) == (1, 2)
    assert "kminilog: t: 2 messages lost\n" in run.err


def test_produce_holds_back_no_more_lines_than_it_must(topic, monkeypatch):
    monkeypatch.setattr(produce, "MAX_WAITING", 10)
    topic.ok("topic", "create", "wide", "--partitions", 2)
    rare, often = next(pair for pair in permutations("abcd", 2) if murmur2_apart(*pair))
    stdin = f"{rare}:v\n".encode() + f"{often}:v\n".encode() * 100
    records = topic.ok("produce", "wide", "--key-separator", ":", "--json", stdin=stdin).records
    assert len(records) == 101


def murmur2_apart(one: str, other: str) -> bool:
    return murmur2_partition(one.encode(), 2) != murmur2_partition(other.encode(), 2)
