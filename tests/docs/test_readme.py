"""What README.md and the other pages show is run: the example, the commands, the make targets."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kminilog
from tests.support.spark_classes import jvm_options

PROJECT = Path(__file__).parents[2]
README = (PROJECT / "README.md").read_text()
COMMAND_LINE = (PROJECT / "docs" / "command-line.md").read_text()
CONTRIBUTING = (PROJECT / "CONTRIBUTING.md").read_text()
PAGES = [README, CONTRIBUTING]
# In tests/docs/test_spark_page.py and tests/playground.
RUN_ELSEWHERE = {"spark.md", "verification.md", "playground.md"}
PAGES += [
    page.read_text()
    for page in sorted((PROJECT / "docs").glob("*.md"))
    if page.name not in RUN_ELSEWHERE
]


def shown_commands(page: str, kinds: str = "console") -> list[str]:
    """Return the lines that a page shows after a `$` prompt, in order."""
    blocks = re.findall(rf"```(?:{kinds})\n(.*?)```", page, re.DOTALL)
    return re.findall(r"^\$ (.*)$", "".join(blocks), re.MULTILINE)


def tour() -> list[str]:
    """Return the commands of README.md, and those of a page that go on from them."""
    return [*shown_commands(README, "console|shell-session"), *shown_commands(COMMAND_LINE)]


def test_python_page_example_runs_and_uses_public_names_only(tmp_path, monkeypatch, capsys):
    page = (PROJECT / "docs" / "python.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (imported,) = re.findall(r"from kminilog import (.*)", example)
    assert set(imported.split(", ")) <= set(kminilog.__all__)
    assert "import" not in example.replace(f"from kminilog import {imported}", "")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/python.md", "exec"), {})  # the example is ours
    assert capsys.readouterr().out == "b'green' at byte 34 of 00000000000000000000\n"


def test_public_names_of_the_package_exist():
    assert all(hasattr(kminilog, name) for name in kminilog.__all__)


def test_shown_commands_of_all_pages_are_make_targets_or_run_by_the_tour():
    targets = re.findall(r"^([a-z-]+):.*## ", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    made = {f"make {target}" for target in targets}
    shown = {command for page in PAGES for command in shown_commands(page)}
    assert shown
    assert shown <= made | set(tour())


@pytest.mark.first
@pytest.mark.spark
@pytest.mark.xdist_group("spark-cluster")  # beside the session, like all other processes
def test_readme_tour_runs_from_top_to_bottom(tmp_path):
    commands = [line for line in tour() if not line.startswith("make ")]
    assert len(commands) >= 8
    # The tour is typed in an activated environment; `sys.executable` is that environment here.
    command = f'kminilog() {{ "{sys.executable}" -m kminilog.cli.main "$@"; }}\n'
    as_for_users = jvm_options(interpreted=False)
    done = subprocess.run(
        ["bash", "-c", "set -eu\n" + command + "\n".join(commands)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(PROJECT), "SPARK_SUBMIT_OPTS": as_for_users},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    verifies = [line for line in commands if line.startswith("kminilog verify ")]
    assert done.stdout.count("verdict: ok") == len(verifies) == 3
