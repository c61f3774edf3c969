"""`kminilog course grade` and `stats`: from folders of students to marks and pages."""

import csv
import html
import json
import os
import shutil
import time
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.course.catalogue import Catalogue
from kminilog.course.judging.sandbox import run_module
from kminilog.course.material import all_labs, exercise_of, lab_of
from kminilog.course.teaching import grading
from kminilog.course.teaching.marks import COLUMNS
from kminilog.course.teaching.proof import solution
from kminilog.course.teaching.submissions import submissions_in
from kminilog.course.work_folder import WorkFolder
from tests.support.cli.command_line import Run, assert_one_line
from tests.support.course.handed_in import KINDS, hand_in
from tests.support.course.student import CHECKSUM, HEADER
from tests.support.trees import tree_of
from tests.support.unreadable import without_privileges

pytestmark = pytest.mark.processes

LAB = lab_of(1)
NOT_HANDED_IN = "no folder of lab 1 was handed in: hand in 01_message, or a zip of it"


def course(*words: str | Path) -> Run:
    result = CliRunner().invoke(main, ["course", *map(str, words)])
    return Run(result.exit_code, result.stdout, result.stderr)


def rows_of(file: Path) -> dict[tuple[str, str], dict[str, str]]:
    """Return the rows of a table of marks, by student and exercise."""
    with file.open(newline="", encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    return {(row["student"], f"{row['lab']}.{row['exercise']}"): row for row in rows}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A course of eight students that is graded once: its directory, and what the command did."""
    directory = tmp_path_factory.mktemp("course")
    submissions = directory / "submissions"
    hand_in(submissions, [LAB], 7, some=True)
    (submissions / "08-nothing").mkdir()
    (submissions / "notes.txt").write_text("not a student")
    before = tree_of(submissions)
    run = course("grade", submissions, "--csv", directory / "marks.csv", "--html", directory / "h")
    assert tree_of(submissions) == before
    return directory, run


def test_grade_gives_each_student_and_exercise_a_row_and_goes_on(graded):
    directory, run = graded
    assert run.code == 0
    rows = rows_of(directory / "marks.csv")
    names = [f"{number:02}-{kind}" for number, kind in enumerate([*KINDS, "nothing"], start=1)]
    assert [*rows] == [(name, each.id) for name in names for each in LAB.exercises]
    first = {student: row for (student, id), row in rows.items() if id == "1.1"}
    states = [first[name]["status"] for name in names]
    assert states == ["pass", "fail", "timeout", "error", "error", "pass", "pass", "todo"]
    assert first["02-wrong"]["reason_code"] == "size-includes-12"
    assert "header(0, 4 bytes): got" in first["02-wrong"]["reason"]
    assert first["03-hanging"]["seconds"] == "3"
    assert first["03-hanging"]["reason"].endswith(" does not end")  # for no call by name
    assert first["06-tampered"]["tampered"] == "checks.py"
    assert (first["01-right"]["same_seed_as"], first["01-right"]["late"]) == ("07-copied", "")
    assert first["07-copied"]["same_seed_as"] == "01-right"
    assert first["08-nothing"]["reason"] == NOT_HANDED_IN
    assert rows["01-right", "1.2"]["points"] == "10"
    assert "notes.txt: not a folder of a student; it is left out\n" in run.err
    assert "8 students, 7 folders to grade; on an idle machine usually a minute, or " in run.err


def test_grade_writes_a_page_and_results_for_gradescope_for_each_student(graded):
    directory, _ = graded
    results = json.loads((directory / "h/students/02-wrong/results.json").read_text())
    assert results["score"] == 10
    wrong = results["tests"][0]
    assert (wrong["number"], wrong["score"], wrong["max_score"]) == ("1.1", 0, 10)
    assert wrong["status"] == "failed"
    assert wrong["output"].startswith("size-includes-12: header(")
    assert "size-includes-12" in (directory / "h/students/02-wrong/index.html").read_text()
    assert "07-copied" not in (directory / "h/students/01-right/index.html").read_text()
    index = (directory / "h/index.html").read_text()
    assert "same seed, lab 1: 07-copied" in index
    (nothing,) = [row for row in index.split("<tr>") if "not handed in: lab 1" in row]
    assert ">08-nothing</a>" in nothing
    assert 'href="students/06-tampered/index.html"' in index


def test_second_run_gives_the_same_bytes_and_resume_grades_only_what_is_new(graded, tmp_path):
    directory, _ = graded
    marks = (directory / "marks.csv").read_bytes()
    again = tmp_path / "again.csv"
    assert course("grade", directory / "submissions", "--csv", again).code == 0
    assert again.read_bytes() == marks
    resumed = course("grade", directory / "submissions", "--csv", again, "--resume")
    assert "0 folders to grade, 7 graded already" in resumed.err
    assert again.read_bytes() == marks
    answers = directory / "submissions/05-empty/01_message/answers.py"
    answers.write_text(HEADER)
    resumed = course("grade", directory / "submissions", "--csv", again, "--resume")
    answers.write_text("")
    assert "1 folder to grade, 6 graded already" in resumed.err
    rows = rows_of(again)
    assert rows["05-empty", "1.1"]["status"] == "pass"
    assert {(id, row["status"]) for (name, id), row in rows.items() if name == "01-right"} == {
        (id, row["status"])
        for (name, id), row in rows_of(directory / "marks.csv").items()
        if name == "01-right"
    }


def test_resume_goes_on_with_the_rows_of_a_run_that_was_ended(graded, tmp_path):
    directory, _ = graded
    marks = (directory / "marks.csv").read_bytes()
    part = tmp_path / "part.csv"
    lines = marks.splitlines(keepends=True)
    part.write_bytes(b"".join(lines[: 1 + 2 * len(LAB.exercises) + 3]))  # the third is not whole
    run = course("grade", directory / "submissions", "--csv", part, "--resume")
    assert "5 folders to grade, 2 graded already" in run.err
    assert part.read_bytes() == marks


def test_stats_show_pass_rate_seconds_codes_and_wrong_predictions(graded, tmp_path):
    directory, _ = graded
    page = tmp_path / "stats.html"
    run = course("stats", directory / "marks.csv", "--json", "--html", page)
    (header,) = [each for each in run.document if each["exercise"] == "1.1"]
    assert (header["students"], header["tried"], header["passed"]) == (8, 7, 3)
    assert header["codes"] == {"error": 2, "size-includes-12": 1, "timeout": 1}
    assert header["pass_rate"] == 3 / 8
    text = course("stats", directory / "marks.csv")
    assert (text.code, text.err) == (0, "")
    assert "1.1              8      7  3 (38%)" in text.out
    assert 'aria-label="38 percent"' in page.read_text()


def handed_in(tmp_path: Path, name: str = "ada", answers: str = HEADER) -> WorkFolder:
    folder = WorkFolder.start(LAB, tmp_path / "submissions" / name, name)
    folder.answers_path.write_text(answers)
    return folder


def test_predictions_and_hints_are_counted(tmp_path):
    folder = handed_in(tmp_path)
    folder.progress |= {"predicted": {"1.7": "none"}, "hints": {"1.1": 2, "1.2": "many"}}
    folder.save()
    other = handed_in(tmp_path, "bob", "")
    other.progress |= {"predicted": {"1.7": "=HYPERLINK(1)"}}
    other.save()
    marks = tmp_path / "marks.csv"
    assert course("grade", tmp_path / "submissions", "--csv", marks).code == 0
    rows = rows_of(marks)
    assert rows["ada", "1.7"]["predicted"] == "none"
    assert (rows["ada", "1.1"]["hints"], rows["ada", "1.2"]["hints"]) == ("2", "0")
    assert rows["bob", "1.7"]["predicted"] == ""  # none of the choices


@pytest.mark.parametrize(
    ("answers", "passed", "exam", "is_seen"),
    [
        (HEADER, ["1.1"], False, False),
        (HEADER + CHECKSUM, ["1.2", "1.1"], False, False),
        ("def broken(:" + HEADER, ["1.1"], False, False),  # broken after its check, perhaps
        (HEADER, ["1.1", "1.2"], False, True),  # not even begun
        (HEADER.replace("4 +", "16 +"), ["1.1"], False, True),
        (HEADER, ["1.1", "9.9"], False, True),
        (HEADER, [["1.1"]], False, True),
        (HEADER, [], True, True),
    ],
)
def test_pass_that_is_none_is_seen(tmp_path, answers, passed, exam, is_seen):
    folder = handed_in(tmp_path, "ada", answers)
    folder.progress |= {"passed": passed, "exam": {"passed": exam}}
    folder.save()
    words = ("grade", tmp_path / "submissions", "--csv", tmp_path / "marks.csv")
    assert course(*words).code == 0
    row = rows_of(tmp_path / "marks.csv")["ada", "1.1"]
    assert row["tampered"] == ("progress.json" if is_seen else "")


def test_no_cell_is_a_formula_and_each_is_one_line(tmp_path):
    for name in ("=1+1", "-x, y", "+z\n@", "名字", "a\x1b[2J"):
        handed_in(tmp_path, name, "raise ValueError('=cmd')\n" + HEADER)
    marks = tmp_path / "marks.csv"
    assert course("grade", tmp_path / "submissions", "--csv", marks).code == 0
    rows = rows_of(marks)
    cells = {text for row in rows.values() for text in row.values()}
    assert [text for text in cells if text.startswith(("=", "+", "-", "@"))] == []
    assert {name for name, _ in rows} == {"'=1+1", "'-x, y", "'+z\\n@", "名字", "a\\x1b[2J"}
    assert len(marks.read_text().splitlines()) == 1 + len(rows)
    resumed = course("grade", tmp_path / "submissions", "--csv", marks, "--resume")
    assert "0 folders to grade, 5 graded already" in resumed.err


def test_bad_files_of_a_student_are_rows_that_say_so(tmp_path):
    handed_in(tmp_path, "brackets", "(" * 200_000)
    handed_in(tmp_path, "large", "#" * 2_000_000)
    (handed_in(tmp_path, "nested").path / "progress.json").write_text("[" * 100_000)
    handed_in(tmp_path, "gone").answers_path.unlink()
    link = handed_in(tmp_path, "link").answers_path
    link.unlink()
    link.symlink_to(tmp_path / "submissions/nested/01_message/answers.py")
    fifo = handed_in(tmp_path, "fifo").answers_path
    fifo.unlink()
    os.mkfifo(fifo)
    marks = tmp_path / "marks.csv"
    assert course("grade", tmp_path / "submissions", "--csv", marks).code == 0
    rows = rows_of(marks)
    states = {name: row["status"] for (name, id), row in rows.items() if id == "1.1"}
    assert states == dict.fromkeys(states, "error") | {"nested": "pass"}
    assert rows["nested", "1.1"]["tampered"] == "progress.json"
    assert rows["link", "1.1"]["reason"] == "answers.py: this is a link; hand in the file itself"
    assert "larger than 1048576 bytes" in rows["large", "1.1"]["reason"]
    assert "a FIFO" in rows["fifo", "1.1"]["reason"]
    assert rows["gone", "1.1"]["reason"] == "answers.py is missing"
    assert rows["brackets", "1.1"]["reason"]


def test_list_says_what_has_no_points_and_what_was_tried(tmp_path):
    handed_in(tmp_path, "ada", "import os\nos.system('true')\n" + HEADER)
    link = handed_in(tmp_path, "bob").answers_path
    link.unlink()
    link.symlink_to(tmp_path / "submissions/ada/01_message/answers.py")
    (tmp_path / "submissions/cy").mkdir()
    with zipfile.ZipFile(tmp_path / "submissions/cy/home.zip", "w") as archive:
        archive.writestr("../../answers.py", HEADER)
    handed_in(tmp_path, "dan", HEADER + "raise ValueError(1)\n")
    run = course("grade", tmp_path / "submissions", "--csv", tmp_path / "marks.csv")
    ada, *others = run.out.splitlines()[5:]
    assert ada.startswith("ada: tried: 1.1")
    assert ada.endswith(": your code starts a program: true")
    assert others == [
        "bob: no points: lab 1: answers.py: this is a link; hand in the file itself",
        "cy: not taken: home.zip: ../../answers.py leads out of its folder",
        "dan: no points: lab 1: 1.1: line 5 of your answers.py raised ValueError: 1, before any "
        "function was called",
    ]
    of_dan = [row for (name, _), row in rows_of(tmp_path / "marks.csv").items() if name == "dan"]
    assert {row["status"] for row in of_dan if row["max_points"] != "0"} == {"error"}


def test_syntax_error_is_told_with_its_line_and_once_on_the_page(tmp_path):
    handed_in(tmp_path, "ada", HEADER + "\ndef broken(:\n")
    marks = tmp_path / "marks.csv"
    run = course("grade", tmp_path / "submissions", "--csv", marks, "--html", tmp_path / "h")
    line = HEADER.count("\n") + 2
    says = f"answers.py, line {line}: invalid syntax"
    assert f"ada: no points: lab 1: {says}\n" in run.out
    graded = [row for row in rows_of(marks).values() if row["max_points"] != "0"]
    assert {(row["status"], row["reason"]) for row in graded} == {("error", says)}
    results = json.loads((tmp_path / "h/students/ada/results.json").read_text())
    assert {each["output"] for each in results["tests"]} == {says}
    page = (tmp_path / "h/students/ada/index.html").read_text()
    assert page.count(says) == 1


def test_whatever_has_no_points_is_worth_a_look(tmp_path):
    handed_in(tmp_path, "broken", "def header(:")
    handed_in(tmp_path, "empty", "")
    handed_in(tmp_path, "endless", "while True: pass\n" + HEADER)
    starter = WorkFolder.start(LAB, tmp_path / "submissions/untouched", "untouched")
    handed_in(tmp_path, "zoe")
    (tmp_path / "submissions/packed").mkdir()
    (tmp_path / "submissions/packed/01_message.rar").write_bytes(b"Rar!")
    words = "--csv", tmp_path / "marks.csv", "--html", tmp_path / "h"
    run = course("grade", tmp_path / "submissions", *words)
    page = html.unescape((tmp_path / "h/index.html").read_text())
    for student, why in {
        "broken": "answers.py, line 1: invalid syntax",
        "empty": "1.1: answers.py has no header; kminilog lab reset 1.1 brings it back",
        "endless": "1.1: your answers.py does not end, before any function was called",
        starter.progress["name"]: "nothing is written yet",
    }.items():
        assert f"{student}: no points: lab 1: {why}\n" in run.out
        assert f">no points, lab 1: {why}<" in page
    assert "zoe: " not in run.out
    assert ">not taken: 01_message.rar: " in page  # and not: not handed in


def test_page_has_the_group_and_says_once_what_late_work_has_lost(tmp_path):
    handed_in(tmp_path, "ada")
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "student,group,deadline,submitted\nada,Red,2026-10-05T18:00,2026-10-05T18:01\n"
    )
    words = ["grade", tmp_path / "submissions", "--csv", tmp_path / "m.csv", "--roster", roster]
    assert course(*words, "--late-percent", "15", "--html", tmp_path / "h").code == 0
    page = (tmp_path / "h/students/ada/index.html").read_text()
    assert page.count("15 %") == 1
    assert "group, lab 1" in page
    assert "Red" in page
    assert "group, lab 1: Red" in (tmp_path / "h/index.html").read_text()


def test_folder_of_a_lab_that_is_not_here_is_named(tmp_path):
    folder = handed_in(tmp_path)
    folder.progress["lab"] = 99
    folder.save()
    folder.path.rename(folder.path.with_name("99_own"))
    run = course("grade", tmp_path / "submissions", "--csv", tmp_path / "marks.csv")
    assert "ada/99_own: not a lab of this course; it is left out\n" in run.err


def test_code_that_writes_beside_itself_changes_no_submission(tmp_path):
    code = (
        "from pathlib import Path\n"
        "for path in Path(__file__).parent.glob('*.json'):\n"
        "    path.unlink()\n"
        "Path(__file__).with_name('new').write_text('x')\n"
    )
    handed_in(tmp_path, "ada", code + HEADER)
    before = tree_of(tmp_path / "submissions")
    run = course("grade", tmp_path / "submissions", "--csv", tmp_path / "marks.csv")
    assert run.code == 0
    assert tree_of(tmp_path / "submissions") == before


def test_folder_that_cannot_be_read_is_a_row_that_says_so(tmp_path):
    (tmp_path / "submissions").mkdir(mode=0o755)
    folder = WorkFolder.start(LAB, tmp_path / "submissions" / "ada", "ada")
    (tmp_path / "submissions" / "bob").mkdir(mode=0)
    with without_privileges():
        found = submissions_in(tmp_path / "submissions", tmp_path)
    assert found.students == {"ada": "", "bob": found.students["bob"]}
    assert found.students["bob"].endswith("bob: Permission denied")
    assert [each.path for each in found.handed_in] == [folder.path]
    (tmp_path / "submissions" / "bob").chmod(0o755)


def test_roster_says_who_is_missing_and_who_is_late(tmp_path):
    for name in ("ada", "bob", "eve"):
        handed_in(tmp_path, name, "")
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "student,email,deadline,submitted\n"
        "ada,a@x,2026-10-05T18:00,2026-10-05T18:01\n"
        "bob,b@x,2026-10-05T18:00Z,2026-10-05T19:00+02:00\n"
        "zoe,z@x,2026-10-05T18:00,\n"
    )
    marks = tmp_path / "marks.csv"
    run = course("grade", tmp_path / "submissions", "--csv", marks, "--roster", roster)
    rows = rows_of(marks)
    late = {name: row["late"] for (name, id), row in rows.items() if id == "1.1"}
    assert late == {"ada": "yes", "bob": "no", "eve": "", "zoe": ""}
    assert rows["zoe", "1.1"]["reason"] == NOT_HANDED_IN
    assert "eve: not in the roster; graded all the same\n" in run.err


def test_late_work_loses_percent_for_each_day_after_a_time_of_grace(tmp_path):
    """The deadlines are of labs; the points in the table stay as `lab check` gives them."""
    for lab in (1, 2):
        for name in ("ada", "bob"):
            WorkFolder.start(lab_of(lab), tmp_path / "submissions" / name, name)
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "student;lab;deadline;submitted\n"
        "ada;1;2026-10-05T18:00;Monday, 5 October 2026, 6:10 PM\n"
        "ada;2;2026-10-12T18:00;2026-10-13T18:00\n"
        "bob;1;2026-10-05T18:00;2026-10-06T18:01\n"
        "bob;2;2026-10-12T18:00;-\n"
    )
    marks = tmp_path / "marks.csv"
    words = ("grade", tmp_path / "submissions", "--csv", marks)
    rule = ("--late-percent", "20", "--grace", "15")
    assert course(*words, "--roster", roster, *rule).code == 0
    found = {key: (row["late"], row["lost_percent"]) for key, row in rows_of(marks).items()}
    assert (found["ada", "1.1"], found["ada", "2.1"]) == (("no", "0"), ("yes", "20"))
    assert (found["bob", "1.1"], found["bob", "2.1"]) == (("yes", "40"), ("", "0"))
    assert_one_line(course(*words, *rule), 2)  # there are no times


def test_wide_file_has_the_labs_of_a_roster_that_names_them(tmp_path):
    """One has begun lab 2 early."""
    for name, lab in (("ada", 1), ("ada", 2), ("bob", 1)):
        WorkFolder.start(lab_of(lab), tmp_path / "submissions" / name, name)
    roster, wide = tmp_path / "roster.csv", tmp_path / "wide.csv"
    words = ["grade", tmp_path / "submissions", "--csv", tmp_path / "marks.csv", "--wide", wide]
    run = course(*words)
    assert wide.read_text().splitlines()[1:] == ["ada,,,,,0,0", "bob,,,,,0,"]
    assert "left out" not in run.err
    roster.write_text("student,lab,deadline\nada,1,2026-10-05T18:00\nbob,1,2026-10-05T18:00\n")
    run = course(*words, "--roster", roster)
    assert wide.read_text().splitlines()[1:] == ["ada,,,,,0", "bob,,,,,0"]
    assert f"lab 2: not in the roster, so left out of {wide}\n" in run.err


@pytest.mark.parametrize("named", [True, False])
def test_early_hand_in_gives_others_no_rows_of_a_lab_that_is_open(tmp_path, named):
    for name, lab in (("ada", 1), ("ada", 2), ("bob", 1), ("eve", 1)):
        WorkFolder.start(lab_of(lab), tmp_path / "submissions" / name, name)
    roster, marks = tmp_path / "roster.csv", tmp_path / "marks.csv"
    rows = ["student,lab,deadline,submitted"]
    for name in ("ada", "bob", "eve"):
        rows.append(f"{name},1,2020-10-05T18:00,2020-10-05T17:00")
        rows += [] if named else [f"{name},,2999-10-05T18:00,"]
    roster.write_text("\n".join(rows))
    words = ["grade", tmp_path / "submissions", "--csv", marks, "--html", tmp_path / "h"]
    run = course(*words, "--roster", roster, "--wide", tmp_path / "wide.csv")
    assert run.code == 0, run.err
    assert {(name, id[0]) for name, id in rows_of(marks)} == {
        ("ada", "1"),
        ("ada", "2"),
        ("bob", "1"),
        ("eve", "1"),
    }
    assert "not handed in" not in (tmp_path / "h/index.html").read_text()
    if not named:
        assert (tmp_path / "wide.csv").read_text().splitlines()[1:] == [
            "ada,,,,,0,0",
            "bob,,,,,0,",
            "eve,,,,,0,",
        ]
        assert "so not counted as late: ada, lab 2\n" in run.err
        assert "lab 2: 1 of 3 have handed it in; the roster has one deadline for all" in run.err


def test_what_one_of_a_group_hands_in_counts_for_all(tmp_path):
    for name in ("ada", "eve"):
        handed_in(tmp_path, name)
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "student,group,deadline,submitted\n"
        "ada,Red,2026-10-05T18:00,2026-10-05T19:00\nbob,Red,2026-10-05T20:00,\n"
        "eve,,,\nzoe,,,\n"
    )
    marks = tmp_path / "marks.csv"
    words = ("grade", tmp_path / "submissions", "--csv", marks, "--roster", roster)
    assert course(*words).code == 0
    rows = rows_of(marks)
    first = {name: row for (name, id), row in rows.items() if id == "1.1"}
    points = {name: row["points"] for name, row in first.items()}
    assert points == {"ada": "10", "bob": "10", "eve": "10", "zoe": "0"}
    assert [(first[name]["group"], first[name]["late"]) for name in ("ada", "bob", "eve")] == [
        ("Red", "yes"),
        ("Red", "no"),  # the own deadline counts
        ("", ""),
    ]
    assert (first["ada"]["same_seed_as"], first["bob"]["same_seed_as"]) == ("", "")
    (header, *_) = course("stats", marks, "--json").document
    assert (header["students"], header["tried"], header["passed"]) == (3, 2, 2)  # ada's and eve's
    before = marks.read_bytes()
    assert "0 folders to grade, 2 graded already" in course(*words, "--resume").err
    assert marks.read_bytes() == before


def test_others_with_the_seed_of_a_group_see_it_as_one(tmp_path):
    shutil.copytree(handed_in(tmp_path).path.parent, tmp_path / "submissions/eve")
    roster = tmp_path / "roster.csv"
    roster.write_text("student,group\nada,Red\nbob,Red\neve,\n")
    marks = tmp_path / "marks.csv"
    course("grade", tmp_path / "submissions", "--csv", marks, "--roster", roster)
    same = {name: row["same_seed_as"] for (name, _), row in rows_of(marks).items()}
    assert same == {"ada": "eve", "bob": "eve", "eve": "group Red"}


def test_archive_that_is_not_opened_is_no_beginning(tmp_path):
    handed_in(tmp_path)
    (tmp_path / "submissions/bob").mkdir()
    (tmp_path / "submissions/bob/01_message.rar").write_bytes(b"Rar!")
    marks = tmp_path / "marks.csv"
    course("grade", tmp_path / "submissions", "--csv", marks)
    (header, *_) = course("stats", marks, "--json").document
    assert (header["students"], header["tried"], header["codes"]) == (2, 1, {})


def test_member_with_another_folder_has_its_marks_and_the_others_those_of_the_group(tmp_path):
    handed_in(tmp_path, "grp", HEADER)
    handed_in(tmp_path, "xi", HEADER + CHECKSUM)
    roster = tmp_path / "roster.csv"
    roster.write_text("student,group\nxi,grp\nxu,grp\nyo,grp\n")
    marks = tmp_path / "marks.csv"
    words = ("grade", tmp_path / "submissions", "--csv", marks, "--roster", roster)
    assert course(*words).code == 0
    points = dict.fromkeys(("xi", "xu", "yo"), 0)
    for (name, _), row in rows_of(marks).items():
        points[name] += int(row["points"])
    assert points == {"xi": 20, "xu": 10, "yo": 10}


def test_reason_teaches_as_lab_check_says_it(graded):
    directory, _ = graded
    says, breaks = Catalogue("en").reason("size-includes-12")
    teaches = f"{says} In a real system: {breaks}"
    assert rows_of(directory / "marks.csv")["02-wrong", "1.1"]["teaches"] == teaches
    results = json.loads((directory / "h/students/02-wrong/results.json").read_text())
    assert results["tests"][0]["output"].splitlines()[1:] == [teaches]
    page = html.unescape((directory / "h/students/02-wrong/index.html").read_text())
    assert f"<p>{teaches}</p>" in page


def test_wrong_prediction_teaches_what_who_gives_it_may_believe(tmp_path):
    wrong = Catalogue("en").texts(exercise_of("1.7")).wrong[0]
    folder = handed_in(tmp_path)
    folder.progress |= {"predicted": {"1.7": wrong.answer}}
    folder.save()
    words = ("grade", tmp_path / "submissions", "--csv", tmp_path / "marks.csv")
    assert course(*words).code == 0
    assert rows_of(tmp_path / "marks.csv")["ada", "1.7"]["teaches"] == wrong.misconception


SPECIFIED = {"score", "output", "execution_time", "tests"}
OF_A_TEST = {"number", "name", "score", "max_score", "status", "output"}
"""Of what Gradescope's specification of results.json allows, what is used here."""


@pytest.mark.parametrize("kind", ["nothing", "lone file", "outside", "right"])
def test_results_for_gradescope_are_always_there(tmp_path, kind):
    submission = tmp_path / "submissions/student"
    submission.mkdir(parents=True)
    if kind == "lone file":
        (submission / "answers.py").write_text(HEADER)
    elif kind == "outside":
        with zipfile.ZipFile(submission / "home.zip", "w") as archive:
            archive.writestr("../../answers.py", HEADER)
    elif kind == "right":
        WorkFolder.start(LAB, submission, "ada").answers_path.write_text(HEADER)
    words = ("--csv", tmp_path / "marks.csv", "--html", tmp_path / "h")
    run = course("grade", tmp_path / "submissions", *words)
    assert run.code == 0, run.err
    assert run.out.splitlines()[1].split()[:2] == ["student", "10" if kind == "right" else "0"]
    results = json.loads((tmp_path / "h/students/student/results.json").read_text())
    assert set(results) == SPECIFIED
    assert all(set(each) == OF_A_TEST for each in results["tests"])
    assert all(each["status"] in ("passed", "failed") for each in results["tests"])
    assert results["score"] == (10 if kind == "right" else 0)
    says = "Hand in the folder that `kminilog lab start` made, such as 01_message"
    assert (says in results["output"]) == (kind != "right")
    assert ("../../answers.py leads out of its folder" in results["output"]) == (kind == "outside")
    page = (tmp_path / "h/students/student/index.html").read_text()
    assert (says in page) == (kind != "right")
    assert ("student/answers.py: a file without its folder; it is left out" in run.err) == (
        kind == "lone file"
    )


def test_results_page_and_gradebook_have_points_less_what_late_work_lost(tmp_path):
    handed_in(tmp_path, "ada", HEADER + CHECKSUM)
    roster = tmp_path / "roster.csv"
    roster.write_text("student,deadline,submitted,id\nada,2026-10-05T18:00,2026-10-05T18:01,s1\n")
    words = ["grade", tmp_path / "submissions", "--csv", tmp_path / "marks.csv"]
    words += ["--roster", roster, "--late-percent", "15", "--html", tmp_path / "h"]
    run = course(*words, "--wide", tmp_path / "wide.csv", "--points-possible")
    assert run.code == 0, run.err
    most = sum(each.points for each in LAB.exercises)
    assert (tmp_path / "wide.csv").read_text().splitlines()[1:] == [
        f"Points Possible,,,,,{most}",
        "ada,,s1,,,17",
    ]
    results = json.loads((tmp_path / "h/students/ada/results.json").read_text())
    assert (results["score"], results["tests"][0]["score"]) == (17, 10)
    assert results["output"] == "Lab 1 came late: 15 % of its points are lost."
    assert "late, lab 1: 15 % lost" in (tmp_path / "h/index.html").read_text()
    assert_one_line(course(*words, "--points-possible"), 2)  # no file to have the row


def test_pages_of_a_student_who_has_gone_are_said_to_be_old(tmp_path):
    for name in ("ada", "bob"):
        handed_in(tmp_path, name, "")
    words = ["grade", tmp_path / "submissions", "--csv", tmp_path / "m.csv", "--html"]
    words += [tmp_path / "pages"]
    assert "earlier run" not in course(*words).err
    shutil.rmtree(tmp_path / "submissions/bob")
    said = f"{tmp_path / 'pages/students/bob'}: pages of an earlier run; they stay as they are\n"
    lines = course(*words).err.splitlines(keepends=True)
    assert [line for line in lines if "earlier run" in line] == [said]
    assert "bob" not in (tmp_path / "pages/index.html").read_text()


def test_missing_numpy_is_told_where_an_answer_uses_it(tmp_path):
    words = ("grade", tmp_path / "submissions", "--csv", tmp_path / "marks.csv")
    handed_in(tmp_path)
    assert "numpy" not in course(*words).err
    missing = "raise ModuleNotFoundError(\"No module named 'numpy'\")\n"
    handed_in(tmp_path, "bob", missing + HEADER)
    assert "install kminilog[bulk]" in course(*words).err


def test_core_counts_the_points_of_the_core_path_alone(tmp_path):
    folder = handed_in(tmp_path)
    folder.answers_path.write_text(solution(LAB, folder.path))
    words = ["grade", tmp_path / "submissions", "--csv", tmp_path / "marks.csv"]
    words += ["--wide", tmp_path / "wide.csv", "--html", tmp_path / "h"]
    most = {}
    for options in ([], ["--core"]):
        assert course(*words, *options).code == 0
        (_, row) = csv.reader((tmp_path / "wide.csv").read_text().splitlines())
        results = json.loads((tmp_path / "h/students/ada/results.json").read_text())
        assert float(row[-1]) == results["score"]
        most[bool(options)] = results["score"]
        rows = rows_of(tmp_path / "marks.csv")
        assert len(rows) == len(LAB.exercises)  # whoever counts
    assert most == {
        False: sum(each.points for each in LAB.exercises),
        True: sum(each.points for each in LAB.exercises if each.core),
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "its first line names no column student"),
        ("name\nada\n", "its first line names no column student"),
        ("student\n", "it names no student"),
        ("student,x\n,1\n", "line 2: '' is no name of a folder"),
        ("student\n../x\n", "line 2: '../x' is no name of a folder"),
        ("student\nada\nada\n", "line 3: ada is there twice"),
        (
            "student,deadline\nada,soon\n",
            "line 2: deadline is 'soon', which is no time like 2026-10-05T18:00, nor",
        ),
        ("student,deadline,submitted\na,2026-10-05T00:00,2026-10-05T00:00Z\n", "has a time zone"),
        ("student,x\nada\n", "line 2 has fewer cells than the first"),
        ("student\nada,1\n", "line 2 has more cells than the first"),
        ("student\n\udcff\n", "line 2 is not UTF-8"),
        ('student\n"a" b\n', "it is no CSV"),
        ("student\n\0\n", ""),
    ],
)
def test_bad_roster_is_one_line(tmp_path, text, says):
    handed_in(tmp_path, answers="")
    roster = tmp_path / "roster.csv"
    roster.write_bytes(text.encode("utf-8", "surrogateescape"))
    run = course("grade", tmp_path / "submissions", "--csv", tmp_path / "m.csv", "--roster", roster)
    if says:
        assert_one_line(run, 2)
        assert f"{roster}: " in run.err
        assert says in run.err
        assert not (tmp_path / "m.csv").exists()


