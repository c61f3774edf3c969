"""`kminilog lab`: what a student sees, from the list of labs to a first pass and on."""

import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from fcntl import ioctl
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from kminilog.cli.lab import judging
from kminilog.cli.lab.judging import Watched, wait_for_save_or_key
from kminilog.cli.main import main
from kminilog.course.judging import checking
from kminilog.course.judging.checking import check
from kminilog.course.judging.outcome import ExerciseOutcome
from kminilog.course.judging.sandbox import run_module
from kminilog.course.material import RIGHT, all_labs, answers_to, exercise_of, lab_of
from kminilog.course.teaching.decisions import decisions
from kminilog.course.teaching.proof import solution
from kminilog.errors import SparkUnavailableError
from tests.support.cli.command_line import PROGRAM, PROJECT, Run, assert_one_line, environment
from tests.support.course.student import CHECKSUM, HEADER, start_lab, without_seconds
from tests.support.processes import Process
from tests.support.trees import tree_of

SCHEMA = json.loads((PROJECT / "docs" / "lab-check-1.schema.json").read_text())
MIXED = f"""\
{HEADER}
{CHECKSUM.replace("16", "18")}
def content(dialect, key, value, *, attributes=0):
    while True:
        pass

def decode(dialect, data, position=0):
    return None

def scan(dialect, data, position=0):
    raise NotImplementedError
"""
EXTRAS = ("1.6", "1.8", "1.9", "1.10", "1.11")
STATES = {"1.1": "pass", "1.2": "fail", "1.3": "timeout", "1.4": "error", "1.5": "todo"}


@pytest.fixture(autouse=True)
def english_in_an_empty_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("KMINILOG_LANGUAGE", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")


def lab(*words: str, stdin: str = "") -> Run:
    """Run `kminilog lab` in this process."""
    result = CliRunner().invoke(main, ["lab", *words], input=stdin)
    return Run(result.exit_code, result.stdout, result.stderr)


def spawned(*words: str, **names: str) -> Run:
    """Run `kminilog lab` in a process of its own."""
    done = subprocess.run(
        [*PROGRAM, "lab", *words], env=environment() | names, capture_output=True, text=True
    )
    return Run(done.returncode, done.stdout, done.stderr)


def passed_in(number: int) -> list[str]:
    """Return what has passed in a lab, as `progress` says it."""
    labs = lab("progress", "--json").document["labs"]
    return next(each["passed"] for each in labs if each["lab"] == number)


def starter_with(answers: str, number: int = 1, *, without: Sequence[str] = ()) -> str:
    """Return the starter of a lab with some answers below: a file that a student has begun."""
    starter = (lab_of(number).folder / "starter.py").read_text()
    for name in without:
        starter = starter.replace(f"def {name}(", f"def _{name}(")
    return f"{starter}\n\n{answers}"


def test_name_in_chinese_stands_beside_its_bytes():
    started = lab("start", "1", "--name", "小明 Ada")
    (row,) = re.findall(r"  value +(e5 b0 8f e6 98 8e 20 41  .*)\n", started.out)
    assert row == "e5 b0 8f e6 98 8e 20 41  小 明  A"


@pytest.mark.first
@pytest.mark.processes
def test_newcomer_gets_from_the_list_to_a_first_pass_by_what_the_screen_says(monkeypatch):
    listed = lab("list")
    assert listed.code == 0
    (command,) = re.findall(r"^Begin with: kminilog lab (.*)$", listed.out, re.MULTILINE)
    started = lab(*command.split(), "--name", "Ada")
    assert "Your name, Ada, is a message." in started.out
    assert "41 64 61  " in started.out
    (folder,) = re.findall(r"^Now go there: cd (\S+)$", started.out, re.MULTILINE)
    monkeypatch.chdir(folder)
    (file, name) = re.search(r"Open (\S+) in an editor, and write (\w+) ", started.out).groups()
    text = Path(file).read_text()
    (command,) = re.findall(r"type: kminilog lab (.*)$", started.out, re.MULTILINE)
    untouched = lab(*command.split())
    assert untouched.code == 1
    assert "  1.1  todo    The header: offset and size  0/10\n" in untouched.out
    assert "             not started, this is expected\n" in untouched.out

    head, tail = text.split("raise NotImplementedError", 1)
    assert f"def {name}(" in head
    Path(file).write_text(f"{head}return offset.to_bytes(8) + len(content).to_bytes(4){tail}")
    wrong = lab(*command.split())
    assert wrong.code == 1
    (hint,) = re.findall(r"Hint: kminilog lab (.*)$", wrong.out, re.MULTILINE)
    assert "Hint 1 of 3: Which two numbers" in lab(*hint.split()).out
    Path(file).write_text(f"{head}return offset.to_bytes(8) + (4 + len(content)).to_bytes(4){tail}")
    right = lab(*command.split())
    assert right.code == 0
    assert "  1.1  pass    The header: offset and size  10/10\n" in right.out
    assert "verify: ok" in right.out
    assert "Why it works: " in right.out
    assert right.out.endswith("1 of 10 pass, 10 of 105 points.\nNext: 1.2 The checksum\n")
    assert lab("solution", "1.1").out.startswith("# kminilog.format.message.header\ndef header(")


@pytest.mark.processes
def test_pass_is_explained_only_the_first_time(tmp_path):
    start_lab(tmp_path, HEADER)
    assert "Why it works" in lab("check", "1.1").out
    assert "Why it works" not in lab("check", "1.1").out


@pytest.mark.processes
def test_json_is_by_the_schema_and_says_what_the_text_says(tmp_path):
    start_lab(tmp_path, MIXED)
    text, document = lab("check", "1"), lab("check", "1", "--json")
    assert (text.code, document.code) == (1, 1)
    assert (text.err, document.err) == ("", "")
    Draft202012Validator(SCHEMA).validate(document.document)
    exercises = document.document["exercises"]
    states = {f"{each['lab']}.{each['exercise']}": each["status"] for each in exercises}
    assert states == STATES | {"1.7": "todo"} | dict.fromkeys(EXTRAS, "error")
    blocks = re.split(r"^  (?=\d+\.\d+ )", text.out, flags=re.MULTILINE)[1:]
    for each, block in zip(exercises, blocks, strict=True):
        lines = [line.strip() for line in block.splitlines()]
        points = f"{each['points']}/{each['max_points']}" if each["max_points"] else ""
        first = f"{each['lab']}.{each['exercise']} {each['status']} {each['title']} "
        first += f"{'' if each['core'] else '(extra) '}{points}"
        assert lines[0].split() == first.split()
        assert (each["reason"] is None) == (each["status"] == "pass")
        code = f"{each['reason_code']}: " if each["reason_code"] else ""
        if each["reason"]:
            short = lines[1].partition("…")[0]  # JSON is whole
            assert short
            assert f"{code}{each['reason']}".startswith(short)
        if each["breaks"]:
            assert lines[3] == f"In a real system: {each['breaks']}"
        if each["status"] in ("fail", "error", "timeout"):
            assert f"Look: {each['see']} · Hint" in block
    assert sum(each["points"] for each in exercises) == 10
    assert f", {10} of 105 points." in text.out


@pytest.mark.processes
def test_traceback_is_shown_only_if_it_is_asked_for(tmp_path):
    start_lab(tmp_path, HEADER.replace("return", "return 1 / 0 or"))
    assert "Traceback" not in lab("check", "1.1").out
    verbose = lab("check", "1.1", "--verbose").out
    assert "Traceback (most recent call last):" in verbose
    assert 'answers.py", line 4, in header' in verbose


@pytest.mark.processes
def test_error_that_is_cut_says_how_to_see_it_all(tmp_path):
    where = "The text above is shortened: --verbose shows all of it."
    start_lab(tmp_path, HEADER.replace("return", f"raise ValueError({'far ' * 40!r})\n    return"))
    cut = lab("check", "1.1").out
    assert "ValueError: far far" in cut
    assert where in cut
    whole = lab("check", "1.1", "--verbose").out
    assert where not in whole
    assert "far " * 39 in whole


@pytest.mark.processes
def test_what_the_student_prints_is_shown_with_what_failed_only(tmp_path):
    start_lab(tmp_path, HEADER.replace("return", "print('here', offset)\n    return b'' and"))
    failed = lab("check", "1.1")
    assert "Your code printed:\n               here 0\n" in failed.out
    start_lab(tmp_path / "2", HEADER.replace("return", "print('here', offset)\n    return"))
    os.chdir(tmp_path / "2")
    assert "here" not in lab("check", "1.1").out


@pytest.mark.processes
def test_prints_of_a_student_do_not_change_what_a_command_prints(tmp_path):
    folder = start_lab(tmp_path)
    text = solution(folder.lab, folder.path).replace("decode = ", "_decode = ")
    text += "\ndef decode(*words):\n    print('decoding')\n    return _decode(*words)\n"
    folder.answers_path.write_text(text)
    run = lab("check", "1.4")
    assert run.code == 0, run.out


@pytest.mark.processes
@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_two_checks_give_the_same_json_but_for_the_seconds(tmp_path, seed):
    answers = MIXED.replace(
        "while True:\n        pass", "return ''.join({'ab', 'cd', 'ef', 'gh'}).encode()"
    )
    start_lab(tmp_path, answers.replace("return None", "return object()"))
    runs = [spawned("check", "1", "--json", PYTHONHASHSEED=seed) for _ in range(2)]
    first, second = (without_seconds(run.document) for run in runs)
    assert first == second
    again = spawned("check", "1", "--json", PYTHONHASHSEED="7")
    assert without_seconds(again.document) == first
    assert {run.code for run in [*runs, again]} == {1}


@pytest.mark.processes
def test_exit_code_is_that_of_what_was_asked_for(tmp_path):
    folder = start_lab(tmp_path)
    assert lab("check", "1").code == 1
    folder.answers_path.write_text(HEADER)
    assert lab("check", "1.1").code == 0
    assert lab("check", "1.2").code == 1
    folder.answers_path.write_text(solution(folder.lab, folder.path))
    assert lab("check", "1").code == 0  # the prediction is not graded
    folder.answers_path.write_text("(")
    assert lab("check", "1").code == 1


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("check 1", "no work folder of lab 1 here; type `kminilog lab start 1`"),
        ("check 1.1", "no work folder"),
        ("watch 1", "no work folder"),
        ("hint 1.1", "no work folder"),
        ("predict 1.7 --answer none", "no work folder"),
        ("solution 1.1", "no work folder"),
        ("run 1 -- topic list", "no work folder"),
        ("reset 1", "no work folder"),
        ("reset 1.1", "no work folder"),
        ("check 99", "there is no lab or exercise 99; there are labs 1, "),
        ("check 1.99", "there is no lab or exercise 1.99; there are exercises 1.1, "),
        ("check one", "there is no lab or exercise one"),
        ("hint 1", "1 is a whole lab; there are exercises 1.1, "),
        ("start", "Missing argument 'N'"),
        ("check", "give a lab or an exercise, as in `kminilog lab check 1`, or change to"),
        ("reset", "give a lab, an exercise, or --all"),
        ("check 1 --language fr", "'fr' is not one of "),
        ("predict 1.1", "no work folder"),
        ("solution 1.6", "1.6 has no solution to show"),
    ],
)
def test_command_that_cannot_be_done_says_so_in_one_line(words, part):
    assert_one_line(lab(*words.split()), 2, part)


