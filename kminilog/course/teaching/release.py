"""What students get of the labs: texts, starters and checks, and no answers.

    OUT/README.md                 how to install kminilog, to begin and to hand in
    OUT/labs/01_message/          lab.toml  starter.py  checks.py  en/  zh/
    OUT/labs/messages/            every sentence of the runner

The same labs give the same bytes. The library itself is not part of it, and shows its source to
whoever has installed it. Source: ours; nbgrader makes a student's version of one master, too.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kminilog.course.catalogue import languages
from kminilog.course.material import RIGHT, WRONG, Lab, beside_labs, sample_answers
from kminilog.course.teaching.proof import solution_lines
from kminilog.course.teaching.term import term_file
from kminilog.errors import KMiniLogError

_OF_A_LAB = ("lab.toml", "starter.py", "checks.py")
_OF_A_LANGUAGE = ("README.md", "texts.toml")


class LeakError(KMiniLogError):
    """A file for students would show an answer."""

    def __init__(self, leak: str) -> None:
        super().__init__(f"{leak}; change that file of the lab: nothing was released")


def release(labs: Iterable[Lab], language: str) -> dict[str, bytes]:
    """Return the files for students, by their path; `language` is that of the README.md.

    Raises LeakError if one of them shows an answer.
    """
    wanted = list(labs)
    folders = [(beside_labs("messages"), [f"{each}.toml" for each in languages()])]
    of_a_lab = [*_OF_A_LAB, *(f"{each}/{name}" for each in languages() for name in _OF_A_LANGUAGE)]
    folders += [(lab.folder, of_a_lab) for lab in wanted]
    files = {
        f"labs/{folder.name}/{name}": (folder / name).read_bytes()
        for folder, names in folders
        for name in names
        if (folder / name).is_file()
    }
    files["README.md"] = term_file("students.md", language).read_bytes()
    for leak in leaks(wanted, files):
        raise LeakError(leak)
    return files


def leaks(labs: Iterable[Lab], files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield what files show of the answers to labs: a line of a solution, or a sample answer.

    A line that the starter has, too, such as one of a signature, is none of the solution.
    """
    texts = {path: data.decode() for path, data in files.items()}
    lines = {path: {line.strip() for line in text.splitlines()} for path, text in texts.items()}
    for lab in labs:
        given = {line.strip() for line in _text_of(lab.folder / "starter.py").splitlines()}
        for exercise in lab.exercises:
            secret = set(solution_lines(exercise)) - given
            for path, own in lines.items():
                for line in sorted(secret & own):
                    yield f"{path} has a line of the solution of {exercise.id}: {line}"
        for kind in (WRONG, RIGHT):
            for sample in sample_answers(lab, kind):
                _, _, code = _text_of(sample.path).split("\n", 2)
                for path, text in texts.items():
                    if code.strip() in text:
                        yield f"{path} has the answer {sample.where} of lab {lab.number}"


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")
