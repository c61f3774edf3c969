"""Marks as the gradebooks of Canvas and Moodle import them: a row a student, a column a lab.

    Student,ID,SIS User ID,SIS Login ID,Section,Lab 1,Lab 2
    Points Possible,,,,,85,95
    Ada Lovelace,,s1017,ada@example.org,,85,40.5

The first five columns are those of Canvas. It finds a student by the SIS User ID, else by the SIS
Login ID, else by the name, so ID, a number of its own, stays empty. Moodle asks which column
identifies a student, and which is what grade. Its import ends at a row that is of no student: so
the row Points Possible stands there only if Canvas is to make the assignments. Source: Canvas,
`GradebookImporter`; Moodle, "Grade import" and `gradeimport_csv_load_data`.
"""

import csv
import io
from collections.abc import Collection, Iterable, Sequence

from kminilog.course.judging.outcome import TODO
from kminilog.course.material import Lab
from kminilog.course.teaching.marks import Mark, cell, points_of
from kminilog.course.teaching.roster import Roster

_HEADING = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_POINTS_POSSIBLE = "Points Possible"


def gradebook(
    marks: Sequence[Mark],
    students: Iterable[str],
    labs: Sequence[Lab],
    roster: Roster,
    still_open: Collection[tuple[str, int]],
    *,
    has_points_possible: bool,
) -> bytes:
    """Return the file; the roster's `id` is the SIS User ID, `email` the SIS Login ID.

    A student who has handed in nothing has 0 if a deadline is known and the lab is not
    `still_open`, else an empty cell: others may just have been early.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*_HEADING, *(f"Lab {lab.number}" for lab in labs)])
    if has_points_possible:
        points = {(mark.lab, mark.exercise): mark.max_points for mark in marks}
        most = [sum(points[of] for of in points if of[0] == lab.number) for lab in labs]
        writer.writerow([_POINTS_POSSIBLE, *[""] * (len(_HEADING) - 1), *most])
    for student in sorted(students):
        id, email = roster.identity(student)
        cells = []
        for lab in labs:
            own = [mark for mark in marks if (mark.student, mark.lab) == (student, lab.number)]
            is_known = roster.entry(student, lab.number).deadline is not None
            is_due = is_known or any(mark.status != TODO for mark in own)
            is_open = (student, lab.number) in still_open
            is_graded = any(mark.digest for mark in own) or (is_due and not is_open)
            cells.append(f"{points_of(own):g}" if is_graded else "")
        row = [cell(student), "", cell(id), cell(email), "", *cells]
        writer.writerow(row)
    return file.getvalue().encode()
