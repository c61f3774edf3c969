"""A student at work: answers to lab 1, some wrong, and what the runner says of them.

`RIGHT` has one plain answer for each function of lab 1, as a student would write it.
"""

import json
import sys
from pathlib import Path
from typing import Any

from kminilog.cli.lab import judging
from kminilog.course.catalogue import Catalogue
from kminilog.course.judging.checking import check
from kminilog.course.judging.outcome import ExerciseOutcome
from kminilog.course.material import exercise_of, lab_of
from kminilog.course.work_folder import WorkFolder

HEADER = """\
from struct import pack

def header(offset, content):
    return pack(">qi", offset, 4 + len(content))
"""
CHECKSUM = """\
from zlib import crc32

def checksum(message):
    return crc32(message[16:])
"""
PROGRAM = [sys.executable, "-m", "kminilog"]


def start_lab(directory: Path, answers: str | None = None, number: int = 1) -> WorkFolder:
    """Start a lab, and write into the folder what a student would; the starter if it is None."""
    folder = WorkFolder.start(lab_of(number), directory, "Ada")
    if answers is not None:
        folder.answers_path.write_text(answers)
    return folder


def outcomes_of(folder: WorkFolder, *ids: str) -> dict[str, ExerciseOutcome]:
    """Check some exercises, or all of the lab."""
    wanted = [exercise_of(each) for each in ids] or folder.lab.exercises
    return {each.exercise.id: each for each in check(folder, wanted, judging.PROGRAM)}


def sentence_of(outcome: ExerciseOutcome, language: str = "en") -> str:
    """Return the sentence about an outcome; empty without one."""
    return Catalogue(language).sentence(*outcome.said) if outcome.said else ""


def told(folder: WorkFolder, id: str, answers: str) -> tuple[str, str | None, str]:
    """Write answers, check one exercise; return state, code and sentence."""
    folder.answers_path.write_text(answers)
    outcome = outcomes_of(folder, id)[id]
    return outcome.status, outcome.code, sentence_of(outcome)


def without_seconds(document: Any) -> Any:
    """Return what `check --json` says without the times."""
    text = json.dumps(document)
    return json.loads(text, object_hook=lambda each: {k: each[k] for k in each if k != "seconds"})
