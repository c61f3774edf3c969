"""Pages that show a program and what it prints: each is run, and must print just that."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from tests.support.docs import findings_table

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["producer", "cluster", "consumer", "verification"]


@pytest.mark.parametrize("name", PAGES)
def test_page_example_prints_what_the_page_says(name, capsys):
    page = (DOCS / f"{name}.md").read_text()
    examples = re.findall(r"```python\n(?!# \w+\.py)(.*?)```", page, re.DOTALL)
    printed = re.findall(r"It prints\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(examples) == len(printed) > 0
    for example, expected in zip(examples, printed, strict=True):
        exec(compile(example, f"docs/{name}.md", "exec"), {})  # the example is ours
        assert capsys.readouterr().out == expected


def test_producer_page_commands_print_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("numbers.txt").write_text("".join(f"{number}\n" for number in range(100)))
    page = (DOCS / "producer.md").read_text()
    blocks = re.findall(r"```shell-session\n(.*?)```", page, re.DOTALL)
    blocks = [block for block in blocks if "stamp" not in block]  # a test of their own
    shown = [each for block in blocks for each in block.removeprefix("$ ").split("\n$ ")]
    assert any("--stats" in each for each in shown)
    for command, printed in (each.split("\n", 1) if "\n" in each else (each, "") for each in shown):
        program, *arguments = shlex.split(command)
        result = CliRunner().invoke(main, arguments)
        assert (program, result.exit_code, result.stderr) == ("kminilog", 0, "")
        if printed:
            found = re.sub(r"wait-time: [1-9]\d* ns", "wait-time: 22194130 ns", result.stdout)
            found = re.sub(r"wait-ratio: 0\.0*[1-9]\d*", "wait-ratio: 0.000740", found)
            assert found == printed.rstrip("\n") + "\n"


def test_producer_page_interceptor_prints_what_the_page_says(tmp_path, monkeypatch):
    section = (DOCS / "producer.md").read_text().split("\n## An interceptor of your own\n")[1]
    (source,) = re.findall(r"```python\n# stamp.py\n(.*?)```", section, re.DOTALL)
    block = re.findall(r"```shell-session\n(.*?)```", section, re.DOTALL)[0]
    (tmp_path / "stamp.py").write_text(source)
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "stamp", raising=False)
    for shown in block.removeprefix("$ ").split("\n$ ")[1:]:
        command, printed = shown.split("\n", 1)
        result = CliRunner().invoke(main, shlex.split(command)[1:])
        assert result.exit_code == 0
        assert sorted(result.output.splitlines()) == sorted(printed.splitlines())


@pytest.mark.processes
def test_cluster_by_hand_page_shows_what_its_commands_print(tmp_path, monkeypatch, without_fsync):
    page = (DOCS / "cluster-by-hand.md").read_text()
    monkeypatch.chdir(tmp_path)
    shown = "".join(re.findall(r"```shell-session\n(.*?)```", page, re.DOTALL))
    sessions = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", shown, re.MULTILINE)
    assert len(sessions) > 30
    for command, printed in sessions:
        program, *arguments = shlex.split(command)
        if program == "printf":
            subprocess.run(["bash", "-c", command], check=True)
        else:
            assert program == "kminilog"
            result = CliRunner().invoke(main, arguments)
            assert (command, result.output) == (command, printed)


def test_page_of_findings_has_the_table_of_classes():
    for path in findings_table.PAGES:
        assert path.read_text() == findings_table.page(path), (
            "write it anew: python -m tests.support.docs.findings_table"
        )