def test_unknown_language_of_the_environment_is_refused(monkeypatch):
    monkeypatch.setenv("KMINILOG_LANGUAGE", "fr")
    assert_one_line(lab("list"), 2, "'fr' is not one of 'en', 'zh'")


@pytest.mark.parametrize("number", [each.number for each in all_labs()])
def test_start_and_reset_write_titles_of_answers_in_the_language(number):
    for command in (("start", str(number)), ("reset", str(number))):
        lab(*command, "--language", "zh")
        answers = Path(lab_of(number).work_name, "answers.py").read_text(encoding="utf-8")
        assert answers.startswith(f'"""实验 {number}，')
        compile(answers, "answers.py", "exec")
        titles = re.findall(r"^# \d+\.\d+  (.*)$", answers, re.MULTILINE)
        assert titles
        assert [
            title for title in titles if not re.search("[\u4e00-\u9fff]|^(murmur2|varint)", title)
        ] == []


def test_reset_of_each_exercise_gives_what_start_writes_in_the_language():
    for number in (1, 6):
        path = Path(lab_of(number).work_name, "answers.py")
        written = {}
        for language in ("zh", "en"):
            lab("start", str(number), "--language", language)
            written[language] = path.read_text(encoding="utf-8")
            shutil.rmtree(path.parent)
        lab("start", str(number), "--language", "en")
        for language in ("zh", "en"):
            for exercise in lab_of(number).exercises:
                if exercise.answers:
                    assert lab("reset", exercise.id, "--language", language).code == 0
            about, _, rest = path.read_text(encoding="utf-8").partition("\n")
            assert rest == written[language].partition("\n")[2]
            assert about == written["en"].partition("\n")[0]


def test_reset_brings_a_deleted_function_back_in_the_language():
    lab("start", "1", "--language", "zh")
    path = Path(lab_of(1).work_name, "answers.py")
    chinese = path.read_text(encoding="utf-8")
    path.write_text("", encoding="utf-8")
    lab("reset", "1.1", "--language", "zh")
    assert path.read_text(encoding="utf-8").strip() in chinese


@pytest.mark.parametrize(
    ("locale", "word"), [("zh_CN.UTF-8", "实验"), ("de_DE.UTF-8", "title"), ("C", "title")]
)
def test_language_is_that_of_the_locale_if_there_is_one(monkeypatch, locale, word):
    monkeypatch.setenv("LANG", locale)
    assert word in lab("list").out
    assert "实验" in lab("list", "--language", "zh").out
    assert "title" in lab("list", "--language", "en").out


@pytest.mark.processes
@pytest.mark.parametrize("place", [".", "01_message", "01_message/broken/ev-0", "02_segment"])
def test_work_folder_is_found_from_around_and_inside(tmp_path, monkeypatch, place):
    start_lab(tmp_path, HEADER)
    start_lab(tmp_path, number=2)
    monkeypatch.chdir(place)
    assert lab("check", "1.1").code == 0


def test_check_without_a_number_is_of_the_folder_around(tmp_path, monkeypatch):
    start_lab(tmp_path)
    monkeypatch.chdir("01_message/broken")
    checked = json.loads(lab("check", "--json").out)["exercises"]
    assert [each["exercise"] for each in checked] == [each.number for each in lab_of(1).exercises]


