"""What README.md shows is run: the Python example here, the commands in a shell."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import kminilog

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_readme_example_runs_and_uses_public_names_only(tmp_path, monkeypatch, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    (imported,) = re.findall(r"from kminilog import (.*)", example)
    assert set(imported.split(", ")) <= set(kminilog.__all__)
    assert "import" not in example.replace(f"from kminilog import {imported}", "")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})  # the example is ours
    assert capsys.readouterr().out == "b'green' at byte 34 of 00000000000000000000\n"


def test_readme_names_of_the_package_exist():
    assert all(hasattr(kminilog, name) for name in kminilog.__all__)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(300)
def test_readme_tour_runs_from_top_to_bottom(tmp_path):
    (tour,) = [block for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
               if "topic create" in block]  # fmt: skip
    commands = [line.removeprefix("$ ") for line in tour.splitlines() if line.startswith("$ ")]
    assert len(commands) >= 8
    command = f"kminilog() {{ {sys.executable} -m kminilog.cli.main \"$@\"; }}\n"
    script = "set -eu\n" + command + "\n".join(commands)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.count("verdict: ok") == 2
