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
        "Montag, 5. Oktober 2026, 17:12",  # German
        "05.10.2026, 17:12",
        "2026年10月5日 星期一 17:12",  # Chinese
        "2026年10月5日 下午5:12",
        "2026年10月5日 星期一 下午 5:12",
        "lundi 5 octobre 2026, 17:12",  # French
        "lunes, 5 de octubre de 2026, 17:12",  # Spanish
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
    with pytest.raises(RosterError, match="is there twice for lab 1"):
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
    for id, says in (("", "'' is no id"), ("s/3", "'s/3' is no id"), ("s2", "Jan_s2 is there")):
        with pytest.raises(RosterError, match=f"line 7: .*{says}"):
            roster(*text, f"Jan,1,{id}")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("ada,99,", "line 2: '99' is no number of a lab"),
        ("ada,1,2026-10-05", "line 2: deadline is '2026-10-05', which is no time"),
        ("ada,1,Monday", "line 2: deadline is 'Monday', which is no time"),
        ("ada,1,poniedziałek 5 października 2026 17:12", "line 2: deadline is 'poniedziałek 5 paź"),
        ("ada,1,5/10/2026 17:12", "line 2: deadline is '5/10/2026 17:12'"),
        ('ada,1,"31 June 2026, 17:12"', "line 2: deadline is '31 June 2026, 17:12'"),
        ('ada,1,"5 October 2026, 17:12 PM"', "line 2: deadline is '5 October 2026, 17:12 PM'"),
    ],
)
def test_what_is_no_lab_or_time_is_refused(row, says):
    with pytest.raises(RosterError, match=says):
        roster("student,lab,deadline", row)


def test_noon_and_midnight_are_those_of_a_clock_with_twelve_hours():
    at = {half: roster("student;deadline", f"a;5 May 2026, 12:05 {half}") for half in ("AM", "PM")}
    assert {half: each.entry("a").deadline.hour for half, each in at.items()} == {"AM": 0, "PM": 12}


@pytest.mark.parametrize(
    ("heading", "rows", "says"),
    [
        ("id", ["ada,s1", "bob,s2", "eve,s1"], "line 4: id s1 of eve is that of ada in line 2"),
        ("id", ["ada,7", "bob,Participant 7"], "line 3: id 7 of bob is that of ada in line 2"),
        ("email", ["ada,a@x", "bob,A@X"], "line 3: email A@X of bob is that of ada in line 2"),
        ("id", ["Jan,1", "Jan,2", "ada,2"], "line 4: id 2 of ada is that of Jan_2 in line 3"),
    ],
)
def test_id_or_email_of_two_students_is_refused_with_both_lines(heading, rows, says):
    with pytest.raises(RosterError) as caught:
        roster(f"student,{heading}", *rows)
    assert says in str(caught.value)


def test_id_and_email_may_stand_in_each_row_of_a_student():
    found = roster("student,lab,id,email", "ada,1,s1,a@x", "ada,2,s1,a@x", "bob,1,,", "eve,1,,")
    assert found.students == ["ada", "bob", "eve"]


@pytest.mark.parametrize(
    "rows",
    [
        ("ada,1,2026-10-05T18:00,,g", "bob,1,,2026-10-05T17:00Z,g"),  # handed in by bob for both
        ("ada,1,2026-10-05T18:00,,", "ada,,,2026-10-05T17:00Z,"),
    ],
)
def test_times_that_are_compared_have_all_a_time_zone_or_none(rows):
    with pytest.raises(RosterError, match="ada: only one of deadline and submission has a time"):
        roster("student,lab,deadline,submitted,group", *rows)
