"""Nothing that comes from a file, a message or a plugin reaches a terminal as it is."""

import json
import os
import pty
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.text import FIELD_COLOURS
from tests.support.cli.command_line import PROGRAM, CommandLine, Run, environment, on_a_terminal
from tests.support.cli.hostile_plugins import TRICKS
from tests.support.damage import flip_byte

RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
PLUGIN = "tests.support.cli.hostile_plugins.Partitioner"
END = ["--config", "consumer.timeout.ms=0"]


@pytest.fixture
def hostile(orders: CommandLine) -> CommandLine:
    """`orders` with one more message, whose key and value are nothing but tricks."""
    with LogDirWriter.open(orders.log_dir) as writer:
        writer.log(TopicPartition("orders", 0)).append([(TRICKS.encode(), TRICKS.encode())])
    return orders


def assert_no_tricks(run: Run, *arguments: object) -> None:
    assert not RAW.search(run.out + run.err), (arguments, run)
    assert run.err == "" or all(
        line.startswith("kminilog: ") or "--debug" in arguments for line in run.err.splitlines()
    ), (arguments, run)


def test_keys_values_and_arguments_of_any_command_play_no_tricks(hostile):
    last = max((hostile.log_dir / "orders-0").glob("*.log"))
    for arguments in (
        ["consume", "orders", *END, "--json"],
        ["find", "orders-0", 20],
        ["find", "orders-0", 20, "--explain"],
        ["find", "orders-0", 20, "--json"],
        ["dump", last, "--print-data"],
        ["dump", last, "--hex"],
        ["dump", last, "--json"],
        ["partition", "--partitions", 3, "--key", TRICKS],
        ["partition", "--partitions", 3, "--key", TRICKS, "--json"],
        ["partition", "--partitions", 3, "--key", TRICKS, "--explain"],
        ["partition", "--partitions", 3, "--key", "k", "--partitioner", PLUGIN],
        ["--debug", "partition", "--partitions", 3, "--key", "k", "--partitioner", PLUGIN],
        ["partition", "--partitions", 3, "--key", "k", "--partitioner", TRICKS],
        ["produce", "orders", "--partitioner", PLUGIN],
        ["produce", "orders", "--key-regex", "(" + TRICKS],
        ["assign", "--strategy", TRICKS, "--topic", "orders=3", "--member", "m"],
        ["assign", "--strategy", "range", "--topic", "orders=3", "--member", TRICKS],
        ["assign", "--strategy", "range", "--topic", "orders=3", "--member", TRICKS, "--explain"],
        ["topic", "create", TRICKS, "--partitions", 1],
        ["topic", "alter", "orders", "--config", f"{TRICKS}=1"],
        ["verify", TRICKS],
        [TRICKS],
        ["ls", f"--{TRICKS}"],
        ["group", "describe", TRICKS],
        ["recover", TRICKS],
    ):
        assert_no_tricks(hostile(*arguments, stdin=b"line\n"), *arguments)
    flip_byte(last, last.stat().st_size - 1, mask=1)
    for arguments in (["verify"], ["verify", "--json"], ["recover", "orders-0", "--dry-run"]):
        assert_no_tricks(hostile(*arguments), *arguments)


