"""A walk through every command: what its help shows, in a pipe, as JSON, narrow and wide; then odd
and wrong words in every place. One line and the right exit code each.

The commands and their options are those of the command line itself, so a new one is walked, too.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import click
import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.text import columns, shown
from tests.cli.test_cluster import Cluster
from tests.cli.test_help import COMMANDS, SPARK, shown_example, working_directory
from tests.cli.test_output import RAW
from tests.support.cli.command_line import PROGRAM, CommandLine, Run, environment

__all__ = ["working_directory"]

WALKED = [context for context in COMMANDS if context.command_path not in SPARK]
ALONE = [context for context in WALKED if not isinstance(context.command, click.Group)]
# These start Spark, or wait for a file to change.
LEFT_OUT = {"--engine", "--against", "--master", "--value"}
WAITING = {"kminilog lab watch"}
ANSWERS_ANYTHING = {"kminilog lab run"}  # the words are another command's
ENDING = [c for c in ALONE if c.command_path not in ANSWERS_ANYTHING | WAITING]
SAID = re.compile(
    "has more partitions now|^kminilog runs on your functions|to grade; on an idle machine"
)  # by an example
STARTING = {
    f"kminilog {words}"
    for words in ("lab check", "lab exam", "lab run", "lab watch", "course check", "course grade")
}
"""These let a process judge."""
ODD = ("", "文", "-1", "x y", "\x1b[31m", "1" * 30)


def each(contexts: list[click.Context]) -> pytest.MarkDecorator:
    params = [
        pytest.param(
            context,
            id=context.command_path,
            marks=[pytest.mark.processes] if context.command_path in STARTING else [],
        )
        for context in contexts
    ]
    return pytest.mark.parametrize("context", params)


def words_of(context: click.Context) -> list[str]:
    """The words of the example in a command's help, without the program."""
    return shlex.split(shown_example(context))[1:]


def has_json(context: click.Context) -> bool:
    """Tell if the example can be asked for JSON; after `--` stand the words of another command."""
    options = {name for param in context.command.params for name in param.opts}
    return "--json" in options and "--" not in words_of(context)


def run(words: list[str], **variables: str) -> Run:
    result = CliRunner().invoke(main, words, env=variables)
    return Run(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)


def assert_said_well(found: Run, words: list[str]) -> None:
    """Assert that it was done, or that one line says why not, which no fault of ours caused."""
    assert found.code in (0, 1, 2), (words, found)
    assert "Traceback" not in found.err, (words, found)
    assert "kminilog --debug" not in found.err, (words, found)
    assert not RAW.search(found.err), (words, found)
    if found.code == 2:
        assert found.err.startswith("kminilog: "), (words, found)
        assert found.err.count("\n") == 1, (words, found)


def documents(out: str) -> Iterator[object]:
    """Yield the documents of an output: one, or one a line."""
    try:
        yield json.loads(out)
    except ValueError:
        yield from map(json.loads, out.splitlines())


@pytest.mark.sampled(8)
@each([context for context in ALONE if has_json(context)])
def test_json_goes_through_a_parser(context, working_directory):
    found = run([*words_of(context), "--json"])
    assert (found.code, "Traceback" in found.err) == (0, False), found
    assert list(documents(found.out)), found
    assert found.err.count("\n") <= 1, found  # `topic alter` warns


