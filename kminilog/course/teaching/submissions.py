"""What students have handed in: a folder for each student, with what `lab start` made in it.

    submissions/ada/01_message/         answers.py  checks.py  progress.json
    submissions/ada.zip                 the same, packed
    submissions/Ada Lovelace_123_assignsubmission_file_/       as Moodle names it

The folder of a lab may be that of the student itself, or further down: `ada/work/01_message`.
There, too, a zip file stands for a folder. What lies beside the folder of a lab is no reason to
overlook that: the folder counts, and the file alone is left out.

Only these three files count, in any case of letters. What else may be work of a student is named,
so that nobody has 0 points without a word: another file of Python, and an archive of a kind that is
not opened. The three are copied before anything is done with them: nothing is written into the
submissions, and no link leads out of them. Nothing of a student's runs here.
Source: ours; the names are those of Moodle's `mod_assign\\downloader`.
"""

import os
import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from kminilog.course.answers import ANSWERS_FILE
from kminilog.course.material import Lab, all_labs
from kminilog.course.teaching.roster import Roster, one_form
from kminilog.course.teaching.zip_folder import ZipError, unpack
from kminilog.course.work_folder import PROGRESS_FILE, lab_told_by
from kminilog.storage.files import read_regular
from kminilog.text import printable

FILES = (ANSWERS_FILE, "checks.py", PROGRESS_FILE)
_OF_WORK = (ANSWERS_FILE, PROGRESS_FILE)
_FILE_BYTES = 1 << 20
_LEVELS = 8  # of folders below that of the student
_NOT_OF_STUDENTS = ("__MACOSX",)
_DIGEST_CHARACTERS = 16
_ZIP = ".zip"
_OTHER_ARCHIVES = (".rar", ".7z", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".zipx")
_OF_CODE = (".py", ".ipynb")
_NO_ZIP = "this archive is not opened; hand in the folder of the lab, or a zip of it"
_NAMED_FILES = 3
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
        for name, path in sorted(_files_that_count(self.path).items()):
            if path.is_symlink():
                raise OSError(0, "this is a link; hand in the file itself", str(path))
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
        return Path(self.name or self.path).name.lower() in _work_names()

    def below(self, name: str) -> str:
        """Return the name of what is in the folder."""
        return f"{self.name}/{printable(name)}".lstrip("/")

    def files(self) -> list[str]:
        """Return which of the files that tell a work folder are there; a link is one, too."""
        return [each for each in _OF_WORK if each in _files_that_count(self.path)]

    def rank(self) -> tuple[bool, bool, int, int, str]:
        """Return what sorts the places of one student: of two for one lab, the first counts."""
        is_zip_of_a_lab = Path(self.name).stem.lower() in _work_names()
        depth = self.name.count("/")
        named = not self.is_named_as_a_lab(), not is_zip_of_a_lab
        return *named, -len(self.files()), depth, self.name


class _Inside:
    """What a hand-in holds, by the places in it."""

    def __init__(self) -> None:
        self.folders: list[_Place] = []
        self.faults: list[str] = []
        self.code: list[str] = []
        """What may be meant as answers, but does not count: other files of code, and links."""
        self.others: list[str] = []
        """All else outside of work folders."""

    def add_file(self, name: str, *, is_in_archive: bool) -> None:
        """Add a file that does not count; one that only a computer writes is none."""
        path = Path(name)
        if any(each.startswith(".") or each in _NOT_OF_STUDENTS for each in path.parts):
            return
        if _is_other_archive(path) or (is_in_archive and path.suffix.lower() == _ZIP):
            self.faults.append(f"{name}: {_NO_ZIP}")
        elif path.name.lower().removesuffix(".txt").endswith(_OF_CODE):
            self.code.append(name)
        else:
            self.others.append(name)


def _work_names() -> set[str]:
    return {lab.work_name for lab in all_labs()}


def _files_that_count(directory: Path) -> dict[str, Path]:
    """Return the files of a folder that count, by name: of two in another case the exact one."""
    found: dict[str, Path] = {}
    with suppress(OSError):
        for path in sorted(directory.iterdir(), key=lambda each: (each.name not in FILES, each)):
            if path.name.lower() in FILES:
                found.setdefault(path.name.lower(), path)
    return found


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
        is_archive = _is_zip(path) or (_is_other_archive(path) and path.is_file())
        if path.is_symlink() or not (path.is_dir() or is_archive or is_of_moodle):
            found.notices.append(f"{name}: not a folder of a student; it is left out")
            continue
        owner = _Owner(path, roster)
        for student in owner.students:
            found.students.setdefault(student, "")
        if owner.is_guessed:
            found.notices.append(f"{owner.name}: taken as work of {owner.students[0]}, in a group")
        if path.is_dir() or is_archive:
            folders.append((owner, _Place(path, name if path.is_file() else "")))
        else:
            found.notices.append(f"{name}: a file alone; hand in the folder of the lab")
    # A group's folder is graded as that of a member who has no other.
    for owner, place in sorted(folders, key=lambda each: (each[0].is_group, each[0].is_guessed)):
        _add_labs(found, owner, place, unpacked)
    return found


