"""A student's diagnosis of a broken log, against what `verify` says; it runs only now.

Or of a broken assignment, against what the check of a user's own assignor says.

Source: ours.
"""

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from kminilog.course.broken import PARTITIONER, Diagnosis, write_copy
from kminilog.course.broken_assignment import (
    ASSIGNMENT_FAULTS,
    AssignmentDiagnosis,
    diagnosis_by_check,
)
from kminilog.course.comparing import short
from kminilog.course.judging.outcome import FAIL, CatalogueSentence, ExerciseOutcome, error_of
from kminilog.course.material import Exercise
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.verification.findings import FindingClass
from kminilog.verification.report import verify_storage


def judge_diagnosis(outcome: ExerciseOutcome, given: Any, folder: Path) -> ExerciseOutcome:
    """Tell if a constant, as JSON has it, names class and place of the damage."""
    exercise = outcome.exercise
    form = AssignmentDiagnosis if exercise.is_of_assignment else Diagnosis
    if not (isinstance(given, list) and len(given) == len(form._fields)):
        wanted = "no-diagnosis-of-assignment" if exercise.is_of_assignment else "no-diagnosis"
        return error_of(exercise, wanted, answer=exercise.names[0])
    classes = ASSIGNMENT_FAULTS if exercise.is_of_assignment else list(FindingClass)
    if given[0] not in classes:
        return error_of(exercise, "no-such-class", got=short(given[0]))
    truth, lines = diagnosis_of(exercise, folder)
    for what, got, right in zip(form._fields, given, truth, strict=True):
        if got != right:
            reason = "wrong" if _has_form(what, got) else "form-of"
            said = CatalogueSentence(f"{reason}-{what}", {"got": short(got)})
            return replace(outcome, status=FAIL, said=said, comparisons=3)
    return replace(outcome, comparisons=3, verdict=tuple(lines))


def _has_form(what: str, got: Any) -> bool:
    """Tell if a part of a diagnosis is written as README.md wants it, right or not."""
    if what == "offset":
        return isinstance(got, int) and not isinstance(got, bool)
    form = {"segment": "[0-9]{20}", "partition": r".+-[0-9]+"}.get(what, "(?s:.*)")
    return isinstance(got, str) and bool(re.fullmatch(form, got))


def diagnosis_of(
    exercise: Exercise, folder: Path
) -> tuple[Diagnosis | AssignmentDiagnosis, list[str]]:
    """Return the right diagnosis of what is broken in a folder, and lines that say so."""
    if exercise.is_of_assignment:
        truth, lines = diagnosis_by_check(folder)
        return truth, [f"the library's check: {line}" for line in lines]
    return diagnosis_by_verify(folder)


def diagnosis_by_verify(folder: Path) -> tuple[Diagnosis, list[str]]:
    """Return what `verify` finds first in the broken log of a folder, and its lines."""
    with tempfile.TemporaryDirectory() as temporary:
        write_copy(folder, Path(temporary))
        report = verify_storage(LogDir(Path(temporary)), partitioner=PARTITIONER)
    places = [
        (found.segment, found.position or 0, found.kind.value, found.offset)
        for found in report.tally.findings()
        if found.segment is not None and found.offset is not None
    ]
    segment, _, name, offset = min(places)
    lines = [
        f"verify: {kind} {report.tally.samples(kind)[0].detail}" for kind in report.tally.counts()
    ]
    return Diagnosis(name, segment, offset), lines