@pytest.mark.parametrize("words", ["check 1.1", "reset 1", "hint 1.1", "run 1 -- topic list"])
def test_folder_that_is_no_work_folder_touches_none_beside_it(tmp_path, monkeypatch, words):
    start_lab(tmp_path, HEADER)
    (tmp_path / "notes").mkdir()
    before = tree_of(tmp_path)
    monkeypatch.chdir("notes")
    assert_one_line(lab(*words.split()), 2, "notes: no work folder of lab 1 here; ")
    assert lab("progress").out.startswith("No work folder here.")
    assert tree_of(tmp_path) == before


@pytest.mark.processes
@pytest.mark.parametrize("place", ["", "files"])
@pytest.mark.parametrize("name", ["my copy", "02_segment"])
def test_copy_under_another_name_is_judged_itself(tmp_path, monkeypatch, name, place):
    start_lab(tmp_path, HEADER)
    copy = tmp_path / name
    shutil.copytree(tmp_path / "01_message", copy)
    (copy / "answers.py").write_text(HEADER.replace("4 +", "16 +"))
    monkeypatch.chdir(copy / place)
    run = lab("check", "1.1")
    assert run.code == 1
    assert run.out.startswith(f"Lab 1: The message, in {copy}\n")
    assert_one_line(lab("check", "2.1"), 2, "no work folder of lab 2 here")
    monkeypatch.chdir(tmp_path)
    assert lab("check", "1.1").out.startswith(f"Lab 1: The message, in {tmp_path}/01_message\n")
    assert_one_line(lab("check", "2.1"), 2, "no work folder of lab 2 here")


@pytest.mark.processes
def test_folder_without_the_number_of_its_lab_is_known_by_its_name(tmp_path, monkeypatch):
    folder = start_lab(tmp_path, HEADER)
    path = folder.path / "progress.json"
    path.write_text(path.read_text().replace('"lab": 1,', ""))
    assert lab("check", "1.1").code == 0
    monkeypatch.chdir(folder.path)
    assert lab("check", "1.1").code == 0


def test_start_inside_a_work_folder_makes_the_other_beside_it(tmp_path, monkeypatch):
    lab("start", "1")
    monkeypatch.chdir("01_message/files")
    started = lab("start", "2")
    assert "Now go there: cd ../../02_segment\n" in started.out
    assert (tmp_path / "02_segment" / "answers.py").is_file()


def test_start_leaves_a_folder_alone_that_is_there(tmp_path):
    lab("start", "1", "--dir", "a b", "--name", "Ada")
    before = tree_of(tmp_path)
    assert_one_line(lab("start", "1", "--dir", "a b"), 2, "01_message: is there already")
    assert tree_of(tmp_path) == before


def test_start_in_another_directory_says_how_to_go_there(tmp_path):
    assert "Now go there: cd 'a b/01_message'\n" in lab("start", "1", "--dir", "a b").out


@pytest.mark.parametrize(
    ("names", "taken"), [(["mira"], "mira"), (["mira", "bob"], "account"), ([], "account")]
)
def test_lab_without_a_name_takes_that_of_the_labs_beside_it(monkeypatch, names, taken):
    monkeypatch.setattr("getpass.getuser", lambda: "account")
    for number, name in enumerate(names, 1):
        lab("start", str(number), "--name", name)
    assert lab("start", "5").code == 0
    progress = json.loads(Path("05_crash_and_recovery/progress.json").read_text())
    assert progress["name"] == taken


@pytest.mark.parametrize("name", ["", "x" * 300, "阿达", "a\x1b[2Jb", "\udcff"])
def test_any_name_is_a_name(name):
    started = lab("start", "1", "--name", name)
    assert started.code == 0, started
    assert "\x1b" not in started.out
    assert json.loads(Path("01_message/progress.json").read_text())["seed"] >= 0


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"name": 1, "seed": 2, "passed": []}'])
def test_damaged_progress_is_named_in_one_line(tmp_path, text):
    folder = start_lab(tmp_path)
    (folder.path / "progress.json").write_text(text)
    assert_one_line(lab("check", "1"), 2, "progress.json: this is not what `kminilog lab start`")


def test_pass_that_is_no_exercise_is_none(tmp_path):
    folder = start_lab(tmp_path)
    told = json.loads((folder.path / "progress.json").read_text()) | {"passed": [["1.1"], 7]}
    (folder.path / "progress.json").write_text(json.dumps(told))
    assert "0/" in lab("progress").out


@pytest.mark.processes
def test_check_tells_that_changed_checks_do_not_count(tmp_path):
    folder = start_lab(tmp_path, HEADER)
    (folder.path / "checks.py").write_text("def exercise_1(*words): raise SystemExit\n")
    run = lab("check", "1.1")
    assert run.code == 0
    assert "checks.py in this folder was changed; the course's own checks count." in run.out


@pytest.mark.processes
@pytest.mark.parametrize("language", ["en", "zh"])
def test_watch_without_java_says_that_the_job_is_not_checked(tmp_path, monkeypatch, language):
    start_lab(tmp_path, "def ingest(*given): ...; return 1\n", 9)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    run = lab("watch", "9.2", "--language", language)
    assert (run.code, run.err) == (1, "")
    assert "Spark cannot run" in run.out
    assert "--no-spark" not in run.out
    assert "Ctrl-C" not in run.out  # nobody watches
    alone = lab("check", "9.2", "--language", language)
    assert (alone.code, alone.out, alone.err.count("\n")) == (2, "", 1)


def test_check_without_spark_leaves_out_the_job_and_starts_no_spark(tmp_path):
    assert lab("start", "9").code == 0
    with (tmp_path / "09_bulk_ingest" / "answers.py").open("a") as answers:
        answers.write("def ingest(rows, log_dir, job_id):\n    raise SystemExit\n")
    run = lab("check", "9", "--no-spark")
    left_out = "9.2 was not checked: --no-spark leaves it out."
    assert (run.code, left_out in run.err, "9.2" in run.out) == (1, True, False)
    assert "Spark starts" not in run.err
    assert "9.1" in run.out
    nothing = lab("check", "9.2", "--no-spark")
    assert (nothing.code, nothing.out) == (2, "")
    assert "Nothing is left to check" in nothing.err


# ---- reset


@pytest.mark.processes
def test_reset_of_an_exercise_puts_its_starter_back_and_keeps_the_rest(tmp_path):
    folder = start_lab(tmp_path)
    starter = folder.answers_path.read_text()
    head, tail = starter.split("raise NotImplementedError", 1)
    mine = f"# mine \x0c\n{head}return bytes(12){tail}# end"
    folder.answers_path.write_text(mine)
    lab("hint", "1.1")
    lab("check", "1.1")
    run = lab("reset", "1.1")
    assert run.code == 0
    assert f"Your old file is {folder.path}/answers.1.bak\n" in run.out
    assert (folder.path / "answers.1.bak").read_text() == mine
    assert folder.answers_path.read_text() == f"# mine \x0c\n{starter}# end"
    assert "Hint 2" not in lab("hint", "1.1").out


def test_reset_brings_a_deleted_function_back(tmp_path):
    folder = start_lab(tmp_path, CHECKSUM)
    assert lab("reset", "1.1").code == 0
    assert folder.answers_path.read_text().startswith(CHECKSUM)
    assert "  1.1  todo " in lab("check", "1.1").out


@pytest.mark.processes
def test_reset_takes_a_pass_back(tmp_path):
    start_lab(tmp_path, HEADER + CHECKSUM)
    lab("check", "1")
    assert "1.1 1.2" in lab("progress").out
    lab("reset", "1.1")
    assert lab("progress", "--json").document["labs"][0]["passed"] == ["1.2"]


