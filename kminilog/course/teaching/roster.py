"""The roster: who takes part, and when each one's work was due and came.

    student,deadline,submitted
    ada,2026-10-05T18:00,2026-10-05T17:12

Only `student` is needed: the name of the folder that holds the work. Times are ISO 8601. Nothing
else tells when work came: the times of files change when they are copied. Source: ours.
"""

from collections.abc import Mapping
from datetime import datetime

from kminilog.course.teaching.marks import NO, YES, MarksError, csv_rows
from kminilog.text import printable

STUDENT, DEADLINE, SUBMITTED = "student", "deadline", "submitted"


class RosterError(MarksError):
    """A file is no roster."""

    remedy = f"a roster has the column {STUDENT}, and perhaps {DEADLINE} and {SUBMITTED}"


def roster_from_csv(name: str, data: bytes) -> dict[str, str]:
    """Return for each student of a roster if the work was late: yes, no, or empty if unknown.

    Raises RosterError for another file, for a student without a name or with two rows, for a name
    that no folder can have, and for what is no time.
    """
    found: dict[str, str] = {}
    for line, row in csv_rows(name, data, [STUDENT], RosterError):
        student = printable(row[STUDENT].strip())
        if not student or "/" in student or student in (".", ".."):
            raise RosterError(name, f"line {line}: {student!r} is no name of a folder")
        if student in found:
            raise RosterError(name, f"line {line}: {student} stands there a second time")
        found[student] = _late(name, line, row)
    if not found:
        raise RosterError(name, "it names no student")
    return found


def _late(name: str, line: int, row: Mapping[str, str]) -> str:
    times = [row.get(column, "").strip() for column in (DEADLINE, SUBMITTED)]
    moments = []
    for text in filter(None, times):
        try:
            moments.append(datetime.fromisoformat(text))
        except ValueError:
            reason = f"line {line}: {printable(text)!r} is no time like 2026-10-05T18:00"
            raise RosterError(name, reason) from None
    if not all(times):
        return ""
    deadline, submitted = moments
    if (deadline.tzinfo is None) != (submitted.tzinfo is None):
        raise RosterError(name, f"line {line}: only one of both times has a time zone")
    return YES if submitted > deadline else NO
