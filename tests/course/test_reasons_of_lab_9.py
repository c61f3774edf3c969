"""The same as test_reasons, for the exercises of lab 9 without Spark."""

import os

import pytest

from kminilog.course.comparing import Comparer
from kminilog.course.judging.outcome import ERROR, FAIL
from kminilog.course.material import checks_of, lab_of
from tests.support.course.student import start_lab, told

pytestmark = pytest.mark.processes

COMMIT = """\
def commit(folder, job_id, outputs):
    done, staging = folder / "visible" / f"{{job_id}}.txt", folder / "staging"
    if not done.exists():
        joined = folder / "joined"
        joined.write_bytes({joined})
        {last}
    {clean}
"""
RIGHT = {
    "joined": "b''.join((staging / name).read_bytes() for name in outputs)",
    "last": "joined.rename(done)",
    "clean": "[path.unlink() for path in staging.iterdir()]",
}
COMMITS = {
    "nothing is joined": (COMMIT.format(**RIGHT | {"joined": "b''"}), FAIL, None),
    "one output is left out": (
        COMMIT.format(
            **RIGHT | {"joined": RIGHT["joined"].replace("in outputs", "in outputs[1:]")}
        ),
        FAIL,
        None,
    ),
    "a newline after each output": (
        COMMIT.format(
            **RIGHT | {"joined": RIGHT["joined"].replace("_bytes()", "_bytes() + b'\\n'")}
        ),
        FAIL,
        None,
    ),
    "a file that the next job writes into": (
        COMMIT.format(**RIGHT | {"last": "done.hardlink_to(joined)"}),
        FAIL,
        None,
    ),
    "copied, not renamed": (
        COMMIT.format(**RIGHT | {"last": "done.write_bytes(joined.read_bytes())"}),
        FAIL,
        "seen-in-parts",
    ),
    "staging itself is removed": (
        COMMIT.format(**RIGHT | {"clean": "staging.rmdir()"}),
        ERROR,
        None,
    ),
    "the earlier job is gone": (
        COMMIT.format(**RIGHT | {"clean": "(folder / 'visible' / 'monday.txt').unlink()"}),
        FAIL,
        None,
    ),
}
CHOICE = """\
def may_commit(events):
    may, failed = {{}}, set()
    for what, task, attempt in events:
        if what == "fails":
            failed.add((task, attempt))
            if may.get(task) == attempt:
                del may[task]
        elif (task, attempt) not in failed:
            may.setdefault(task, attempt)
    return {answer}
"""
CHOICES = {
    "nobody": ("def may_commit(events): return []", None),
    "all who ask": (
        "def may_commit(events): return sorted({e[1:] for e in events if e[0] == 'asks'})",
        None,
    ),
    "sorted as texts": (
        CHOICE.format(answer="sorted(may.items(), key=str)"),
        None,
    ),
    "lists, not tuples": (
        "def may_commit(events): return [list(e[1:]) for e in events]",
        "lists-for-tuples",
    ),
}


@pytest.mark.parametrize(("answer", "status", "code"), COMMITS.values(), ids=COMMITS)
def test_wrong_commit_gets_a_reason_only_if_it_is_the_one(tmp_path, answer, status, code):
    assert told(start_lab(tmp_path, number=9), "9.1", answer)[:2] == (status, code)


def test_commit_that_is_killed_names_the_line_of_the_student(tmp_path):
    answer = COMMIT.format(**RIGHT | {"last": "done.write_bytes(joined.read_bytes())"})
    *_, said = told(start_lab(tmp_path, number=9), "9.1", answer)
    assert "killed in line 6" in said


def test_right_commit_is_killed_once_for_each_state_of_the_disk(monkeypatch):
    """A process for each line took so much of a student's seconds that a right answer had none."""
    forks, fork = [], os.fork
    monkeypatch.setattr(os, "fork", lambda: forks.append(1) or fork())
    namespace = {}
    exec(COMMIT.format(**RIGHT), namespace)
    compare = Comparer()
    checks_of(lab_of(9))["exercise_1"](compare, namespace["commit"])
    states = ["as it was", "a file", "its text", "its new name", *["one output less"] * 6]
    assert len(forks) == len(["to count lines", "to look at the disk", *states])
    assert compare.count > 50


def test_commit_that_misses_staging_after_the_rename_is_not_told_that_outputs_are_lost(tmp_path):
    """Killed between the two, readers see all; the call after that finds no folder to remove."""
    answer = "import shutil\n" + COMMIT.format(
        **RIGHT | {"clean": "shutil.rmtree(staging)\n    staging.mkdir()"}
    )
    status, code, said = told(start_lab(tmp_path, number=9), "9.1", answer)
    assert (status, code) == (ERROR, None)
    assert "FileNotFoundError" in said


@pytest.mark.parametrize(("answer", "code"), CHOICES.values(), ids=CHOICES)
def test_wrong_choice_gets_no_reason_of_another_one(tmp_path, answer, code):
    assert told(start_lab(tmp_path, number=9), "9.3", answer)[1] == code
