"""`course grade` and `course stats`: the work of many students, and what their marks say.

Source: ours.
"""

import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from kminilog.cli.lab.judging import PROGRAM
from kminilog.cli.lab.options import course_options
from kminilog.cli.shared.interrupts import interruptible_wait
from kminilog.cli.shared.named_files import DirectoryName, InputFile
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import (
    complain,
    json_bytes,
    warn_all,
    write_document,
    write_line,
    write_lines,
    write_table,
)
from kminilog.cli.shared.output_files import OutputDirectory, OutputFile, write_output
from kminilog.cli.shared.progress import working
from kminilog.course.catalogue import Catalogue
from kminilog.course.judging.checking import check_spark
from kminilog.course.material import Lab, exercise_of
from kminilog.course.teaching.gradebook import gradebook
from kminilog.course.teaching.grading import completed, grade, limits_of
from kminilog.course.teaching.marks import Mark, marks_as_csv, marks_from_csv, points_of
from kminilog.course.teaching.marks_pages import (
    by_student,
    gradescope_results,
    index_page,
    pointless_labs,
    statistics_page,
    student_page,
)
from kminilog.course.teaching.roster import A_TIME, LateRule, Roster, open_labs, roster_from_csv
from kminilog.course.teaching.statistics import ExerciseStatistics, statistics_of
from kminilog.course.teaching.submissions import HandedIn, Submissions, submissions_in
from kminilog.storage.files import read_regular
from kminilog.text import count, printable

_MINUTE = 60  # seconds
_HOUR = 60  # minutes
_SECONDS_BETWEEN_FILES = 2.0
_NO_NUMPY = "No module named 'numpy'"
_PAGES = "students"  # in the directory of --html, one for each


@click.command("grade", epilog=example("kminilog course grade submissions --csv marks.csv"))
@click.argument("submissions", type=DirectoryName())
@click.option(
    "--csv",
    "csv_file",
    type=OutputFile(),
    required=True,
    help="Write a row for each student and exercise to this file.",
)
@click.option(
    "--roster",
    type=InputFile(),
    help="Table of all students: a CSV file with the column `student`, and perhaps `lab`, "
    f"`deadline`, `submitted`, `group`, `id` and `email`. A time is {A_TIME}, or as Moodle or "
    "Canvas writes it.",
)
@click.option(
    "--wide",
    "wide_file",
    type=OutputFile(),
    help="Write a CSV file for the gradebook of Canvas or Moodle: a row a student, a column a lab.",
)
@click.option(
    "--points-possible",
    is_flag=True,
    help="Add the row from which Canvas makes new assignments. Moodle refuses it.",
)
@click.option("--core", is_flag=True, help="Count the points of the core path alone.")
@click.option(
    "--late-percent",
    type=click.IntRange(0, 100),
    default=0,
    metavar="N",
    help="Percent of the points that late work loses for each day that has begun.",
)
@click.option(
    "--grace",
    "grace_minutes",
    type=click.IntRange(0),
    default=0,
    metavar="MINUTES",
    help="Minutes after a deadline in which work is not late.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Keep the rows of the CSV file whose folders are the same, and grade the others.",
)
@click.option(
    "--html",
    type=OutputDirectory(".html", ".json"),
    help="Write into this directory a page for each student, and a results.json for Gradescope.",
)
@course_options
def grade_command(
    submissions: Path,
    csv_file: Path,
    roster: Path | None,
    wide_file: Path | None,
    points_possible: bool,
    core: bool,
    late_percent: int,
    grace_minutes: int,
    resume: bool,
    html: Path | None,
    catalogue: Catalogue,
) -> None:
    """Grade what students have handed in.

    SUBMISSIONS has a folder for each student, which holds the folders that `lab start` made.
    The CSV file grows while the work goes on. Nothing is written into the submissions.
    """
    if roster is None and (late_percent or grace_minutes):
        raise click.UsageError("--late-percent and --grace need a --roster, which has the times")
    if points_possible and not wide_file:
        raise click.UsageError("--points-possible is a row of --wide FILE; name the file")
    rule = LateRule(late_percent, timedelta(minutes=grace_minutes))
    course = roster_from_csv(str(roster), read_regular(roster)) if roster else Roster({})
    with TemporaryDirectory() as unpacked:
        found = _submissions(submissions, Path(unpacked), course, (csv_file, wide_file, html))
        if roster is not None:
            strangers = sorted(set(found.students) - set(course.students))
            warn_all(f"{name}: not in the roster; graded all the same" for name in strangers)
        students = dict.fromkeys(course.students, "") | found.students
        marks = _graded(found, students, csv_file, catalogue, resume=resume)
    labs = sorted({each.lab for each in found.handed_in}, key=lambda lab: lab.number)
    numbers = [lab.number for lab in labs]
    still_open = open_labs(course, students, numbers, datetime.now(UTC))
    marks = completed(marks, students, labs, course, found.of_groups, rule, catalogue, still_open)
    _tell_of_times(marks, students, labs, course)
    if any(_NO_NUMPY in mark.reason for mark in marks):
        complain(
            "numpy is not installed, so answers that use it fail: install kminilog[bulk], and "
            "grade again without --resume"
        )
    write_output(csv_file, marks_as_csv(marks))
    if core:
        marks = [mark for mark in marks if exercise_of(mark.id).core]
    if wide_file:
        columns = [lab for lab in labs if course.names(lab.number)]
        wide = gradebook(
            marks, students, columns, course, still_open, has_points_possible=points_possible
        )
        write_output(wide_file, wide)
        if others := ", ".join(f"lab {lab.number}" for lab in labs if lab not in columns):
            complain(f"{others}: not in the roster, so left out of {wide_file}")
        if nameless := sum(course.identity(student) == ("", "") for student in students):
            who = count(nameless, "student", "have")
            complain(f"{who} no id and no email in the roster: a gradebook gets the name alone")
    if html:
        for student, own in by_student(marks, students):
            place = html / _PAGES / student
            place.mkdir(parents=True, exist_ok=True)
            fault = students[student]
            page = student_page(student, own, fault, catalogue)
            write_output(place / "index.html", page.encode())
            results = gradescope_results(own, fault, catalogue)
            write_output(place / "results.json", json_bytes(results, indent=2) + b"\n")
        write_output(html / "index.html", index_page(marks, students).encode())
        for place in sorted((html / _PAGES).iterdir()):
            if place.name not in students:
                complain(f"{printable(place)}: pages of an earlier run; they stay as they are")
    _tell(marks, students)