def test_files_of_a_log_dir_play_no_tricks(orders, tmp_path):
    manifest = {"job_id": TRICKS, "topic": "orders", "partitions": [], "facts": {}}
    settings = {"topic": "orders", "partitions": 1, "dialect": "documented", "config": {}}
    member = {"id": TRICKS, "topics": ["orders"], "session_timeout_ms": 1, "heard_ms": 1}
    member |= {"instance_id": None, "owned": [], "is_waiting": False, "is_told": False}
    group = {"group": "g", "state": "Stable", "generation": 1, "strategy": "range"}
    group |= {"partitions": {"orders": 1}, "members": [member], "committed": {}}
    group |= {"assignment": {TRICKS: ["orders-0"]}}
    shown = 0
    for number, (name, document) in enumerate(
        (
            ("orders.json", settings | {"dialect": TRICKS}),
            ("orders.json", settings | {"config": {TRICKS: 1}}),
            ("orders.json", settings | {"config": {"segment.bytes": TRICKS}}),
            ("orders.json", settings | {TRICKS: 1}),
            (".manifests/job.json", manifest),
            (".manifests/job.json", manifest | {"job_id": "job", "facts": {"source": TRICKS}}),
            (".manifests/.pending", manifest),
            (".groups/g.json", group),
            (".groups/g.json", group | {"strategy": TRICKS}),
        )
    ):
        log_dir = CommandLine(tmp_path / f"{number}{TRICKS}")
        shutil.copytree(orders.log_dir, log_dir.log_dir)
        path = log_dir.log_dir / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document))
        for arguments in (
            ["ls"],
            ["topic", "list"],
            ["topic", "describe", "orders"],
            ["topic", "describe", "orders", "--json"],
            ["verify"],
            ["verify", "--json"],
            ["group", "list"],
            ["group", "describe", "g"],
            ["group", "describe", "g", "--json"],
            ["produce", "orders"],
            ["topic", "delete", "orders", "--yes"],
        ):
            run = log_dir(*arguments)
            assert_no_tricks(run, name, *arguments)
            shown += "\\x1b" in run.out + run.err or "\\u001b" in run.out
    assert shown > 20  # the tricks are there, and can be read


def read_on_a_terminal(log_dir: Path, *arguments: str) -> bytes:
    """Return what a command writes to stdout, if that is a terminal."""
    terminal, end = pty.openpty()
    command = [*PROGRAM, "--log-dir", str(log_dir), *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=end, env=environment()
    ) as process:
        os.close(end)
        shown = b""
        try:
            while data := os.read(terminal, 4096):
                shown += data
        except OSError:
            pass  # the other end is closed: that is all
        finally:
            os.close(terminal)
    assert process.returncode == 0
    return shown.replace(b"\r\n", b"\n")