@pytest.mark.processes
def test_reset_of_labs_keeps_backups_and_names_and_restores_the_files(tmp_path):
    folders = [start_lab(tmp_path, HEADER), start_lab(tmp_path, "# two\n", number=2)]
    fresh = start_lab(tmp_path / "fresh")
    broken = folders[0].path / "broken" / "ev-0"
    for path in broken.iterdir():
        path.unlink()
    lab("check", "1.1")
    run = lab("reset", "--all")
    assert run.code == 0
    assert [(each.path / "answers.1.bak").read_text() for each in folders] == [HEADER, "# two\n"]
    without = ("answers.1.bak",)
    assert {
        name: entry[:2] for name, entry in tree_of(folders[0].path, without=without).items()
    } == {name: entry[:2] for name, entry in tree_of(fresh.path).items()}
    folders[0].answers_path.write_text("# again\n")
    lab("reset", "1")
    assert (folders[0].path / "answers.2.bak").read_text() == "# again\n"
    assert (folders[0].path / "answers.1.bak").read_text() == HEADER


def test_reset_of_a_question_says_how_to_answer_it_again(tmp_path):
    start_lab(tmp_path)
    run = lab("reset", "1.7")
    assert_one_line(run, 2, "1.7 is a question", "kminilog lab predict 1.7")


def test_reset_of_an_exercise_in_a_file_that_cannot_be_read_says_what_helps(tmp_path):
    folder = start_lab(tmp_path, "def header(:\n")
    run = lab("reset", "1.1")
    assert_one_line(run, 2, "answers.py, line 1: ", "kminilog lab reset 1")
    assert folder.answers_path.read_text() == "def header(:\n"
    assert lab("reset", "1").code == 0
    folder.answers_path.unlink()
    assert lab("reset", "1").out.count("\n") == 1
    assert lab("check", "1.1").code == 1


# ---- predict, hint, solution, progress


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("none", "Right: The checksum covers neither"),
        ("1", "Right: The checksum covers neither"),
        ("the size", "Not quite. The size says where"),
        ("4", "Not quite. The size says where"),
    ],
)
def test_prediction_is_answered_by_text_or_number_at_a_prompt_or_by_option(tmp_path, answer, said):
    start_lab(tmp_path)
    for run in (lab("predict", "1.7", "--answer", answer), lab("predict", "1.7", stdin=answer)):
        assert run.code == 0
        assert "\n  1  none\n  2  the checksum\n" in run.out
        assert said in run.out
        assert ("Right: " in run.out) == ("Right: " in said)
        assert ("\nThe right answer: " in run.out) == ("Not quite" in said)
    assert "  1.7  pass " in lab("check", "1.7").out


@pytest.mark.parametrize("answer", ["0", "5", "nothing", "²", ""])
def test_prediction_that_is_no_choice_is_refused(tmp_path, answer):
    start_lab(tmp_path)
    run = lab("predict", "1.7", "--answer", answer)
    assert run.code == 2
    assert "none of the choices" in run.err
    assert "  1.7  todo " in lab("check", "1.7").out


def test_enter_alone_asks_for_the_prediction_again(tmp_path):
    start_lab(tmp_path)
    run = lab("predict", "1.7", stdin="\n  \nnone\n")
    assert run.code == 0
    assert run.err == "Your answer: " * 3
    assert "Right: " in run.out


@pytest.mark.processes
def test_next_walks_the_core_path_with_its_predictions_and_says_when_it_is_done(tmp_path):
    folder = start_lab(tmp_path)
    text = solution(folder.lab, folder.path)
    folder.answers_path.write_text(HEADER + CHECKSUM)
    assert lab("check", "1").out.endswith("\nNext: 1.6 Read the bytes of a message\n")
    folder.answers_path.write_text(text)
    predict = "Next: 1.7 One byte changes on the disk: kminilog lab predict 1.7\n"
    assert lab("check", "1.6").out.endswith("points.\n" + predict)
    told = "The core path of lab 1 is done; the rest is extra.\nNext: 1.3 Null is not empty\n"
    assert lab("predict", "1.7", "--answer", "none").out.endswith(told)
    assert lab("check", "1.1").out.endswith("points.\n" + told)
    for words in (("check", "1"), ("predict", "1.7", "--answer", "none")):
        assert lab(*words).out.endswith(
            "All of lab 1 passes. kminilog lab list shows the others.\n"
        )
    folder.answers_path.write_text(text + "header = None\n")
    assert lab("check", "1.1").out.endswith("\nNext: 1.1 The header: offset and size\n")


@pytest.mark.parametrize("number", [each.number for each in all_labs()])
def test_commands_at_which_a_student_is_told_to_look_work(tmp_path, monkeypatch, number):
    folder = start_lab(tmp_path, number=number)
    monkeypatch.chdir(folder.path)
    for see in {each.see for each in folder.lab.graded if "kminilog" in each.see}:
        words = shlex.split(see.replace("BYTE", "0").replace("=N", "=3").replace("log_N", "log_0"))[
            1:
        ]
        words = [
            str(min(Path().glob(each.replace("FILE", "*.log") or "-"), default=each))
            for each in words
        ]
        run = CliRunner().invoke(main, words)
        assert run.exit_code in (0, 1), (see, run.output)  # 1: it ran, and the files are damaged
        assert run.stdout, see
        if "broken/ev-0" in see:
            assert re.search(r"value length|value [5-9] bytes", run.stdout), see


def test_prompt_without_an_answer_ends_the_command(tmp_path):
    start_lab(tmp_path)
    run = lab("predict", "1.7")
    assert run.code == 2
    assert "nothing was answered; give it with: kminilog lab predict 1.7" in run.err


def test_group_without_a_command_names_its_commands():
    run = lab()
    assert run.code == 2
    assert run.err.startswith("kminilog: name a command of `kminilog lab`: check, exam, hint")


def test_hints_come_one_more_each_time(tmp_path):
    start_lab(tmp_path)
    counts = [lab("hint", "1.2").out.count("Hint ") for _ in range(5)]
    assert counts == [1, 2, 3, 3, 3]
    assert lab("hint", "1.7").out == "There is no hint for 1.7.\n"


@pytest.mark.processes
def test_solution_is_shown_after_a_pass_or_if_it_is_insisted_on(tmp_path):
    folder = start_lab(tmp_path)
    refused = lab("solution", "1.1")
    assert refused.code == 1
    assert "def header" not in refused.out
    assert "def header" in lab("solution", "1.1", "--anyway").out
    folder.answers_path.write_text(HEADER)
    lab("check", "1.1", "--json")  # counts, too
    assert "def header" in lab("solution", "1.1").out


@pytest.mark.processes
def test_function_that_the_library_lacks_is_no_decision_of_the_engine(tmp_path):
    (own, *_) = answers_to(exercise_of("10.6"), RIGHT)
    start_lab(tmp_path, starter_with(own.read_text(), 10), number=10)
    told = lab("check", "10.6").out
    assert "  10.6 pass " in told
    assert "The course's own: kminilog lab solution 10.6\n" in told
    assert lab("solution", "10.6").out.startswith("def find_altered(")
    assert lab("progress", "--json").document["decisions"] == {"yours": 0, "all": len(decisions())}
    assert "find_altered" not in lab("progress").out
    run = lab("run", "all", "--", "partition", "--key", "k", "--partitions", "3")
    assert (run.code, run.err.split(" decisions")[0]) == (0, f"0 of {len(decisions())}")


