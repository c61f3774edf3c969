"""The first layer of a check: one exercise's unit checks, in a process of their own.

    python -m kminilog.course.judge 1.2 FOLDER ANSWERS RESULT
    python -m kminilog.course.judge 1.1,1.2,1.3 …      (only for answers of the course's own)

ANSWERS is the student's file. RESULT is a JSON file: for each exercise state, code of the
misconception, name and values of the sentence, line, number of comparisons, what was printed. Each
exercise is judged by itself: the other functions of the lab, which it may call, are the library's.
This process limits itself before it runs the student's code; its parent stops it if it takes too
long. Source: ours.
"""

import inspect
import json
import sys
import traceback
from collections.abc import Collection
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from kminilog.course.comparing import Comparer, DifferenceError, WrongKindError
from kminilog.course.limits import BoundedOutput, Forbidden, forbid_processes, limit_resources
from kminilog.course.material import Exercise, checks_of, exercise_of, lab_of
from kminilog.course.swap import load_answers, room_of


def library_answer(symbol: str) -> Any:
    """Return the library's own function, method or class, even where another stands in for it."""
    room = room_of(symbol)
    found: Any = import_module(f"kminilog.{room}")
    for name in symbol.removeprefix(f"{room}.").split("."):
        found = getattr(found, name)
    return inspect.unwrap(found)


def lend_library_functions(module: ModuleType, lab: int, written: Collection[str]) -> None:
    """Put the library's functions into a student's module, except for the symbols `written`.

    So a function may call another one of its lab that the student has not written yet.
    """
    for other in lab_of(lab).exercises:
        if other.symbol and other.symbol not in written and not other.is_method:
            setattr(module, other.name, library_answer(other.symbol))


def judge(exercise: Exercise, folder: Path, answers: str) -> dict[str, Any]:
    """Return what the unit checks say of an answer."""
    compare = Comparer()
    printed = BoundedOutput()
    told: dict[str, Any] = {"state": "pass", "code": None, "name": "", "values": {}, "line": None}
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            _check(exercise, folder, answers, compare)
    except DifferenceError as found:
        told |= {"state": "fail", "code": found.code, "name": found.name, "values": found.values}
    except WrongKindError as wrong:
        told |= {"state": "error", "name": "wrong-kind", "values": wrong.values}
    except Forbidden as forbidden:
        told |= {"state": "error", "name": str(forbidden)}
    except SystemExit:
        told |= {"state": "error", "name": "exits"}
    except BaseException as error:  # noqa: BLE001 - whatever the student's code raises
        told |= {"state": "error", "name": "raised", "values": {"error": _in_short(error)}}
        told |= {"traceback": traceback.format_exc(), "line": _line_in(error, answers)}
    return told | {"comparisons": compare.count, "printed": printed.kept}


def _check(exercise: Exercise, folder: Path, answers: str, compare: Comparer) -> None:
    check = checks_of(lab_of(exercise.lab))[f"exercise_{exercise.number}"]
    module = load_answers(Path(answers))
    lend_library_functions(module, exercise.lab, {exercise.symbol})
    if exercise.symbol:
        check(compare, getattr(module, exercise.name))
    else:
        check(compare, {name: getattr(module, name) for name in exercise.names}, folder)


def _in_short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    name = type(error).__name__
    return f"{name}: {text[:60]}" if text else name


def _line_in(error: BaseException, answers: str) -> int | None:
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == answers
    ]
    return lines[-1] if lines else None


def main(exercises: str, folder: str, answers: str, result: str) -> None:
    """Judge exercises and write the result."""
    limit_resources()
    forbid_processes()
    ids = exercises.split(",")
    told = {each: judge(exercise_of(each), Path(folder), answers) for each in ids}
    Path(result).write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
