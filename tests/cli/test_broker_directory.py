"""A Kafka broker's log directory as `--log-dir`: five commands read it, and nothing changes there."""

import os
from pathlib import Path
from typing import Any

import pytest

from kminilog.format.names import segment_name
from tests.broker_files.partitions import broker_directory
from tests.support.cli.command_line import CommandLine

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
    "dump mixed-0 --print-data",
    "dump mixed-0 --json",
    "dump mixed-0 --deep --json",
    f"dump {{path}}/mixed-0/{FIRST}.log",
    f"dump {{path}}/mixed-0/{SECOND}.index",
    f"dump {{path}}/mixed-0/{SECOND}.timeindex",
    "dump {path}/mixed-0/leader-epoch-checkpoint",
    "consume mixed --until-end",
    "consume mixed --until-end --json",
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


def age(path: Path) -> None:
    """Make times of access old, so that reading would set them anew, whatever the mount says."""
    for one in [*path.rglob("*"), path]:
        os.utime(one, ns=(10**18, one.stat().st_mtime_ns))


@pytest.mark.parametrize("line", READING)
def test_reading_command_changes_nothing(kafka: CommandLine, line: str) -> None:
    age(kafka.log_dir)
    before = listing(kafka.log_dir)
    code = kafka(*words(line, kafka)).exit_code
    assert code == (1 if line == "find mixed-0 99" else 2 if "--group" in line else 0)
    assert listing(kafka.log_dir) == before


@pytest.mark.parametrize("line", WRITING)
def test_writing_command_is_refused_in_one_line(kafka: CommandLine, line: str) -> None:
    before = listing(kafka.log_dir)
    answer = kafka(*words(line, kafka))
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr == (
        f"kminilog: log dir {kafka.log_dir}: a Kafka broker's directory, which is read-only here; "
        "these commands read it: ls, find, dump, consume\n"
    )
    assert listing(kafka.log_dir) == before