def test_long_number_stands_apart_from_the_state(tmp_path):
    start_lab(tmp_path, number=10)
    assert "\n  10.10 todo  " in lab("check", "10.10").out


def test_solution_that_only_the_lecturer_has_is_refused_in_one_line(tmp_path, monkeypatch):
    start_lab(tmp_path, number=10)
    labs = Path(shutil.copytree(lab_of(10).folder.parent, tmp_path / "labs"))
    shutil.rmtree(labs / "10_verifier" / "right")
    monkeypatch.setenv("KMINILOG_LABS", str(labs))
    run = lab("solution", "10.6", "--anyway")
    assert_one_line(run, 2, "10_verifier/right: no answer to 10.6; your lecturer may have one")


@pytest.mark.processes
def test_progress_is_a_table_or_json():
    assert lab("progress").out == "No work folder here. Begin with: kminilog lab start 1\n"
    assert lab("progress", "--json").document["labs"] == []
    start_lab(Path.cwd(), HEADER)
    lab("check", "1")
    found = {"lab": 1, "passed": ["1.1"], "points": 10, "max_points": 105}
    document = lab("progress", "--json").document
    assert document == {"labs": [found], "decisions": {"yours": 1, "all": len(decisions())}}
    assert re.search(r"^  1  The message  1/10    10/105  1.1$", lab("progress").out, re.MULTILINE)
    assert "Go on with: kminilog lab check 1\n" in lab("list").out


def test_progress_finds_the_folders_that_run_all_finds(tmp_path):
    start_lab(tmp_path / "term" / "spring").pass_exercise(exercise_of("1.2"))
    start_lab(tmp_path / "term", number=2)
    start_lab(tmp_path / "term" / "zz")
    found = lab("progress", "--json")
    assert [(each["lab"], each["passed"]) for each in found.document["labs"]] == [
        (1, ["1.2"]),
        (2, []),
    ]
    assert "zz/01_message is left out: another folder of the same lab comes first" in found.err
    os.chdir(tmp_path / "term" / "02_segment")
    assert lab("progress", "--json").document == found.document


def test_progress_draws_the_engine_as_text_and_page(tmp_path):
    start_lab(tmp_path, HEADER).pass_exercise(exercise_of("1.1"))
    found = lab("progress", "--html", "engine.html")
    assert f"1 of {len(decisions())} decisions of the engine are yours." in found.out
    (line,) = re.findall(r"^  format.message  .*$", found.out, re.MULTILINE)
    assert line.split()[1:7] == ["■", "header", "1.1", "□", "checksum", "1.2"]
    page = Path("engine.html").read_text()
    assert page.count("is-yours") == 2  # of its seam, and of the style
    assert all(f"<code>{each.name}</code> {each.id}<" in page for each in decisions())


@pytest.mark.processes
def test_pass_is_forgotten_when_the_answer_passes_no_longer(tmp_path):
    folder = start_lab(tmp_path, HEADER + CHECKSUM)

    def passed() -> list[str]:
        return list(lab("progress", "--json").document["labs"][0]["passed"])

    lab("check", "1")
    assert passed() == ["1.1", "1.2"]
    for answers, words, left in (
        (WRONG + CHECKSUM, ["check", "1"], ["1.2"]),
        (WRONG, ["check", "1.2", "--json"], []),
        (HEADER + CHECKSUM, ["check", "1"], ["1.1", "1.2"]),
        (
            HEADER.replace("return", "while True: pass\n    return"),
            ["check", "1.1"],
            ["1.2"],
        ),
        ((folder.lab.folder / "starter.py").read_text(), ["check", "1"], []),
    ):
        folder.answers_path.write_text(answers)
        lab(*words)
        assert passed() == left, (answers, words)
    assert "1/" not in lab("list").out


@pytest.mark.processes
def test_pass_is_not_forgotten_if_the_machine_is_too_busy(tmp_path, monkeypatch):
    folder = start_lab(
        tmp_path, HEADER.replace("return", "import time; time.sleep(10**6)\n    return")
    )
    folder.pass_exercise(exercise_of("1.1"))
    monkeypatch.setattr(checking, "run_module", partial(run_module, wall_seconds=0))
    assert "the machine was too busy to check your header" in lab("check", "1.1").out
    assert lab("progress", "--json").document["labs"][0]["passed"] == ["1.1"]


@pytest.mark.processes
def test_pass_of_one_exercise_does_not_hide_that_another_is_wrong(tmp_path):
    folder = start_lab(tmp_path, WRONG + CHECKSUM)
    for exercise in folder.lab.graded:
        folder.pass_exercise(exercise)
    folder.note("predicted", exercise_of("1.7"), "none")
    lab("check", "1.1")
    assert "All of lab 1 passes" not in lab("check", "1.2").out


@pytest.mark.processes
def test_run_forgets_a_pass_of_a_function_that_passes_no_longer(tmp_path):
    start_lab(tmp_path, WRONG).pass_exercise(exercise_of("1.1"))
    assert spawned("run", "all", "--", "step", "list").code == 0
    assert lab("progress", "--json").document["labs"][0]["passed"] == []


def test_list_has_all_labs_as_text_and_json():
    found = lab("list", "--json").document
    assert [each["lab"] for each in found] == [each.number for each in all_labs()]
    text = lab("list").out
    assert all(each["title"] in text for each in found)
    assert "Labs with an exam (kminilog lab exam N): 1, 2, 3, 4, 5, 6, 7, 8, 10\n" in text


def test_list_tells_where_to_begin_only_while_no_lab_is_begun(tmp_path):
    assert lab("list").out.endswith("\nBegin with: kminilog lab start 1\n")
    folder = start_lab(tmp_path, number=7)
    assert lab("list").out.endswith("\nGo on with: kminilog lab check 7\n")
    for exercise in folder.lab.graded:
        folder.pass_exercise(exercise)
    assert lab("list").out.splitlines()[-1].startswith("Labs with an exam")


# ---- check --trace


@pytest.mark.processes
def test_trace_shows_the_value_beside_the_right_one_as_text_and_page(tmp_path):
    start_lab(tmp_path, starter_with(HEADER.replace("4 +", "16 +") + CHECKSUM))
    run = lab("check", "1.1", "--trace")
    assert run.code == 1
    assert "\n  case = header(0, 4 bytes)\n" in run.out
    assert "Byte 11 is the first that differs:\nyours is 14, the right one is 08." in run.out
    assert "→ 11  14     08\n" in run.out
    assert run.out.endswith("\n  see = kminilog step record\n")
    page = lab("check", "1.1", "--trace", "--html", "page.html")
    assert page.out.endswith("\npage.html: 3 steps\n")
    shown = Path("page.html").read_text()
    assert "first that differs" in shown
    assert 'data-first="2"' in shown
    assert lab("check", "1.2", "--trace").out.endswith("1.2 has no failing call to show.\n")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["1.1", "--html", "page.html"], "--html writes what --trace shows"),
        (["1", "--trace"], "--trace shows one exercise"),
        (["--trace"], "--trace shows one exercise"),
        (["1.1", "--trace", "--json"], "--trace shows one exercise"),
    ],
)
def test_options_of_a_trace_that_cannot_act_are_refused(tmp_path, words, error):
    start_lab(tmp_path, starter_with(HEADER))
    assert_one_line(lab("check", *words), 2, error)
    assert not Path("page.html").exists()