def _graded(
    found: Submissions,
    students: Mapping[str, str],
    csv_file: Path,
    catalogue: Catalogue,
    *,
    resume: bool,
) -> list[Mark]:
    """Return the marks of all folders; those that are ready are in the CSV file meanwhile."""
    kept = _kept(csv_file, found.handed_in) if resume and csv_file.exists() else {}
    waiting = [each for each in found.handed_in if (each.student, each.lab.number) not in kept]
    if any(exercise.needs_spark for each in waiting for exercise in each.lab.exercises):
        check_spark()  # else nobody would have points for want of it
    _announce(students, found.handed_in, waiting)
    marks = [mark for rows in kept.values() for mark in rows]
    written = time.monotonic()
    with working("grading") as at:
        for number, (one, rows) in enumerate(_as_they_come(waiting, catalogue), start=1):
            marks += rows
            if time.monotonic() - written > _SECONDS_BETWEEN_FILES:
                write_output(csv_file, marks_as_csv(marks))
                written = time.monotonic()
            at(f"{number} of {len(waiting)}, {one.student}, lab {one.lab.number}")
    return marks


def _submissions(
    directory: Path, unpacked: Path, roster: Roster, outputs: Iterable[Path | None]
) -> Submissions:
    """Return what was handed in, or refuse a directory that holds nothing, or the results."""
    for output in filter(None, outputs):
        if directory.resolve() in (output / _PAGES / "NAME").resolve().parents:
            raise click.UsageError(f"{output} is in {directory}; name a place elsewhere")
    found = submissions_in(directory, unpacked, roster)
    warn_all(found.notices)
    if not found.students:
        raise click.UsageError(
            f"{directory} has no folder of a student; name the one that has them"
        )
    return found


def _kept(csv_file: Path, handed_in: Sequence[HandedIn]) -> dict[tuple[str, int], list[Mark]]:
    """Return the rows of a CSV file that are those of folders as they are now."""
    rows: dict[tuple[str, int], list[Mark]] = {}
    for mark in marks_from_csv(str(csv_file), read_regular(csv_file)):
        rows.setdefault((mark.student, mark.lab), []).append(mark)
    found = {}
    for each in handed_in:
        own = rows.get((each.student, each.lab.number), [])
        is_same = {mark.digest for mark in own} == {each.digest()}
        if is_same and [mark.exercise for mark in own] == [e.number for e in each.lab.exercises]:
            found[each.student, each.lab.number] = own
    return found


def _announce(
    students: Mapping[str, str], handed_in: Sequence[HandedIn], waiting: Sequence[HandedIn]
) -> None:
    """Say how much there is to do, and how long it takes."""
    said = f"{count(len(students), 'student')}, {count(len(waiting), 'folder')} to grade"
    if same := len(handed_in) - len(waiting):
        said += f", {same} graded already"
    if waiting:
        usual, hanging = map(_duration, limits_of(waiting))
        said += f"; on an idle machine usually {usual}, or {hanging} if every answer hangs"
    complain(said)


