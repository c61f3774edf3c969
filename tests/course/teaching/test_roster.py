"""The roster: times, separators, names and groups, as platforms and spreadsheets write them."""

from datetime import timedelta
from unicodedata import normalize

import pytest

from kminilog.course.teaching.roster import Roster, RosterError, roster_from_csv


def roster(*lines: str) -> Roster:
    return roster_from_csv("roster.csv", "\n".join(lines).encode())


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_cells_stand_between_commas_semicolons_or_tabs(between):
    found = roster(
        *(between.join(row) for row in (("student", "lab", "email"), ("ada", "1", "a@x")))
    )
    assert (found.students, found.identity("ada")) == (["ada"], ("", "a@x"))


@pytest.mark.parametrize(
    "submitted",
    [
        "2026-10-05T17:12",
        "2026-10-05 17:12:00",
        "Monday, 5 October 2026, 5:12 PM",  # Moodle, English
        "Monday, October 5, 2026, 5:12 PM",  # Moodle, English of the United States
        "Monday, 5 October 2026, 5:12\u202fPM",
        "5 October 2026, 17:12",
    ],
)
def test_times_of_moodle_are_read(submitted):
    found = roster("student;deadline;submitted", f"ada;2026-10-05T17:00;{submitted}")
    assert found.late_by("ada", 1, "ada") == timedelta(minutes=12)


@pytest.mark.parametrize("submitted", ["2026-10-05T17:12:00Z", "2026-10-05 17:12:00 UTC"])
def test_times_of_canvas_are_read(submitted):
    found = roster("student,deadline,submitted", f"ada,2026-10-05T19:00+02:00,{submitted}")
    assert found.late_by("ada", 1, "ada") == timedelta(minutes=12)


def test_row_of_a_lab_says_more_than_the_row_of_all_labs():
    found = roster(
        "student,lab,deadline,submitted",
        "ada,,2026-10-05T18:00,",
        "ada,1,,2026-10-05T19:00",
        "ada,2,2026-10-12T18:00,2026-10-12T17:00",
        "ada,3,,-",
    )
    late = [found.late_by("ada", lab, "ada") for lab in (1, 2, 3)]
    assert late == [timedelta(hours=1), -timedelta(hours=1), None]


def test_names_are_equal_in_all_forms_of_unicode():
    composed, decomposed = (normalize(form, "Zoë") for form in ("NFC", "NFD"))
    assert composed != decomposed
    found = roster("student,lab", f"{composed},1", f"{decomposed},2")
    assert found.students == [composed]
    with pytest.raises(RosterError, match="a second time for lab 1"):
        roster("student,lab", f"{composed},1", f"{decomposed},1")


def test_group_owns_a_folder_and_may_differ_from_lab_to_lab():
    found = roster(
        "student,lab,group,id", "ada,,Red,7", "bob,1,Red,8", "bob,2,,8", "eve,,,Participant 9"
    )
    assert found.group_of("ada", 1) == ["ada", "bob"]
    assert found.group_of("bob", 2) == ["bob"]
    assert (found.in_group("Red"), found.members("Red", 2)) == (["ada", "bob"], ["ada"])
    assert (found.student_of("ada"), found.student_of("nobody")) == ("ada", "")
    assert found.student_of("Participant", "9") == "eve"
    assert found.student_of("a namesake", "8") == "bob"


def test_names_of_columns_may_be_in_capitals():
    found = roster("Student,LAB,Id,ID,id", "ada,1,a,b,c")
    assert (found.students, found.identity("ada")) == (["ada"], ("c", ""))
    assert found.entry("ada", 1) == found.entry("ada")
    assert roster("Student;Group;ID", "ada;Red;s1").in_group("Red") == ["ada"]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_roster_that_is_not_utf_8_says_how_to_save_it(encoding):
    with pytest.raises(RosterError, match='is not UTF-8: save it as "CSV UTF-8"'):
        roster_from_csv("roster.csv", "student\nZo\xeb\n".encode(encoding))


def test_namesakes_need_an_id_in_each_row():
    text = "student,lab,id", "Jan,1,s1", "Jan,2,s1", "Jan,1,s2", "Ada,1,s3", "Ada,2,"
    assert roster(*text).students == ["Jan_s1", "Jan_s2", "Ada"]
    for id, says in (("", "'' is no id"), ("s/3", "'s/3' is no id"), ("s2", "Jan_s2 stands there")):
        with pytest.raises(RosterError, match=f"line 7: .*{says}"):
            roster(*text, f"Jan,1,{id}")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("ada,99,", "line 2: '99' is no number of a lab"),
        ("ada,1,2026-10-05", "line 2: '2026-10-05' is no time"),
        ("ada,1,Monday", "line 2: 'Monday' is no time"),
    ],
)
def test_what_is_no_lab_or_time_is_refused(row, says):
    with pytest.raises(RosterError, match=says):
        roster("student,lab,deadline", row)