# ---- exam


@pytest.mark.processes
def test_exam_passed_counts_for_the_core_path_until_a_core_function_fails(tmp_path):
    folder = start_lab(tmp_path, starter_with(HEADER + CHECKSUM))
    run = lab("exam", "1")
    assert run.code == 0, run.out
    assert run.out.startswith("Exam of lab 1: The message; all core functions at once, try 1\n")
    assert run.out.endswith("The exam is passed: 1.1, 1.2, 1.6 count.\n")
    assert passed_in(1) == ["1.1", "1.2", "1.6"]
    lab("check", "1.6")  # the bytes that are still to be read: no function of the exam
    assert passed_in(1) == ["1.1", "1.2", "1.6"]
    assert lab("solution", "1.2").code == 0
    folder.answers_path.write_text(starter_with(HEADER + CHECKSUM.replace("16", "18")))
    lab("check", "1.2")
    assert passed_in(1) == ["1.1"]


@pytest.mark.processes
def test_exam_that_one_function_fails_says_which_and_counts_tries(tmp_path):
    start_lab(tmp_path, starter_with(HEADER))
    for number in (1, 2):
        run = lab("exam", "1")
        assert run.code == 1
        assert f", try {number}\n" in run.out
        assert "1.2  todo" in run.out
        assert run.out.endswith("on other data: kminilog lab exam 1\n")
    assert passed_in(1) == ["1.1"]


@pytest.mark.processes
def test_exam_gives_other_data_than_the_check(tmp_path):
    by_heart = HEADER.replace("    return", "    assert b'value ' not in content\n    return")
    start_lab(tmp_path, starter_with(by_heart + CHECKSUM))
    assert "1.1  fail" in lab("check", "1.1").out
    assert lab("exam", "1").code == 0


def test_lab_without_two_core_functions_has_no_exam(tmp_path):
    start_lab(tmp_path, number=9)
    assert_one_line(
        lab("exam", "9"),
        2,
        "lab 9 has no exam; labs that have one: 1, 2, 3, 4, 5, 6, 7, 8, 10; ",
        "type: kminilog lab check 9",
    )
    assert "exam" not in (tmp_path / "09_bulk_ingest" / "progress.json").read_text()


# ---- run


@pytest.mark.processes
def test_run_says_whose_functions_it_runs_and_hands_the_exit_code_on(tmp_path):
    start_lab(tmp_path, starter_with(HEADER + CHECKSUM.replace("16", "18")))
    Path("lines.txt").write_text("a\nb\n")
    banner = (
        "not yours: 1.2 fails\nkminilog runs on your functions: header; all else is the library's\n"
    )
    created = spawned("run", "1", "--", "topic", "create", "t", "--partitions", "1")
    assert (created.code, created.err) == (0, banner)
    produced = spawned("run", "1", "--", "produce", "t", "lines.txt", "--json")
    assert (produced.code, produced.err) == (0, banner)
    assert produced.records
    verified = spawned("run", "1", "--", "verify")
    assert (verified.code, verified.err) == (0, banner)
    assert spawned("run", "1", "--", "find", "t-0", "99").code == 1
    assert spawned("run", "1", "--", "find", "u-0", "99").code == 2


@pytest.mark.processes
def test_run_without_a_passing_function_says_so(tmp_path):
    start_lab(tmp_path)
    run = spawned("run", "1", "--", "partition", "--key", "21", "--partitions", "3")
    assert run.code == 0
    assert run.err == "none of your functions passes yet: this is the library alone\n"


@pytest.mark.processes
def test_run_all_swaps_in_what_passes_in_all_folders_below(tmp_path):
    start_lab(tmp_path / "term", starter_with(HEADER + CHECKSUM))
    name = "def segment_name(base_offset):\n    return f'{base_offset:020}'\n"
    start_lab(tmp_path / "term", starter_with(name, 2), 2)
    all_of_them = len(decisions())
    ran = spawned("run", "all", "--", "demo", "--documents")
    banner = f"3 of {all_of_them} decisions of the engine are yours; all else is the library's\n"
    assert (ran.code, ran.err) == (0, banner)
    assert "offset           = 368776\n" in ran.out
    os.chdir(tmp_path / "term" / "02_segment")  # the folders beside it count as well
    assert spawned("run", "all", "--", "step", "list").err == banner
    start_lab(tmp_path / "zz", HEADER)
    os.chdir(tmp_path)
    left_out = f"{tmp_path / 'zz' / '01_message'} is left out: another folder of the same lab"
    said = f"{left_out} comes first\n"
    assert spawned("run", "all", "--", "step", "list").err == said + banner


NOT_YOURS = f"""\
{HEADER}
{CHECKSUM.replace("16", "18")}
def content(dialect, key, value, *, attributes=0):
    return key.no_such_attribute

from kminilog.format.message import decode
"""


@pytest.mark.processes
@pytest.mark.parametrize("which", ["1", "all"])
def test_run_names_what_it_leaves_out_and_runs_it_only_anyway(tmp_path, which):
    start_lab(tmp_path, starter_with(NOT_YOURS, without=["decode"]))
    words = ["--", "--debug", "find", "t-0", "0"]
    run_module("kminilog", "topic", "create", "t", "--partitions", "1", folder=tmp_path)
    (tmp_path / "lines.txt").write_text("a")
    run_module("kminilog", "produce", "t", "lines.txt", folder=tmp_path)
    ran = spawned("run", which, *words)
    assert ran.code == 0
    assert ran.err.startswith("not yours: 1.2 fails; 1.3 has an error; 1.4 has an error\n")
    ran = spawned("run", which, "--anyway", *words)
    assert ran.err.startswith(
        "not yours: 1.4 has an error\nyours all the same: 1.2 fails; 1.3 has an error\n"
    )
    assert ran.code == 2  # by the wrong checksum of 1.2 each message is damaged
    assert "crc" in ran.err


@pytest.mark.processes
def test_run_names_a_file_that_python_cannot_read(tmp_path):
    start_lab(tmp_path, HEADER)
    start_lab(tmp_path, "x = 1\ndef f(:\n", 2)
    for anyway in ([], ["--anyway"]):
        ran = spawned("run", "all", *anyway, "--", "step", "list")
        assert ran.code == 0
        assert "lab 2: answers.py, line 2: invalid syntax" in ran.err
        assert ran.err.count("lab 2") == 1
    assert "lab 2: answers.py, line 2" in spawned("run", "2", "--", "step", "list").err


@pytest.mark.processes
def test_run_all_without_a_folder_says_how_to_begin(tmp_path):
    ran = spawned("run", "all", "--", "topic", "list")
    assert ran.code == 2
    assert "No work folder here. Begin with: kminilog lab start 1" in ran.err


