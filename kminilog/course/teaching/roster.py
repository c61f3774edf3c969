"""The roster: who takes part, when each one's work on a lab was due and came, and with whom.

    student,lab,deadline,submitted,group,id,email
    Ada Lovelace,1,2026-10-05T18:00,2026-10-05T17:12,,s1017,ada@example.org

Only `student` is needed: the name of the folder that holds the work. A row is about one lab; one
without a lab is about all, as far as the lab has no row of its own that says more. Times are ISO
8601, or as Moodle and Canvas write them. Nothing else tells when work came: the times of files
change when they are copied. The names are equal in all forms of Unicode. Two students of one name
are told apart by their `id`, which stands after the name then: `Jan Novak_11`. Source: ours.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import product
from typing import NamedTuple
from unicodedata import normalize

from kminilog.course.material import all_labs
from kminilog.course.teaching.marks import MarksError, csv_rows
from kminilog.text import printable

STUDENT, LAB, DEADLINE, SUBMITTED = "student", "lab", "deadline", "submitted"
ID, EMAIL = "id", "email"
A_TIME = "2026-10-05T18:00"
"""How a time may be written; `course grade --help` and a term's plan say it, too."""
_ALL_LABS = 0
_OF_MOODLE = "Participant "  # in front of its number, in the grading worksheet
_NOTHING = ("", "-")  # Moodle's grading worksheet writes - for work that did not come
_MONTHS_OF_MOODLE = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
)
_MONTHS = {
    month: number
    for names in _MONTHS_OF_MOODLE
    for number, month in enumerate(names.split(), start=1)
}
_DAYS_OF_MOODLE = (
    r"(?P<day>\d+)\.? (?:de )?(?P<month>[^\W\d]+) (?:de )?(?P<year>\d{4})",  # 5 October 2026
    r"(?P<month>[^\W\d]+) (?P<day>\d+), (?P<year>\d{4})",  # October 5, 2026
    r"(?P<year>\d{4})年 ?(?P<month>\d+)月 ?(?P<day>\d+)日",  # 2026年10月5日
    r"(?P<day>\d+)\.(?P<month>\d+)\.(?P<year>\d{4})",  # 05.10.2026
)
_TIMES_OF_MOODLE = [
    re.compile(
        rf"(?:[^\W\d]+,? )?{day},?(?: (?!上午|下午)[^\W\d]+,?)? ?(?:(?P<before>上午|下午) ?)?"
        r"(?P<hour>\d+):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?: (?P<half>AM|PM))?",
        re.IGNORECASE,
    )
    for day in _DAYS_OF_MOODLE
]
_NOON = 12
_HALVES = {"am": 0, "上午": 0, "pm": 12, "下午": 12}


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

        `number` is what Moodle puts after the name; it may be the id of one who shares a name.
        """
        for student, id in self._ids.items():
            if number and id.removeprefix(_OF_MOODLE) == number:
                return student
        return name if name in self.students else ""

    def of_moodle(self, name: str) -> tuple[str, str]:
        """Return whom Moodle means by a name: a group's or nothing, then a student's or nothing.

        Moodle writes a space for `_`, and in a course of groups `Group A-Ada Lovelace`. The group
        need not be in the roster.
        """
        groups, students = (
            {each.replace("_", " "): each for each in own}
            for own in (dict.fromkeys(row.group for row in self._rows.values()), self.students)
        )
        plain = name.replace("_", " ")
        if name in self.students or plain in students:
            return "", name if name in self.students else students[plain]
        if plain in groups:
            return groups[plain], ""
        parts = plain.split("-")
        for at in range(1, len(parts)):
            group, student = "-".join(parts[:at]), students.get("-".join(parts[at:]))
            if student:
                return groups.get(group, group), student
        return "", ""

    def in_group(self, name: str) -> list[str]:
        """Return who hands in a lab, whichever it is, as a group of this name."""
        return list(dict.fromkeys(who for (who, _), row in self._rows.items() if row.group == name))


def open_labs(
    roster: Roster, students: Iterable[str], labs: Iterable[int], now: datetime
) -> set[tuple[str, int]]:
    """Return for whom which lab is not yet due: to have handed in nothing is no fault there.

    Nor is one due that a roster does not name which names labs. A deadline without a time zone is
    in that of this machine.
    """
    found = set()
    for student, lab in product(students, labs):
        due = roster.entry(student, lab).deadline
        if not roster.names(lab) or (due is not None and due.astimezone() > now):
            found.add((student, lab))
    return found


def roster_from_csv(name: str, data: bytes) -> Roster:
    """Return the roster that a file holds.

    Raises RosterError for another file, for a student without a name or with two rows for a lab,
    for a name that no folder can have, for an id or e-mail of two students, and for what is no lab
    and no time.
    """
    found: dict[tuple[str, int], Entry] = {}
    owners: dict[tuple[str, str], tuple[str, int]] = {}
    rows = csv_rows(name, data, [STUDENT], RosterError)
    namesakes = _namesakes(row for _, row in rows)
    for line, row in rows:
        try:
            (student, lab), entry = _read(row)
            if student in namesakes:
                student = _told_apart(student, entry.id)
            if (student, lab) in found:
                of_lab = f" for lab {lab}" if lab else ""
                raise ValueError(f"{student} is there twice{of_lab}; give each namesake an id")
            found[student, lab] = entry
            for column, said in ((ID, entry.id.removeprefix(_OF_MOODLE)), (EMAIL, entry.email)):
                owner, first = owners.setdefault((column, said.lower()), (student, line))
                if said and owner != student:
                    raise ValueError(
                        f"{column} {said} of {student} is that of {owner} in line {first}; "
                        "a gradebook would mistake one for the other"
                    )
        except ValueError as wrong:
            raise RosterError(name, f"line {line}: {wrong}") from None
    if not found:
        raise RosterError(name, "it names no student")
    roster = Roster(found)
    for student, lab in product(roster.students, {lab for _, lab in found}):
        if not _has_one_kind_of_time(roster, student, lab):
            raise RosterError(
                name, f"{student}: only one of deadline and submission has a time zone"
            )
    return roster


def _namesakes(rows: Iterable[Mapping[str, str]]) -> set[str]:
    """Return the names that stand there with more than one id."""
    ids = defaultdict(set)
    for row in rows:
        if id := row.get(ID, "").strip():
            ids[one_form(printable(row[STUDENT].strip()))].add(id)
    return {student for student, own in ids.items() if len(own) > 1}


def _told_apart(student: str, id: str) -> str:
    if not id or "/" in id:
        raise ValueError(f"several students are called {student}; {id!r} is no id of one")
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
        deadline=_moment(cells, DEADLINE),
        submitted=_moment(cells, SUBMITTED),
        group=one_form(cells.get("group", "")),
        id=cells.get(ID, ""),
        email=cells.get(EMAIL, ""),
    )


def _moment(row: Mapping[str, str], column: str) -> datetime | None:
    """Return the time that a cell says; ValueError if it says another thing."""
    text = row.get(column, "")
    if text in _NOTHING:
        return None
    plain = " ".join(text.split()).replace(" UTC", "Z")
    with suppress(ValueError):
        if ":" in plain:  # a day alone would be its first moment
            return datetime.fromisoformat(plain)
    with suppress(ValueError, KeyError):
        return _time_of_moodle(plain)
    raise ValueError(
        f"{column} is {text!r}, which is no time like {A_TIME}, nor as Moodle or Canvas writes it"
    )


def _time_of_moodle(text: str) -> datetime:
    """Return a time as Moodle writes it in one of its languages; it names no time zone.

    >>> str(_time_of_moodle("Monday, 5 October 2026, 5:12 PM"))
    '2026-10-05 17:12:00'
    >>> _time_of_moodle("Montag, 5. Oktober 2026, 17:12") == _time_of_moodle("2026年10月5日 17:12")
    True
    """
    for form in _TIMES_OF_MOODLE:
        if match := form.fullmatch(text):
            month = match["month"].lower()
            number = int(month) if month.isdecimal() else _MONTHS[month]
            day = f"{match['year']}-{number}-{match['day']}"
            time = f"{match['hour']}:{match['minute']}:{match['second'] or 0}"
            half = (match["half"] or match["before"] or "").lower()
            found = datetime.strptime(f"{day} {time}", "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007
            if not half:
                return found
            if 1 <= found.hour <= _NOON:
                return found.replace(hour=found.hour % _NOON + _HALVES[half])
    raise ValueError(text)


def _has_one_kind_of_time(roster: Roster, student: str, lab: int) -> bool:
    """Tell if all times that are compared have a time zone, or none has one."""
    own = roster.entry(student, lab)
    others = () if own.submitted else roster.group_of(student, lab)
    times = [own.deadline, own.submitted, *(roster.entry(each, lab).submitted for each in others)]
    return own.deadline is None or len({time.tzinfo is None for time in times if time}) < 2
