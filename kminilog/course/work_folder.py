"""A student's folder for one lab: made by `lab start`, found by all other commands.

    01_message/    README.md  answers.py  checks.py  progress.json  files/  broken/

`progress.json` holds the lab's number, the student's name and seed, and what was predicted, hinted
at and passed: it may be copied with the folder, under any name. Nothing outside the folder is
written. A command may be typed in the folder, in up to three directories below it, in the directory
that holds it, and in the folder of another lab beside it; nowhere else. Source: ours.
"""

import getpass
import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Self
from zlib import crc32

from kminilog.course.answers import ANSWERS_FILE, Answers
from kminilog.course.broken import write_broken
from kminilog.course.broken_assignment import write_broken_assignment
from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue
from kminilog.course.material import Exercise, Lab, all_labs, checks_of, lab_of
from kminilog.course.starter_file import definition_in, starter_in, with_title
from kminilog.errors import KMiniLogError
from kminilog.storage.durable_files import replace_file
from kminilog.storage.files import naming, read_regular
from kminilog.text import printable

PROGRESS_FILE = "progress.json"
_PROGRESS_BYTES = 1 << 20
_LOOKED_IN = 4  # directories: the current one, and those above it


class NoWorkFolderError(KMiniLogError):
    """The current directory holds no work folder of a lab."""

    def __init__(self, lab: Lab, where: Path) -> None:
        super().__init__(
            f"{where}: no work folder of lab {lab.number} here; "
            f"type `kminilog lab start {lab.number}`, or change to the directory "
            "where you ran it"
        )


class FolderExistsError(KMiniLogError):
    """`start` found a folder, and leaves it alone."""

    def __init__(self, path: Path, number: int) -> None:
        super().__init__(
            f"{path}: is there already, and stays as it is; go on with "
            f"`kminilog lab check {number}`, or begin anew with `kminilog lab reset {number}`"
        )


