"""Lab 10: ten damaged logs of ten classes, and what its README.md types."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kminilog.course.catalogue import Catalogue
from kminilog.course.comparing import Comparer, DifferenceError, WrongKindError
from kminilog.course.material import RIGHT, answers_to, checks_of, exercise_of, lab_of
from kminilog.course.teaching.proof import solution
from kminilog.course.work_folder import WorkFolder
from tests.support.course.student import start_lab, told

README = Catalogue("en").readme(lab_of(10)).read_text()
ROWS = README.split("| class | the offset |")[1].split("```")[0].splitlines()
CLASSES = [name for row in ROWS for name in re.findall(r"`([a-z-]+)`", row.rpartition(" | ")[0])]


@pytest.mark.parametrize("name", ["Ada", "Bob", "Chi"])
def test_ten_damaged_logs_have_the_ten_classes_of_the_readme(tmp_path, name):
    folder = WorkFolder.start(lab_of(10), tmp_path, name)
    found = checks_of(folder.lab)["solve_5"](folder.path)
    assert list(found) == [f"LOG_{number}" for number in range(10)]
    assert sorted(kind for kind, _ in found.values()) == sorted(CLASSES)


def test_class_alone_or_with_another_offset_is_no_answer(tmp_path):
    folder = WorkFolder.start(lab_of(10), tmp_path, "Ada")
    checks = checks_of(folder.lab)
    right = checks["solve_5"](folder.path)
    checks["exercise_5"](Comparer(), right, folder.path)
    kind, offset = right["LOG_3"]
    for wrong, said in ((kind, WrongKindError), ((kind, offset + 1), DifferenceError)):
        with pytest.raises(said, match="LOG_3"):
            checks["exercise_5"](Comparer(), right | {"LOG_3": wrong}, folder.path)


@pytest.mark.processes
def test_verdict_and_code_are_a_tuple_as_the_caller_takes_them(tmp_path):
    answer = "def concluded(found, allowed, unchecked):\n    return ['ok', 0]\n"
    status, _, sentence = told(start_lab(tmp_path, number=10), "10.4", answer)
    assert status == "error"
    assert "returned list, expected tuple" in sentence
    right = answers_to(exercise_of("10.4"), RIGHT)[0].read_text()
    right = f"{right}\npair = concluded\ndef concluded(*given): return list(pair(*given))\n"
    assert told(start_lab(tmp_path / "all", right, 10), "10.4", right)[0] == "error"


def typed(text: str) -> str:
    """Return the commands that a page types, as a script."""
    blocks = re.findall(r"```shell-session\n(.*?)```", text, re.DOTALL)
    return re.sub(r"^[$>] ", "", "".join(blocks), flags=re.MULTILINE)


TELLS = """

def _telling(function):
    import functools
    import sys

    @functools.wraps(function)
    def wrapped(*arguments):
        print("partners works", file=sys.stderr)
        return function(*arguments)

    return wrapped


partners = _telling(partners)
"""


@pytest.mark.processes
def test_commands_of_the_readme_show_what_it_says(tmp_path):
    folder = start_lab(tmp_path, number=10)
    folder.answers_path.write_text(solution(folder.lab, folder.path) + TELLS)
    done = subprocess.run(
        ["bash", "-c", typed(README.split("## With Spark")[0])],
        cwd=folder.path,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    look, ten = done.stdout.split("created topic ev:")
    assert look.split("\n")[0] == (
        "source 20 + extra 1 + duplicate 2 = stored 22 + rejected 0 + missing 1"
    )
    shown = re.findall(r'^log_\d|"class": "(.*)"', ten, re.MULTILINE)
    right = checks_of(folder.lab)["solve_5"](folder.path)
    assert [each for each in shown if each] == [kind for kind, _ in right.values()]
    assert "source 1000 + extra 0 + duplicate 0 = stored 1000 + rejected 0 + missing 0" in ten
    assert ten.splitlines()[-1].startswith("verdict: ok;")
    banner = "kminilog runs on your functions: holds, add_to, partners, concluded;"
    told = {line for line in done.stderr.splitlines() if banner not in line}
    assert told == {"partners works"}  # `verify` compares row by row, on the student's function
