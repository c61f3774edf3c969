"""Marks for eyes and for Gradescope: pages, and a `results.json` for each student.

    index.html                      all students
    students/ada/index.html         one of them, exercise by exercise
    students/ada/results.json       the same, in the form that Gradescope reads

Source of the form: Gradescope's manual for autograders, "Output format".
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from kminilog.course.catalogue import Catalogue
from kminilog.course.judging.outcome import PASS
from kminilog.course.material import exercise_of, lab_of
from kminilog.course.teaching.marks import YES, Mark
from kminilog.course.teaching.statistics import statistics_of
from kminilog.pages import render


def by_student(marks: Iterable[Mark]) -> list[tuple[str, list[Mark]]]:
    """Return the marks of each student, by name, in the order of exercises."""
    rows = sorted(marks, key=lambda mark: (mark.student, mark.lab, mark.exercise))
    return [(name, list(own)) for name, own in groupby(rows, key=lambda mark: mark.student)]


def gradescope_results(marks: Sequence[Mark], catalogue: Catalogue) -> dict[str, Any]:
    """Return the document for one student: a test for each exercise that has points."""
    tests = [
        {
            "number": mark.id,
            "name": catalogue.texts(exercise_of(mark.id)).title,
            "score": mark.points,
            "max_score": mark.max_points,
            "status": "passed" if mark.status == PASS else "failed",
            "output": _said(mark),
        }
        for mark in marks
        if mark.max_points
    ]
    seconds = sum(mark.seconds for mark in marks)
    return {"score": _points(marks), "execution_time": seconds, "tests": tests}


def student_page(student: str, marks: Sequence[Mark], catalogue: Catalogue) -> str:
    """Return the page of one student; no other student is named on it."""
    labs = [
        (number, catalogue.title(lab_of(number)), list(rows))
        for number, rows in groupby(marks, key=lambda mark: mark.lab)
    ]
    titles = {mark.id: catalogue.texts(exercise_of(mark.id)).title for mark in marks}
    facts = [("points", f"{_points(marks)} of {_most_points(marks)}"), *_own_flags(marks)]
    return render(
        "marks_of_student.html", student=student, labs=labs, titles=titles, facts=facts, said=_said
    )


def index_page(marks: Iterable[Mark]) -> str:
    """Return the page of all students, with a link to the page of each."""
    rows = [
        (
            student,
            _points(own),
            _most_points(own),
            [f"{what}: {text}" for what, text in _flags(own)],
        )
        for student, own in by_student(marks)
    ]
    return render("marks.html", rows=rows)


def statistics_page(marks: Sequence[Mark], catalogue: Catalogue) -> str:
    """Return the page of all exercises, with a bar for each."""
    found = statistics_of(marks)
    titles = {each.id: catalogue.texts(exercise_of(each.id)).title for each in found}
    students = len({mark.student for mark in marks})
    return render("statistics.html", exercises=found, titles=titles, students=students)


def _points(marks: Iterable[Mark]) -> int:
    return sum(mark.points for mark in marks)


def _most_points(marks: Iterable[Mark]) -> int:
    return sum(mark.max_points for mark in marks)


def _said(mark: Mark) -> str:
    return ": ".join(filter(None, [mark.reason_code, mark.reason]))


def _flags(marks: Sequence[Mark]) -> list[tuple[str, str]]:
    """Return what a lecturer should look at: missing labs, late work, changed files, same seeds."""
    same = {(f"same seed, lab {m.lab}", m.same_seed_as) for m in marks if m.same_seed_as}
    missing = sorted({mark.lab for mark in marks if not mark.digest})
    gone = [("not handed in", ", ".join(f"lab {lab}" for lab in missing))] if missing else []
    return [*gone, *_own_flags(marks), *sorted(same)]


def _own_flags(marks: Sequence[Mark]) -> list[tuple[str, str]]:
    found = {("late", "yes") for mark in marks if mark.late == YES}
    found |= {(f"tampered, lab {m.lab}", m.tampered) for m in marks if m.tampered}
    return sorted(found)