class DamagedProgressError(KMiniLogError):
    """`progress.json` was changed, so that nobody knows the student's seed."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path}: this is not what `kminilog lab start` wrote; put a copy back, or move the "
            "folder away, start the lab again, and copy your answers.py"
        )


class WorkFolder:
    """One lab's folder, and what its `progress.json` says."""

    def __init__(self, lab: Lab, path: Path) -> None:
        self.lab = lab
        self.path = path
        self.progress: dict[str, Any] = {}

    @classmethod
    def start(
        cls,
        lab: Lab,
        directory: Path,
        name: str | None = None,
        language: str = DEFAULT_LANGUAGE,
    ) -> Self:
        """Make the folder in `directory`; FolderExistsError if it is there.

        Without a name it is that of the work folders beside it, else that of the account.
        `language` is that of its README.md, and of titles and docstrings in its answers.py.
        """
        path = directory / lab.work_name
        if path.exists():
            raise FolderExistsError(path, lab.number)
        checks_of(lab)  # a lab may need a package that is not installed: then no folder is made
        path.mkdir(parents=True)
        who = printable(name if name is not None else _name_in(directory) or _user_name())
        folder = cls(lab, path)
        folder.progress = folder._fresh_progress(who, crc32(who.encode()))
        for file in (Catalogue(language).readme(lab), lab.folder / "checks.py"):
            with naming(path / file.name):
                shutil.copyfile(file, path / file.name)
        folder._put_starter(language)
        folder.write_given_files(path)
        folder.save()
        return folder

    @classmethod
    def find(cls, lab: Lab, directory: Path) -> Self:
        """Return the lab's folder: around `directory`, in it, or beside the one of another lab.

        Raises NoWorkFolderError without one, and DamagedProgressError if its `progress.json` does
        not say name and seed.
        """
        inside = _work_folder_around(directory)
        path = (inside.parent if inside else directory.absolute()) / lab.work_name
        if inside and lab_in(inside) == lab.number:
            path = inside
        if lab_in(path) != lab.number:
            raise NoWorkFolderError(lab, directory)
        folder = cls(lab, path)
        folder.progress = read_progress(path / PROGRESS_FILE)
        return folder

    @property
    def passed(self) -> list[str]:
        """The exercises that have passed, or that an exam made good, by id, in their order."""
        by_exam = self.lab.core_graded if self.progress.get("exam", {}).get("passed") else ()
        passed = [*self.progress["passed"], *(each.id for each in by_exam)]
        return [each.id for each in self.lab.exercises if each.id in passed]

    @property
    def points(self) -> int:
        """The points of what has passed, and shares of what has passed in part."""
        passed, shares = self.passed, self.progress.get("shares", {})
        return sum(
            each.points if each.id in passed else int(shares.get(each.id, 0))
            for each in self.lab.graded
        )

    @property
    def done(self) -> list[Exercise]:
        """The exercises that have passed, or are predicted."""
        predicted = self.progress.get("predicted", {})
        return [
            each for each in self.lab.exercises if each.id in self.passed or each.id in predicted
        ]

    @property
    def answers_path(self) -> Path:
        """The file that the student writes."""
        return self.path / ANSWERS_FILE

    @property
    def seed(self) -> int:
        """The seed of this student's files; with the exercise, that of a broken log."""
        return int(self.progress["seed"])

    def write_given_files(self, directory: Path) -> None:
        """Write the files that the student reads, and the broken log; deterministic by seed.

        The lab's `checks.py` knows which files: its `write_files(folder, name, seed)`.
        """
        write_files = checks_of(self.lab).get("write_files")
        if write_files:
            (directory / "files").mkdir(exist_ok=True)
            write_files(directory / "files", str(self.progress["name"]), self.seed)
        for exercise in self.lab.exercises:
            if exercise.faults:
                write = write_broken_assignment if exercise.is_of_assignment else write_broken
                own_seed = crc32(f"{self.seed} {exercise.id}".encode())
                write(directory, exercise.faults, Random(own_seed))

    @property
    def are_checks_changed(self) -> bool:
        """Whether the copy of the checks differs from the course's own, which count."""
        try:
            mine = (self.path / "checks.py").read_bytes()
        except OSError:
            return False
        return mine != (self.lab.folder / "checks.py").read_bytes()

    def save(self) -> None:
        """Write `progress.json`, whole or not at all."""
        text = json.dumps(self.progress, ensure_ascii=False, indent=2, sort_keys=True)
        replace_file(self.path / PROGRESS_FILE, text.encode() + b"\n")

    def note(self, kind: str, exercise: Exercise, value: Any) -> None:
        """Keep what was predicted or hinted at for an exercise, or its share of the points."""
        self.progress.setdefault(kind, {})[exercise.id] = value
        self.save()

    def noted(self, kind: str, exercise: Exercise) -> Any:
        """Return what `note` has kept; None without it."""
        return self.progress.get(kind, {}).get(exercise.id)

    def pass_exercise(self, exercise: Exercise) -> bool:
        """Keep that an exercise has passed; tell if that was not known."""
        if exercise.id in self.passed:
            return False
        self.progress["passed"].append(exercise.id)
        self.save()
        return True

    def forget_pass(self, exercise: Exercise) -> None:
        """Keep that an exercise does not pass, or no longer does; no exam outlives a function."""
        if exercise.id not in self.passed:
            return
        if exercise.id in self.progress["passed"]:
            self.progress["passed"].remove(exercise.id)
        if exercise in self.lab.core_functions:
            self.progress.get("exam", {}).pop("passed", None)
        self.save()

    def _put_starter(self, language: str) -> None:
        text = starter_in(self.lab, language)
        with naming(self.answers_path):
            self.answers_path.write_text(text, encoding="utf-8")

    def reset_all(self, language: str = DEFAULT_LANGUAGE) -> Path | None:
        """Put the starter back in the place of the answers, and forget what was done but the name.

        Returns the backup of the old file; None if there was none.
        """
        backup = self._back_up()
        self._put_starter(language)
        self.write_given_files(self.path)
        self.progress = self._fresh_progress(self.progress["name"], self.seed)
        self.save()
        return backup

    def reset(self, exercise: Exercise, language: str = DEFAULT_LANGUAGE) -> Path | None:
        """Put the starter of one exercise back, where its answer stands; return the backup.

        Raises UnreadableError if the file cannot be parsed: then only `reset_all` helps.
        """
        answers = Answers(self.answers_path)
        given = {name: definition_in(exercise, name, language) for name in exercise.answers}
        backup = self._back_up()
        for name, definition in given.items():
            lines = answers.source.split("\n")
            fresh = definition.split("\n")
            span = answers.span_of(name)
            if span is None:
                lines += ["", *fresh, ""]
            else:
                lines[span[0] - 1 : span[1]] = fresh
            text = with_title("\n".join(lines), exercise, language)
            with naming(self.answers_path):
                self.answers_path.write_text(text, encoding="utf-8")
            answers = Answers(self.answers_path)
        self.forget_pass(exercise)
        for kind in ("hints", "predicted", "shares"):
            self.progress.get(kind, {}).pop(exercise.id, None)
        self.save()
        return backup

    def _fresh_progress(self, name: str, seed: int) -> dict[str, Any]:
        return {"lab": self.lab.number, "name": name, "seed": seed, "passed": []}

    def _back_up(self) -> Path | None:
        if not self.answers_path.exists():
            return None
        number = 1
        while (backup := self.answers_path.with_suffix(f".{number}.bak")).exists():
            number += 1
        self.answers_path.rename(backup)
        return backup


