"""The roster: who takes part, when each one's work on a lab was due and came, and with whom.

    student,lab,deadline,submitted,group,id,email
    Ada Lovelace,1,2026-10-05T18:00,2026-10-05T17:12,,s1017,ada@example.org

Only `student` is needed: the name of the folder that holds the work. A row is about one lab; one
without a lab is about all, as far as the lab has no row of its own that says more. Times are ISO
8601, or as Moodle and Canvas write them. Nothing else tells when work came: the times of files
change when they are copied. The names are equal in all forms of Unicode. Two students of one name
are told apart by their `id`, which stands behind the name then: `Jan Novak_11`. Source: ours.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple
from unicodedata import normalize

from kminilog.course.material import all_labs
from kminilog.course.teaching.marks import MarksError, csv_rows
from kminilog.text import printable

STUDENT, LAB, DEADLINE, SUBMITTED = "student", "lab", "deadline", "submitted"
ID = "id"
_ALL_LABS = 0
_OF_MOODLE = "Participant "  # in front of its number, in the grading worksheet
_NOTHING = ("", "-")  # Moodle's grading worksheet writes - for work that did not come
_WEEKDAY = re.compile("^[A-Z][a-z]+day, ")
_FORMS_OF_MOODLE = (
    "%d %B %Y, %I:%M %p",  # 5 October 2026, 5:12 PM
    "%B %d, %Y, %I:%M %p",  # October 5, 2026, 5:12 PM
    "%d %B %Y, %H:%M",
)


def one_form(name: str) -> str:
    """Return a name in the one form of Unicode that all names here have.

    >>> one_form("Zoe\u0308") == "Zo\xeb"
    True
    """
    return normalize("NFC", name)


class RosterError(MarksError):
    """A file is no roster."""

    remedy = (
        f"a roster has the column {STUDENT}, and perhaps {LAB}, {DEADLINE}, {SUBMITTED}, group, "
        "id and email"
    )


class LateRule(NamedTuple):
    """What late work loses: so many percent for each day that has begun, after a time of grace."""

    percent_a_day: int = 0
    grace: timedelta = timedelta()

    def lost_percent(self, late_by: timedelta) -> int:
        """Return what work loses that came so long after its deadline.

        >>> rule = LateRule(10, timedelta(minutes=15))
        >>> [rule.lost_percent(timedelta(minutes=n)) for n in (-5, 15, 16, 1441, 99999)]
        [0, 0, 10, 20, 100]
        """
        days = -(-late_by // timedelta(days=1)) if self.is_late(late_by) else 0
        return min(100, days * self.percent_a_day)

    def is_late(self, late_by: timedelta) -> bool:
        """Tell if that long after the deadline is late."""
        return late_by > self.grace


class Entry(NamedTuple):
    """What a roster says of a student and a lab; nothing where it says nothing."""

    deadline: datetime | None = None
    submitted: datetime | None = None
    group: str = ""
    id: str = ""
    email: str = ""


class Roster:
    """All students, in the order of the file."""

    def __init__(self, rows: Mapping[tuple[str, int], Entry]) -> None:
        self._rows = rows
        self.students = list(dict.fromkeys(student for student, _ in rows))
        self._ids = {student: row.id for (student, _), row in rows.items() if row.id}
        self._emails = {student: row.email for (student, _), row in rows.items() if row.email}

    def entry(self, student: str, lab: int = _ALL_LABS) -> Entry:
        """Return what the rows of a student say of a lab: its times, and the group."""
        own, general = (self._rows.get((student, n), Entry()) for n in (lab, _ALL_LABS))
        return Entry(
            deadline=own.deadline or general.deadline,
            submitted=own.submitted or general.submitted,
            group=own.group or general.group,
        )

    def identity(self, student: str) -> tuple[str, str]:
        """Return id and email of a student, in whichever of his or her rows they stand."""
        return self._ids.get(student, ""), self._emails.get(student, "")

    def names(self, lab: int) -> bool:
        """Tell if a lab is one of the roster's: each is, where not every row names a lab.

        >>> [Roster(dict.fromkeys(keys, Entry())).names(3) for keys in ([("a", 1)], [("a", 0)], [])]
        [False, True, True]
        """
        named = {number for _, number in self._rows}
        return not named or bool(named & {lab, _ALL_LABS})

    def late_by(self, student: str, lab: int, handed_in_by: str) -> timedelta | None:
        """Return how long after the deadline work came; None if the roster does not say it.

        For who is in a group, the row of whoever handed in says when it came, if the own does not.
        """
        own = self.entry(student, lab)
        submitted = own.submitted or self.entry(handed_in_by, lab).submitted
        return submitted - own.deadline if own.deadline and submitted else None

    def group_of(self, student: str, lab: int) -> list[str]:
        """Return who hands in a lab together with a student, that student among them."""
        group = self.entry(student, lab).group
        if not group:
            return [student]
        return self.members(group, lab)

    def members(self, group: str, lab: int) -> list[str]:
        """Return who hands in a lab as a group of this name."""
        return [each for each in self.students if self.entry(each, lab).group == group]

    def student_of(self, name: str, number: str = "") -> str:
        """Return the student whose folder has this name; an empty string if it is nobody's.

        `number` is what Moodle puts behind the name; it may be the id of one who shares a name.
        """
        for student, id in self._ids.items():
            if number and id.removeprefix(_OF_MOODLE) == number:
                return student
        return name if name in self.students else ""

    def in_group(self, name: str) -> list[str]:
        """Return who hands in a lab, whichever it is, as a group of this name."""
        return list(dict.fromkeys(who for (who, _), row in self._rows.items() if row.group == name))


def roster_from_csv(name: str, data: bytes) -> Roster:
    """Return the roster that a file holds.

    Raises RosterError for another file, for a student without a name or with two rows for a lab,
    for a name that no folder can have, and for what is no lab and no time.
    """
    found: dict[tuple[str, int], Entry] = {}
    rows = csv_rows(name, data, [STUDENT], RosterError)
    namesakes = _namesakes(row for _, row in rows)
    for line, row in rows:
        try:
            (student, lab), entry = _read(row)
            if student in namesakes:
                student = _told_apart(student, entry.id)
            if (student, lab) in found:
                of_lab = f" for lab {lab}" if lab else ""
                raise ValueError(
                    f"{student} stands there a second time{of_lab}; an id tells namesakes apart"
                )
            found[student, lab] = entry
            _check_zones(Roster(found).entry(student, lab))
        except ValueError as wrong:
            raise RosterError(name, f"line {line}: {wrong}") from None
    if not found:
        raise RosterError(name, "it names no student")
    return Roster(found)


def _namesakes(rows: Iterable[Mapping[str, str]]) -> set[str]:
    """Return the names that stand there with more than one id."""
    ids = defaultdict(set)
    for row in rows:
        if id := row.get(ID, "").strip():
            ids[one_form(printable(row[STUDENT].strip()))].add(id)
    return {student for student, own in ids.items() if len(own) > 1}


def _told_apart(student: str, id: str) -> str:
    if not id or "/" in id:
        raise ValueError(f"{student} is the name of several; {id!r} is no id that tells which")
    return f"{student}_{id.removeprefix(_OF_MOODLE)}"


def _read(row: Mapping[str, str]) -> tuple[tuple[str, int], Entry]:
    cells = {column: printable(text.strip()) for column, text in row.items()}
    student = one_form(cells[STUDENT])
    if not student or "/" in student or student in (".", ".."):
        raise ValueError(f"{student!r} is no name of a folder")
    lab = cells.get(LAB, "")
    if lab and lab not in {str(each.number) for each in all_labs()}:
        raise ValueError(f"{lab!r} is no number of a lab")
    return (student, int(lab or _ALL_LABS)), Entry(
        deadline=_moment(cells.get(DEADLINE, "")),
        submitted=_moment(cells.get(SUBMITTED, "")),
        group=one_form(cells.get("group", "")),
        id=cells.get(ID, ""),
        email=cells.get("email", ""),
    )


def _moment(text: str) -> datetime | None:
    """Return the time that a cell says; ValueError if it says another thing.

    >>> str(_moment("Monday, 5 October 2026, 5:12 PM")), str(_moment("2026-10-05 17:12:00 UTC"))
    ('2026-10-05 17:12:00', '2026-10-05 17:12:00+00:00')
    """
    if text in _NOTHING:
        return None
    plain = _WEEKDAY.sub("", " ".join(text.split()).replace(" UTC", "Z"))
    with suppress(ValueError):
        if ":" in plain:  # a day alone would be its first moment
            return datetime.fromisoformat(plain)
    for form in _FORMS_OF_MOODLE:
        with suppress(ValueError):
            return datetime.strptime(plain, form)  # noqa: DTZ007 - Moodle names no time zone
    raise ValueError(f"{text!r} is no time like 2026-10-05T18:00")


def _check_zones(entry: Entry) -> None:
    zones = {time.tzinfo is None for time in (entry.deadline, entry.submitted) if time}
    if len(zones) > 1:
        raise ValueError("only one of both times has a time zone")
