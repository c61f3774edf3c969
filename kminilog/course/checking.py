"""A check in three layers: unit checks, a real command, and the library's own verdict.

    (a)  course.judge    each exercise by itself, in a process of its own
    (b)  course.swap     each command once, on all functions that passed (a); alone, if that fails
    (c)  verify          in a process without the student's code: are the files right?
         or the output   of the command, against that of the library

An exercise passes if all three do. Exercises are checked side by side, as many as there are
processors. Source: ours.
"""

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from kminilog.course.answers import ANSWERS_FILE, Answers, UnreadableError
from kminilog.course.command_check import run_command
from kminilog.course.diagnosis import judge_diagnosis
from kminilog.course.material import Exercise
from kminilog.course.outcome import FAIL, PASS, TIMEOUT, TODO, Outcome, Said, error_of
from kminilog.course.sandbox import Ran, run_module
from kminilog.course.work_folder import WorkFolder

IMPORTS_REFERENCE = "imports-reference"


def check(folder: WorkFolder, exercises: Iterable[Exercise]) -> list[Outcome]:
    """Return the outcomes of exercises of one lab, in their order; see the module for how."""
    wanted = list(exercises)
    try:
        answers = Answers(folder.answers_path)
    except UnreadableError as error:
        return [_unreadable(folder, exercise, error) for exercise in wanted]
    with ThreadPoolExecutor(max_workers=max(os.cpu_count() or 1, 2)) as pool:
        first = list(pool.map(lambda each: _judged(folder, answers, each), wanted))
        runnable = [each.exercise for each in first if _has_command(each)]
        commands = sorted({(each.command, each.log, each.judge) for each in runnable})
        groups = [
            [each for each in runnable if (each.command, each.log, each.judge) == command]
            for command in commands
        ]
        source = str(folder.answers_path)
        told = pool.map(lambda group: run_command(source, group, runnable), groups)
        complaints = {id: outcome for group in told for id, outcome in group.items()}
    return [_merged(each, complaints.get(each.exercise.id)) for each in first]


def _has_command(outcome: Outcome) -> bool:
    return outcome.status == PASS and bool(outcome.exercise.command)


def _merged(outcome: Outcome, second: Outcome | None) -> Outcome:
    if second is None:
        return outcome
    seconds = outcome.seconds + second.seconds
    return replace(
        second, seconds=seconds, comparisons=outcome.comparisons, printed=outcome.printed
    )


# ---- (a)


def _judged(folder: WorkFolder, answers: Answers, exercise: Exercise) -> Outcome:
    if exercise.kind == "predict":
        return Outcome(exercise, PASS if folder.noted("predicted", exercise) else TODO)
    missing = [name for name in exercise.answers if answers.line_of(name) is None]
    if missing:
        return error_of(exercise, "missing-answer", file=ANSWERS_FILE, answer=missing[0])
    if any(answers.is_untouched(name) for name in exercise.answers):
        return Outcome(exercise, TODO)
    if exercise.symbol and (line := answers.imports_reference(exercise)):
        said = Said("takes-from-library", {"line": str(line), "answer": exercise.name})
        return Outcome(exercise, FAIL, IMPORTS_REFERENCE, said)
    if exercise.kind == "diagnose":
        return judge_diagnosis(exercise, folder.path, folder.answers_path)
    began = time.monotonic()
    outcome = run_judge(exercise, folder.path, str(folder.answers_path), answers)
    return replace(outcome, seconds=time.monotonic() - began)


def run_judge(
    exercise: Exercise, folder: Path, source: str, answers: Answers | None = None
) -> Outcome:
    """Return what the unit checks say of a file."""
    ran = _judge((exercise,), folder, source)
    if ran.result is not None:
        return _as_told(exercise, ran.result[exercise.id], answers)
    values = _whose(exercise, answers)
    if ran.is_too_slow:
        return Outcome(exercise, TIMEOUT, said=Said("endless", values))
    return replace(error_of(exercise, "ended-process", **values), traceback=ran.errors)


def run_judge_of_all(exercises: Sequence[Exercise], folder: Path, source: str) -> list[Outcome]:
    """Return what the unit checks say of several exercises, in one process: for trusted files."""
    ran = _judge(exercises, folder, source)
    if ran.result is None:
        raise RuntimeError(f"{source}: {ran.errors}")
    return [_as_told(exercise, ran.result[exercise.id], None) for exercise in exercises]


def _judge(exercises: Sequence[Exercise], folder: Path, source: str) -> Ran:
    ids = ",".join(exercise.id for exercise in exercises)
    arguments = ("course.judge", ids, str(folder), source, "RESULT")
    return run_module(*arguments, folder=folder, needs_result=True)


def _as_told(exercise: Exercise, told: dict[str, Any], answers: Answers | None) -> Outcome:
    values = {**told["values"], **_whose(exercise, answers, told["line"])}
    return Outcome(
        exercise,
        told["state"],
        told["code"],
        Said(told["name"], values) if told["name"] else None,
        comparisons=int(told["comparisons"]),
        printed=told["printed"],
        traceback=told.get("traceback", ""),
    )


def _whose(exercise: Exercise, answers: Answers | None, line: int | None = None) -> dict[str, str]:
    """Return what names the student's answer in a sentence: answer, exercise, line."""
    answer = exercise.answers[0]
    place = line or (answers.line_of(answer) if answers else None) or "?"
    return {"answer": answer, "exercise": exercise.id, "line": str(place)}


def _unreadable(folder: WorkFolder, exercise: Exercise, error: UnreadableError) -> Outcome:
    if exercise.kind == "predict":
        return Outcome(exercise, PASS if folder.noted("predicted", exercise) else TODO)
    return error_of(exercise, "unreadable", reason=str(error))
