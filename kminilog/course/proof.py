"""The course checks itself: would each lab reject wrong answers, and accept the library's?

For every exercise: The starter is `todo`. The library's own function passes all three layers, with
at least one comparison. Each wrong answer fails with its own code, and no other exercise does. The
hints are there and contain no line of the solution. The README names it. Source: ours; rustlings
proves its starters and solutions in the same way, but has no wrong answers.
"""

import ast
import inspect
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue, languages
from kminilog.course.comparing import SENTENCE_CHARACTERS
from kminilog.course.judging.answers import Answers
from kminilog.course.judging.checking import check, run_judge_of_all
from kminilog.course.judging.diagnosis import diagnosis_of
from kminilog.course.judging.judge import library_answer
from kminilog.course.judging.outcome import ERROR, FAIL, PASS, TODO, Outcome
from kminilog.course.material import Exercise, Lab, checks_of, hints_of, lab_of
from kminilog.course.starter import starter_of
from kminilog.course.work_folder import WorkFolder

WRONG_LINES = 30
WRONG_ANSWERS = 2  # at least, for each exercise to implement
_HINT_TIERS = 3
_LINE_CHARACTERS = 16  # shorter lines of a solution, like `return None`, may stand in a hint


class Flaw(NamedTuple):
    """What is wrong with the course, and where."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class WrongAnswer(NamedTuple):
    """A file of `wrong/`: which exercise it answers, and the code that it must get."""

    path: Path
    number: int
    code: str


def wrong_answers(lab: Lab) -> list[WrongAnswer]:
    """Return the wrong answers of a lab; ValueError for a file without its two header lines."""
    found = []
    for path in sorted((lab.folder / "wrong").glob("*.py")):
        first, second, *_ = path.read_text(encoding="utf-8").splitlines()
        if not (first.startswith("# exercise: ") and second.startswith("# reason: ")):
            raise ValueError(f"{path}: begin with `# exercise: N` and `# reason: code`")
        found.append(WrongAnswer(path, int(first.split()[-1]), second.split()[-1]))
    return found


def solution(lab: Lab, folder: Path) -> str:
    """Return answers that are right: the library's functions, and what stands in the files."""
    lines = ["from kminilog.course.judging.judge import library_answer", ""]
    for exercise in lab.exercises:
        if exercise.symbol:
            lines.append(f"{exercise.name} = library_answer({exercise.symbol!r})")
        elif exercise.kind == "read":
            values = checks_of(lab)[f"solve_{exercise.number}"](folder)
            lines += [f"{name} = {values[name]!r}" for name in exercise.names]
        elif exercise.kind == "diagnose":
            diagnosis, _ = diagnosis_of(exercise, folder)
            lines.append(f"{exercise.names[0]} = {tuple(diagnosis)!r}")
    return "\n".join(lines) + "\n"


def flaws_of(lab: Lab) -> Iterator[Flaw]:
    """Yield what is wrong with a lab; nothing if all is right. It runs everything: seconds."""
    yield from _flaws_of_texts(lab)
    with tempfile.TemporaryDirectory() as temporary:
        folder = WorkFolder.start(lab, Path(temporary), "course check")
        for outcome in check(folder, lab.exercises):
            if outcome.status != TODO:
                yield Flaw(outcome.exercise.id, f"the starter is {outcome.status}, not todo")
        text = solution(lab, folder.path)
        folder.answers_path.write_text(text, encoding="utf-8")
        for outcome in check(folder, lab.graded):
            if outcome.status != PASS:
                what = f"the library's answer is {outcome.status}: {_sentence(outcome)}"
                yield Flaw(outcome.exercise.id, what)
            if not outcome.comparisons:
                yield Flaw(outcome.exercise.id, "its check compares nothing")
        for wrong in wrong_answers(lab):
            source = wrong.path.read_text(encoding="utf-8")
            folder.answers_path.write_text(text + source, encoding="utf-8")
            yield from _flaws_of_wrong(lab, folder, wrong)


