"""docs/step-throughs.md: its commands run; it names each step-through, and each key of the format.

What `make docs` adds to the pages is made here as docs/conf.py makes it.
"""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.cli.step.command import SCENES, write_pages

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "step-throughs.md").read_text()
SHOWN = re.findall(
    r"^\$ (.*)$", "".join(re.findall(r"```shell-session\n(.*?)```", PAGE, re.DOTALL)), re.MULTILINE
)
GROUPS = {
    "Bytes": ["message"],
    "A segment": ["segment"],
    "Search": ["lookup"],
    "Producer": ["producer"],
    "Consumer and pipeline": ["consumer", "network"],
}


def run(command: str) -> None:
    """Run a shown command; what goes to a file or another program is only made."""
    program, *words = shlex.split(command)
    if program != "kminilog":
        subprocess.run(["bash", "-c", command], check=True)
        return
    ends = [words.index(sign) for sign in ("|", ">") if sign in words]
    result = CliRunner().invoke(main, words[: min(ends, default=None)])
    assert (result.exit_code, result.stderr) == (0, ""), command
    assert result.stdout or words[:1] != ["step"], command


@pytest.mark.processes
def test_commands_of_the_page_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in SHOWN:
        run(command)
    assert (tmp_path / "find-offset.html").exists()
    assert len(list((tmp_path / "pages").iterdir())) == len(SCENES) + 1


@pytest.mark.parametrize("command", ["kminilog step nowhere", "kminilog step edges nowhere-0"])
def test_command_that_fails_is_seen(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        run(command)


def test_page_gives_an_example_for_each_step_through():
    shown = {words[2] for words in map(str.split, SHOWN) if words[:2] == ["kminilog", "step"]}
    assert set(SCENES) <= shown


def test_page_links_each_step_through_in_its_group():
    for title, modules in GROUPS.items():
        section = PAGE.split(f"\n### {title}\n")[1].split("\n##")[0]
        linked = re.findall(r'<a href="step-throughs/([\w-]+)\.html">\1</a>', section)
        assert linked == [name for name, module in SCENES.items() if module in modules]


def test_linked_pages_are_those_that_are_written(tmp_path):
    count = write_pages(tmp_path, index="../step-throughs.html")
    written = {path.name for path in tmp_path.iterdir()}
    assert set(re.findall(r'href="step-throughs/([^"]+)"', PAGE)) == written
    assert count == len(written)


def test_page_names_each_key_of_the_format():
    schema = json.loads((DOCS / "trace-1.schema.json").read_text())
    table = PAGE.split("\n## The format\n")[1]
    rows = ",".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE))
    named = set(re.findall(r"`([\w.\[\]]+)`", rows))
    steps = set(schema["properties"]["steps"]["items"]["properties"]) - {"number"}
    assert named == set(schema["properties"]) | {f"steps[].{key}" for key in steps}


def test_schema_is_part_of_the_built_documentation():
    conf = (DOCS / "conf.py").read_text()
    assert 'html_extra_path = ["trace-1.schema.json", ' in conf
    assert "write_pages(" in conf
