"""What a course hands in: right, wrong, hanging, crashing, empty, tampered and copied work."""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from kminilog.course.material import WRONG, Lab, sample_answers
from kminilog.course.teaching.proof import solution
from kminilog.course.work_folder import WorkFolder
from tests.support.course.student import CHECKSUM, HEADER

KINDS = ("right", "wrong", "hanging", "crashing", "empty", "tampered", "copied")
SOME_OF_LAB_1 = {
    "right": HEADER + CHECKSUM,
    "wrong": HEADER.replace("4 +", "16 +") + CHECKSUM,
    "hanging": HEADER.replace("return", "while True: pass\n    return"),
    "crashing": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n" + HEADER,
    "empty": "",
    "tampered": HEADER,
}
"""Answers to few exercises of lab 1: quickly checked."""


def hand_in(directory: Path, labs: Iterable[Lab], students: int, *, some: bool = False) -> None:
    """Write the folders of so many students, of each kind in turn: `01-right` and on."""
    for lab in labs:
        for number in range(students):
            kind = KINDS[number % len(KINDS)]
            name = f"{number + 1:02}-{kind}"
            if kind == "copied":
                original = directory / f"{number - 5:02}-right" / lab.work_name
                shutil.copytree(original, directory / name / lab.work_name)
                continue
            folder = WorkFolder.start(lab, directory / name, name)
            text = SOME_OF_LAB_1[kind] if some else _answers(folder, kind, number)
            folder.answers_path.write_text(text, encoding="utf-8")
            if kind == "tampered":
                (folder.path / "checks.py").write_text("def exercise_1(*given): pass\n")


def _answers(folder: WorkFolder, kind: str, number: int) -> str:
    """Return answers to all exercises of a lab; of wrong ones the number chooses one.

    A Spark job stays as the starter has it.
    """
    jobs = [each for each in folder.lab.exercises if each.needs_spark]
    others = tuple(each for each in folder.lab.exercises if each not in jobs)
    right = solution(replace(folder.lab, exercises=others), folder.path)
    right += "".join(f"{name} = ...\n" for job in jobs for name in job.answers)
    if kind == "wrong":
        numbers = [each.number for each in jobs]
        samples = [e for e in sample_answers(folder.lab, WRONG) if e.number not in numbers]
        return right + samples[number % len(samples)].path.read_text(encoding="utf-8")
    name = folder.lab.graded[0].answers[0]
    added = {
        "hanging": f"\ndef {name}(*given, **named):\n    while True:\n        pass\n",
        "crashing": "\nimport os\nos.abort()\n",
    }
    return "" if kind == "empty" else right + added.get(kind, "")
