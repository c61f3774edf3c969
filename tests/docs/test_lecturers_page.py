"""docs/lecturers.md: its commands run, and a lab that is made by its steps is sound."""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.course.judging import limits
from kminilog.course.material import lab_of
from kminilog.course.teaching.marks import Mark
from kminilog.course.work_folder import WorkFolder

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "lecturers.md").read_text()
VERSION = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
STUDENTS = (PROJECT / "labs" / "term" / "en" / "students.md").read_text()
(WORDS,) = re.findall(
    r"^## Your words in a step-through\n.*?(?=^## What)", PAGE, re.DOTALL | re.MULTILINE
)
TERM, STEPS = PAGE.split("## A new exercise, step by step")
MADE = re.compile(r"^`(labs/12_entry/[^`]+)`:\n\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def commands_of(text: str) -> Iterator[str]:
    yield from re.findall(r"^\$ (.*)$", "".join(blocks("shell-session", text)), re.MULTILINE)


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command of a page in this process, or by the shell if it is not kminilog's."""
    program, *words = shlex.split(command)
    if program == "cd":
        monkeypatch.chdir(words[0])
    elif program != "kminilog":
        subprocess.run(["bash", "-c", command], check=True)
    else:
        result = CliRunner().invoke(main, words)
        not_yet = words[:2] == ["lab", "check"]
        assert result.exit_code == int(not_yet), (command, result.output)


@pytest.mark.processes
def test_commands_of_a_term_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = list(commands_of(TERM))
    for command in commands:
        run(command, monkeypatch)
    assert len(commands) > 12
    with Path("marks.csv").open(newline="", encoding="utf-8") as file:
        marks = {(row["student"], row["exercise"]): row for row in csv.DictReader(file)}
    assert (marks["ada", "7"]["predicted"], marks["ada", "7"]["predicted_right"]) == ("none", "yes")
    assert marks["zoe", "1"]["reason"].startswith("no folder of lab 1 was handed in")
    late = {name: (marks[name, "1"]["late"], marks[name, "1"]["lost_percent"]) for name, _ in marks}
    assert late == {"ada": ("no", "0"), "bob": ("yes", "20"), "zoe": ("", "0")}
    (heading,) = (block for block in blocks("", TERM) if block.startswith("Student,"))
    assert Path("wide.csv").read_text().splitlines()[0] == heading.splitlines()[0]
    assert Path("pages/students/ada/results.json").is_file()
    assert Path("stats.html").is_file()


@pytest.mark.processes
def test_commands_of_students_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    install, begin = blocks("shell-session", STUDENTS)
    assert install.splitlines() == [
        "$ python3 -m venv .venv",
        "$ . .venv/bin/activate",
        "$ pip install kminilog-*.whl",
    ]
    made = "python3 -m venv --without-pip .venv && . .venv/bin/activate && python -V"
    subprocess.run(["bash", "-c", made], check=True, capture_output=True)
    for command in commands_of(begin.join(["```shell-session\n", "```\n"])):
        run(command, monkeypatch)
    chinese = (PROJECT / "labs" / "term" / "zh" / "students.md").read_text()
    assert list(commands_of(chinese)) == list(commands_of(STUDENTS))


def test_page_names_all_columns_and_limits():
    table = PAGE.split("`marks.csv` has a row")[1].split("- **Late.**")[0]
    named = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row[:60])}
    assert {field.name for field in fields(Mark)} <= named
    assert f"{limits.CPU_SECONDS} seconds of computing" in PAGE
    assert f"{limits.MEMORY_BYTES >> 30} GiB of memory" in PAGE
    assert f"files of at most {limits.FILE_BYTES >> 20} MiB" in PAGE


@pytest.fixture
def submission(tmp_path):
    folder = WorkFolder.start(lab_of(1), tmp_path / "autograder" / "submission", "ada")
    folder.answers_path.write_text("")
    (tmp_path / "autograder" / "results").mkdir()
    (tmp_path / "tmp").mkdir()
    return folder


