"""What the marks of a course say of each exercise. Source: ours."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from statistics import median
from typing import NamedTuple

from kminilog.course.judging.outcome import PASS, TODO
from kminilog.course.teaching.marks import NO, YES, Mark

_COMMONEST = 3


class ExerciseStatistics(NamedTuple):
    """One exercise. A prediction has passed where it is right.

    What a group has handed in counts once, as the work of one student.

    tried              students who began: who handed in something else than `todo`
    median_seconds     of those who began: what their answers computed; None if nobody did
    codes              the commonest reason codes of those who have not passed, and how many have
                       them; where there is no code, the state
    wrong_predictions  the commonest wrong answers to a prediction
    """

    id: str
    kind: str
    students: int
    tried: int
    passed: int
    median_seconds: float | None
    hints: int
    codes: list[tuple[str, int]]
    wrong_predictions: list[tuple[str, int]]

    @property
    def pass_rate(self) -> float:
        """The share of all students who have passed, 0 to 1."""
        return self.passed / self.students


def statistics_of(marks: Iterable[Mark]) -> list[ExerciseStatistics]:
    """Return the exercises in their order; nothing for no marks."""
    by_exercise = sorted(marks, key=lambda mark: (mark.lab, mark.exercise))
    return [_of(id, list(rows)) for id, rows in groupby(by_exercise, key=lambda mark: mark.id)]


def _of(id: str, marks: list[Mark]) -> ExerciseStatistics:
    works = {(m.group if m.group and m.digest else m.student, m.digest): m for m in marks}
    rows = list(works.values())
    is_question = rows[0].kind == "predict"
    tried = [mark for mark in rows if mark.digest and mark.status != TODO]
    passed = [m for m in tried if (m.predicted_right == YES if is_question else m.status == PASS)]
    codes = Counter(m.reason_code or m.status for m in tried if m.status != PASS)
    wrong = Counter(mark.predicted for mark in rows if mark.predicted_right == NO)
    return ExerciseStatistics(
        id,
        rows[0].kind,
        len(rows),
        len(tried),
        len(passed),
        median(mark.seconds for mark in tried) if tried else None,
        sum(mark.hints for mark in rows),
        _commonest(codes),
        _commonest(wrong),
    )


def _commonest(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_COMMONEST]
