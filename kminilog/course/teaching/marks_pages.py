"""Marks for eyes and for Gradescope: pages, and a `results.json` for each student.

    index.html                      all students
    students/ada/index.html         one of them, exercise by exercise
    students/ada/results.json       the same, in the form that Gradescope reads

Source of the form: "Output format" in Gradescope's autograder specifications,
https://gradescope-autograders.readthedocs.io/en/latest/specs/.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from kminilog.course.catalogue import Catalogue
from kminilog.course.judging.outcome import PASS
from kminilog.course.material import all_labs, exercise_of, lab_of
from kminilog.course.teaching.marks import YES, Mark, points_of
from kminilog.course.teaching.statistics import statistics_of
from kminilog.pages import render

_LOST = " % lost"


def by_student(marks: Iterable[Mark], students: Iterable[str]) -> list[tuple[str, list[Mark]]]:
    """Return the marks of each student, by name, in the order of exercises; perhaps none."""
    found: dict[str, list[Mark]] = {student: [] for student in sorted(students)}
    for mark in sorted(marks, key=lambda mark: (mark.lab, mark.exercise)):
        found[mark.student].append(mark)
    return list(found.items())


def gradescope_results(marks: Sequence[Mark], fault: str, catalogue: Catalogue) -> dict[str, Any]:
    """Return the document for one student: a test for each exercise that has points.

    Without marks it says what to hand in, or what is wrong with what was handed in.
    """
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
    return {
        "score": points_of(marks),
        "output": "\n".join(_about_all(marks, fault, catalogue)),
        "execution_time": sum(mark.seconds for mark in marks),
        "tests": tests,
    }


def student_page(student: str, marks: Sequence[Mark], fault: str, catalogue: Catalogue) -> str:
    """Return the page of one student; no other student is named on it."""
    labs = []
    for number, rows in groupby(marks, key=lambda mark: mark.lab):
        own = list(rows)
        labs.append((number, catalogue.title(lab_of(number)), own, reason_of_all(own)))
    titles = {mark.id: catalogue.texts(exercise_of(mark.id)).title for mark in marks}
    points = f"{points_of(marks):g} of {_most_points(marks)}"
    # What late work has lost is among what is told about all.
    flags = [flag for flag in _own_flags(marks) if not flag[1].endswith(_LOST)]
    facts = [("points", points), *flags]
    about = _about_all(marks, fault, catalogue)
    return render(
        "marks_of_student.html",
        student=student,
        labs=labs,
        titles=titles,
        facts=facts,
        about=about,
        said=_said,
    )


def reason_of_all(marks: Iterable[Mark]) -> str:
    """Return the reason why no exercise of a lab that has points was checked, or nothing."""
    reasons = {"" if mark.reason_code else mark.reason for mark in marks if mark.max_points}
    return reasons.pop() if len(reasons) == 1 else ""


def pointless_labs(marks: Iterable[Mark]) -> list[tuple[int, str]]:
    """Return the labs that a student has handed in and has no point of, and why: in short."""
    found = []
    for lab, rows in groupby(marks, key=lambda mark: mark.lab):
        own = [mark for mark in rows if mark.max_points]
        if own and own[0].digest and not any(mark.points for mark in own):
            firsts = (f"{mark.id}: {mark.reason}" for mark in own if mark.reason)
            found.append((lab, reason_of_all(own) or next(firsts, "nothing is written yet")))
    return found


def _about_all(marks: Sequence[Mark], fault: str, catalogue: Catalogue) -> list[str]:
    lost = {mark.lab: mark.lost_percent for mark in marks if mark.lost_percent}
    said = [catalogue.say("late-lost", lab=lab, percent=lost[lab]) for lab in lost]
    if fault:
        said.append(fault)
    if not marks:
        said.append(catalogue.say("nothing-handed-in", folder=all_labs()[0].work_name))
    return said


def index_page(marks: Iterable[Mark], students: Mapping[str, str]) -> str:
    """Return the page of all students, with a link to the page of each."""
    rows = [
        (
            student,
            f"{points_of(own):g}",
            _most_points(own),
            [f"{what}: {text}" for what, text in _flags(own, students[student])],
        )
        for student, own in by_student(marks, students)
    ]
    return render("marks.html", rows=rows)


def statistics_page(marks: Sequence[Mark], catalogue: Catalogue) -> str:
    """Return the page of all exercises, with a bar for each."""
    found = statistics_of(marks)
    titles = {each.id: catalogue.texts(exercise_of(each.id)).title for each in found}
    students = len({mark.student for mark in marks})
    return render("statistics.html", exercises=found, titles=titles, students=students)


def _most_points(marks: Iterable[Mark]) -> int:
    return sum(mark.max_points for mark in marks)


def _said(mark: Mark) -> str:
    """Return what `lab check` says of an answer: what it gave, and what that teaches."""
    reason = ": ".join(filter(None, [mark.reason_code, mark.reason]))
    return "\n".join(filter(None, [reason, mark.teaches, mark.tried]))


def _flags(marks: Sequence[Mark], fault: str) -> list[tuple[str, str]]:
    """Return what a lecturer should look at: labs without points, late work, changed files, seeds.

    A lab that is missing may be in what could not be taken.
    """
    same = {(f"same seed, lab {m.lab}", m.same_seed_as) for m in marks if m.same_seed_as}
    missing = sorted({mark.lab for mark in marks if not mark.digest})
    gone = [("not handed in", ", ".join(f"lab {lab}" for lab in missing))] if missing else []
    if fault:
        gone = [("not taken", fault)]
    none = [(f"no points, lab {lab}", why) for lab, why in pointless_labs(marks)]
    return [*gone, *none, *_own_flags(marks), *sorted(same)]


def _own_flags(marks: Sequence[Mark]) -> list[tuple[str, str]]:
    late = {(mark.lab, mark.lost_percent) for mark in marks if mark.late == YES}
    found = {(f"late, lab {lab}", f"{lost}{_LOST}" if lost else YES) for lab, lost in late}
    found |= {(f"group, lab {m.lab}", m.group) for m in marks if m.group}
    found |= {(f"tried, {m.id}", m.tried) for m in marks if m.tried}
    found |= {(f"tampered, lab {m.lab}", m.tampered) for m in marks if m.tampered}
    return sorted(found)