def test_bad_places_are_one_line(tmp_path):
    handed_in(tmp_path, answers="")
    submissions, marks = tmp_path / "submissions", tmp_path / "marks.csv"
    (tmp_path / "empty").mkdir()
    (submissions / "students/ada").mkdir(parents=True)
    for words, says in (
        ((submissions / "none", "--csv", marks), "none"),
        ((submissions / "ada/01_message/answers.py", "--csv", marks), "answers.py"),
        ((tmp_path / "empty", "--csv", marks), "has no folder of a student"),
        ((submissions, "--csv", submissions / "ada/marks.csv"), "name a place elsewhere"),
        ((submissions, "--csv", marks, "--html", submissions / "h"), "name a place elsewhere"),
        ((submissions, "--csv", marks, "--html", submissions), "name a place elsewhere"),
        ((submissions / "students", "--csv", marks, "--html", submissions), "name a place"),
    ):
        run = course("grade", *words)
        assert_one_line(run, 2)
        assert says in run.err
    assert not marks.exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n", "its first line names no column student, lab"),
        (",".join(COLUMNS) + "\n" + ",".join(["x"] * len(COLUMNS)) + "\n", "line 2: lab is 'x'"),
        ("\0", "no"),
    ],
)
def test_stats_and_resume_refuse_another_file(tmp_path, text, says):
    handed_in(tmp_path, answers="")
    other = tmp_path / "other.csv"
    other.write_text(text)
    resumed = course("grade", tmp_path / "submissions", "--csv", other, "--resume")
    for run in (course("stats", other), resumed):
        assert_one_line(run, 2)
        assert says in run.err
        assert "name a file that `course grade --csv` wrote" in run.err
    assert other.read_text() == text


