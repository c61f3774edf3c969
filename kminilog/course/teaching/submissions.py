"""What students have handed in: a folder for each student, with what `lab start` made in it.

    submissions/ada/01_message/         answers.py  checks.py  progress.json

The folder of a lab may be that of the student itself, or one further down: `ada/work/01_message`.

Only these three files count, and they are copied before anything is done with them: nothing is
written into the submissions, and no link leads out of them. Nothing of a student's runs here.
Source: ours.
"""

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from kminilog.course.answers import ANSWERS_FILE
from kminilog.course.material import Lab, all_labs
from kminilog.course.work_folder import PROGRESS_FILE, lab_in
from kminilog.storage.files import read_regular
from kminilog.text import printable

FILES = (ANSWERS_FILE, "checks.py", PROGRESS_FILE)
_FILE_BYTES = 1 << 20
_LEVELS = 2  # of folders below that of the student
_NOT_OF_STUDENTS = ("__MACOSX",)
_DIGEST_CHARACTERS = 16


class HandedIn(NamedTuple):
    """A student's work on one lab."""

    student: str
    lab: Lab
    path: Path

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
    """

    students: dict[str, str]
    handed_in: list[HandedIn]
    notices: list[str]


def submissions_in(directory: Path) -> Submissions:
    """Return what a directory holds; OSError if it cannot be listed."""
    found = Submissions({}, [], [])
    for path in sorted(directory.iterdir()):
        name = printable(path.name)
        if path.name.startswith(".") or path.name in _NOT_OF_STUDENTS:
            continue
        if path.is_symlink() or not path.is_dir():
            found.notices.append(f"{name}: not a folder of a student; it is left out")
            continue
        found.students[name] = ""
        try:
            _add_labs(found, name, path)
        except OSError as error:
            found.students[name] = f"{printable(error.filename)}: {error.strerror}"
    return found


def _add_labs(found: Submissions, student: str, directory: Path) -> None:
    labs: dict[int, HandedIn] = {}
    for place in _work_folders(directory, _LEVELS):
        # Its progress.json tells the lab, or else its name.
        number = None if (place / PROGRESS_FILE).is_symlink() else lab_in(place)
        by_number = (lab for lab in all_labs() if lab.number == number)
        by_name = (lab for lab in all_labs() if lab.work_name == place.name)
        lab = next(by_number, None) or next(by_name, None)
        if lab is None:
            name = printable(place.relative_to(directory))
            found.notices.append(f"{student}: {name}: of no lab that is here; it is left out")
        elif lab.number in labs:
            taken = printable(labs[lab.number].path.relative_to(directory))
            found.notices.append(f"{student}: lab {lab.number} twice; the folder {taken} counts")
        else:
            labs[lab.number] = HandedIn(student, lab, place)
    found.handed_in.extend(labs.values())


def _work_folders(place: Path, levels: int) -> Iterator[Path]:
    """Yield the work folders at a place, by name; those with the names of labs come first."""
    if any(os.path.lexists(place / name) for name in (ANSWERS_FILE, PROGRESS_FILE)):
        yield place
    elif levels:
        names = {lab.work_name for lab in all_labs()}
        folders = [each for each in place.iterdir() if each.is_dir() and not each.is_symlink()]
        for folder in sorted(folders, key=lambda each: (each.name not in names, each.name)):
            yield from _work_folders(folder, levels - 1)
