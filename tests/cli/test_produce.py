"""`produce`: from lines to messages, byte for byte."""

import base64
import subprocess

import pytest

from kminilog.producer.partitioners.keyed import murmur2_partition
from kminilog.storage.log_dir import LogDir, LogDirWriter
from tests.cli.command_line import CommandLine, assert_one_line
from tests.damage import files_of


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


def test_produce_draws_one_partition_for_the_keyless_of_a_batch(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 5)
    options = ["--seed", 1, "--config", "batch.size=20", "--json"]
    records = kminilog.ok("produce", "t", *options, stdin=b"123456789\n" * 60).records
    drawn = [record["partition"] for record in records]
    assert drawn[0::2] == drawn[1::2]
    assert set(drawn) == set(range(5))


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
    assert "torn tail" in run.err
    assert run.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "stdin", "part"),
    [
        (["--config", "batch.bytes=1"], b"x\n", "batch.size"),
        (["--config", "segment.bytes=99"], b"x\n", "segment.bytes"),
        (["--partition", 2], b"x\n", "[0, 1]"),
        (["--partition", -1], b"x\n", "[0, 1]"),
        (["--partitioner", "no-such"], b"x\n", "there is: default-2.4"),
        (["--key-separator", ""], b"x\n", "must not be empty"),
        (["--key-separator", ":", "--key-regex", "x"], b"x\n", "not both"),
        (["--key-regex", "("], b"x\n", "--key-regex '('"),
        (["--acks", "2"], b"x\n", "'2' is not one of"),
        (["no-such-file"], b"", "no-such-file"),
        (["--null-value", "x"], b"a\nx\n", "documented dialect has no null value"),
        (["--key-separator", ":"], b"a:1\nb:2\nc:%s\n" % (b"x" * 300), "max.message.bytes = 250"),
    ],
)
def test_produce_bad_input_is_one_line_and_changes_nothing(kminilog, options, stdin, part):
    limit = ["--config", "max.message.bytes=250"]
    kminilog.ok("topic", "create", "t", "--partitions", 2, *limit)
    before = files_of(kminilog.log_dir)
    run = kminilog("produce", "t", *options, "--json", stdin=stdin)
    assert_one_line(run, 2, part)
    assert files_of(kminilog.log_dir) == before


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
    process.wait(timeout=60)
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
