"""What `make setup` installs, and what it shows meanwhile."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

from kminilog.cli.playground.command import RUNTIME_VERSION

PROJECT = Path(__file__).parents[1]
PIP = """
import sys
print("Collecting click>=8.2 (from kminilog==0.1.0)")
sys.exit("--fail" in sys.argv and "ERROR: no space left")
"""


@pytest.fixture
def pip(tmp_path: Path) -> Path:
    """The folder of a pip that installs nothing."""
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").touch()  # without it the real one is found first
    (tmp_path / "pip" / "__main__.py").write_text(PIP)
    return tmp_path


@pytest.mark.processes
def test_make_says_what_it_installs_and_shows_what_pip_says(pip):
    for name in ("Makefile", "scripts", "pyproject.toml"):
        (pip / name).symlink_to(PROJECT / name)
    (pip / "venv" / "bin").mkdir(parents=True)
    (pip / "venv" / "bin" / "python").symlink_to(sys.executable)
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run = subprocess.run(
        ["make", "--silent", "VENV=venv", "venv/.installed"],
        cwd=pip,
        env=outside | {"PYTHONPATH": str(pip)},
        capture_output=True,
        text=True,
        check=True,
    )
    first, said = run.stderr.splitlines()
    assert first == "Installing kminilog and what it needs into venv: about 1 GB, once"
    assert said.startswith("Collecting click")
    assert run.stdout == ""  # it belongs to the command that comes after
    assert (pip / "venv" / ".installed").exists()


@pytest.mark.processes
def test_make_playground_is_the_first_command_in_a_checkout(tmp_path):
    for name in ("Makefile", "scripts", "pyproject.toml", "kminilog"):
        (tmp_path / name).symlink_to(PROJECT / name)
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / f"pyodide-{RUNTIME_VERSION}.tgz").write_bytes(b"another archive")
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / ".installed").touch()
    program = tmp_path / "venv" / "bin" / "kminilog"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kminilog "$@"\n')
    program.chmod(0o755)
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run = subprocess.run(
        ["make", "--silent", "VENV=venv", "playground"],
        cwd=tmp_path,
        env=outside | {"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"is not pyodide-{RUNTIME_VERSION}.tgz" in run.stderr  # only the runtime is at fault


def test_devcontainer_has_the_oldest_python_and_sets_up_by_a_target_of_make():
    container = json.loads((PROJECT / ".devcontainer" / "devcontainer.json").read_text())
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    version = project["requires-python"].removeprefix(">=")
    assert container["image"].startswith(f"python:{version}-")
    make, target = container["postCreateCommand"].split()
    makefile = (PROJECT / "Makefile").read_text()
    assert make == "make"
    assert f"\n{target}: " in makefile
    python = container["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert f"VENV := {python.removesuffix('/bin/python')}\n" in makefile
    assert "forwardPorts" not in container


# ---- what it installs

FOR_DEVELOPERS = {"test", "check", "docs", "dev"}


IMPORTED_AS = {"markdown-it-py": "markdown_it"}


def imported_by(paths: Iterable[Path]) -> set[str]:
    """Return the top-level names of all modules that these files import, anywhere in them."""
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text()))]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def test_every_dependency_of_users_is_imported_by_the_package():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].items()
    declared = [
        *project["dependencies"],
        *(d for n, ds in extras if n not in FOR_DEVELOPERS for d in ds),
    ]
    distributions = {re.match(r"[\w-]+", each)[0].lower() for each in declared} - {"kminilog"}
    names = {IMPORTED_AS.get(each, each.replace("-", "_")) for each in distributions}
    assert len(names) > 5
    assert not names - imported_by((PROJECT / "kminilog").rglob("*.py")), "nothing imports these"