def program_in(directory: Path) -> dict[str, str]:
    """Return an environment in which `kminilog` and `python` are those of this test."""
    directory.mkdir()
    (directory / "kminilog").write_text(f'#!/bin/sh\nexec {sys.executable} -m kminilog "$@"\n')
    (directory / "kminilog").chmod(0o755)
    (directory / "python").symlink_to(sys.executable)
    return {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}


@pytest.mark.processes
@pytest.mark.parametrize("has_folder", [True, False])
def test_script_for_gradescope_writes_its_results(tmp_path, submission, has_folder):
    if not has_folder:
        submission.answers_path.rename(submission.path.parent / "answers.py")
        shutil.rmtree(submission.path)
    (script,) = (block for block in blocks("bash", TERM) if "/autograder/results" in block)
    script = re.sub("/(tmp|autograder)/", rf"{tmp_path}/\1/", script)
    env = {**program_in(tmp_path / "bin"), "PYTHONPATH": str(PROJECT)}
    subprocess.run(["bash", "-ec", script], check=True, env=env, capture_output=True)
    results = json.loads((tmp_path / "autograder/results/results.json").read_text())
    assert results["score"] == 0
    assert len(results["tests"]) == (len(lab_of(1).graded) if has_folder else 0)
    assert ("Hand in the folder" in results["output"]) == (not has_folder)


@pytest.mark.processes
def test_command_of_the_container_grades(tmp_path, submission):
    (recipe,) = blocks("docker", TERM)
    assert f"/kminilog-{VERSION}-py3-none-any.whl[bulk]" in recipe
    (words,) = re.findall(r"^ENTRYPOINT (.*)$", recipe, re.MULTILINE)
    program, *words = json.loads(words)
    places = {"/submissions": tmp_path / "autograder", "/marks": tmp_path / "marks"}
    (tmp_path / "marks").mkdir()
    for place, path in places.items():
        words = [re.sub(f"^{place}", str(path), word) for word in words]
    assert program == "kminilog"
    (start,) = (block for block in blocks("bash", TERM) if "docker run" in block)
    assert "--network none" in start
    assert all(f":{place}" in start for place in places)
    result = CliRunner().invoke(main, [*words, "--resume"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "marks/marks.csv").is_file()


@pytest.mark.processes
def test_lab_that_is_made_by_the_steps_passes_the_course_check(tmp_path):
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("kminilog", "labs"):
        shutil.copytree(PROJECT / name, tmp_path / name, ignore=ignore)
    made = MADE.findall(STEPS)
    assert len(made) == 9
    for path, text in made:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (script,) = blocks("bash", STEPS)
    env = {**program_in(tmp_path / "bin"), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-ec", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done
    assert "lab 12, The bytes of an entry: ok\n" in done.stdout
    assert (
        "def encode_entry(entry: IndexEntry) -> bytes:"
        in (tmp_path / "for-students/labs/12_entry/starter.py").read_text()
    )


@pytest.mark.processes
def test_words_of_a_lecturer_stand_in_the_page_and_in_json(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("kminilog").symlink_to(PROJECT / "kminilog")
    make, copy, export, show = commands_of(WORDS)
    run(make, monkeypatch)
    run(copy, monkeypatch)
    (step,) = (block for block in blocks("markdown", WORDS) if block.startswith("## "))
    script = Path("my-words/en/torn_tail.md")
    before, heading, _ = script.read_text().partition(step.splitlines()[0])
    assert heading
    script.write_text(before + step)
    monkeypatch.setenv(*export.removeprefix("export ").split("="))
    run(show, monkeypatch)
    page = Path("torn-tail.html").read_text()
    last = json.loads(CliRunner().invoke(main, ["step", "torn-tail", "--json"]).stdout)["steps"][-1]
    assert last["say"] == "The crash is over. A reader finds each message that was acknowledged."
    assert last["ask"]["question"] == "The disk had 20 bytes of message 7. Who has lost it?"
    assert [choice["answer"] for choice in last["ask"]["choices"] if choice["is_right"]] == [
        "nobody"
    ]
    assert last["say"] in page
    assert last["ask"]["question"] in page