class _Owner:
    """Whose a folder is, by its name: that of a student, or of all members of a group."""

    def __init__(self, path: Path, roster: Roster | None) -> None:
        match = _OF_MOODLE.fullmatch(path.name)
        own = match["name"] if match else _without_suffixes(path) if path.is_file() else path.name
        self.name = name = printable(one_form(own))
        self.number = (match["number"] or "") if match else ""
        group, student = roster.of_moodle(name) if roster and match else ("", "")
        if group and not student:  # then the number is that of the group
            self.name = name = group
        elif roster:
            student = roster.student_of(name, self.number) or student
        in_group = roster.in_group(name) if roster and not student else []
        self.is_group = bool(in_group)
        self.students = in_group or [student or name]
        self.is_guessed = bool(roster and student and group and not roster.in_group(group))
        """Whether a name is taken as that of a group, which the roster does not have."""
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
    inside = _Inside()
    _look(inside, place, unpacked, _LEVELS)
    if inside.faults:
        found.students.update(dict.fromkeys(owner.students, "; ".join(inside.faults)))
    for folder in sorted(inside.folders, key=_Place.rank):
        _add_lab(found, owner, folder)
    at = owner.where(place)
    others = inside.code + inside.others
    if inside.folders and inside.code:
        found.notices.append(f"{at}: left out, because it is no answers.py: {_listed(inside.code)}")
    elif not (inside.folders or inside.faults):
        but = f", but {_listed(others)}" if others else "; it is empty"
        found.notices.append(f"{at}: it has no folder of a lab{but}")


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED_FILES
    return ", ".join(names[:_NAMED_FILES]) + (f" and {more} more" if more > 0 else "")


def _add_lab(found: Submissions, owner: _Owner, place: _Place) -> None:
    lab = _lab_of(place)
    where = owner.where(place)
    if len(place.files()) == 1 and not place.is_named_as_a_lab():
        where = f"{where}/{place.files()[0]}"
    if lab is None:
        why = "not a lab of this course"
        if place.files() == [ANSWERS_FILE]:
            why = "a file without its folder"
            if place.path.name == Path(place.name).name:  # neither the student's, nor a zip file
                why = f"its folder has the name of no lab, such as {all_labs()[0].work_name}"
        found.notices.append(f"{where}: {why}; it is left out")
        return
    taken = {(each.student, each.lab): each for each in found.handed_in}
    student = owner.of_lab(lab, found)
    may_be_a_namesake = owner.number and not owner.is_group
    if (student, lab) in taken and may_be_a_namesake:
        student = f"{student}_{owner.number}"
        found.students[student] = ""
        found.notices.append(
            f"{student}: there is a lab {lab.number} of this name already; if another student "
            "has this name, write the number into the column id of the roster"
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
    progress = _files_that_count(place.path).get(PROGRESS_FILE)
    number = lab_told_by(progress) if progress and not progress.is_symlink() else None
    name = Path(place.name or place.path).stem.lower()
    by_number = (lab for lab in all_labs() if lab.number == number)
    by_name = (lab for lab in all_labs() if lab.work_name == name)
    return next(by_number, None) or next(by_name, None)


def _look(
    inside: _Inside, place: _Place, unpacked: Path, levels: int, *, is_in_work: bool = False
) -> None:
    """Add what is at a place and below it. A zip file is a place, too."""
    if _is_other_archive(place.path) and place.path.is_file():
        inside.add_file(place.name, is_in_archive=False)
        return
    if _is_zip(place.path):
        target = unpacked / str(len(os.listdir(unpacked)))
        target.mkdir()
        try:
            left = unpack(place.path, target, FILES, _FILE_BYTES)
        except ZipError as error:
            inside.faults.append(printable(f"{place.name}: {error}"))
            return
        place = _Place(target, place.name)
        for name in left:
            works = [each for each in (target / name).parents if _Place(each, "").files()]
            if not works or _is_code_in(works[0], target / name):
                inside.add_file(place.below(name), is_in_archive=True)
    if place.files():
        inside.folders.append(place)
        is_in_work = True
    try:
        paths = sorted(place.path.iterdir())
    except OSError as error:
        inside.faults.append(f"{printable(error.filename)}: {error.strerror}")
        return
    counted = _files_that_count(place.path).values()
    is_whole = place.is_named_as_a_lab() and PROGRESS_FILE in place.files()
    for path in paths:
        name = place.below(path.name)
        if path in counted and place.files():
            continue
        if path.is_symlink():
            if not is_in_work:
                inside.code.append(f"{name} (a link)")
        elif path.is_dir() or _is_zip(path):
            if is_whole:
                continue  # copies in the folder of a lab are the student's own affair
            if levels:
                below = _Place(path, name)
                _look(inside, below, unpacked, levels - path.is_dir(), is_in_work=is_in_work)
            else:
                inside.code.append(f"{name} (too deep to look there)")
        elif not is_in_work or (place.files() and _is_code_in(place.path, path)):
            inside.add_file(name, is_in_archive=False)


def _is_code_in(work: Path, path: Path) -> bool:
    """Tell if a file of a work folder may be meant as the answers."""
    return path.parent == work and path.suffix.lower() in _OF_CODE


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == _ZIP and path.is_file() and not path.is_symlink()


def _is_other_archive(path: Path) -> bool:
    return path.suffix.lower() in _OTHER_ARCHIVES


def _without_suffixes(path: Path) -> str:
    """Return the name of an archive without `.zip` or `.tar.gz`."""
    is_packed_twice = _is_other_archive(path) and Path(path.stem).suffix.lower() == ".tar"
    return Path(path.stem).stem if is_packed_twice else path.stem
