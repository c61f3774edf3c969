"""`consume`: --tail, --until-end, --key, --format, and an --offset that does not count."""

import json
import os
import pty
import subprocess
from random import Random

import pytest

from kminilog.cli.consume import command as consume
from kminilog.cli.consume import run as consume_run
from kminilog.clock import ManualClock
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.members import JoinRequest
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.system import WallClock
from tests.support.cli.command_line import (
    PROGRAM,
    CommandLine,
    Run,
    assert_one_line,
    assert_refused,
    environment,
)
from tests.support.damage import flip_byte, message_positions


def offsets(run: Run) -> list[int]:
    return [record["offset"] for record in run.records]


def append(command_line: CommandLine, topic: str, partition: int, value: bytes) -> None:
    with LogDirWriter.open(command_line.log_dir) as writer:
        writer.log(TopicPartition(topic, partition)).append([(None, value)])


@pytest.fixture(autouse=True)
def never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that waits for more, as if for ever, is a failure."""

    class Clock(ManualClock):
        def sleep_ms(self, duration_ms: int) -> None:
            super().sleep_ms(duration_ms)
            assert self.now_ms() < 60_000, "it waits"

    monkeypatch.setattr(consume, "SystemClock", Clock)


@pytest.fixture
def wide(kminilog: CommandLine) -> CommandLine:
    """`kminilog` with a topic `wide`: three partitions with 5, 0 and 2 messages."""
    kminilog.ok("topic", "create", "wide", "--partitions", 3)
    for partition, messages in ((0, 5), (2, 2)):
        lines = b"".join(b"p%d-%d\n" % (partition, number) for number in range(messages))
        kminilog.ok("produce", "wide", "--partition", partition, stdin=lines)
    return kminilog


# ---- --until-end


def test_consume_until_end_reads_all_and_does_not_wait(orders, wide):
    assert offsets(orders.ok("consume", "orders", "--until-end", "--json")) == list(range(20))
    run = wide.ok("consume", "wide", "--until-end")
    assert sorted(run.out.split()) == [f"p0-{n}" for n in range(5)] + ["p2-0", "p2-1"]
    assert wide.ok("consume", "wide", "--partition", 1, "--until-end").out == ""
    assert orders.ok("consume", "orders", "--offset", "latest", "--until-end").out == ""
    run = orders.ok("consume", "orders", "--offset", 18, "--until-end", "--json")
    assert offsets(run) == [18, 19]
    run = orders.ok("consume", "orders", "--until-end", "--max-messages", 3, "--json")
    assert offsets(run) == [0, 1, 2]
    pattern = ["--pattern", "o.*|wide", "--until-end", "--json"]
    assert len(orders.ok("consume", *pattern).records) == 27


def test_consume_until_end_offset_above_the_end_is_the_answer_no(wide):
    run = wide("consume", "wide", "--partition", 2, "--offset", 99, "--until-end")
    assert_one_line(run, 1, "wide-2: offset 99 is out of range", "0 up to, not including, 2")


@pytest.mark.parametrize(("reset", "printed"), [("earliest", "p2-0\np2-1\n"), ("latest", "")])
def test_consume_until_end_offset_above_the_end_is_reset_if_wanted(wide, reset, printed):
    options = ["--partition", 2, "--offset", 99, "--config", f"auto.offset.reset={reset}"]
    run = wide("consume", "wide", *options, "--until-end")
    assert (run.code, run.out) == (0, printed)
    assert "wide-2: offset 99 is above the log end 2; reading goes on at" in run.err


@pytest.mark.parametrize("group", [[], ["--group", "g"]])
def test_consume_until_end_stops_at_the_end_that_the_log_had_at_the_start(
    orders, monkeypatch, group
):
    """Also while a writer goes on writing: what comes later is not printed, nor committed."""
    real = consume_run.flush

    def flush() -> None:
        append(orders, "orders", 0, b"late")
        real()

    monkeypatch.setattr(consume_run, "flush", flush)
    small = ["--config", "max.poll.records=3", "--config", "fetch.max.bytes=1"]
    run = orders.ok("consume", "orders", "--until-end", "--json", *small, *group)
    assert offsets(run) == list(range(20))
    monkeypatch.undo()
    if group:
        run = orders.ok("group", "describe", "g", "--json")
        (partition,) = run.document["partitions"]
        assert partition["committed"] == 20
        assert partition["lag"] > 0
        run = orders("consume", "orders", *group, "--until-end")
        assert run.out == "late\n" * partition["lag"]


def test_consume_until_end_leaves_out_what_comes_to_a_partition_that_is_at_its_end(
    wide, monkeypatch
):
    real = consume_run.flush

    def flush() -> None:
        append(wide, "wide", 2, b"late")
        real()

    monkeypatch.setattr(consume_run, "flush", flush)
    run = wide.ok("consume", "wide", "--until-end", "--config", "max.poll.records=1")
    assert sorted(run.out.split()) == [f"p0-{n}" for n in range(5)] + ["p2-0", "p2-1"]


def test_consume_until_end_as_a_member_that_starts_anew_goes_on_where_it_was(wide):
    first = wide.ok("consume", "wide", "--group", "g", "--until-end", "--max-messages", 4)
    rest = wide.ok("consume", "wide", "--group", "g", "--until-end")
    assert sorted(first.out.split() + rest.out.split()) == sorted(
        [f"p0-{n}" for n in range(5)] + ["p2-0", "p2-1"]
    )
    assert wide.ok("consume", "wide", "--group", "g", "--until-end").out == ""


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--tail", "2"],
        ["--offset", "latest"],
        ["--group", "g"],
        ["--group", "g", "--offset", "latest"],
    ],
    ids=" ".join,
)
def test_consume_until_end_reports_damage_that_looks_like_the_end(orders, options):
    log = sorted((orders.log_dir / "orders-0").glob("*.log"))[-1]
    flip_byte(log, message_positions(log.read_bytes())[-2] + 16, mask=1)
    run = orders("consume", "orders", "--until-end", *options)
    assert run.code == 2
    assert f"{log}, byte " in run.err
    assert run.err.count("\n") == 1


@pytest.mark.parametrize("group", [[], ["--group", "g"]])
def test_consume_until_end_of_a_log_that_is_cut_meanwhile_ends_at_its_new_end(
    orders, monkeypatch, group
):
    real = consume_run.flush
    *_, last = sorted((orders.log_dir / "orders-0").glob("*.log"))
    new_end = orders.ok("ls", "orders", "--json").document[-1]["first_offset"]

    def flush() -> None:
        last.unlink(missing_ok=True)
        last.with_suffix(".index").unlink(missing_ok=True)
        real()

    monkeypatch.setattr(consume_run, "flush", flush)
    small = ["--config", "max.poll.records=3", "--config", "fetch.max.bytes=1"]
    run = orders.ok("consume", "orders", "--until-end", "--json", *small, *group)
    assert offsets(run) == list(range(new_end))


class TickingClock(ManualClock):
    """A clock that goes on with each look at it."""

    def now_ms(self) -> int:
        self.sleep_ms(1)
        return super().now_ms()


def test_consume_until_end_of_a_member_that_gives_up_partitions_is_the_end_of_the_others(
    wide, monkeypatch
):
    wide.ok("produce", "wide", "--partition", 0, stdin=b"more\n" * 30)
    groups = Coordinator(
        wide.log_dir,
        lambda: {"wide": 3},
        LogDir(wide.log_dir).topic_id,
        clock=WallClock(),
        chance=Random(0),
    )
    real, joined = consume_run.flush, []

    def flush() -> None:
        if not joined:
            joined.append(groups.join("g", JoinRequest(("wide",), client_id="z")))
        real()

    monkeypatch.setattr(consume_run, "flush", flush)
    monkeypatch.setattr(consume, "SystemClock", TickingClock)
    small = ["--config", "max.poll.records=1", "--config", "heartbeat.interval.ms=1"]
    run = wide.ok("consume", "wide", "--group", "g", "--until-end", "--json", *small)
    assert groups.describe("g").generation == 3  # it alone, both, and the other one alone
    assert [r["offset"] for r in run.records if r["partition"] == 0] == list(range(35))


# ---- --tail


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, []),
        (1, ["p0-4", "p2-1"]),
        (3, ["p0-2", "p0-3", "p0-4", "p2-0", "p2-1"]),
        (2**70, ["p0-0", "p0-1", "p0-2", "p0-3", "p0-4", "p2-0", "p2-1"]),
    ],
)
def test_consume_tail_starts_so_many_messages_before_the_end_of_each_partition(
    wide, count, expected
):
    run = wide.ok("consume", "wide", "--tail", count, "--until-end")
    assert sorted(run.out.split()) == expected
    end = ["--config", "consumer.timeout.ms=0"]
    assert sorted(wide.ok("consume", "wide", "--tail", count, *end).out.split()) == expected


def test_consume_tail_of_a_log_that_has_lost_its_beginning(orders):
    orders.ok("topic", "alter", "orders", "--config", "retention.bytes=200")
    orders.ok("retain")
    described = orders.ok("topic", "describe", "orders", "--json").document["partitions"][0]
    first = described["log_start_offset"]
    assert first > 0
    run = orders.ok("consume", "orders", "--tail", 20, "--until-end", "--json")
    assert offsets(run) == list(range(first, 20))


def test_consume_tail_of_a_log_with_gaps_counts_offsets(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", "kafka")
    log = kminilog.log_dir / "t-0" / ("0" * 20 + ".log")
    log.write_bytes(b"".join(encode(KAFKA, offset, None, b"v") for offset in (0, 1, 5, 6)))
    run = kminilog("consume", "t", "--tail", 4, "--until-end", "--allow-gaps", "--json")
    assert (run.code, offsets(run)) == (0, [5, 6])
    assert "a gap" in run.err


# ---- --key


def test_consume_key_prints_only_messages_with_this_key(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 2)
    lines = b"a:1\nb:2\nno key\na:3\n:4\n\xc3\xa4:5\nab:6\n\xff:7\n"
    kminilog.ok("produce", "t", "--key-separator", ":", stdin=lines)

    def values(key: str, *options: str | int) -> str:
        return kminilog.ok("consume", "t", "--until-end", "--key", key, *options).out

    assert values("a") == "1\n3\n"
    assert values("") == "4\n"
    assert values("ä") == "5\n"
    assert values("\udcff") == "7\n"  # as Python has a byte of the command line that is no UTF-8
    assert values("A") == values("c") == ""
    assert values("a", "--max-messages", 1) == "1\n"
    assert values("a", "--max-messages", 0) == ""
    (record,) = kminilog.ok("consume", "t", "--until-end", "--key", "b", "--json").records
    assert (record["key"], record["value"]) == ("b", "2")


def test_consume_key_as_a_member_commits_what_it_has_passed_and_no_more(orders):
    options = ["consume", "orders", "--group", "g", "--until-end", "--json"]
    assert offsets(orders.ok(*options, "--key", "key7", "--max-messages", 1)) == [7]
    run = orders.ok("group", "describe", "g", "--json")
    assert run.document["partitions"][0]["committed"] == 8
    assert offsets(orders.ok(*options, "--key", "key3")) == []
    run = orders.ok("group", "describe", "g", "--json")
    assert run.document["partitions"][0]["committed"] == 20


# ---- --format


@pytest.fixture
def mixed(kminilog: CommandLine) -> CommandLine:
    """`kminilog` with a topic `t`: keys and values that are text, null, empty, and no UTF-8."""
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", "kafka")
    lines = "user:größe\n".encode() + b"plain\n:-\n\xff:\xfe\n"
    kminilog.ok("produce", "t", "--key-separator", ":", "--null-value", "-", stdin=lines)
    return kminilog


@pytest.mark.parametrize(
    ("line_format", "lines"),
    [
        (r"%s\n", ["größe", "plain", "null", "\udcfe"]),
        (
            r"%t %p %o %k %s\n",
            ["t 0 0 user größe", "t 0 1 null plain", "t 0 2  null", "t 0 3 \udcff \udcfe"],
        ),
        (r"%K %S\n", ["4 7", "-1 5", "0 -1", "1 1"]),
        ("%o\n", ["0", "1", "2", "3"]),
        ("\udcff%o\n", ["\udcff0", "\udcff1", "\udcff2", "\udcff3"]),
        (r"\x25\t%%\\\r%o ü\n", [f"%\t%\\\r{n} ü" for n in range(4)]),
    ],
)
def test_consume_format_has_kcats_letters(mixed, line_format, lines):
    run = mixed.ok("consume", "t", "--until-end", "--format", line_format)
    expected = "".join(f"{line}\n" for line in lines)
    assert run.out_bytes == expected.encode("utf-8", "surrogateescape")


def test_consume_format_ends_no_line_by_itself_and_frames_values(mixed):
    run = mixed.ok("consume", "t", "--until-end", "--format", "%o;")
    assert run.out == "0;1;2;3;"
    run = mixed.ok("consume", "t", "--until-end", "--format", "%R%s")
    framed = [b"gr\xc3\xb6\xc3\x9fe", b"plain", None, b"\xfe"]
    assert run.out_bytes == b"".join(
        (b"\xff" * 4 + b"null") if one is None else len(one).to_bytes(4, "big") + one
        for one in framed
    )


@pytest.mark.processes
def test_consume_format_on_a_terminal_escapes_keys_and_values_only(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    kminilog.ok("produce", "t", "--key-separator", ":", stdin=b"\x1b[2J:\xff\n")
    for raw, shown in (([], rb"t \x1b[2J \xff\t."), (["--raw"], b"t \x1b[2J \xff\\t.")):
        ours, theirs = pty.openpty()
        words = ["consume", "t", "--until-end", "--format", r"%t %k %s\\t.", *raw]
        where = [*PROGRAM, "--log-dir", str(kminilog.log_dir), *words]
        subprocess.run(where, stdout=theirs, env=environment(), check=True)
        assert os.read(ours, 1000) == shown
        os.close(ours)
        os.close(theirs)


# ---- --offset of a group


def test_consume_group_says_that_an_offset_does_not_count(wide):
    wide.ok("consume", "wide", "--group", "g", "--until-end")
    for partition in (0, 1, 2):
        append(wide, "wide", partition, b"late")
    told = "group g goes on at its committed offsets: wide-0 at 5, wide-1 at 0, wide-2 at 2; "
    told += "--offset latest is for partitions without one; "
    told += "`kminilog group reset g --to latest --yes` moves them"
    options = ["--group", "g", "--until-end"]
    run = wide("consume", "wide", *options, "--offset", "latest", "--max-messages", 1)
    assert (run.code, run.out, run.err) == (0, "late\n", f"kminilog: {told}\n")
    assert wide.ok("consume", "wide", *options, "--max-messages", 1).out == "late\n"
    run = wide("consume", "wide", *options, "--offset", "earliest", "--json")
    assert run.code == 0
    assert "wide-0 at 6, wide-1 at 1, wide-2 at 2; --offset earliest is for" in run.err
    assert len(run.records) == 1
    wide.ok("group", "reset", "g", "--to", "earliest", "--yes")
    run = wide.ok("consume", "wide", *options, "--offset", "earliest")  # it makes no difference
    assert len(run.out.split()) == 10


def test_consume_group_names_three_partitions_and_says_that_there_are_more(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 5)
    options = ["consume", "t", "--group", "g", "--until-end"]
    kminilog.ok(*options)
    for partition in range(5):
        append(kminilog, "t", partition, b"late")
    run = kminilog(*options, "--offset", "latest")
    assert "t-0 at 0, t-1 at 0, t-2 at 0, …; --offset" in run.err
    assert "t-3" not in run.err


# ---- bad input


WRONG = [
    ("--tail x", "--tail"),
    ("--tail -1", "--tail"),
    ("--tail 3 --offset 2", "give one of them"),
    ("--tail 3 --offset earliest", "give one of them"),
    ("--tail 3 --group g", "`kminilog group reset g --topic orders"),
    ("--group g --offset 3", "`kminilog group reset g --topic orders"),
    ("--offset -5", "none is negative: --tail 5 starts so many messages before the end"),
    ("--offset beginning", "'beginning': write earliest"),
    ("--offset end", "'end': write latest"),
    ("--offset stored", "'stored': write --group G"),
    ("--until-end=yes", "--until-end"),
    ("--key", "--key"),
    ("--format", "--format"),
    ("--format ''", "it is empty"),
    ("--format %T", "no time"),
    ("--format %h", "no headers"),
    ("--format %x", "%x: the letters are"),
    ("--format '%ü'", "%ü: the letters are"),
    ("--format 50%", "%: the letters are"),
    (r"--format '\q'", r"\q: after a backslash"),
    (r"--format '%s\'", r"\: after a backslash"),
    (r"--format '\xg0'", r"\x: after a backslash"),
    ("--format %s --json", "no --json"),
    ("--format %s --print-key", "no --print-key"),
]


def test_consume_options_bad_input_is_one_line(orders):
    assert_refused(orders, orders.log_dir.parent, WRONG, "consume", "orders")


def test_consume_format_with_json_before_the_command_is_one_line(orders):
    run = orders("--json", "consume", "orders", "--format", "%s")
    assert_one_line(run, 2, "--format says all that is printed")


@pytest.mark.processes
def test_consume_options_into_a_closed_pipe_end_quietly(orders):
    orders.ok("produce", "orders", stdin=b"key:value\n" * 3000)
    for words in (["--format", r"%k %s\n"], ["--tail", "2900", "--json"], ["--key", "key0"]):
        process = orders.start("consume", "orders", "--until-end", *words)
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.wait() in (0, 141)
        assert process.stderr.read() == b""
        process.stderr.close()


def test_consume_json_of_each_option_is_one_object_a_line(orders):
    for words in (["--tail", 3], ["--key", "key3"], ["--until-end"]):
        run = orders.ok("consume", "orders", "--until-end", *words, "--json")
        fields = {"topic", "partition", "offset", "key", "value"}
        assert all(set(json.loads(line)) == fields for line in run.out.splitlines())
        assert run.out