def test_stats_of_a_table_without_rows_says_so(tmp_path):
    (tmp_path / "m.csv").write_text(",".join(COLUMNS) + "\n")
    assert course("stats", tmp_path / "m.csv").out == f"{tmp_path / 'm.csv'}: no marks\n"


def test_folder_for_which_the_machine_was_too_busy_is_checked_once_more(tmp_path):
    """1.1 comes to the last limit of time the first time only, and 1.2 each time."""
    folder = WorkFolder.start(LAB, tmp_path / "submissions" / "ada", "ada")
    mark = tmp_path / "begun"
    once = f"if not os.path.exists({str(mark)!r}):\n        open({str(mark)!r}, 'w')\n        "
    ends = "os.kill(os.getpid(), signal.SIGALRM)\n    return"
    header, checksum = HEADER.replace("return", once + ends), CHECKSUM.replace("return", ends)
    folder.answers_path.write_text(f"import os, signal\n{header}{checksum}")
    run = course("grade", tmp_path / "submissions", "--csv", tmp_path / "marks.csv")
    assert run.code == 0, run.err
    first, second, *_ = rows_of(tmp_path / "marks.csv").values()
    assert (first["status"], first["points"]) == ("pass", "10")
    assert (second["status"], second["points"]) == ("error", "0")
    said = "the machine was too busy to check your checksum (lab 1.2): check again"
    assert second["reason"] == said