def begin_exam(folder: WorkFolder) -> int:
    """Count another try of a lab's exam, and return its number."""
    exam = folder.progress.setdefault("exam", {})
    exam["tries"] = int(exam.get("tries", 0)) + 1
    folder.save()
    return int(exam["tries"])


def pass_exam(folder: WorkFolder) -> None:
    """Keep that the exam has passed: the core path counts as passed."""
    folder.progress["exam"]["passed"] = True
    folder.save()


def place_for_labs(directory: Path) -> Path:
    """Return where a new work folder belongs: in a directory, or beside the one that it is in."""
    inside = _work_folder_around(directory)
    return inside.parent if inside else directory


def folders_below(directory: Path) -> tuple[list[WorkFolder], list[Path]]:
    """Return the work folders in a directory and below it, or beside the one that it is in.

    At most three directories deep; of each lab the first by name, and the others as the second
    list. DamagedProgressError as `find`.
    """
    found: dict[int, WorkFolder] = {}
    others: list[Path] = []
    for place in _places_below(place_for_labs(directory.absolute()), _LOOKED_IN):
        number = lab_in(place)
        if number in found:
            others.append(place)
        elif number is not None:
            folder = found[number] = WorkFolder(lab_of(number), place)
            folder.progress = read_progress(place / PROGRESS_FILE)
    return [found[number] for number in sorted(found)], others


def _places_below(place: Path, levels: int) -> Iterator[Path]:
    yield place
    if levels > 1:
        for each in sorted(place.iterdir()):
            if each.is_dir() and not each.is_symlink() and not each.name.startswith("."):
                with suppress(OSError):
                    yield from _places_below(each, levels - 1)


def _work_folder_around(directory: Path) -> Path | None:
    """Return the work folder that is `directory` or a little above it; None without one."""
    places = [directory.absolute(), *directory.absolute().parents][:_LOOKED_IN]
    return next((place for place in places if lab_in(place)), None)


def number_around(directory: Path) -> int | None:
    """Return the number of the lab whose work folder is `directory` or a little above it."""
    inside = _work_folder_around(directory)
    return lab_in(inside) if inside else None


def lab_in(place: Path) -> int | None:
    """Return the number of the lab whose work folder `place` is; None if it is none.

    Where `progress.json` does not say it, being damaged or old, the name of the folder does.
    """
    return lab_told_by(place / PROGRESS_FILE)


def lab_told_by(path: Path) -> int | None:
    """Return the same by a file that may have another name than `progress.json`."""
    if not path.is_file():
        return None
    try:
        return int(_json_of(path)["lab"])
    except (OSError, ValueError, OverflowError, KeyError, TypeError):
        return next((lab.number for lab in all_labs() if lab.work_name == path.parent.name), None)


def _name_in(directory: Path) -> str | None:
    """Return whose the work folders in a directory are; None without any, or if they differ."""
    names = set()
    for lab in all_labs():
        with suppress(DamagedProgressError):
            if lab_in(path := directory / lab.work_name) == lab.number:
                names.add(str(read_progress(path / PROGRESS_FILE)["name"]))
    return names.pop() if len(names) == 1 else None


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "student"


def read_progress(path: Path) -> dict[str, Any]:
    """Return what the file says, as far as it is of the kinds that `start` and `note` write.

    Raises DamagedProgressError if it does not say name and seed.
    """
    try:
        found = _json_of(path)
        kinds = {
            "lab": int,
            "name": str,
            "seed": int,
            "passed": list,
            "hints": dict,
            "predicted": dict,
            "exam": dict,
            "shares": dict,
        }
        needed = ("name", "seed", "passed")
        if all(isinstance(found[name], kinds[name]) for name in {*found, *needed}):
            return dict(found)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise DamagedProgressError(path)


def _json_of(path: Path) -> Any:
    """Return what a file says; OSError, or ValueError for what is no JSON, or too much of it."""
    try:
        return json.loads(read_regular(path, _PROGRESS_BYTES))
    except RecursionError:
        raise ValueError("nested too deeply") from None
