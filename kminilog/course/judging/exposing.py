"""Inputs that expose wrong answers: the student writes these, and no code.

Each input is the tuple of the arguments of one call. The library's function, every right answer of
the course and every wrong one get it. A wrong answer is exposed by an input on which it gives
another answer than the library, or another type, or raises an error, or does not end. An input on
which a right answer differs from the library or does not end, or the library itself breaks, is
none, nor is one that `precondition_N` of the checks excludes: the function promises nothing there.
ValueError and kminilog's own errors are answers, too: they refuse the input. Source: ours; the
idea, for tests of students, is that of Examplar.
"""

import copy
import inspect
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from kminilog.course.comparing import Comparer, DifferenceError, WrongKindError, is_as_good
from kminilog.course.judging.patching import lend_library_functions, library_answer, load_answers
from kminilog.course.material import (
    RIGHT,
    WRONG,
    Exercise,
    answers_to,
    checks_of,
    lab_of,
    target_of,
)
from kminilog.errors import KMiniLogError

MOST_INPUTS = 20
STILL_HIDDEN = "still-hidden"
"""The sentence about inputs that expose some wrong answers, and not all."""
_CALL_SECONDS = 0.25
_REFUSALS = (ValueError, KMiniLogError)


class _EndlessError(BaseException):
    """A call has computed for too long."""


class _Given(NamedTuple):
    """What a call gave: a value, or the error that it raised."""

    value: Any
    error: type[BaseException] | None = None


def counted_wrong_answers(exercise: Exercise) -> list[Path]:
    """Return the wrong answers that inputs can expose."""
    wrong = answers_to(target_of(exercise), WRONG)
    return [path for path in wrong if path.stem not in exercise.left_out]


def expose(compare: Comparer, exercise: Exercise, inputs: Any) -> None:
    """Go on if the inputs expose all wrong answers; else, or if one is none, DifferenceError.

    Raises WrongKindError for what is no list of tuples of plain values. A call computes for a
    quarter of a second at most. Must run in the main thread, for the timer's signal.
    """
    name = exercise.names[0]
    if not isinstance(inputs, list):
        raise WrongKindError(name, type(inputs).__name__, "list of tuples")
    for one in inputs:
        if not isinstance(one, tuple):
            raise WrongKindError(name, f"list with {type(one).__name__}", "list of tuples")
        if kind := _strange_kind(one):
            raise WrongKindError(name, f"tuples with {kind}", "plain values")
    compare.at_most(f"inputs of {name}", len(inputs), MOST_INPUTS, None)
    trial = _Trial(exercise)
    answers = [trial.of_library(number, each) for number, each in enumerate(inputs, start=1)]
    for number, each in enumerate(inputs, start=1):
        if not trial.is_promised(each):
            target = target_of(exercise).id
            raise DifferenceError("input-excluded", number=str(number), target=target)
    for path in answers_to(target_of(exercise), RIGHT):
        try:
            right = trial.loaded(path)
        except ModuleNotFoundError:  # such as numpy, which students need not have
            continue
        for number, (each, answer) in enumerate(zip(inputs, answers, strict=True), start=1):
            given = trial.given(right, each)
            if given.error is _EndlessError:
                raise DifferenceError("input-too-long", number=str(number))
            if _differ(given, answer):
                raise DifferenceError("input-not-promised", number=str(number), answer=name)
    wrong = counted_wrong_answers(exercise)
    compare.count += len(wrong)
    exposed = trial.exposed(wrong, inputs, answers)
    if len(exposed) < len(wrong):
        hidden = len(wrong) - len(exposed)
        counts = {"exposed": len(exposed), "all": len(wrong), "hidden": hidden}
        raise DifferenceError(STILL_HIDDEN, **{what: str(n) for what, n in counts.items()})


def left_out_but_exposed(exercise: Exercise, inputs: Any) -> list[str]:
    """Return which wrong answers the inputs expose although the exercise leaves them out."""
    trial = _Trial(exercise)
    answers = [trial.of_library(number, each) for number, each in enumerate(inputs, start=1)]
    paths = answers_to(target_of(exercise), WRONG)
    left_out = [path for path in paths if path.stem in exercise.left_out]
    return [path.stem for path in trial.exposed(left_out, inputs, answers)]


