"""What needs numpy, pyarrow or Spark says what to install; all else works without them."""

import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from kminilog.cli.main import INSTALLED_BY
from tests.docs.test_tutorial import SHOWN, sessions
from tests.support.cli.command_line import PROJECT, Run, assert_one_line, environment
from tests.support.course.student import CHECKSUM, HEADER

pytestmark = pytest.mark.xdist_group("wheel")
Shell = Callable[[str], Run]
TO_BULK = "not installed; type: pip install 'kminilog[bulk]', or 'kminilog[spark]' to use Spark\n"
TO_SPARK = "type: pip install 'kminilog[spark]'\n"


@pytest.fixture
def shell(installed: Path, tmp_path: Path) -> Shell:
    """Returns a function that runs a line in bash, with a `kminilog` that lacks all extras."""
    here = tmp_path / "here"
    here.mkdir()
    names = environment()
    del names["PYTHONPATH"]
    program = f"'{installed.parent}/kminilog'"

    def run(line: str) -> Run:
        words = ["bash", "-c", f'kminilog() {{ {program} "$@"; }}\n{line}']
        done = subprocess.run(words, cwd=here, env=names, capture_output=True, text=True)
        return Run(done.returncode, done.stdout, done.stderr)

    return run


def test_command_knows_every_package_of_the_extras():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = {re.match(r"\w+", each)[0] for each in extras["bulk"] + extras["spark"]}
    names.remove("google")  # google-crc32c: without it, a slower function does the same
    assert names - {"kminilog"} == INSTALLED_BY.keys()


@pytest.mark.processes
@pytest.mark.parametrize("name", SHOWN)
def test_page_needs_no_extras_but_for_a_source(shell, name):
    for line, output in sessions(SHOWN[name]):
        if "purchases" in line:
            assert_one_line(shell(line.split("|")[0]), 2, TO_BULK)
        else:
            code = 1 if "verdict: findings" in output else 0
            assert shell(line) == Run(code, output, ""), line


@pytest.mark.processes
def test_step_throughs_and_lab_1_need_no_extras(shell, tmp_path):
    pages = shell("kminilog step --all --html steps")
    assert (pages.code, pages.err) == (0, "")
    assert (tmp_path / "here" / "steps" / "index.html").exists()
    assert shell("kminilog lab start 1 --name Ada").code == 0
    (tmp_path / "here" / "01_message" / "answers.py").write_text(HEADER + CHECKSUM)
    assert shell("kminilog lab check 1").out.count("  pass  ") == 2
    assert shell("kminilog lab check 1.1").code == 0


@pytest.mark.processes
def test_job_of_a_lab_says_what_to_install(shell, tmp_path):
    assert_one_line(shell("kminilog course check --lab 9"), 2, "this needs ", "pip install")


@pytest.mark.processes
def test_lab_that_needs_numpy_says_what_to_install_and_makes_no_folder(shell, tmp_path):
    assert_one_line(shell("kminilog lab start 10"), 2, "this needs numpy", TO_BULK)
    assert not (tmp_path / "here" / "10_verifier").exists()


@pytest.mark.processes
def test_damage_is_found_shown_and_recovered_from_without_extras(shell, tmp_path):
    assert shell("kminilog topic create t --partitions 1").code == 0
    assert shell("printf 'a\\nb\\nc\\n' | kminilog produce t").code == 0
    log = tmp_path / "here" / "kminilog-data" / "t-0" / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-1] + b"\x00")
    verified = shell("kminilog verify")
    assert (verified.code, "bad-crc" in verified.out) == (1, True)
    assert "bad-crc" in shell("kminilog ls --html page.html && cat page.html").out
    assert "bad-crc" in shell("kminilog recover t-0 --dry-run").out
    assert shell("kminilog recover t-0 --force").code == 0
    assert "bad-crc" not in shell("kminilog verify").out


@pytest.mark.processes
@pytest.mark.parametrize("engine", ["auto", "local", "spark"])
def test_source_that_needs_an_extra_says_what_to_install(shell, engine):
    shell("kminilog topic create t --partitions 1; echo a > source")
    ingested = shell(f"kminilog ingest source --topic new --engine {engine}")
    assert_one_line(ingested, 2, TO_BULK)
    assert_one_line(shell(f"kminilog verify t --against source --engine {engine}"), 2, TO_BULK)
    assert "new" not in shell("kminilog topic list").out


@pytest.mark.processes
@pytest.mark.parametrize("line", ["kminilog demo", "kminilog verify t --engine spark"])
def test_spark_that_is_not_installed_says_what_to_install(shell, line):
    assert shell("kminilog topic create t --partitions 1").code == 0
    run = shell(line)
    assert (run.code, run.out) == (2, "")
    assert run.err.endswith(TO_SPARK)
    assert "Traceback" not in run.err


@pytest.mark.processes
def test_course_check_without_numpy_refuses_only_labs_that_need_it(shell):
    lines = shell("kminilog course check --lab 3").out.splitlines()
    assert lines[0] == "lab 3, The sparse index: ok"
    assert_one_line(shell("kminilog course check --lab 1"), 2, "this needs numpy", TO_BULK)


@pytest.mark.processes
def test_release_and_similar_need_no_extras(shell, tmp_path):
    (tmp_path / "here/in/ada/10_verifier").mkdir(parents=True)
    (tmp_path / "here/in/ada/10_verifier/answers.py").write_text("")
    for line in ("kminilog course release out", "kminilog course similar in"):
        run = shell(line)
        assert (run.code, run.err) == (0, ""), line