@pytest.mark.parametrize(("busy_times", "status"), [(1, "pass"), (2, "error")])
def test_folder_that_comes_to_the_last_limit_is_checked_once_more(
    tmp_path, monkeypatch, busy_times, status
):
    folder = WorkFolder.start(LAB, tmp_path / "submissions" / "ada", "ada")
    folder.answers_path.write_text(f"{HEADER}{CHECKSUM}")
    begun = []

    def run(*words, **limits):
        begun.append(words)
        if len(begun) <= busy_times:
            raise grading.TooBusyError
        return run_module(*words, **limits)

    monkeypatch.setattr(grading, "run_module", run)
    assert course("grade", tmp_path / "submissions", "--csv", tmp_path / "marks.csv").code == 0
    first = next(iter(rows_of(tmp_path / "marks.csv").values()))
    assert (first["status"], len(begun)) == (status, 2)


@pytest.mark.soak
def test_thirty_students_and_all_labs_are_graded_twice_alike(tmp_path):
    """All but the Spark job of lab 9, which nobody has written."""
    hand_in(tmp_path / "submissions", all_labs(), 30)
    before = tree_of(tmp_path / "submissions")
    marks = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in marks:
        began = time.monotonic()
        run = course("grade", tmp_path / "submissions", "--csv", file)
        print(f"{time.monotonic() - began:.0f} s; said: {run.err.splitlines()[0]}")
        assert run.code == 0
    assert marks[0].read_bytes() == marks[1].read_bytes()
    assert tree_of(tmp_path / "submissions") == before
    run = course("grade", tmp_path / "submissions", "--csv", marks[1], "--resume")
    assert f"0 folders to grade, {30 * len(all_labs())} graded already" in run.err
    assert marks[0].read_bytes() == marks[1].read_bytes()
    rows = rows_of(marks[0])
    assert len(rows) == 30 * sum(len(lab.exercises) for lab in all_labs())
    assert {row["status"] for (name, _), row in rows.items() if name == "01-right"} == {
        "pass",
        "todo",  # predictions
    }
    assert all(row["same_seed_as"] for (name, _), row in rows.items() if "copied" in name)


def test_lab_with_a_job_is_not_graded_where_spark_cannot_start(tmp_path, monkeypatch):
    WorkFolder.start(lab_of(9), tmp_path / "submissions" / "ada", "ada")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    run = course("grade", tmp_path / "submissions", "--csv", tmp_path / "marks.csv")
    assert run.code == 2
    assert "Spark cannot run" in run.err
    assert not (tmp_path / "marks.csv").exists()
