"""Pages that show a program and what it prints: each is run, and must print just that."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.verification.findings import FindingClass, severity

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ["producer", "cluster", "consumer", "verification"]


@pytest.mark.parametrize("name", PAGES)
def test_page_example_prints_what_the_page_says(name, capsys):
    page = (DOCS / f"{name}.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (printed,) = re.findall(r"It prints\n\n```text\n(.*?)```", page, re.DOTALL)
    exec(compile(example, f"docs/{name}.md", "exec"), {})  # the example is ours
    assert capsys.readouterr().out == printed


def test_producer_page_commands_run():
    commands = re.findall(r"^\$ kminilog (.*)$", (DOCS / "producer.md").read_text(), re.MULTILINE)
    assert commands
    for command in commands:
        result = CliRunner().invoke(main, shlex.split(command))
        assert (result.exit_code, result.stderr) == (0, "")


def test_verification_page_names_every_class_with_its_severity():
    page = (DOCS / "verification.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|warning) \|", page, re.MULTILINE)
    assert rows == [(kind.value, severity(kind)) for kind in FindingClass]