def _flaws_of_wrong(lab: Lab, folder: WorkFolder, wrong: WrongAnswer) -> Iterator[Flaw]:
    judged = [each for each in lab.graded if each.kind != "diagnose"]
    for outcome in run_judge_of_all(judged, folder.path, str(folder.answers_path)):
        where = f"wrong/{wrong.path.name}"
        if outcome.exercise.number == wrong.number:
            if outcome.status != FAIL or outcome.code != wrong.code:
                what = f"is {outcome.status} with {outcome.code}: {_sentence(outcome)}"
                yield Flaw(where, f"{outcome.exercise.id} {what}, expected {wrong.code}")
            elif len(_sentence(outcome)) > SENTENCE_CHARACTERS:
                yield Flaw(where, f"a sentence of {len(_sentence(outcome))} characters")
        elif outcome.status in (FAIL, ERROR):
            yield Flaw(where, f"{outcome.exercise.id} fails, too: {_sentence(outcome)}")


def _sentence(outcome: Outcome) -> str:
    return Catalogue(DEFAULT_LANGUAGE).sentence(*outcome.said) if outcome.said else ""


def _flaws_of_texts(lab: Lab) -> Iterator[Flaw]:
    starter = lab.folder / "starter.py"
    if starter.read_text(encoding="utf-8") != starter_of(lab):
        yield Flaw(str(lab.number), "starter.py is not what the library gives; make it anew")
    readme = (lab.folder / "README.md").read_text(encoding="utf-8")
    for exercise in lab.exercises:
        if exercise.id not in readme:
            yield Flaw(exercise.id, "README.md does not name it")
        if exercise.kind == "predict":
            if len(exercise.wrong) < 2:
                yield Flaw(exercise.id, "a prediction needs two wrong answers")
        elif len(hints_of(exercise)) != _HINT_TIERS:
            yield Flaw(exercise.id, f"needs {_HINT_TIERS} hints")
        yield from _flaws_of_hints(exercise)
    yield from _flaws_of_wrong_files(lab)


def _flaws_of_hints(exercise: Exercise) -> Iterator[Flaw]:
    hints = "\n".join(hints_of(exercise))
    for line in solution_lines(exercise):
        if line in hints:
            yield Flaw(exercise.id, f"a hint contains a line of the solution: {line}")


def solution_lines(exercise: Exercise) -> list[str]:
    """Return the lines of the library's body, without docstring and short ones."""
    if not exercise.symbol:
        return []
    source = textwrap.dedent(inspect.getsource(library_answer(exercise.symbol)))
    (node,) = ast.parse(source).body
    body = [part for part in getattr(node, "body", []) if not _is_docstring(part)]
    lines = [line.strip() for part in body for line in ast.unparse(part).splitlines()]
    lines += [line.strip() for line in source.splitlines()[body[0].lineno - 1 :]] if body else []
    return sorted({line for line in lines if len(line) >= _LINE_CHARACTERS})


def _is_docstring(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def _flaws_of_wrong_files(lab: Lab) -> Iterator[Flaw]:
    wrong = wrong_answers(lab)
    for exercise in lab.exercises:
        count = sum(each.number == exercise.number for each in wrong)
        if exercise.kind == "implement" and count < WRONG_ANSWERS:
            yield Flaw(exercise.id, f"has {count} wrong answers, {WRONG_ANSWERS} at least")
    for each in wrong:
        lines = each.path.read_text(encoding="utf-8").splitlines()
        if len(lines) > WRONG_LINES:
            yield Flaw(f"wrong/{each.path.name}", f"has {len(lines)} lines, {WRONG_LINES} at most")
        Answers(each.path)  # it is Python
        for language in languages():
            try:
                Catalogue(language).reason(each.code)
            except KeyError:
                yield Flaw(f"wrong/{each.path.name}", f"{each.code} is in no catalogue")


def main(number: str) -> None:
    """Print what is wrong with one lab."""
    for flaw in flaws_of(lab_of(number)):
        sys.stdout.write(f"{flaw}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
