"""docs/kafka-tools.md: every command of kminilog on the page is run, in the order of the page."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "kafka-tools.md").read_text()
BLOCK = r"```shell-session\n(.*?)```"
ENDS = {"--until-end", "--max-messages"}


class Shown(NamedTuple):
    """A command, and what the page says that it prints; None where it does not say it."""

    command: str
    output: str | None


def commands_of(page: str) -> Iterator[Shown]:
    """Yield all commands: in blocks after `$`, elsewhere in backquotes."""
    for block, inline in re.findall(rf"{BLOCK}|`(kminilog [^`\n]*)`", page, re.DOTALL):
        if inline:
            yield Shown(inline.replace(r"\|", "|"), None)
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield Shown(command, output)


COMMANDS = list(commands_of(PAGE))


def run(command: str, output: str | None) -> None:
    """Run a command, and compare what it prints with the page."""
    program, *arguments = shlex.split(command)
    if program == "printf":
        subprocess.run(["bash", "-c", command], check=True)
        return
    assert program == "kminilog", command
    if "consume" in arguments and not ENDS & set(arguments) and "--config" not in arguments:
        arguments += ["--config", "consumer.timeout.ms=0"]  # the user presses Ctrl-C
    result = CliRunner().invoke(main, arguments)
    is_refused = output is not None and output.startswith("kminilog: No such ")
    assert result.exit_code == (2 if is_refused else 0), (command, result.output)
    if output is not None:
        assert result.output == output, command


def test_page_has_commands_of_each_kind():
    assert len(COMMANDS) > 40
    first_words = {shlex.split(shown.command)[1] for shown in COMMANDS}
    assert first_words >= {"topic", "produce", "consume", "find", "group", "dump", "verify"}


@pytest.mark.processes
def test_kafka_tools_page_commands_run_and_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KMINILOG_LOG_DIR", raising=False)
    for shown in COMMANDS:
        run(*shown)
