"""What became of one exercise: five states, and a sentence of the catalogue. Source: ours."""

from dataclasses import dataclass
from typing import NamedTuple

from kminilog.course.comparing import ValueParts
from kminilog.course.judging.exposing import STILL_HIDDEN
from kminilog.course.material import Exercise

TOO_BUSY = "too-busy"
"""The sentence about an answer for which the machine had too little time."""
UNREADABLE = "unreadable"
"""The sentence about a file that is no Python, and so has no answer to any exercise."""
TODO, FAIL, ERROR, TIMEOUT, PASS = "todo", "fail", "error", "timeout", "pass"


class CatalogueSentence(NamedTuple):
    """A sentence of the catalogue, by its name, and the values in it."""

    name: str
    values: dict[str, str]


@dataclass(frozen=True)
class ExerciseOutcome:
    """What became of one exercise. `said` has call, got and expected, or what went wrong.

    `seconds` are those of a clock, with all processes; `computed_seconds` those of a processor, in
    the unit checks alone.
    """

    exercise: Exercise
    status: str
    code: str | None = None
    said: CatalogueSentence | None = None
    seconds: float = 0.0
    computed_seconds: float = 0.0
    comparisons: int = 0
    printed: str = ""
    traceback: str = ""
    sides: tuple[ValueParts, ValueParts] | None = None  # the values that a unit check compared
    tried: tuple[tuple[str, str], ...] = ()  # what no exercise needs: see attempts.py
    verdict: tuple[str, ...] = ()  # what the library's verifier said of the student's files

    @property
    def is_too_busy(self) -> bool:
        """Whether nothing is known of the answer: the machine had too little time for it."""
        return self.said is not None and self.said.name == TOO_BUSY

    @property
    def points(self) -> int:
        """All points of the exercise if it passed, else none; a share for each exposed answer."""
        if self.said and self.said.name == STILL_HIDDEN:
            exposed, every = (int(self.said.values[name]) for name in ("exposed", "all"))
            return self.exercise.points * exposed // every
        return self.exercise.points if self.status == PASS else 0


def error_of(exercise: Exercise, name: str, /, **values: str) -> ExerciseOutcome:
    """Return the outcome of an answer that could not be judged, and the sentence that says why."""
    return ExerciseOutcome(
        exercise, ERROR, said=CatalogueSentence(name, values | {"exercise": exercise.id})
    )