@pytest.mark.processes
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_run_hands_signals_on(tmp_path, number, code):
    start_lab(tmp_path, starter_with(HEADER))
    subprocess.run([*PROGRAM, "topic", "create", "t", "--partitions", "1"], check=True)
    words = ["lab", "run", "1", "--", "produce", "t"]
    with Process(
        [*PROGRAM, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as process:
        assert process.stderr
        assert process.stderr.readline().startswith("kminilog runs on your functions")
        child = _child_of(process.pid)
        os.kill(process.pid, number)
        assert process.wait() == code
        assert "Traceback" not in process.stderr.read()
    assert not Path(f"/proc/{child}").exists()


def _child_of(pid: int) -> int:
    """Return the process that this one has started, once it reads its input."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    while True:
        found = children.read_text().split()
        if found and b"produce" in Path(f"/proc/{found[0]}/cmdline").read_bytes():
            time.sleep(1)  # it imports
            return int(found[0])
        time.sleep(0.05)


# Only a signal ends such a check: the function ends its own limit, and may sleep for days.
PATIENT = """
import signal, time
from kminilog.cli.main import main
from kminilog.course.judging import checking, sandbox
sandbox.IDLE_SECONDS = 1e6
"""
ENDLESS = HEADER.replace(
    "return", "import signal, time; signal.alarm(0); time.sleep(10**6)\n    return"
)


@pytest.mark.processes
def test_ctrl_c_ends_a_check_at_once_with_what_it_has_started(tmp_path):
    start_lab(tmp_path, ENDLESS)
    with Process(
        [sys.executable, "-c", PATIENT + "main()", "lab", "check", "1.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as process:
        while not (
            judging := subprocess.run(
                ["pgrep", "-f", f"course.judging.judge.*{tmp_path}"], capture_output=True, text=True
            ).stdout.split()
        ):
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.communicate() == ("", "")
        assert process.returncode == 130
    assert not Path(f"/proc/{judging[0]}").exists()


@pytest.mark.processes
def test_ctrl_c_ends_also_what_a_check_starts_only_then(tmp_path):
    start_lab(tmp_path, ENDLESS)
    late = """
run = checking.run_module
def run_late(*words, **options):
    signal.raise_signal(signal.SIGINT)
    time.sleep(0.3)
    return run(*words, **options)
checking.run_module = run_late
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", PATIENT + late, "lab", "check", "1.1"],
        capture_output=True,
        env=environment(),
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


# ---- an installed wheel


@pytest.mark.xdist_group("wheel")
def test_labs_work_from_a_wheel_and_write_into_the_work_folder_only(installed, tmp_path):
    home, temporary, work = (tmp_path / name for name in ("home", "tmp", "work"))
    for path in (home, temporary, work):
        path.mkdir()
    names = {"HOME": str(home), "TMPDIR": str(temporary), "LANG": "C.UTF-8"}
    program = installed.parent / "kminilog"

    def run(*words: str) -> Run:
        done = subprocess.run(
            [program, "lab", *words], cwd=work, env=names, capture_output=True, text=True
        )
        return Run(done.returncode, done.stdout, done.stderr)

    assert "Begin with: kminilog lab start 1" in run("list").out
    assert run("start", "1", "--name", "Ada").code == 0
    answers = work / "01_message" / "answers.py"
    answers.write_text(HEADER + CHECKSUM)
    before = tree_of(tmp_path, without=("progress.json",))
    package = tree_of(installed.parents[1])
    checked = run("check", "1")
    assert (checked.code, checked.err) == (1, "")
    assert checked.out.count("  pass  ") == 2
    assert run("check", "1.1").code == 0
    assert run("predict", "1.7", "--answer", "none").code == 0
    assert run("hint", "1.2").code == 0
    assert "def header" in run("solution", "1.1").out
    assert "header, checksum" in run("run", "1", "--", "partition", "--partitions", "1").err
    assert tree_of(tmp_path, without=("progress.json",)) == before
    assert tree_of(installed.parents[1]) == package


@pytest.mark.xdist_group("wheel")
def test_wheel_has_the_whole_course(installed):
    (here,) = (installed.parents[1] / "lib").glob("python*/site-packages")
    packed = {
        str(path.relative_to(here / "kminilog" / "labs"))
        for path in (here / "kminilog" / "labs").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    labs = lab_of(1).folder.parent
    assert packed == {
        str(path.relative_to(labs))
        for path in labs.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


# ---- `kminilog lab watch` on a terminal: a save is checked at once, and a key asks for more


WRONG = HEADER.replace("4 +", "16 +")


class Screen:
    """A terminal on which `lab watch` runs."""

    def __init__(self, directory: Path, *words: str, columns: int = 400) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [*PROGRAM, "lab", "watch", *words],
            cwd=directory,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={
                **environment(),
                "TERM": "xterm",
                "LANG": "C.UTF-8",
                "NO_COLOR": "1",
                "COLUMNS": str(columns),
            },
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.said = ""

    def until(self, text: str) -> None:
        """Read until the terminal has shown this text."""
        while text not in self.said:
            assert select.select([self.master], [], [], 300)[0], (text, self.said)
            self.said += os.read(self.master, 65536).decode()
        self.said = self.said.split(text, 1)[1]

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def shows_nothing_for(self, seconds: float) -> bool:
        return not self.said.strip() and not select.select([self.master], [], [], seconds)[0]

    def end(self) -> int:
        """Wait for the end, and return the exit code."""
        code = self.process.wait()
        os.close(self.master)
        return code


def save(path: Path, text: str) -> None:
    """Save as editors do: another file takes the name, so that the file is never half written."""
    new = path.with_name("answers.py.swp")
    new.write_text(text)
    new.rename(path)


def wait_until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        time.sleep(0.01)


@pytest.fixture
def folder(tmp_path):
    return start_lab(tmp_path)


@pytest.fixture
def screen(folder):
    screen = Screen(folder.path.parent, "1")
    yield screen
    if screen.process.poll() is None:
        os.killpg(screen.process.pid, signal.SIGKILL)
        screen.process.wait()


WAITING = "n: next exercise, h: hint, q: end.\r\n"


@pytest.mark.processes
def test_watch_checks_each_save_and_goes_on_only_with_a_key(folder, screen):
    screen.until("1.1  todo")
    screen.until(WAITING)
    save(folder.answers_path, WRONG)
    screen.until("\x1b[H\x1b[2J")  # what is new takes the place of what was there
    screen.until("size-includes-12: header(")
    screen.until(WAITING)
    with folder.answers_path.open("r+") as file:
        file.write(WRONG.replace("16 +", "77 +"))  # as many bytes
    screen.until("1.1  fail")
    screen.until(": got 0000000000000000000000")
    screen.until(WAITING)
    save(folder.answers_path, HEADER + CHECKSUM)
    screen.until("1.1  pass")
    screen.until(WAITING)
    assert screen.shows_nothing_for(1)
    screen.press("x")
    assert screen.shows_nothing_for(0.5)
    screen.press("n")
    screen.until("1.2  pass")
    screen.until("Next: 1.6 Read the bytes of a message\r\n")
    screen.until(WAITING)
    screen.press("n")
    screen.until("1.6  error")
    screen.until(WAITING)
    screen.press("h")
    screen.until("Hint 1 of 3: ")
    screen.press("h")
    screen.until("Hint 2 of 3: ")
    screen.press("q")
    assert screen.end() == 1


REST = ("1.3", "1.4", "1.5", "1.8", "1.9", "1.10", "1.11")


@pytest.mark.processes
def test_watch_goes_where_next_says_and_asks_what_is_to_be_predicted(folder, screen):
    for id, following in (("1.1", "1.2 "), ("1.2", "1.6 "), ("1.6", "1.7 One byte changes on")):
        screen.until(f"{id}  todo")
        screen.until(f"Next: {following}")
        screen.until(WAITING)
        screen.press("n")
    screen.until("1.7  todo")
    screen.until("Next: 1.3 ")
    screen.until("  1  none\r\n  2  the checksum\r\n")
    screen.until("Press the number of your answer. n: next exercise, q: end.\r\n")
    screen.press("5")
    assert screen.shows_nothing_for(0.5)
    screen.press("2")
    screen.until("Not quite. The checksum covers what stands after")
    screen.until("The right answer: ")
    screen.until("Next: 1.3 ")
    for following in (*REST, "1.1", "1.2", "1.6", "1.3"):  # 1.7 is done
        screen.press("n")
        screen.until(f"  {following:<4} todo")
        screen.until(WAITING)
    screen.press("q")
    assert screen.end() == 1


@pytest.mark.processes
def test_watch_begins_with_what_is_not_done(folder):
    folder.answers_path.write_text(HEADER)
    folder.pass_exercise(exercise_of("1.1"))
    screen = Screen(folder.path, "1")
    screen.until("1.2  error")
    for exercise in folder.lab.graded:
        folder.pass_exercise(exercise)
    folder.note("predicted", exercise_of("1.7"), "none")
    screen.until(WAITING)
    screen.press("q")
    assert screen.end() == 1
    screen = Screen(folder.path, "1")
    screen.until("All of lab 1 passes.")
    assert screen.end() == 0


@pytest.mark.processes
def test_lines_are_not_longer_than_the_terminal_is_wide(folder):
    folder.answers_path.write_text(HEADER)
    screen = Screen(folder.path.parent, "1.1", columns=80)
    screen.until("The size counts what stands after it: ")
    screen.until("\r\n               ")
    screen.until("how many more to fetch.")
    screen.press("q")
    assert screen.end() == 1


@pytest.mark.parametrize("has_keys", [True, False])
def test_watch_begins_to_check_within_half_a_second_of_a_save(folder, monkeypatch, has_keys):
    """All that it waits is between two looks, which a clock of the test counts."""
    waited = []

    def wait_and_save(*words: object) -> tuple[list[object], ...]:
        waited.append(words[-1])
        if len(waited) == 3:
            folder.answers_path.write_text(HEADER)
        return [], [], []

    monkeypatch.setattr(judging, "time", SimpleNamespace(sleep=wait_and_save))
    monkeypatch.setattr(judging, "select", SimpleNamespace(select=wait_and_save))
    key = wait_for_save_or_key(Watched(folder.answers_path), input if has_keys else None)
    assert (key, len(waited)) == (None, 3)
    assert max(waited) <= 0.5


@pytest.mark.processes
def test_watch_checks_a_save_that_it_has_seen_without_waiting_again(folder, monkeypatch):
    events = []

    def save(seconds: float) -> None:
        events.append("waits")
        folder.answers_path.write_text(HEADER)

    def checked(*words: Any, **named: Any) -> list[ExerciseOutcome]:
        events.append("checks")
        return check(*words, **named)

    monkeypatch.setattr(judging, "time", SimpleNamespace(sleep=save))
    monkeypatch.setattr(judging, "check", checked)
    monkeypatch.chdir(folder.path)
    run = CliRunner().invoke(main, ["lab", "watch", "1.1"])
    assert (run.exit_code, events) == (0, ["checks", "waits", "checks"]), run.output


@pytest.mark.processes
def test_watch_sees_a_save_while_it_checks(folder, screen, tmp_path):
    screen.until(WAITING)
    mark = tmp_path / "checking"
    endless = f"open({str(mark)!r}, 'w')\n    while True: pass\n    return"
    folder.answers_path.write_text(HEADER.replace("return", endless))
    wait_until(mark.exists)
    folder.answers_path.write_text(HEADER)
    screen.until("1.1  timeout")
    screen.until("1.1  pass")


@pytest.mark.processes
def test_watch_survives_a_file_that_goes_and_comes(folder, screen):
    screen.until(WAITING)
    folder.answers_path.unlink()
    screen.until("answers.py is missing")
    screen.until(WAITING)
    folder.answers_path.write_text(HEADER)
    screen.until("1.1  pass")


@pytest.mark.processes
def test_ctrl_c_ends_watching_without_a_word(screen):
    screen.until(WAITING)
    screen.press("\x03")
    assert screen.end() == 130
    assert "Traceback" not in screen.said


@pytest.mark.processes
def test_watch_of_an_exercise_goes_on_to_those_that_are_left(folder):
    screen = Screen(folder.path, "1.1")
    screen.until("1.1  todo")
    screen.until(WAITING)
    screen.press("n")
    screen.until("1.2  todo")
    screen.until(WAITING)
    screen.press("q")
    assert screen.end() == 1


@pytest.mark.processes
@pytest.mark.parametrize(("answers", "status", "code"), [(HEADER, "pass", 0), ("", "error", 1)])
def test_watch_says_that_no_other_exercise_is_left(folder, answers, status, code):
    folder.answers_path.write_text(answers)
    for exercise in folder.lab.graded:
        folder.pass_exercise(exercise)
    folder.note("predicted", exercise_of("1.7"), "none")
    screen = Screen(folder.path, "1.1")
    screen.until(f"1.1  {status}")
    screen.until(WAITING)
    screen.press("n")
    screen.until("Lab 1 has no other exercise that is left.")
    assert screen.end() == code


@pytest.mark.processes
def test_watch_without_a_terminal_goes_on_by_itself(folder):
    with subprocess.Popen(
        [*PROGRAM, "lab", "watch", "1.1"],
        cwd=folder.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as process:
        assert process.stdout
        first = []
        for line in process.stdout:
            first.append(line)
            if "Watching" in line:
                break
        folder.answers_path.write_text(HEADER)
        rest = process.stdout.read()
        assert process.wait() == 0
    assert "Next: 1.1 " in first[-2]  # it stays there until that passes
    assert re.search(r"1\.1  pass", rest)
    assert "Watching" not in rest  # it has ended


def test_run_of_a_lab_without_a_function_of_the_library_says_so():
    assert lab("start", "9").code == 0
    run = lab("run", "9", "--", "topic", "list")
    assert (run.code, run.out) == (2, "")
    assert "lab 9 has no function of the library" in run.err


def test_file_that_is_no_python_is_told_once(tmp_path):
    folder = start_lab(tmp_path, HEADER + "def broken(:\n")
    run = lab("check", "1")
    assert run.code == 1
    assert run.out.count("invalid syntax") == 1
    assert f"answers.py, line {len(HEADER.splitlines()) + 1}: invalid syntax" in run.out
    assert "\n  No exercise of this file was checked.\n" in run.out
    assert "1.7  todo" in run.out  # a prediction needs no file
    assert folder.path.name in run.out


@pytest.mark.processes
@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ModuleNotFoundError(name="pyspark"), "pyspark is not installed; type: pip install"),
        (SparkUnavailableError("no Java"), "Spark cannot run: no Java"),
    ],
)
def test_check_without_spark_checks_what_needs_none_of_it(tmp_path, monkeypatch, error, why):
    answer = "def ingest(*given): ...; return 1\ndef may_commit(events):\n    return []\n"
    start_lab(tmp_path, answer, 9)

    def fails(*given: object) -> None:
        raise error

    monkeypatch.setattr(checking, "_judged_jobs", fails)
    run = lab("check", "9")
    assert run.code == 1
    assert f"9.2 was not checked: {why}" in run.err
    assert "9.3  fail" in run.out
    assert "  9.2  " not in run.out
    alone = lab("check", "9.2")
    assert (alone.code, alone.out) == (2, "")
