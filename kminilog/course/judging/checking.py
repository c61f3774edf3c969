"""A check in three layers: unit checks, a real command, and the library's own verdict.

    (a)  judge           each exercise by itself, in a process of its own
    (b)  patching        each command once, on all functions that passed (a); alone, if that fails
    (c)  verify          in this process, which never runs the student's code: are the files right?
         or the output   of the command, against that of the library

An exercise passes if all three do. Exercises are checked side by side, as many as there are
processors. Source: ours.
"""

import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from kminilog.course.judging.answers import ANSWERS_FILE, Answers, UnreadableError
from kminilog.course.judging.command_check import run_command
from kminilog.course.judging.diagnosis import judge_diagnosis
from kminilog.course.judging.judge import IMPORTS_REFERENCE
from kminilog.course.judging.outcome import (
    FAIL,
    PASS,
    TIMEOUT,
    TODO,
    CatalogueSentence,
    Outcome,
    error_of,
)
from kminilog.course.judging.sandbox import ProcessResult, run_module
from kminilog.course.material import Exercise
from kminilog.course.work_folder import WorkFolder

_JUDGE_SECONDS = 10.0  # a check computes for less than one


def check(folder: WorkFolder, exercises: Iterable[Exercise]) -> list[Outcome]:
    """Return the outcomes of exercises of one lab, in their order; see the module for how.

    The files that the student has read off are made anew: changed ones do not count.
    """
    wanted = list(exercises)
    try:
        answers = Answers(folder.answers_path)
    except UnreadableError as error:
        return [_unreadable(folder, exercise, error) for exercise in wanted]
    with tempfile.TemporaryDirectory() as temporary:
        folder.write_given_files(Path(temporary))
        with ThreadPoolExecutor(max_workers=max(os.cpu_count() or 1, 2)) as pool:
            return _in_layers(pool, folder, answers, wanted, Path(temporary))


def _in_layers(
    pool: ThreadPoolExecutor,
    folder: WorkFolder,
    answers: Answers,
    wanted: list[Exercise],
    given: Path,
) -> list[Outcome]:
    first = list(pool.map(lambda each: _judged(folder, answers, each, given), wanted))
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


def _judged(folder: WorkFolder, answers: Answers, exercise: Exercise, given: Path) -> Outcome:
    if exercise.kind == "predict":
        return Outcome(exercise, PASS if folder.noted("predicted", exercise) else TODO)
    missing = [name for name in exercise.answers if answers.line_of(name) is None]
    if missing:
        return error_of(exercise, "missing-answer", file=ANSWERS_FILE, answer=missing[0])
    untouched = [name for name in exercise.answers if answers.is_untouched(name)]
    if len(untouched) == len(exercise.answers):
        return Outcome(exercise, TODO)
    if untouched:
        values = _whose(exercise, answers, answer=untouched[0])
        return error_of(exercise, "not-filled-in", **values)
    if exercise.symbol and (line := answers.imports_reference(exercise)):
        said = CatalogueSentence("takes-from-library", {"line": str(line), "answer": exercise.name})
        return Outcome(exercise, FAIL, IMPORTS_REFERENCE, said)
    began = time.monotonic()
    outcome = run_judge(exercise, given, str(folder.answers_path), answers)
    return replace(outcome, seconds=time.monotonic() - began)


def run_judge(
    exercise: Exercise, given: Path, source: str, answers: Answers | None = None
) -> Outcome:
    """Return what the unit checks say of a file; `given` has the files that the lab gives out."""
    ran = _judge((exercise,), given, source)
    if ran.result is not None:
        told = ran.result[exercise.id]
        outcome = _as_told(exercise, told, answers)
        is_named = exercise.kind == "diagnose" and outcome.status == PASS
        return judge_diagnosis(outcome, told["value"], given) if is_named else outcome
    values = _whose(exercise, answers)
    if ran.is_too_slow:
        return Outcome(exercise, TIMEOUT, said=CatalogueSentence("endless", values))
    if ran.is_killed:
        return error_of(exercise, "killed", **values)
    if "MemoryError" in ran.errors:  # the judge, too, had none left
        return error_of(exercise, "raised", error="MemoryError", **values)
    return replace(error_of(exercise, "ended-process", **values), traceback=ran.errors)


def run_judge_of_all(exercises: Sequence[Exercise], folder: Path, source: str) -> list[Outcome]:
    """Return what the unit checks say of several exercises, in one process: for trusted files."""
    ran = _judge(exercises, folder, source)
    if ran.result is None:
        raise RuntimeError(f"{source}: {ran.errors}")
    return [_as_told(exercise, ran.result[exercise.id], None) for exercise in exercises]


def _judge(exercises: Sequence[Exercise], folder: Path, source: str) -> ProcessResult:
    ids = ",".join(exercise.id for exercise in exercises)
    arguments = ("course.judging.judge", ids, str(folder), source, "RESULT")
    seconds = _JUDGE_SECONDS
    return run_module(*arguments, folder=folder, wall_seconds=seconds, needs_result=True)


def _as_told(exercise: Exercise, told: dict[str, Any], answers: Answers | None) -> Outcome:
    whose = _whose(exercise, answers, told["line"], told["values"].get("answer"))
    values = {**told["values"], **whose}
    return Outcome(
        exercise,
        told["state"],
        told["code"],
        CatalogueSentence(told["name"], values) if told["name"] else None,
        comparisons=int(told["comparisons"]),
        printed=told["printed"],
        traceback=told.get("traceback", ""),
    )


def _whose(
    exercise: Exercise,
    answers: Answers | None,
    line: int | None = None,
    answer: str | None = None,
) -> dict[str, str]:
    """Return what names the student's answer in a sentence: answer, exercise, line, file."""
    answer = answer or exercise.answers[0]
    place = line or (answers.line_of(answer) if answers else None) or "?"
    return {"answer": answer, "exercise": exercise.id, "line": str(place), "file": exercise.file}


def _unreadable(folder: WorkFolder, exercise: Exercise, error: UnreadableError) -> Outcome:
    if exercise.kind == "predict":
        return Outcome(exercise, PASS if folder.noted("predicted", exercise) else TODO)
    return error_of(exercise, "unreadable", reason=str(error))