@pytest.mark.parametrize("width", [60, 200])
def test_help_is_as_wide_as_the_terminal_up_to_100_columns(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    too_wide = []
    for context in WALKED:
        with pytest.raises(SystemExit) as end:
            main([*shlex.split(context.command_path)[1:], "--help"])
        told = capsys.readouterr()
        assert (end.value.code, told.err) == (0, ""), context.command_path
        prose = told.out.split("For example:")[0].split("Usage:")[1].splitlines()[1:]
        breakable = [line for line in prose if " " in line.strip() and "|" not in line]
        too_wide += [line for line in breakable if columns(line) > min(width, 100)]
    assert not too_wide


@pytest.mark.processes
@pytest.mark.sampled(8)
@each(ENDING)
def test_closed_pipe_ends_a_command_quietly(context, working_directory):
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(
        [*PROGRAM, *words_of(context)],
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    os.close(writing)
    _, err = process.communicate()
    said = [line for line in err.decode().splitlines() if not SAID.search(line)]
    assert (process.returncode, said) == (141, [])


class PressesCtrlC:
    """The body of a command, which gets Ctrl-C at one of the calls that it makes."""

    def __init__(self, body: Callable[..., object], at: int) -> None:
        self.body, self.left = body, at

    def __call__(self, *arguments: object, **options: object) -> object:
        sys.setprofile(self._on_call)
        try:
            return self.body(*arguments, **options)
        finally:
            sys.setprofile(None)

    def _on_call(self, frame: FrameType, event: str, argument: object) -> None:
        self.left -= event == "call"
        if self.left == 0:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)


@pytest.mark.sampled(8)
@each(ALONE)
def test_ctrl_c_ends_a_command_quietly(
    context, working_directory, monkeypatch, tmp_path, tmp_path_factory
):
    """At its first call, soon, and late; a command that makes fewer calls ends as without it."""
    for at in (1, 200, 2000):
        copy = tmp_path_factory.mktemp("copy")
        monkeypatch.chdir(shutil.copytree(tmp_path, copy, dirs_exist_ok=True))
        with monkeypatch.context() as patched:
            presses = PressesCtrlC(context.command.callback, at)
            patched.setattr(context.command, "callback", presses)
            found = run(words_of(context))
        assert found.code == (0 if presses.left > 0 else 130), (at, found)
        assert [line for line in found.err.splitlines() if not SAID.search(line)] == [], at
        for place, option in (("kminilog-data", "--log-dir"), ("shop", "--cluster")):
            # What it leaves is sound. A cluster is there as soon as its state is.
            if Path(place, "cluster.json" if place == "shop" else "").exists():
                assert run([option, place, "verify"]).code == 0, at


def test_unknown_option_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in {context.command_path for context in WALKED} - ANSWERS_ANYTHING:
        words = [*shlex.split(path)[1:], "--no-such-option"]
        found = run(words)
        assert_said_well(found, words)
        assert (found.code, found.out) == (2, ""), path
        assert "No such option '--no-such-option'" in found.err, path
        assert f"`{path} --help`" in found.err


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an open file
@pytest.mark.sampled(8)
@each(ENDING)
def test_a_word_too_many_is_one_line(context, working_directory):
    takes_many = any(param.nargs == -1 for param in context.command.params)
    for odd in ODD:
        words = [*words_of(context), "--", odd]
        found = run(words)
        assert_said_well(found, words)
        if not takes_many:
            assert found.code == 2, (words, found)


@pytest.mark.sampled(8)
@each(ENDING)
def test_odd_words_for_each_argument_are_one_line(context, working_directory):
    own = [param for param in context.command.params if isinstance(param, click.Argument)]
    path = shlex.split(context.command_path)[1:]
    for slot in range(len(own)):
        for odd in (*ODD, "orders.txt", "kminilog-data"):
            given = ["orders-0" if "P" in str(p.metavar) else "orders" for p in own]
            given[slot] = odd
            words = [*path, *_options(context), "--", *given]
            assert_said_well(run(words), words)


@pytest.mark.sampled(8)
@each(ENDING)
def test_odd_values_of_each_option_are_one_line(context, working_directory, tmp_path):
    before = sorted(os.listdir())
    for param in context.command.params:
        if not isinstance(param, click.Option) or param.is_flag or param.opts[0] in LEFT_OUT:
            continue
        is_number = isinstance(param.type, (click.types.IntParamType, click.Choice))
        for odd in (*ODD, "kminilog-data"):
            if odd == "-1" and is_number:
                continue  # it may be meant
            words = _with(context, param.opts[0], odd)
            found = run(words)
            assert_said_well(found, words)
            if is_number and odd != "1" * 30:
                assert (found.code, found.out) == (2, ""), (words, found)
                assert param.opts[0] in found.err, (words, found)
    for name in set(os.listdir()) - set(before):  # a file or folder that was asked for
        assert name in ODD or context.command_path == "kminilog lab start", name


def _options(context: click.Context) -> list[str]:
    """The options of the example, without its arguments."""
    words = words_of(context)[len(shlex.split(context.command_path)) - 1 :]
    start = next((slot for slot, word in enumerate(words) if word.startswith("--")), len(words))
    return words[start:]


def _with(context: click.Context, option: str, value: str) -> list[str]:
    """The example with this value for an option, in place of its own."""
    words = words_of(context)
    while option in words:
        slot = words.index(option)
        del words[slot : slot + 2]
    end = ["--config", "consumer.timeout.ms=0"] if context.command_path.endswith("consume") else []
    extra = [] if option == "--config" else end
    return [*words, *extra, option, value]


# ---- tables, with long names and with Chinese keys


@pytest.fixture
def large(tmp_path: Path) -> CommandLine:
    """A topic of some size: long offsets, several segments, Chinese keys, a group."""
    kminilog = CommandLine(tmp_path / "kminilog-data")
    config = ["--config", "segment.bytes=4000", "--config", "index.interval.bytes=500"]
    kminilog.ok("topic", "create", "purchases", "--partitions", 3, *config)
    lines = "".join(f"顾客{n % 40}:第{n}号订单\n" for n in range(2000))
    kminilog.ok("produce", "purchases", "--key-separator", ":", stdin=lines.encode())
    end = ["--config", "consumer.timeout.ms=0"]
    kminilog.ok("consume", "purchases", "--group", "readers", *end)
    return kminilog


TABLES = [
    ["topic", "list"],
    ["topic", "describe", "purchases"],
    ["ls"],
    ["group", "list"],
    ["group", "describe", "readers"],
    ["step", "list"],
    ["lab", "list"],
    ["retain", "--dry-run", "--now", "1"],
    ["find", "purchases-0", "300", "--explain"],
    ["partition", "--partitions", "3", "--key", "顾客", "--key", "k", "--explain"],
    [
        *("partition", "--partitions", "3", "--key", "顾客", "--key", "key", "--no-key", "2"),
        *(w for n in ("default-0.8", "default-2.4", "built-in") for w in ("--partitioner", n)),
    ],
    ["assign", "--strategy", "range", "--topic", "orders=10", "--member", "consumer-a"],
]


def test_tables_fit_80_columns_whatever_the_terminal(large, monkeypatch):
    offenders = []
    for words in TABLES:
        outs = set()
        for width in ("60", "80", "200"):
            monkeypatch.setenv("COLUMNS", width)
            outs.add(large.ok(*words).out)
        is_same = len(outs) == 1 or words[0] == "partition"  # which draws at random
        widest = max((columns(line) for out in outs for line in out.splitlines()), default=0)
        if not (is_same and 0 < widest <= 80):
            offenders.append((words, widest, outs))
    assert offenders == []


TOPIC = "purchases-of-the-whole-year-in-all-shops"
GROUP = "readers-of-the-purchases-of-the-whole-year"
MEMBER = "consumer-number-one-of-all-the-members-of-the-group"


@pytest.fixture
def long_named(tmp_path: Path) -> CommandLine:
    """A topic, and a group that has read it, with names of 40 letters."""
    kminilog = CommandLine(tmp_path / "kminilog-data")
    kminilog.ok("topic", "create", TOPIC, "--partitions", 2, "--config", "segment.bytes=600")
    lines = "".join(f"顾客{n}:第{n}号订单\n" for n in range(90)).encode()
    (tmp_path / "lines.txt").write_bytes(lines)
    kminilog.ok("produce", TOPIC, "--key-separator", ":", stdin=lines)
    kminilog.ok("consume", TOPIC, "--group", GROUP, "--until-end")
    return kminilog


LONG_TABLES = [
    ["topic", "list"],
    ["topic", "describe", TOPIC],
    ["ls"],
    ["group", "list"],
    ["group", "describe", GROUP],
    ["retain", "--dry-run", "--now", "1"],
    ["verify"],
    ["find", f"{TOPIC}-0", "30", "--explain"],
    ["produce", TOPIC, "lines.txt", "--stats"],
    ["assign", "--strategy", "range", "--topic", f"{TOPIC}=9", "--member", MEMBER],
    [
        *("assign", "--strategy", "range", "--topic", f"{TOPIC}=9", "--member", MEMBER),
        *("--member", "b", "--explain"),
    ],
    ["demo", "--documents"],
]


def test_tables_with_long_names_show_all_of_them(long_named, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    offenders = []
    for words in LONG_TABLES:
        out = long_named.ok(*words).out
        named = [n for n in (TOPIC, GROUP, MEMBER) if any(word.startswith(n) for word in words)]
        if not out or not all(name in out for name in named):
            offenders.append((words, named, out))
    assert offenders == []


def test_tables_of_a_cluster_with_long_names_show_all_of_them(tmp_path):
    cluster = Cluster(tmp_path / "cluster")
    assert cluster.run("cluster", "create", str(cluster.path), "--brokers", "3").code == 0
    cluster.ok("topic", "create", TOPIC, "--partitions", "2", "--replicas", "3")
    described = cluster.run("cluster", "describe", str(cluster.path)).out
    outs = [described, cluster.ok("ls").out, cluster.ok("topic", "list").out]
    assert all(TOPIC in out for out in outs)


LONG = {
    "letters": (b"k" * 100, b"v" * 300),
    "Chinese": ("顾客".encode() * 40, "第1号订单的内容".encode() * 40),
    "emoji": ("👨‍👩‍👧".encode() * 30, "é\u0301".encode() * 90),
    "escapes": (b"\x1b[31m" * 30, b"\t\n\0" * 90),
    "no text": (bytes(range(128, 256)), bytes(range(256))),
    "no key": (None, "长".encode() * 500),
    "empty": (b"", b"x" * 1000),
    "long key": ("键".encode() * 300, b"v"),
    "short": (b"k", "值".encode()),
}


@pytest.mark.parametrize("dialect", ["documented", "kafka"])
@pytest.mark.parametrize("name", LONG)
def test_keys_and_values_of_dump_and_find_fit_80_columns_and_show_what_is_cut(
    tmp_path, monkeypatch, dialect, name
):
    kminilog = CommandLine(tmp_path / "kminilog-data")
    topic = "purchases-of-the-year"
    kminilog.ok("topic", "create", topic, "--partitions", 1, "--dialect", dialect)
    partition = TopicPartition(topic, 0)
    key, value = LONG[name]
    with LogDirWriter.open(kminilog.log_dir) as writer:
        log = writer.log(partition)
        log.append([(key, value)] * 3)
        path = log.segments()[0].log_path
    same = set()
    for width in ("60", "80", "200"):
        monkeypatch.setenv("COLUMNS", width)
        outs = [
            kminilog.ok("dump", path, "--print-data").out,
            kminilog.ok("dump", path, "--hex").out,
            kminilog.ok("find", partition, 2).out,
            kminilog.ok("find", partition, 2, "--explain").out,
        ]
        if key and name not in ("no text", "escapes"):
            outs.append(kminilog.ok("find", topic, "--key", key.decode()).out)
        same.add(tuple(outs))
    assert len(same) == 1
    heads = "offset "  # of messages in a dump: numbers only, a line for each message
    lines = [line for out in outs for line in out.splitlines() if not line.startswith(heads)]
    assert max(map(columns, lines)) <= 80, outs
    for data in (key, value):  # all of it, or how much it is
        for out in (outs[0], outs[2]):
            assert shown(data) in out or f"… ({len(data)} bytes)" in out, (data, out)
    assert outs[2].count("\n") == 2


def test_short_find_is_one_line(tmp_path):
    kminilog = CommandLine(tmp_path / "kminilog-data")
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    kminilog.ok("produce", "t", "--key-separator", ":", stdin="键:值\n".encode())
    line = 't-0/00000000000000000000.log, offset 0, byte 0: key "键", value "值"\n'
    assert kminilog.ok("find", "t-0", 0).out == line
    assert kminilog.ok("find", "t", "--key", "键").out == line


def test_chinese_keys_and_values_are_text_everywhere(large):
    log = min((large.log_dir / "purchases-0").glob("*.log"))
    for words in (
        ["find", "purchases-0", "5"],
        ["find", "purchases-0", "5", "--json"],
        ["find", "purchases-0", "5", "--explain"],
        ["dump", log, "--count", "1", "--print-data"],
        ["dump", log, "--count", "1", "--hex"],
        ["dump", log, "--count", "1", "--json"],
        ["step", "record", log],
        ["consume", "purchases", "--print-key", "--max-messages", "1"],
        ["partition", "--partitions", "3", "--key", "顾客7"],
        ["partition", "--partitions", "3", "--key", "顾客7", "--explain"],
    ):
        out = large.ok(*words).out
        assert "顾客" in out or "顾 客" in out, (words, out)


def test_chinese_keys_stand_beside_their_bytes_in_every_table_of_bytes(large):
    log = min((large.log_dir / "purchases-0").glob("*.log"))
    for words in (
        ["find", "purchases-0", "5", "--explain"],
        ["dump", log, "--count", "1", "--hex"],
        ["step", "record", log],
    ):
        assert "顾 客 " in large.ok(*words).out, words


def test_every_command_is_walked():
    found = {context.command_path for context in ALONE}
    assert {"kminilog dump", "kminilog topic create", "kminilog cluster crash"} <= found
