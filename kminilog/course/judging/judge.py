"""The first layer of a check: one exercise's unit checks, in a process of their own.

    python -m kminilog.course.judging.judge 1.2 FOLDER RESULT ANSWERS
    python -m kminilog.course.judging.judge 1.2 FOLDER RESULT ANSWERS …  (the course's own answers)

ANSWERS is the student's file. RESULT is a JSON file. For each file it has the state, the code of
the misconception, and the name and values of the sentence. It has the line, the number of
comparisons, the seconds of computing, and what was printed. It also has the constant of a
diagnosis, which this process does not judge. An exercise is judged by itself: the other functions
of the lab, which it may call, are the library's. This process limits itself before it runs the
student's code; its parent stops it if it computes beyond that, or not at all. Source: ours.
"""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial, wraps
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from kminilog.course.comparing import (
    Comparer,
    DifferenceError,
    WrongKindError,
    name_call,
    name_of,
    of_file,
    short,
)
from kminilog.course.judging.attempts import ATTEMPTS, note_attempts
from kminilog.course.judging.exposing import expose, left_out_but_exposed
from kminilog.course.judging.limits import (
    CPU_SECONDS,
    BoundedOutput,
    Forbidden,
    limit_computing,
    limit_resources,
)
from kminilog.course.judging.patching import lend_library_functions, load_answers
from kminilog.course.material import Exercise, checks_of, exercise_of, lab_of

IMPORTS_REFERENCE = "imports-reference"
_SECONDS_TO_END = 1


class _EndlessError(BaseException):
    """The limit of computing is reached; no `except Exception` of a student catches it."""


class ExcludedInputError(BaseException):
    """A check has called an answer with an input that the text of the exercise excludes."""