def _duration(seconds: float) -> str:
    minutes = math.ceil(seconds / _MINUTE)
    if minutes <= 1:
        return "a minute"
    return f"{minutes} minutes" if minutes <= _HOUR else f"{math.ceil(minutes / _HOUR)} hours"


def _as_they_come(
    waiting: Sequence[HandedIn], catalogue: Catalogue
) -> Iterator[tuple[HandedIn, list[Mark]]]:
    """Yield each folder with its marks; a signal ends the wait, and the processes."""
    graded = grade(waiting, catalogue, PROGRAM)
    try:
        while True:
            with interruptible_wait():
                item = next(graded, None)
            if item is None:
                return
            yield item
    finally:
        graded.close()


def _tell_of_times(
    marks: Iterable[Mark], students: Collection[str], labs: Iterable[Lab], roster: Roster
) -> None:
    """Say where the roster leaves open when work came, or if a lab was due already."""
    came = {(mark.student, mark.lab): mark.late for mark in marks if mark.digest}
    timeless = [of for of in sorted(came) if roster.entry(*of).deadline and not came[of]]
    if timeless:
        work = "{}, lab {}".format(*timeless[0]) + ", and others" * (len(timeless) > 1)
        complain(f"no time in the column submitted, so not counted as late: {work}")

    def is_general(student: str, lab: int) -> bool:
        deadline = roster.entry(student, lab).deadline
        return deadline is not None and deadline == roster.entry(student).deadline

    by_lab = Counter(lab for _, lab in came)
    for lab in labs:
        number = by_lab[lab.number]
        is_early = number * 2 < max(by_lab.values(), default=0)
        if is_early and any(is_general(each, lab.number) for each in students):
            complain(
                f"lab {lab.number}: {number} of {len(students)} have handed it in; the roster has "
                "one deadline for all labs, so the others get 0 after it; if this lab is due "
                "later, name the labs in the roster"
            )


def _tell(marks: Sequence[Mark], students: Mapping[str, str]) -> None:
    """Write the points of each student, and what a lecturer should look at."""
    rows = []
    for student, own in by_student(marks, students):
        points = f"{points_of(own):g}"
        neighbours = "; ".join(sorted({m.same_seed_as for m in own if m.same_seed_as}))
        files = " ".join(sorted({name for mark in own for name in mark.tampered.split()}))
        late = max((mark.late for mark in own), default="")
        rows.append((student, points, sum(m.max_points for m in own), late, files, neighbours))
    headings = ("student", "points", "of", "late", "tampered", "same seed as")
    write_table(headings, rows)
    for student, own in by_student(marks, students):
        write_lines(printable(f"{student}: {what}") for what in _to_look_at(own, students[student]))


def _to_look_at(marks: Sequence[Mark], fault: str) -> Iterator[str]:
    """Yield why work of a student has no points, and what it tried: a line each."""
    if fault:
        yield f"not taken: {fault}"
    for lab, why in pointless_labs(marks):
        yield f"no points: lab {lab}: {why}"
    tried = dict.fromkeys(mark.tried for mark in marks if mark.tried)
    for what in tried:
        yield f"tried: {', '.join(mark.id for mark in marks if mark.tried == what)}: {what}"


# ---- stats


@click.command("stats", epilog=example("kminilog course stats marks.csv"))
@click.argument("file", type=InputFile())
@click.option("--html", type=OutputFile(), help="Write a page with a bar for each exercise.")
@json_option
@course_options
def stats_command(file: Path, html: Path | None, as_json: bool, catalogue: Catalogue) -> None:
    """Show what the marks in FILE say of each exercise: who passes, and what goes wrong."""
    marks = marks_from_csv(str(file), read_regular(file))
    found = statistics_of(marks)
    if html:
        write_output(html, statistics_page(marks, catalogue).encode())
    if as_json:
        return write_document([_statistics_json(each) for each in found])
    if not found:
        return write_line(f"{file}: no marks")
    headings = ("exercise", "students", "began", "passed", "seconds", "hints", "commonest")
    write_table(headings, map(_statistics_row, found))
    return None


def _statistics_json(found: ExerciseStatistics) -> dict[str, object]:
    pairs = {"codes": dict(found.codes), "wrong_predictions": dict(found.wrong_predictions)}
    fields = found._asdict()
    return {"exercise": fields.pop("id"), **fields, "pass_rate": found.pass_rate, **pairs}


def _statistics_row(found: ExerciseStatistics) -> tuple[object, ...]:
    seconds = "-" if found.median_seconds is None else f"{found.median_seconds:g}"
    passed = f"{found.passed} ({found.pass_rate:.0%})"
    common = ", ".join(f"{what} {n}" for what, n in [*found.codes, *found.wrong_predictions])
    return (found.id, found.students, found.tried, passed, seconds, found.hints, common)
