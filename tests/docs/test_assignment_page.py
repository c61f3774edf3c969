"""docs/assignment.md shows commands and what they print: each is run, and must print just that.

The commands run in the order of the page: some write a file (`> FILE`) that later ones read.
The page's other examples are doctests.
"""

import re
import shlex
import sys
from pathlib import Path

from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.consumer.assignor_registry import ASSIGNORS

PAGE = (Path(__file__).parents[2] / "docs" / "assignment.md").read_text()


def shown_commands() -> list[tuple[str, str]]:
    blocks = re.findall(r"```shell-session\n(.*?)```", PAGE, re.DOTALL)
    commands = [command for block in blocks for command in block.split("$ ") if command]
    return [(command.split("\n", 1)[0], command.split("\n", 1)[1]) for command in commands]


def test_assignment_page_commands_print_what_the_page_shows(tmp_path, monkeypatch):
    (source,) = re.findall(r"```python\n# favourite.py\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "favourite.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "favourite", raising=False)
    for command, output in shown_commands():
        line, _, file = command.partition(" > ")
        program, *arguments = shlex.split(line)
        assert program == "kminilog"
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == (2 if output.startswith("kminilog: ") else 0), command
        if file:
            Path(file).write_text(result.output)
            assert output == "", command
        else:
            assert result.output == output, command


def test_assignment_page_shows_every_assignor_at_work():
    commands = " ".join(command for command, _ in shown_commands())
    assert set(ASSIGNORS) <= set(re.findall(r"--strategy (\S+)", commands))
    assert all(f"| [`{name}`](#" in PAGE for name in ASSIGNORS)
