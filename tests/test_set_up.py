"""What `make setup` installs, and what it shows meanwhile: how far it is, and what pip says only if
it fails.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PIP = """
import sys, time
print("Looking in links: /somewhere")
print("WARNING: Location '/somewhere' is ignored", file=sys.stderr)
print("Collecting click>=8.2 (from kminilog==0.1.0)")
print("  Downloading click-8.3-py3-none-any.whl.metadata (2.6 kB)")
print("Collecting pyspark<5 (from kminilog==0.1.0)")
print("  Downloading pyspark-4.2.0.tar.gz (434.1 MB)")
time.sleep(0.5)
print("Building wheels for collected packages: pyspark")
print("  Building wheel for pyspark (pyproject.toml): started")
time.sleep(0.5)
print("DEPRECATION: something is old", file=sys.stderr)
print("Installing collected packages: click, pyspark, kminilog")
time.sleep(0.5)
sys.exit("--fail" in sys.argv and "ERROR: no space left")
"""


@pytest.fixture
def pip(tmp_path: Path) -> Path:
    """The folder of a pip that installs nothing."""
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").touch()  # without it the real one is found first
    (tmp_path / "pip" / "__main__.py").write_text(PIP)
    return tmp_path


def install(pip: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, PROJECT / "scripts" / "pip_install.py", "--every", "0.1", *arguments],
        cwd=pip,
        env=os.environ | {"PYTHONPATH": str(pip)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_installing_says_how_far_it_is_and_nothing_of_pip(pip):
    run = install(pip, "--no-index", "no-such-package")
    assert (run.returncode, run.stdout) == (0, "")
    *steps, last = run.stderr.splitlines()
    assert re.fullmatch(r"Installed: 3 packages in \d+ s", last)
    told = dict.fromkeys(re.sub(r" … \d+ s", "", step).strip() for step in steps)
    assert [step for step in told if not step.startswith(("asking", "2 packages"))] == [
        "package 1 of 2, pyspark-4.2.0 (434.1 MB)",
        "building pyspark",
        "putting 3 packages in place",
    ]


def test_installing_that_fails_shows_all_that_pip_has_said(pip):
    run = install(pip, "--no-index", "--fail")
    assert run.returncode == 1
    for line in ("Looking in links", "DEPRECATION: something is old", "ERROR: no space left"):
        assert line in run.stderr
    assert "Installed" not in run.stderr


def test_make_says_what_it_installs_and_how_far_it_is(pip):
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
    first, *_, last = run.stderr.splitlines()
    assert first == "Installing kminilog and what it needs into venv: about 1 GB, once"
    assert re.search(r"Installed: 3 packages in \d+ s$", last)
    assert "Looking in links" not in run.stdout + run.stderr
    assert (pip / "venv" / ".installed").exists()


def test_tests_of_a_group_run_in_one_worker(tmp_path):
    """They share what is dear to start: without it each worker has a Spark of its own."""
    (tmp_path / "test_grouped.py").write_text(
        "import pytest\n"
        '@pytest.mark.xdist_group("group")\n'
        '@pytest.mark.parametrize("number", range(8))\n'
        "def test_one(number, worker_id, request):\n"
        '    (request.config.rootpath / f"ran-in-{worker_id}").touch()\n'
    )
    words = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist=loadgroup", "--rootdir", "."]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    assert len(list(tmp_path.glob("ran-in-*"))) == 1


# ---- what it installs

FOR_DEVELOPERS = {"test", "check", "docs", "dev"}


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
    names = {re.split(r"[^a-z0-9_]", dependency)[0] for dependency in declared} - {"kminilog"}
    assert len(names) > 5
    assert not names - imported_by((PROJECT / "kminilog").rglob("*.py")), "nothing imports these"