def judge(
    exercise: Exercise,
    folder: Path,
    answers: str,
    *,
    is_of_course: bool = False,
    when_loaded: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Return what the unit checks say of an answer.

    With one of the course's own answers, the check itself is judged, too: each call must keep the
    precondition that `checks.py` states for the exercise, if it states one.
    """
    compare = Comparer(is_secret=exercise.kind == "read")
    printed = BoundedOutput()
    module = None
    began = time.process_time()
    told: dict[str, Any] = {"state": "pass", "code": None, "name": "", "values": {}, "line": None}
    try:
        stream = printed.as_text_stream()
        with redirect_stdout(stream), redirect_stderr(stream):
            module = load_answers(Path(answers))
            when_loaded()
            told["value"] = _check(exercise, folder, module, compare, is_of_course)
    except DifferenceError as found:
        told |= {"state": "fail", "code": found.code, "name": found.name, "values": found.values}
        told["sides"] = found.sides
    except WrongKindError as wrong:
        name, values = "wrong-kind-of-constant", wrong.values
        if exercise.kind == "implement":
            name, values = name_call("wrong-kind", wrong.call, values)
        told |= {"state": "error", "name": name, "values": values}
    except _EndlessError as endless:
        name, values = name_call("endless", compare.unanswered, {})
        told |= {"state": "timeout", "name": name, "values": values}
        if module is None:
            told |= {"name": "endless-in", "line": line_in(endless, answers)}
    except Forbidden as forbidden:
        told |= {"state": "error", "name": str(forbidden), "line": line_in(forbidden, answers)}
    except SystemExit as end:
        told |= {"state": "error", "name": "exits", "line": line_in(end, answers)}
    except BaseException as error:  # noqa: BLE001 - whatever the student's code raises
        line, values = line_in(error, answers), {"error": in_short(error)}
        # An error outside the student's code is one of its parameters: the call says nothing.
        name, values = name_call("raised", compare.unanswered if line else "", values)
        told |= {"state": "error", "name": name, "values": values}
        told |= {"traceback": traceback.format_exc(), "line": line}
    if module is None:
        told["name"] = of_file(told["name"])
    is_endless = told["state"] == "timeout"
    told["computed_seconds"] = CPU_SECONDS if is_endless else time.process_time() - began
    return told | {"comparisons": compare.count, "printed": printed.kept}


def _check(
    exercise: Exercise, folder: Path, module: ModuleType, compare: Comparer, is_of_course: bool
) -> list[Any] | None:
    """Run the check of an exercise; return what the parent process judges of it, if anything.

    That is the constant of a diagnosis if it is a plain tuple; of inputs, which wrong answers they
    expose that the exercise leaves out.
    """
    if exercise.kind == "diagnose":
        value = getattr(module, exercise.names[0])
        is_plain = isinstance(value, tuple) and all(isinstance(each, str | int) for each in value)
        return list(value) if is_plain else None
    if exercise.kind == "expose":
        inputs = getattr(module, exercise.names[0])
        expose(compare, exercise, inputs)
        return left_out_but_exposed(exercise, inputs)
    checks = checks_of(lab_of(exercise.lab))
    check = checks[f"exercise_{exercise.number}"]
    lend_library_functions(module, exercise.lab, {exercise.symbol})
    if exercise.kind == "implement":
        function = getattr(module, exercise.answers[0])
        precondition = checks.get(f"precondition_{exercise.number}") if is_of_course else None
        check(compare, _kept(function, precondition) if precondition else function)
    else:
        check(compare, {name: getattr(module, name) for name in exercise.names}, folder)
    return None


def _kept(function: Callable[..., Any], precondition: Callable[..., bool]) -> Callable[..., Any]:
    """Return the function; ExcludedInputError if a call does not keep the precondition.

    What the function calls itself with, as a method through `self`, is its own affair.
    """
    is_inside = False

    @wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        nonlocal is_inside
        if is_inside:
            return function(*arguments, **named)
        if not precondition(*arguments, **named):
            raise ExcludedInputError(*arguments)
        is_inside = True
        try:
            return function(*arguments, **named)
        finally:
            is_inside = False

    return called


def in_short(error: BaseException) -> str:
    """Return the type of an error and its text, in one line."""
    text = " ".join(short(error).split())
    return f"{name_of(error)}: {text}" if text else name_of(error)


def line_in(error: BaseException, answers: str) -> int | None:
    """Return the line of a student's file that raised an error; None if it was raised elsewhere."""
    if isinstance(error, SyntaxError) and error.filename == answers:
        return error.lineno  # what the parser allows and the compiler does not
    lines = [
        line
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == answers
    ]
    return lines[-1] if lines else None


def _raise_once() -> None:
    """Let SIGXCPU raise _EndlessError; the next one, for code that goes on, ends the process."""
    before: Any = signal.getsignal(signal.SIGXCPU)

    def end_answer(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGXCPU, before)
        limit_computing(CPU_SECONDS + _SECONDS_TO_END)
        raise _EndlessError

    signal.signal(signal.SIGXCPU, end_answer)


def main(exercise: str, folder: str, result: str, *answers: str) -> None:
    """Judge an exercise in each of some files, and write the result."""
    limit_resources(CPU_SECONDS * len(answers))
    if len(answers) == 1:  # of several, nobody knows whose the time was
        _raise_once()
        note_attempts(answers[0], Path(result).with_suffix(ATTEMPTS))
        # So the parent knows where the process was if it does not come to its end.
        Path(result).write_text(json.dumps({"is_loading": True}), encoding="utf-8")
    is_of_course = len(answers) > 1
    told = [
        judge(
            exercise_of(exercise),
            Path(folder),
            each,
            is_of_course=is_of_course,
            when_loaded=partial(Path(result).unlink, missing_ok=True),
        )
        for each in answers
    ]
    Path(result).write_text(json.dumps({"told": told}), encoding="utf-8")
    os._exit(0)  # at once, whatever threads the student's code has started


if __name__ == "__main__":
    main(*sys.argv[1:])
