"""The two tiers: what is left out, what is said of a failure, and a process unannounced.

And the rule that no test judges the machine.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
TESTS = """
import os, subprocess
import pytest

def test_plain(): pass

@pytest.mark.processes
def test_expensive(): pass

@pytest.mark.first
@pytest.mark.processes
def test_first(): subprocess.run(["true"])

def test_page(browser): pass

def test_silent(): subprocess.run(["true"])

@pytest.mark.parametrize("word", ["it's $5"])
def test_wrong(word): assert not word
"""


def outcome(directory: Path, *options: str) -> tuple[dict[str, str], list[str]]:
    """Return the outcome of each test above that is run, and the last lines of what is printed."""
    (directory / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", "-p", "tests.conftest"]
    own = ["--rootdir", directory, "-v", "-p", "no:cacheprovider", directory]
    done = subprocess.run(
        [*command, *own, *options], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    told = re.findall(r"test_some\.py::(\w+).* (PASSED|FAILED|ERROR)", done.stdout)
    return dict(told), done.stdout.splitlines()[-2:]


@pytest.mark.processes
def test_first_tier_leaves_out_what_is_expensive_but_the_first_of_its_kind(tmp_path):
    found, last = outcome(tmp_path, "-m", "not soak and not conformance and not rest")
    assert found == {
        "test_plain": "PASSED",
        "test_first": "PASSED",
        "test_silent": "ERROR",
        "test_wrong": "FAILED",
    }
    wrong, silent = last
    assert silent == "make test ARGS=test_some.py::test_silent"
    # As the shell, then make, then the shell of make read it:
    make, target, argument = shlex.split(wrong)
    assert (make, target) == ("make", "test")
    given = shlex.split(argument.removeprefix("ARGS=").replace("$$", "$"))
    assert given == ["test_some.py::test_wrong[it's $5]"]


@pytest.mark.processes
def test_rest_is_what_the_first_tier_leaves_out(tmp_path):
    found, _ = outcome(tmp_path, "-m", "not soak and not conformance and rest", "-k", "not page")
    assert found == {"test_expensive": "PASSED"}


@pytest.mark.processes
def test_first_tier_runs_any_test_that_is_named(tmp_path):
    tier = ["-m", "not soak and not conformance and not rest"]
    assert outcome(tmp_path, *tier, "-k", "expensive")[0] == {"test_expensive": "PASSED"}


# What fails after some seconds, whatever else the machine does: a limit on a wait, a time-out of
# pytest or of a page, a comparison of what a clock said.
LIMIT = re.compile(
    r"timeout=[1-9A-Z]|\.wait\((?!POLL)[1-9A-Z]|mark\.timeout|default_timeout\([^0]"
    r"|wait_for_timeout\(\d{3}|assert .*(?:monotonic|perf_counter|seconds) *[<>]"
)
FETCHES = "tests/support/conformance/"  # from the network: a test is skipped then, and says so


def limits(text: str) -> list[str]:
    """Return the lines of a test that judge the machine."""
    return [line.strip() for line in text.splitlines() if LIMIT.search(line)]


def test_tests_have_no_limit_on_wall_time():
    own = Path(__file__)
    found = {
        path.relative_to(PROJECT).as_posix(): limits(path.read_text())
        for path in (PROJECT / "tests").rglob("*.py")
        if path != own
    }
    told = {name: lines for name, lines in found.items() if lines and not name.startswith(FETCHES)}
    assert told == {}


@pytest.mark.parametrize(
    "line",
    [
        "process.wait(30)",
        "process.communicate(timeout=60)",
        "@pytest.mark.timeout(600)",
        "context.set_default_timeout(SECONDS * 1000)",
        "page.wait_for_timeout(2000)",
        "assert seconds < most_seconds",
    ],
)
def test_limit_on_wall_time_is_seen(line):
    assert limits(f"def test():\n    {line}\n") == [line]