class _Trial:
    """Calls of the library's function and of answers to one exercise, with the same inputs."""

    def __init__(self, exercise: Exercise) -> None:
        self._target = target_of(exercise)
        self._library = self._right_answer()
        self._parameters = inspect.signature(self._library).parameters.values()
        checks = checks_of(lab_of(exercise.lab))
        view = checks.get(f"view_{exercise.number}")
        self._view: Callable[[Any], Any] = view or (lambda value: value)
        precondition = checks.get(f"precondition_{self._target.number}")
        self._precondition: Callable[..., bool] = precondition or (lambda *_: True)

    def _right_answer(self) -> Callable[..., Any]:
        """Return the library's function; if it has none, the course's own answer."""
        if not self._target.symbol:
            return self.loaded(answers_to(self._target, RIGHT)[0])
        found: Callable[..., Any] = library_answer(self._target.symbol)
        return found

    def loaded(self, path: Path) -> Callable[..., Any]:
        """Return the function of an answer; what else it calls of the lab is the library's."""
        module = load_answers(path)
        lend_library_functions(module, self._target.lab, {self._target.symbol})
        function: Callable[..., Any] = getattr(module, self._target.answers[0])
        return function

    def of_library(self, number: int, arguments: Sequence[Any]) -> _Given:
        """Return the library's answer; DifferenceError if it has none for the input."""
        given = self.given(self._library, arguments)
        if given.error is _EndlessError:
            raise DifferenceError("input-too-long", number=str(number))
        if given.error and not issubclass(given.error, _REFUSALS):
            error = given.error.__name__.lstrip("_")
            raise DifferenceError("input-invalid", number=str(number), error=error)
        return given

    def is_promised(self, arguments: Sequence[Any]) -> bool:
        """Tell if the text of the function's exercise promises an answer for an input.

        It does not for values of other types, with which even the question may fail.
        """
        try:
            return self._precondition(*copy.deepcopy(arguments))
        except Exception:  # noqa: BLE001 - whatever comes of such values
            return False

    def exposed(
        self, paths: Sequence[Path], inputs: Sequence[Any], answers: Sequence[_Given]
    ) -> list[Path]:
        """Return those answers that differ from the library's on some input."""
        pairs = list(zip(inputs, answers, strict=True))
        found = []
        for path in paths:
            function = self.loaded(path)
            if any(_differ(self.given(function, each), answer) for each, answer in pairs):
                found.append(path)
        return found

    def given(self, function: Callable[..., Any], arguments: Sequence[Any]) -> _Given:
        """Call with copies of the arguments, those that must be named by their names."""
        placed, named = [], {}
        for parameter, value in zip(self._parameters, copy.deepcopy(arguments), strict=False):
            if parameter.kind is parameter.KEYWORD_ONLY:
                named[parameter.name] = value
            else:
                placed.append(value)
        if len(placed) + len(named) < len(arguments):
            return _Given(None, TypeError)  # more arguments than the function takes
        before = signal.signal(signal.SIGVTALRM, _end_call)
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, _CALL_SECONDS)
            value = self._view(function(*placed, **named))
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        except (Exception, _EndlessError) as error:  # noqa: BLE001 - whatever an answer raises
            return _Given(None, type(error))
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)
        return _Given(value)


def _differ(given: _Given, wanted: _Given) -> bool:
    """Tell if a function has not given what the library gave."""
    if given.error or wanted.error:
        return not (given.error and wanted.error and issubclass(given.error, wanted.error))
    return not is_as_good(given.value, wanted.value)


def _end_call(number: int, frame: FrameType | None) -> None:
    raise _EndlessError


def _strange_kind(value: Any) -> str:
    """Return the name of a type that neither Python nor kminilog has, in a value; else ""."""
    room = type(value).__module__.partition(".")[0]
    if room not in ("builtins", "kminilog") or callable(value):
        return type(value).__name__
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    if isinstance(value, list | tuple | set | frozenset | dict):
        return next(filter(None, map(_strange_kind, parts)), "")
    return ""
