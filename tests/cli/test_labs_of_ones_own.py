"""A labs folder of one's own: by `--labs` or KMINILOG_LABS, for students and lecturers."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.course.material import RIGHT, WRONG, all_labs, labs_folder, sample_answers
from kminilog.course.teaching.proof import solution_lines
from tests.cli.test_course_term import answers_shown_in
from tests.support.cli.command_line import Run, assert_one_line
from tests.support.course.student import HEADER


def run(*words: object) -> Run:
    result = CliRunner().invoke(main, [str(word) for word in words])
    return Run(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    """A labs folder with lab 1 alone, under another title and number; the messages are ours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KMINILOG_LANGUAGE", "en")
    folder = tmp_path / "own" / "21_bytes"
    shutil.copytree(labs_folder() / "01_message", folder)
    texts = folder / "en" / "texts.toml"
    texts.write_text(texts.read_text().replace('title = "The message"', 'title = "Bytes"'))
    return tmp_path / "own"


@pytest.mark.processes
def test_lab_commands_take_a_labs_folder_of_ones_own(own):
    assert [
        each["title"] for each in json.loads(run("lab", "list", "--json", "--labs", own).out)
    ] == ["Bytes"]
    assert "The message" in run("lab", "list").out  # for this one command only
    assert "LABS" not in "".join(name for name in os.environ if name.startswith("KMINILOG"))
    started = run("lab", "start", "21", "--name", "Ada", "--labs", "own")
    assert started.code == 0
    Path("21_bytes/answers.py").write_text(HEADER)
    checked = run("lab", "check", "21.1", "--labs", "own")  # its processes run in other directories
    assert checked.code == 0, checked.out
    assert "  21.1 pass    The header" in checked.out


@pytest.mark.processes
def test_environment_names_a_labs_folder_too(own, monkeypatch):
    monkeypatch.setenv("KMINILOG_LABS", "own")
    assert "Bytes" in run("lab", "list").out
    assert run("lab", "start", "21", "--name", "Ada").code == 0
    Path("21_bytes/answers.py").write_text(HEADER)
    assert run("lab", "check", "21.1").code == 0
    released = run("course", "release", "out", "--labs", "21")
    assert (released.code, released.err) == (0, "")
    assert Path("out/labs/messages/en.toml").is_file()
    assert run("lab", "list", "--labs", "out/labs").code == 0


@pytest.mark.parametrize("is_named", [True, False], ids=["option", "environment"])
def test_course_release_takes_a_labs_folder_of_ones_own_and_shows_no_answer(
    own, monkeypatch, is_named
):
    words = ["course", "release", "out", "--labs", "21"]
    if is_named:
        words += ["--labs", own]
    else:
        monkeypatch.setenv("KMINILOG_LABS", str(own))
    assert run(*words).code == 0
    assert sorted(path.name for path in Path("out/labs").iterdir()) == ["21_bytes", "messages"]
    if is_named:
        assert run("course", "release", "out", "--labs", own).code == 0  # all that are in it
        assert "LABS" not in "".join(name for name in os.environ if name.startswith("KMINILOG"))
    monkeypatch.setenv("KMINILOG_LABS", str(own))
    (lab,) = all_labs()
    assert answers_shown_in(Path("out"), [lab]) == []
    for leak in (
        solution_lines(lab.exercises[0])[0],
        sample_answers(lab, WRONG)[0].path.read_text().split("\n", 2)[2],
        sample_answers(lab, RIGHT)[0].path.read_text().split("\n", 2)[2],
    ):
        readme = own / "21_bytes" / "en" / "README.md"
        sound = readme.read_text()
        readme.write_text(f"{sound}\n{leak}\n")
        if is_named:
            monkeypatch.delenv("KMINILOG_LABS", raising=False)
        refused = run(*words[:2], "leaky", *words[3:])
        assert_one_line(refused, 2, "labs/21_bytes/en/README.md has ")
        assert "nothing was released" in refused.err
        assert not Path("leaky").exists()
        readme.write_text(sound)


def test_course_release_says_what_is_neither_numbers_nor_a_folder(own):
    refused = run("course", "release", "out", "--labs", "1,x")
    assert_one_line(refused, 2, "'1,x' is no directory, and no numbers of labs, like 1,2")
    assert_one_line(run("course", "release", "out", "--labs", own, "--labs", "1"), 2, "are labs 21")
    assert not Path("out").exists()


def test_course_init_plans_the_labs_of_ones_own_and_says_what_has_no_questions(own):
    made = run("course", "init", "term", "--labs", own)
    assert made.code == 0, made.err
    assert made.err == "lab 21 has no exam questions, so exam/21_bytes.md was left out\n"
    labs = re.findall(r"\| (\d+) \| \d+ \|$", Path("term/plan.md").read_text(), re.MULTILINE)
    assert labs == ["21"]
    assert "| Bytes |" in Path("term/plan.md").read_text()


def test_course_check_takes_a_labs_folder_of_ones_own(own):
    flaw = own / "21_bytes" / "wrong" / "header_float.py"
    flaw.write_text("")
    assert_one_line(run("course", "check", "--labs", own), 2, "begin with `# exercise: N`")


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        ("minutes = 105", "21_bytes/lab.toml: lacks 'minutes'"),
        ('kind = "implement"', "21_bytes/lab.toml: lacks 'kind'"),
        ("number = 1\n", "21_bytes/lab.toml: lacks 'number'"),
        ('"', "21_bytes/lab.toml: "),
    ],
)
def test_lab_toml_that_lacks_something_is_named(own, damage, part):
    path = own / "21_bytes" / "lab.toml"
    path.write_text(path.read_text().replace(damage, "", 1))
    assert_one_line(run("lab", "list", "--labs", own), 2, part)


def test_folder_without_labs_is_named(tmp_path):
    assert_one_line(run("lab", "list", "--labs", tmp_path), 2, f"{tmp_path}: no labs here; name a")
    assert_one_line(run("course", "check", "--labs", tmp_path), 2, f"{tmp_path}: no labs here")
    assert_one_line(run("lab", "list", "--labs", tmp_path / "x"), 2, "does not exist")
