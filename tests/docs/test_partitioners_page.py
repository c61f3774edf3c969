"""docs/partitioners.md shows commands and what they print: each is run, and must print just that.

The page's other examples are doctests.
"""

import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.partitioners.registry import PARTITIONERS

PAGE = (Path(__file__).parents[2] / "docs" / "partitioners.md").read_text()


class Shown(NamedTuple):
    command: str
    output: str


def shown_commands() -> list[Shown]:
    blocks = re.findall(r"```shell-session\n(.*?)```", PAGE, re.DOTALL)
    return [
        Shown(*command.split("\n", 1))
        for block in blocks
        for command in block.split("$ ")
        if command
    ]


SHOWN = shown_commands()


@pytest.fixture
def with_the_pages_class(tmp_path, monkeypatch):
    """The current directory has the file that the page tells to write."""
    (source,) = re.findall(r"```python\n# vip.py\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "vip.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "vip", raising=False)


def test_partitioners_page_commands_print_what_the_page_shows(with_the_pages_class):
    for shown in SHOWN:
        program, *arguments = shlex.split(shown.command)
        assert program == "kminilog"
        result = CliRunner().invoke(main, arguments)
        assert result.output == shown.output, shown.command
        *_, last = shown.output.splitlines()
        assert result.exit_code == (2 if last.startswith("kminilog: ") else 0), shown.command


def test_partitioners_page_shows_every_partitioner_at_work():
    commands = " ".join(shown.command for shown in SHOWN)
    named = set(re.findall(r"--partitioner (\S+)", commands))
    assert set(PARTITIONERS) - named == {"sticky-cache"}, "only the cache has a doctest instead"
    assert all(f"| [`{name}`](#" in PAGE for name in PARTITIONERS)


def test_partitioners_page_has_a_section_for_each_row_of_the_suite():
    assert re.findall(r"^## P(\d+): ", PAGE, re.MULTILINE) == [str(n) for n in range(1, 11)]
