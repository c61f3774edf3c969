"""What commands write fits the terminal, at 60, 80 and 120 columns, and no word is cut."""

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from kminilog.cli.main import main
from kminilog.cli.shared.output import width, write_line
from kminilog.cli.step.command import SCENES
from kminilog.course.teaching.marks import Mark, marks_as_csv
from kminilog.text import COMMAND, Span, StyledText, columns, folded
from tests.support.cli.command_line import CommandLine
from tests.support.course.student import HEADER, start_lab
from tests.support.damage import flip_byte

WIDE = 10_000
SCRIPTS = re.compile("[\u3000-\u9fff\uff00-\uffef]|[^ \u3000-\u9fff\uff00-\uffef]+")
LINES = [f"customer-{n}-茶:{'tea and cake, ' * 9}order {n}".encode() for n in range(30)]


class Terminal(io.TextIOWrapper):
    """A stdout that says that it is a terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        self.flush()
        return self.buffer.getvalue().decode().splitlines()


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that runs a command on a terminal of so many columns: its lines."""
    monkeypatch.setenv("NO_COLOR", "1")

    def run(words: list[str], wide: int) -> list[str]:
        stdout = Terminal()
        with monkeypatch.context() as patch:
            patch.setenv("COLUMNS", str(wide))
            patch.setattr(sys, "stdout", stdout)
            with pytest.raises(SystemExit):
                main.main(words)
            return stdout.lines

    return run


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Path:
    """A directory with a damaged log dir, a cluster, a lab that is begun, and marks."""
    place = tmp_path_factory.mktemp("a-place-with-a-long-name-for-the-shop")
    log_dir = CommandLine(place / "log-dir")
    config = ["--config", "segment.bytes=2000", "--config", "index.interval.bytes=100"]
    log_dir.ok("topic", "create", "orders", "--partitions", 2, *config)
    sent = ["produce", "orders", "--key-separator", ":"]
    log_dir.ok(*sent, stdin=b"\n".join(LINES))
    log_dir.ok("consume", "orders", "--group", "readers", "--until-end")
    log_dir.ok("group", "reset", "readers", "--to", "earliest", "--yes")
    segments = sorted(log_dir.log_dir.glob("orders-0/*.log"))
    flip_byte(segments[0], 60, mask=1)
    log_dir.ok("cluster", "create", place / "brokers", "--brokers", 12)
    created = ["topic", "create", "wares", "--partitions", "4", "--replicas", "3"]
    with pytest.raises(SystemExit):
        main.main(["--cluster", str(place / "brokers"), *created])
    start_lab(place, f"{HEADER}\n\ndef checksum(message):\n    return 'no number'\n")
    codes = ("counts-the-header", "ignores-the-attributes", "forgets-the-offset")
    marks = [
        Mark(f"student-{n}", 1, exercise, "implement", "fail", reason_code=code)
        for exercise in (1, 2)
        for n, code in enumerate(codes)
    ]
    (place / "marks.csv").write_bytes(marks_as_csv(marks))
    return place


MEMBERS = [word for n in range(5) for word in ("--member", f"a-reader-with-a-name-{n}")]
COMMANDS = [
    *(["step", name] for name in SCENES),
    ["step", "list"],
    ["ls"],
    ["topic", "list"],
    ["topic", "describe", "orders"],
    ["dump", "{log}", "--print-data"],
    ["dump", "{log}", "--hex", "--count", "3"],
    ["dump", "{index}", "--hex"],
    ["find", "orders-1", "7"],
    ["find", "orders-1", "7", "--explain"],
    ["verify"],
    ["group", "list"],
    ["group", "describe", "readers"],
    ["group", "reset", "readers", "--to", "latest"],
    ["group", "demo"],
    ["cluster", "describe", "{place}/brokers"],
    ["cluster", "demo"],
    ["--cluster", "{place}/brokers", "verify"],
    ["--cluster", "{place}/brokers", "ls"],
    ["assign", "--strategy", "range", "--topic", "orders=40", *MEMBERS, "--explain"],
    [
        *("assign", "--topic", "orders=40", "--topic", "views=9", *MEMBERS),
        *("--strategy", "sticky", "--strategy", "range", "--strategy", "roundrobin"),
    ],
    [
        "partition",
        "--partitions",
        "7",
        "--key",
        "a key",
        "--key",
        "茶",
        "--no-key",
        "3",
        "--seed",
        "1",
        "--explain",
    ],
    [
        *("partition", "--partitions", "7", "--key", "a key with words", "--seed", "1"),
        *("--no-key", "3"),
        *("--partitioner", "sticky-cache", "--partitioner", "default-0.8"),
        *("--partitioner", "uniform-sticky", "--partitioner", "round-robin"),
    ],
    ["recover", "orders-0", "--dry-run"],
    ["retain", "--dry-run"],
    ["lab", "list"],
    ["lab", "list", "--language", "zh"],
    ["lab", "progress"],
    ["lab", "progress", "--language", "zh"],
    ["lab", "check", "1.1"],
    ["course", "stats", "{place}/marks.csv"],
]


@pytest.mark.processes
def test_what_a_command_writes_fits_the_terminal_and_no_word_is_cut(shop, terminal, monkeypatch):
    monkeypatch.chdir(shop)
    log = min((shop / "log-dir" / "orders-1").glob("*.log"))
    names = {"place": shop, "log": log, "index": log.with_suffix(".index")}
    offenders = []
    for words in COMMANDS:
        told = [word.format(**names) for word in words]
        told = told if words[0] == "--cluster" else ["--log-dir", str(shop / "log-dir"), *told]
        known = {word for line in terminal(told, WIDE) for word in SCRIPTS.findall(line)}
        if not known:
            offenders.append((words, WIDE, "nothing is written"))
        for wide in (60, 80, 120):
            lines = terminal(told, wide)
            too_wide = [line for line in lines if columns(line) > wide]
            breakable = [line for line in too_wide if " " in line.strip().removesuffix(" \\")]
            whole = [line for line in lines if "…" not in line and "--hex" not in words]
            found = {word for line in whole for word in SCRIPTS.findall(line)}
            if breakable or not found <= known | {"\\"}:
                offenders.append((words, wide, breakable, found - known))
    assert offenders == []


def test_command_that_is_folded_can_be_copied(monkeypatch):
    stdout = Terminal()
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys, "stdout", stdout)
    write_line(StyledText("  as text: ", Span("kminilog dump a/path --at 7", COMMAND)))
    assert re.sub("\x1b\\[[0-9]*m", "", "|".join(stdout.lines)) == (
        "  as text:|    kminilog dump \\|    a/path --at 7"
    )


def test_command_that_is_folded_keeps_what_is_in_quotes():
    words = ["kminilog", "step", "murmur2", "--key", "a  b's c d", "--partitions", "3"]
    line = StyledText("    Round by round: ", Span(shlex.join(words), COMMAND))
    for wide in range(1, 100):
        copied = "\n".join(folded(line, wide)).partition("round:")[2].replace("\\\n", "")
        assert shlex.split(copied) == words, wide


def test_width_is_80_where_stdout_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")
    assert width() == 80
    write_line("a line that is longer than twenty columns")
    assert capsys.readouterr().out == "a line that is longer than twenty columns\n"
