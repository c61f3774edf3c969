"""docs/architecture.md says what still works without a folder: the package is copied without it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kminilog.cli.main import COMMANDS, NEEDED_BY, OF_COURSE
from tests.support.cli.command_line import PROJECT, assert_one_line
from tests.support.cli.command_line import Run as Ended

Run = Callable[..., Ended]
LOG = "kminilog-data/orders-0/00000000000000000000.log"
TOOLS = (  # in this order: each finds what those before it have written
    "--help",
    "topic create orders --partitions 1 --dialect kafka",
    "produce orders lines.txt",
    "consume orders --until-end",
    "find orders-0 1 --explain",
    f"dump {LOG} --hex",
    f"dump {LOG} --format kafka",
    "ls",
    "ls --html log-dir.html",
    "recover orders-0",
    "retain --dry-run",
    "compact orders",
    "partition --partitions 3 --key a --explain",
    "assign --strategy range --topic orders=4 --member a --member b",
    "cluster create cluster --brokers 2",
    "cluster demo",
    "group list",
    "group demo",
    "demo --documents",
)
OF_JOBS = (
    "verify",
    "verify --report report.html --junit junit.xml",
    "verify orders --against lines.txt",
    "ingest lines.txt --topic orders",
)
LIBRARY = """
from pathlib import Path
from kminilog import LogDir, LogDirWriter, Topic, TopicPartition
partition = TopicPartition("orders", 0)
with LogDirWriter.open(Path("log-dir"), create=True) as writer:
    writer.create_topic(Topic("orders"))
    writer.log(partition).append([(b"k", b"one"), (None, b"two")])
print(LogDir(Path("log-dir")).reader(partition).find(1).message.value)
"""

pytestmark = pytest.mark.processes


@pytest.fixture
def without(tmp_path: Path) -> Callable[..., Run]:
    """Returns a function that copies the package without some folders, and returns its Python."""

    def copied(*folders: str) -> Run:
        package = tmp_path / "python" / "kminilog"
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT / "kminilog", package, ignore=left_out)
        for folder in folders:
            shutil.rmtree(package / folder)
        here = tmp_path / "here"
        here.mkdir()
        (here / "lines.txt").write_text("a:1\nb:2\nc:3\n")
        names = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}

        def run(*words: str) -> Ended:
            command = [sys.executable, "-P", *words]
            done = subprocess.run(command, cwd=here, env=names, capture_output=True, text=True)
            return Ended(done.returncode, done.stdout, done.stderr)

        return run

    return copied


def failed(python: Run, lines: tuple[str, ...]) -> dict[str, str]:
    """Return what stderr says of each command line that did not end with exit code 0."""
    ran = {line: python("-m", "kminilog", *line.split()) for line in lines}
    return {line: run.err for line, run in ran.items() if run.code}


def test_tools_are_all_commands_but_those_that_need_more():
    tried = {line.split()[0] for line in (*TOOLS, *OF_JOBS)} - {"--help"}
    assert tried == COMMANDS.keys() - NEEDED_BY.keys()


def test_without_the_course_every_tool_of_the_engine_works(without):
    python = without("course")
    assert failed(python, (*TOOLS, *OF_JOBS)) == {}
    listed = python("-m", "kminilog", "--help").out
    for command in OF_COURSE:
        needs = "this needs the folder kminilog/course, which is not there"
        assert_one_line(python("-m", "kminilog", command, "list"), 2, needs)
        assert f"\n  {command} " not in listed


def test_without_wire_all_works_but_serve(without):
    python = without("wire")
    assert failed(python, (*TOOLS, *OF_JOBS)) == {}
    needs = "this needs the folder kminilog/wire, which is not there"
    for command in ("serve", "step wire"):
        assert_one_line(python("-m", "kminilog", *command.split()), 2, needs)
    assert "\n  serve " not in python("-m", "kminilog", "--help").out
    assert python("-m", "kminilog", "step", "murmur2").code == 0


def test_without_the_files_of_brokers_all_else_works(without):
    python = without("broker_files", "cli/broker_files", "verification/broker_files")
    assert failed(python, (*TOOLS, *OF_JOBS)) == {}


def test_without_jobs_all_works_but_ingest_and_verify(without):
    python = without("jobs")
    assert failed(python, TOOLS) == {}
    assert {*failed(python, OF_JOBS).values()} == {
        "kminilog: this needs the folder kminilog/jobs, which is not there; "
        "install all of kminilog\n"
    }


def test_without_later_formats_every_tool_works(without, tmp_path):
    python = without()
    (tmp_path / "python" / "kminilog" / "format" / "later_formats.py").unlink()
    assert failed(python, (*TOOLS, *OF_JOBS)) == {}


def test_format_and_storage_alone_store_and_find_messages(without):
    folders = {path.parent.name for path in (PROJECT / "kminilog").glob("*/__init__.py")}
    python = without(*folders - {"format", "storage"})
    assert python("-c", LIBRARY) == Ended(0, "b'two'\n", "")
