"""Every command has a help text that ends with an example, and each example runs."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.course.material import lab_of
from kminilog.course.teaching.marks import marks_as_csv
from kminilog.course.teaching.proof import solution
from kminilog.course.work_folder import WorkFolder
from tests.support.playground.site import runtime
from tests.support.spark import ON_SPARK

SPARK = {"kminilog demo"}


def all_commands(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below
            yield from all_commands(below, click.Context(below, context, name))


COMMANDS = list(all_commands(main, click.Context(main, info_name="kminilog")))
PATHS = [context.command_path for context in COMMANDS]


def shown_example(context: click.Context) -> str:
    """Return the last line of a help text."""
    lines = context.command.get_help(context).splitlines()
    title, line = [line.strip() for line in lines[-2:]]
    assert title == "For example:", f"`{context.command_path} --help` does not end with an example"
    return line


@pytest.fixture
def working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """What the examples need: a source, a topic of two partitions, and a group that has read it.

    The examples of `lab` find a work folder with right answers, but `lab start` makes its own.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KMINILOG_LOG_DIR", raising=False)
    Path("orders.txt").write_text("".join(f"user{n % 7}:value{n}\n" for n in range(40)))
    for line in (
        "topic create orders --partitions 2",
        "produce orders orders.txt --key-separator :",
        "consume orders --group readers --config consumer.timeout.ms=0",
    ):
        assert CliRunner().invoke(main, line.split()).exit_code == 0
    path = request.node.callspec.id
    if path.startswith("kminilog cluster ") and path != "kminilog cluster create":
        made = CliRunner().invoke(main, ["cluster", "create", "shop", "--brokers", "4"])
        assert made.exit_code == 0
    if path == "kminilog cluster start":
        assert CliRunner().invoke(main, ["cluster", "crash", "shop", "0"]).exit_code == 0
    if path in ("kminilog course grade", "kminilog course similar"):
        WorkFolder.start(lab_of(1), tmp_path / "submissions" / "ada", "ada")
    if path == "kminilog playground":
        Path(runtime().name).symlink_to(runtime())
    if path == "kminilog course stats":
        Path("marks.csv").write_bytes(marks_as_csv([]))
    if path.startswith("kminilog lab ") and path != "kminilog lab start":
        folder = WorkFolder.start(lab_of(1), tmp_path, "Ada")
        folder.answers_path.write_text(solution(folder.lab, folder.path))


def test_help_is_found_for_commands_and_subcommands():
    assert {"kminilog", "kminilog find", "kminilog topic", "kminilog topic create"} <= set(PATHS)
    assert set(PATHS) >= SPARK


def test_summary_of_each_command_is_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, listed = CliRunner().invoke(main, ["--help"]).stdout.split("Commands:\n")
    assert "..." not in listed


@pytest.mark.processes
@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "context",
    [
        pytest.param(context, marks=ON_SPARK if path in SPARK else [], id=path)
        for path, context in zip(PATHS, COMMANDS, strict=True)
    ],
)
def test_example_of_a_help_text_runs(context, working_directory, request, capfd):
    example = shown_example(context)
    program, *arguments = shlex.split(example)
    assert program == "kminilog"
    assert isinstance(context.command, click.Group) or example.startswith(context.command_path)
    if context.command_path in SPARK:
        request.getfixturevalue("spark")  # the session that all tests share
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout or capfd.readouterr().out  # `lab run` hands its own on to a process


def test_help_text_describes_each_option():
    options = [
        (context.command_path, option)
        for context in COMMANDS
        for option in context.command.get_params(context)
        if isinstance(option, click.Option)
    ]
    assert len(options) > len(COMMANDS)
    assert not [
        (path, option.opts)
        for path, option in options
        if not re.fullmatch(r"[A-Z].*[.\]]", option.help or "")
    ]
