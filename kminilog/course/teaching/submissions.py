"""What students have handed in: a folder for each student, with what `lab start` made in it.

    submissions/ada/01_message/         answers.py  checks.py  progress.json
    submissions/ada.zip                 the same, packed
    submissions/Ada Lovelace_123_assignsubmission_file_/       as Moodle names it

The folder of a lab may be that of the student itself, or one further down: `ada/work/01_message`.
There, too, a zip file stands for a folder. What lies beside the folder of a lab is no reason to
overlook that: the folder counts, and the file alone is left out.

Only these three files count, and they are copied before anything is done with them: nothing is
written into the submissions, and no link leads out of them. Nothing of a student's runs here.
Source: ours; the names are those of Moodle's `mod_assign\\downloader`.
"""

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from kminilog.course.answers import ANSWERS_FILE
from kminilog.course.material import Lab, all_labs
from kminilog.course.teaching.roster import Roster, one_form
from kminilog.course.teaching.zip_folder import ZipError, unpack
from kminilog.course.work_folder import PROGRESS_FILE, lab_in
from kminilog.storage.files import read_regular
from kminilog.text import printable

FILES = (ANSWERS_FILE, "checks.py", PROGRESS_FILE)
_OF_WORK = (ANSWERS_FILE, PROGRESS_FILE)
_FILE_BYTES = 1 << 20
_LEVELS = 2  # of folders below that of the student
_NOT_OF_STUDENTS = ("__MACOSX",)
_DIGEST_CHARACTERS = 16
_ZIP = ".zip"
_OF_MOODLE = re.compile(r"(?P<name>.+?)(?:_(?P<number>\d+))?_assignsubmission_[a-z]+(?:_.*)?")


class HandedIn(NamedTuple):
    """A student's work on one lab."""

    student: str
    lab: Lab
    path: Path
    shown: str
    """The folder, as the list of pairs that are alike names it."""
    where: str
    """The same with the folder of the student, as a notice names it."""

    def files(self) -> dict[str, bytes]:
        """Return the files that are there. OSError for a link, and for one that cannot be read."""
        found = {}
        for name in FILES:
            path = self.path / name
            if path.is_symlink():
                raise OSError(0, "this is a link; hand in the file itself", str(path))
            if path.exists():
                found[name] = read_regular(path, _FILE_BYTES)
        return found

    def digest(self) -> str:
        """Return what tells if the work is the same; it is another one for what cannot be read."""
        sums = sha256()
        try:
            for name, data in self.files().items():
                sums.update(f"{name} {len(data)}\n".encode() + data)
        except OSError as error:
            sums.update(f"{error.strerror}".encode())
        return sums.hexdigest()[:_DIGEST_CHARACTERS]


class Submissions(NamedTuple):
    """All that was handed in. `notices` say what was left out.

    `students` are all that have a folder; for one that cannot be read it says why, else nothing.
    `of_groups` says for a group and the number of a lab as whose work its folder is graded.
    """

    students: dict[str, str]
    handed_in: list[HandedIn]
    notices: list[str]
    of_groups: dict[tuple[str, int], str]


class _Place(NamedTuple):
    """A folder, and what a lecturer knows it as: it may have come out of a zip file."""

    path: Path
    name: str

    def is_named_as_a_lab(self) -> bool:
        return Path(self.name or self.path).name in _work_names()

    def files(self) -> list[str]:
        """Return which of the files that tell a work folder are there; a link is one, too."""
        return [each for each in _OF_WORK if os.path.lexists(self.path / each)]

    def rank(self) -> tuple[bool, bool, int, int, str]:
        """Return what sorts the places of one student: of two for one lab, the first counts."""
        is_zip_of_a_lab = Path(self.name).stem in _work_names()
        depth = self.name.count("/")
        named = not self.is_named_as_a_lab(), not is_zip_of_a_lab
        return *named, -len(self.files()), depth, self.name


def _work_names() -> set[str]:
    return {lab.work_name for lab in all_labs()}


def submissions_in(directory: Path, unpacked: Path, roster: Roster | None = None) -> Submissions:
    """Return what a directory holds; OSError if it cannot be listed.

    What is needed of zip files is written into the directory `unpacked`. The roster tells whose a
    folder is that has the name of a group, or Moodle's number of a student.
    """
    found = Submissions({}, [], [], {})
    folders = []
    for path in sorted(directory.iterdir()):
        name = printable(path.name)
        if path.name.startswith(".") or path.name in _NOT_OF_STUDENTS:
            continue
        is_of_moodle = _OF_MOODLE.fullmatch(path.name) and path.is_file()
        if path.is_symlink() or not (path.is_dir() or _is_zip(path) or is_of_moodle):
            found.notices.append(f"{name}: not a folder of a student; it is left out")
            continue
        owner = _Owner(path, roster)
        for student in owner.students:
            found.students.setdefault(student, "")
        if path.is_dir() or _is_zip(path):
            folders.append((owner, _Place(path, name if path.is_file() else "")))
        else:
            found.notices.append(f"{name}: a file alone; hand in the folder of the lab")
    # A group's folder is graded as that of a member who has no other.
    for owner, place in sorted(folders, key=lambda each: each[0].is_group):
        _add_labs(found, owner, place, unpacked)
    return found