@pytest.mark.processes
def test_consume_escapes_on_a_terminal_only_and_not_if_raw(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    value = b"\x1b[2J\xff \xc3\xa4\xe2\x80\xae"
    kminilog.ok("produce", "t", "--key-separator", ":", stdin=b"\x9b:" + value + b"\n")
    arguments = ["consume", "t", "--print-key", *END]
    escaped = b"\\x9b\t\\x1b[2J\\xff \xc3\xa4\\u202e\n"
    assert read_on_a_terminal(kminilog.log_dir, *arguments) == escaped
    assert read_on_a_terminal(kminilog.log_dir, *arguments, "--raw") == b"\x9b\t" + value + b"\n"
    assert kminilog.ok(*arguments).out_bytes == b"\x9b\t" + value + b"\n"


@pytest.mark.processes
def test_dump_in_kafkas_format_escapes_on_a_terminal_only(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", "kafka")
    kminilog.ok("produce", "t", stdin=b"\x1b[2J\n")
    log = str(kminilog.log_dir / "t-0" / f"{0:020}.log")
    arguments = ["dump", log, "--format", "kafka", "--print-data"]
    assert b"payload: \x1b[2J\n" in kminilog.ok(*arguments).out_bytes
    assert b"payload: \\x1b[2J\n" in read_on_a_terminal(kminilog.log_dir, *arguments)


# ---- colours on a terminal, where they mean something; none elsewhere; the text is the same


SGR = re.compile(r"\x1b\[[0-9;]*m")
PARTITION = ["partition", "--partitions", "3", "--key", "k", "--seed", "1"]
OFFSET, CRC, KEY, VALUE, POSITION = (
    f"\x1b[38;5;{FIELD_COLOURS[kind]}m" for kind in ("offset", "crc", "key", "value", "position")
)
GOOD, BAD, DOUBTFUL, MARKED = "\x1b[32m", "\x1b[1;31m", "\x1b[33m", "\x1b[1m"


def shown(kminilog: CommandLine, *arguments: str, **variables: str) -> str:
    seen = on_a_terminal("--log-dir", str(kminilog.log_dir), *arguments, **variables)
    plain = kminilog(*arguments).out
    assert "\x1b" not in plain
    assert SGR.sub("", seen).replace(" \\\n", "\n").split() == plain.split()
    return seen


@pytest.mark.processes
@pytest.mark.parametrize(
    ("arguments", "coloured"),
    [
        (["verify"], f"verdict: {GOOD}ok\x1b[0m"),
        (["find", "orders-0", "7"], f"{OFFSET}offset 7\x1b[0m"),
        (["find", "orders-0", "7"], f'{VALUE}"value7"\x1b[0m'),
        (["find", "orders-0", "7", "--explain"], f"{MARKED}  → "),
        (["find", "orders-0", "7", "--explain"], f"{CRC}      44  crc"),
        (["group", "demo"], MARKED),
        ([*PARTITION, "--explain"], f"{MARKED}  → & 0x7fffffff"),
    ],
)
def test_terminal_has_colours_and_no_color_takes_them_away(orders, arguments, coloured):
    assert coloured in shown(orders, *arguments)
    assert "\x1b" not in shown(orders, *arguments, NO_COLOR="1")
    assert coloured in shown(orders, *arguments, NO_COLOR="")  # empty is not set


@pytest.mark.processes
def test_bytes_of_a_dump_have_the_colours_of_their_fields(orders):
    log = min((orders.log_dir / "orders-0").glob("*.log"))
    seen = shown(orders, "dump", str(log), "--hex", "--count", "1")
    assert f"  \x1b[2m00000000  \x1b[0m{OFFSET}00 00 00 00 00 00 00 00\x1b[0m " in seen
    assert f"{KEY}key0\x1b[0m" in seen
    assert f"{POSITION}00 00 00 40\x1b[0m" in shown(
        orders, "dump", str(log.with_name("00000000000000000005.index")), "--hex"
    )


@pytest.mark.processes
def test_verdict_of_what_cannot_be_checked_has_a_colour(orders):
    (orders.log_dir / "others.json").write_text("{")  # a topic whose settings cannot be read
    assert f"verdict: {DOUBTFUL}partial\x1b[0m" in shown(orders, "verify")


@pytest.mark.processes
def test_findings_and_what_recovery_does_have_colours(orders):
    log = sorted((orders.log_dir / "orders-0").glob("*.log"))[1]
    flip_byte(log, 32 + 25, mask=1)
    (log.parent / "notes.txt").write_bytes(b"")
    told = re.sub(r"in [0-9.]+ s", "", shown(orders, "verify"))
    assert f"verdict: {BAD}findings\x1b[0m" in told
    assert f"{BAD}bad-crc " in told
    assert f"\n{DOUBTFUL}orphan-file " in told
    recovered = shown(orders, "recover", "orders-0", "--dry-run")
    assert f"\n{BAD}orders-0/" in recovered
    assert f"\n{DOUBTFUL}orders-0: orphan-file" in recovered


@pytest.mark.processes
def test_torn_tail_is_red_in_recover_as_in_verify(orders):
    log = max((orders.log_dir / "orders-0").glob("*.log"))
    os.truncate(log, log.stat().st_size - 5)
    (orders.log_dir / ".clean-shutdown").unlink(missing_ok=True)
    told = re.sub(r"in [0-9.]+ s", "", shown(orders, "verify"))
    assert f"{BAD}torn-tail " in told
    recovered = shown(orders, "recover", "orders-0", "--dry-run")
    assert f"{BAD}orders-0/" in recovered


@pytest.mark.processes
def test_name_of_a_file_brings_no_colours_of_its_own(orders):
    (orders.log_dir / "orders-0" / "\x1b[31mred.txt").write_bytes(b"")
    seen = shown(orders, "recover", "orders-0", "--dry-run")
    assert "\\x1b[31mred.txt" in seen


@pytest.mark.processes
def test_json_has_no_colours_on_a_terminal(orders):
    for arguments in (["find", "orders-0", "7", "--json"], ["verify", "--json"], ["ls", "--json"]):
        assert "\x1b" not in on_a_terminal("--log-dir", str(orders.log_dir), *arguments)


@pytest.mark.processes
def test_text_of_a_message_brings_no_colours_of_its_own(orders):
    orders.ok("produce", "orders", stdin=b"\x1b[31mred\x1b[0m\n")
    seen = shown(orders, "find", "orders-0", "20")
    assert "\\u001b[31mred" in seen
