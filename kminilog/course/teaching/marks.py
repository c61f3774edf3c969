"""The marks of a course: a row for each student and exercise, as a CSV file.

Whatever a student has written may stand in a cell, so a cell is one line, and no spreadsheet takes
it for a formula: `=1+1` is written as `'=1+1`. Who reads the file here gets `=1+1` back. Source:
ours; OWASP calls it CSV injection.
"""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from kminilog.errors import KMiniLogError
from kminilog.text import printable

YES, NO = "yes", "no"
_DELIMITERS = ",;\t"
_FORMULA = re.compile("'*[=+@\t\r-]")


class MarksError(KMiniLogError):
    """A file is no table of marks; the text says in which line."""

    remedy = "name a file that `course grade --csv` wrote"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}; {self.remedy}")


@dataclass(frozen=True)
class Mark:
    """One row.

    seconds          what the unit checks of the answer computed, in coarse steps, so that a second
                     run gives the same: 0; 2 from two seconds on; 3, the limit, for a timeout
    predicted        the answer to a prediction, in English; `predicted_right` is yes or no
    teaches          what a wrong answer shows, and what it would break: as `lab check` says it
    tried            what the answer tried that no exercise needs, such as to start a program
    tampered         the files that are not as `lab start` wrote them
    late             yes or no; empty if the roster does not say when the work was due and came
    lost_percent     what the rule for late work takes of the points, which stand here in full
    group            with whom the student handed in, by the roster
    same_seed_as     others, students or groups, whose folder of this lab was made for the same name
    digest           tells if the folder is the one that was graded
    """

    student: str
    lab: int
    exercise: int
    kind: str
    status: str
    points: int = 0
    max_points: int = 0
    reason_code: str = ""
    reason: str = ""
    teaches: str = ""
    tried: str = ""
    seconds: int = 0
    hints: int = 0
    predicted: str = ""
    predicted_right: str = ""
    seed: str = ""
    tampered: str = ""
    late: str = ""
    lost_percent: int = 0
    group: str = ""
    same_seed_as: str = ""
    digest: str = ""

    @property
    def id(self) -> str:
        """The exercise as students name it: `1.2`."""
        return f"{self.lab}.{self.exercise}"


def points_of(marks: Iterable[Mark]) -> float:
    """Return the points of some marks, less what late work has lost."""
    return round(sum(mark.points * (100 - mark.lost_percent) for mark in marks) / 100, 2)


COLUMNS = tuple(field.name for field in fields(Mark))
_NUMBERS = [field.name for field in fields(Mark) if field.type is int]


def cell(text: object) -> str:
    r"""Return a text as a cell: one line, and no formula.

    >>> cell("=1+1"), cell("-3\n"), cell("O'Neil, Ada"), cell("'=")
    ("'=1+1", "'-3\\n", "O'Neil, Ada", "''=")
    """
    shown = printable(text)
    return f"'{shown}" if _FORMULA.match(shown) else shown


def text_of(cell: str) -> str:
    """Return what stands in a cell: the opposite of `cell`.

    >>> text_of("'=1+1"), text_of("O'Neil")
    ('=1+1', "O'Neil")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def marks_as_csv(marks: Iterable[Mark]) -> bytes:
    """Return the file: UTF-8, a heading, and the rows by student, lab and exercise."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for mark in sorted(marks, key=lambda each: (each.student, each.lab, each.exercise)):
        writer.writerow([cell(getattr(mark, column)) for column in COLUMNS])
    return file.getvalue().encode()


def marks_from_csv(name: str, data: bytes) -> list[Mark]:
    """Return the rows of such a file; MarksError for another one. More columns may follow."""
    found = []
    for line, row in csv_rows(name, data, COLUMNS):
        values: dict[str, Any] = {column: row[column] for column in COLUMNS}
        for column in _NUMBERS:
            if not re.fullmatch("[0-9]{1,9}", values[column]):
                reason = f"line {line}: {column} is {printable(values[column])!r}, not a number"
                raise MarksError(name, reason)
            values[column] = int(values[column])
        found.append(Mark(**values))
    return found


def csv_rows(
    name: str, data: bytes, needed: Iterable[str], error: type[MarksError] = MarksError
) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a CSV file with a heading: line and cells by column.

    The heading tells what is between two cells: a comma, a semicolon or a tab, as spreadsheets
    write it. A column may be in capitals, unless another has its name in small letters. A row of
    empty cells is none. Raises `error` for a file that is no CSV, or that lacks
    one of the columns `needed`.
    """
    try:
        text = data.decode("utf-8-sig")
        first = text.partition("\n")[0]
        delimiter = max(_DELIMITERS, key=first.count)
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        written = [each.strip() for each in reader.fieldnames or ()]
        heading = [each if each.lower() in written else each.lower() for each in written]
        missing = [each for each in needed if each not in heading]
        if missing:
            raise error(name, f"its first line names no column {', '.join(missing)}")
        reader.fieldnames = heading
        rows = [(reader.line_num, row) for row in reader]
    except UnicodeDecodeError as wrong:
        line = wrong.object[: wrong.start].count(b"\n") + 1
        raise error(name, f'line {line} is not UTF-8: save it as "CSV UTF-8"') from None
    except csv.Error as wrong:
        raise error(name, f"it is no CSV: {wrong}") from None
    found = []
    for line, row in rows:
        if None in row or None in row.values():
            count = "more" if None in row else "fewer"
            raise error(name, f"line {line} has {count} cells than the first")
        if any(row.values()):
            found.append((line, {column: text_of(text) for column, text in row.items()}))
    return found