class _Owner:
    """Whose a folder is, by its name: that of a student, or of all members of a group."""

    def __init__(self, path: Path, roster: Roster | None) -> None:
        match = _OF_MOODLE.fullmatch(path.name)
        own = match["name"] if match else path.stem if _is_zip(path) else path.name
        self.name = name = printable(one_form(own))
        self.number = (match["number"] or "") if match else ""
        student = roster.student_of(name, self.number) if roster else name
        in_group = roster.in_group(name) if roster and not student else []
        self.is_group = bool(in_group)
        self.students = in_group or [student or name]
        self._folder = "" if path.is_file() else printable(path.name)
        self._roster = roster

    def where(self, place: _Place) -> str:
        """Return a place with the folder it is in; the name of a zip file is part of its own."""
        return f"{self._folder}/{place.name}".strip("/")

    def of_lab(self, lab: Lab, found: Submissions) -> str:
        """Return whose work on a lab it is: of a group, a member's who has handed in no other.

        The members of a group may differ by lab.
        """
        if not (self._roster and self.is_group):
            return self.students[0]
        if first := found.of_groups.get((self.name, lab.number)):
            return first
        of_lab = self._roster.members(self.name, lab.number) or self.students
        busy = {each.student for each in found.handed_in if each.lab == lab}
        return next((each for each in of_lab if each not in busy), of_lab[0])


def _add_labs(found: Submissions, owner: _Owner, place: _Place, unpacked: Path) -> None:
    """Add the labs at a place. What cannot be read there is a fault of the student's."""
    inside = list(_work_folders(place, unpacked, _LEVELS))
    for fault in inside:
        if isinstance(fault, str):
            found.students.update(dict.fromkeys(owner.students, fault))
    folders = [each for each in inside if isinstance(each, _Place)]
    for folder in sorted(folders, key=_Place.rank):
        _add_lab(found, owner, folder)


def _add_lab(found: Submissions, owner: _Owner, place: _Place) -> None:
    lab = _lab_of(place)
    where = owner.where(place)
    if len(place.files()) == 1 and not place.is_named_as_a_lab():
        where = f"{where}/{place.files()[0]}"
    if lab is None:
        is_alone = place.files() == [ANSWERS_FILE]
        why = "a file without its folder" if is_alone else "of no lab that is here"
        found.notices.append(f"{where}: {why}; it is left out")
        return
    taken = {(each.student, each.lab): each for each in found.handed_in}
    student = owner.of_lab(lab, found)
    may_be_a_namesake = owner.number and not owner.is_group
    if (student, lab) in taken and may_be_a_namesake:
        student = f"{student}_{owner.number}"
        found.students[student] = ""
        found.notices.append(
            f"{student}: lab {lab.number} of this name is there already; if it is of another "
            "student, write the number into the column id of the roster"
        )
    if (student, lab) in taken:
        first = taken[student, lab].where
        found.notices.append(
            f"{student}: lab {lab.number} twice; {first} counts, and {where} is left out"
        )
    else:
        shown = place.name or printable(place.path.name)
        if owner.is_group:
            found.of_groups[owner.name, lab.number] = student
        found.handed_in.append(HandedIn(student, lab, place.path, shown, where))


def _lab_of(place: _Place) -> Lab | None:
    """Return the lab of a work folder: its progress.json tells it, or else its name."""
    number = None if (place.path / PROGRESS_FILE).is_symlink() else lab_in(place.path)
    name = Path(place.name or place.path).stem
    by_number = (lab for lab in all_labs() if lab.number == number)
    by_name = (lab for lab in all_labs() if lab.work_name == name)
    return next(by_number, None) or next(by_name, None)


def _work_folders(place: _Place, unpacked: Path, levels: int) -> Iterator[_Place | str]:
    """Yield the work folders at a place and below it; a text says what of it cannot be read.

    A zip file is a place, too.
    """
    if _is_zip(place.path):
        target = unpacked / str(len(os.listdir(unpacked)))
        target.mkdir()
        try:
            unpack(place.path, target, FILES, _FILE_BYTES)
        except ZipError as error:
            yield printable(f"{place.name}: {error}")
            return
        place = _Place(target, place.name)
    if place.files():
        yield place
    is_whole = place.is_named_as_a_lab() and PROGRESS_FILE in place.files()
    if levels and not is_whole:  # copies in the folder of a lab are the student's own affair
        try:
            inside = sorted(each for each in place.path.iterdir() if not each.is_symlink())
        except OSError as error:
            yield f"{printable(error.filename)}: {error.strerror}"
            return
        for each in inside:
            below = _Place(each, f"{place.name}/{printable(each.name)}".lstrip("/"))
            if each.is_dir() or _is_zip(each):
                yield from _work_folders(below, unpacked, levels - each.is_dir())


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == _ZIP and path.is_file() and not path.is_symlink()
