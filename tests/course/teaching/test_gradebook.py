"""Marks for the gradebooks of Canvas and Moodle, read back as those two read them."""

import csv
import io
from datetime import UTC, datetime

import pytest

from kminilog.course.material import lab_of
from kminilog.course.teaching.gradebook import gradebook
from kminilog.course.teaching.marks import Mark
from kminilog.course.teaching.roster import Roster, open_labs, roster_from_csv

LABS = [lab_of(1), lab_of(2)]
ROSTER = roster_from_csv(
    "roster.csv", "student,id,email\nLovelace; Ada,s1017,ada@x\nZoë,s1018,zoe@x\n".encode()
)
NOW = datetime(2026, 11, 1, tzinfo=UTC)
MARKS = [
    Mark(student, lab, exercise, "implement", "pass", points, 20, lost_percent=lost, digest="d")
    for student, lab, lost, both in (
        ("Lovelace; Ada", 1, 0, (20, 15)),
        ("Lovelace; Ada", 2, 0, (20, 0)),
        ("Zoë", 1, 30, (20, 15)),
        ("Zoë", 2, 0, (0, 0)),
    )
    for exercise, points in enumerate(both, start=1)
]


def rows(*, has_points_possible: bool = False, roster: Roster = ROSTER) -> list[list[str]]:
    data = gradebook(
        MARKS, roster.students, LABS, roster, (), has_points_possible=has_points_possible
    )
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))


def test_file_has_the_columns_of_canvas_and_its_row_of_points():
    """As in Canvas' guide to importing grades: five columns of the student, then assignments."""
    assert rows(has_points_possible=True) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lab 1", "Lab 2"],
        ["Points Possible", "", "", "", "", "40", "40"],
        ["Lovelace; Ada", "", "s1017", "ada@x", "", "35", "20"],
        ["Zoë", "", "s1018", "zoe@x", "", "24.5", "0"],
    ]


@pytest.mark.parametrize("column", ["SIS User ID", "SIS Login ID"])
def test_each_row_is_of_a_student_whom_moodle_finds_by_one_column(column):
    """Moodle ends its import at a row that is of nobody, and asks which column says who it is."""
    heading, *others = rows()
    at = heading.index(column)
    users = {row[at]: row[heading.index("Lab 1")] for row in others}
    assert list(users.values()) == ["35", "24.5"]
    assert all(users)


def test_name_that_is_a_formula_has_an_apostrophe():
    data = gradebook([], ["=1+1"], [], ROSTER, (), has_points_possible=False)
    assert data.decode().splitlines()[1] == "'=1+1,,,,"


def test_who_has_handed_in_nothing_has_0_only_if_the_work_was_due():
    roster = roster_from_csv(
        "r", b"student,lab,deadline\nada,1,2026-10-05T18:00\nada,2,\nbob,2,\neve,,\n"
    )
    status = {("ada", 1): "todo", ("ada", 2): "todo", ("bob", 1): "todo", ("bob", 2): "error"}
    marks = [Mark(who, lab, 1, "implement", status[who, lab]) for who, lab in status]
    data = gradebook(marks, ["ada", "bob", "eve"], LABS, roster, (), has_points_possible=False)
    assert data.decode().splitlines()[1:] == ["ada,,,,,0,", "bob,,,,,,0", "eve,,,,,,"]


def test_who_has_not_handed_in_a_lab_that_is_open_has_an_empty_cell():
    roster = roster_from_csv(
        "r", b"student,deadline\nada,2026-11-02T18:00\nbob,2026-10-05T18:00Z\neve,\n"
    )
    marks = [Mark("ada", 1, 1, "implement", "pass", 5, 9, digest="d")]
    marks += [Mark(who, lab, 1, "implement", "todo", 0, 9) for who in ("bob",) for lab in (1, 2)]
    still_open = open_labs(roster, roster.students, (1, 2), NOW)
    assert still_open == {("ada", 1), ("ada", 2)}
    options = {"has_points_possible": True}
    data = gradebook(marks, ["ada", "bob", "eve"], LABS, roster, still_open, **options)
    assert data.decode().splitlines()[1:] == [
        "Points Possible,,,,,9,9",
        "ada,,,,,5,",
        "bob,,,,,0,0",
        "eve,,,,,,",
    ]
