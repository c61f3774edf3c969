"""The course checks itself: would each lab reject wrong answers, and accept right ones?

    wrong/*.py    # exercise: N    # reason: the code that it must get
    right/*.py    # exercise: N    # differs: what is other than in the library's function

For every exercise: The starter is `todo`. The library's own function passes all three layers, with
at least one comparison, and so does each right answer, by itself in a file. Each wrong answer fails
with its own code, and answers no other exercise. The hints are there and contain no line of the
solution. The README names it. The inputs of an exercise to expose expose all wrong answers that it
counts, and none that it leaves out. Source: ours; rustlings proves its starters and solutions in
the same way, but has no wrong answers.
"""

import ast
import re
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from kminilog.course.answers import Answers
from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue, ExerciseTexts, languages
from kminilog.course.comparing import SENTENCE_CHARACTERS
from kminilog.course.judging.checking import check, check_files, left_out_but_exposed
from kminilog.course.judging.diagnosis import diagnosis_of
from kminilog.course.judging.exposing import counted_wrong_answers
from kminilog.course.judging.outcome import FAIL, PASS, TODO, ExerciseOutcome
from kminilog.course.judging.patching import load_answers
from kminilog.course.material import (
    RIGHT,
    WRONG,
    Exercise,
    Lab,
    SampleAnswer,
    answers_to,
    checks_of,
    lab_of,
    sample_answers,
    target_of,
)
from kminilog.course.teaching.starter import source_of, starter_of
from kminilog.course.work_folder import WorkFolder
from kminilog.text import noun

_MOST_LINES = 40
_LEAST_COUNTS = {WRONG: 2, RIGHT: 3}  # for each exercise to implement
_MOST_INPUTS = 6  # that expose all wrong answers to an exercise
_HINT_TIERS = 3
_LEAST_MISCONCEPTIONS = 2
_LINE_CHARACTERS = 16  # shorter lines of a solution, like `return None`, may stand in a hint


class Flaw(NamedTuple):
    """What is wrong with the course, and where."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def solution(lab: Lab, folder: Path) -> str:
    """Return answers that are right: the library's functions, and what stands in the files.

    What the library lacks is the course's first right answer.
    """
    lines = ["from kminilog.course.judging.patching import library_answer", ""]
    for exercise in lab.exercises:
        if exercise.symbol:
            lines.append(f"{exercise.name} = library_answer({exercise.symbol!r})")
        elif exercise.kind == "read":
            values = checks_of(lab)[f"solve_{exercise.number}"](folder)
            lines += [f"{name} = {values[name]!r}" for name in exercise.names]
        elif exercise.kind == "diagnose":
            diagnosis, _ = diagnosis_of(exercise, folder)
            lines.append(f"{exercise.names[0]} = {tuple(diagnosis)!r}")
        elif exercise.kind in ("implement", "expose", "job"):
            lines += [path.read_text(encoding="utf-8") for path in answers_to(exercise, RIGHT)[:1]]
    return "\n".join(lines) + "\n"


class Exposed(NamedTuple):
    """Which wrong answers an exercise to expose counts, and which it leaves out."""

    exercise: str
    of: str
    counted: list[str]
    left_out: list[str]


def exposed_in(lab: Lab) -> list[Exposed]:
    """Return what each exercise to expose counts."""
    return [
        Exposed(
            each.id,
            target_of(each).id,
            [path.stem for path in counted_wrong_answers(each)],
            sorted(each.left_out),
        )
        for each in lab.exercises
        if each.kind == "expose"
    ]


def missing_package(lab: Lab, *, no_spark: bool = False) -> str:
    """Return a package that a right answer of a lab imports and that is not installed, or ""."""
    texts = [each.path.read_text(encoding="utf-8") for each in _right_answers(lab, no_spark)]
    imported = re.findall(r"^(?:import|from) (\w+)", "\n".join(texts), re.MULTILINE)
    return next((name for name in sorted(set(imported)) if find_spec(name) is None), "")


def _right_answers(lab: Lab, no_spark: bool) -> list[SampleAnswer]:
    jobs = {each.number for each in lab.exercises if each.needs_spark} if no_spark else set()
    return [each for each in sample_answers(lab, RIGHT) if each.number not in jobs]


def flaws_of(lab: Lab, program: str, *, no_spark: bool = False) -> Iterator[Flaw]:
    """Yield what is wrong with a lab; nothing if all is right. It runs everything: seconds.

    `program` is the module that runs a command. With `no_spark`, exercises that start Spark are not
    run: their texts are checked all the same.
    Raises ModuleNotFoundError if a right answer needs a package that is not installed.
    """
    if package := missing_package(lab, no_spark=no_spark):
        raise ModuleNotFoundError(name=package)
    yield from _flaws_of_texts(lab)
    with tempfile.TemporaryDirectory() as temporary:
        folder = WorkFolder.start(lab, Path(temporary), "course check")
        wanted = [each for each in lab.exercises if not (no_spark and each.needs_spark)]
        for outcome in check(folder, wanted, program):
            if outcome.status != TODO:
                yield Flaw(outcome.exercise.id, f"the starter is {outcome.status}, not todo")
        text = solution(lab, folder.path)
        folder.answers_path.write_text(text, encoding="utf-8")
        # A job is the course's own answer; it is checked among the right ones, once.
        graded = [each for each in wanted if each.is_graded and not each.needs_spark]
        for outcome in check(folder, graded, program):
            if outcome.status != PASS:
                what = f"the library's answer is {outcome.status}: {_sentence(outcome)}"
                yield Flaw(outcome.exercise.id, what)
            if not outcome.comparisons:
                yield Flaw(outcome.exercise.id, "its check compares nothing")
        for exercise in wanted:
            if exercise.left_out:
                source = str(folder.answers_path)
                exposed = left_out_but_exposed(exercise, folder.path, source)
                if exposed is None:
                    yield Flaw(exercise.id, "its judge did not end, so nobody checked its left_out")
                for name in exposed or ():
                    yield Flaw(exercise.id, f"an input exposes {name}, which it leaves out")
            yield from _flaws_of_samples(exercise, folder, text, program)


def _flaws_of_samples(
    exercise: Exercise, folder: WorkFolder, library: str, program: str
) -> Iterator[Flaw]:
    """Check right answers, each a whole file, and wrong ones, each after answers that are right."""
    lab = lab_of(exercise.lab)
    rights, wrongs = (
        [each for each in sample_answers(lab, kind) if each.number == exercise.number]
        for kind in (RIGHT, WRONG)
    )
    sources = []
    for wrong in wrongs:
        sources.append(folder.path / wrong.path.name)
        source = library + wrong.path.read_text(encoding="utf-8")
        sources[-1].write_text(source, encoding="utf-8")
    accepted, rejected = check_files(
        exercise, folder, [each.path for each in rights], sources, program
    )
    for right, outcome in zip(rights, accepted, strict=True):
        if outcome.status != PASS:
            yield Flaw(right.where, _told(outcome))
    for wrong, outcome in zip(wrongs, rejected, strict=True):
        if outcome.status != FAIL or outcome.code != wrong.says:
            yield Flaw(wrong.where, f"{_told(outcome)}, expected {wrong.says}")
        elif len(_sentence(outcome)) > SENTENCE_CHARACTERS:
            yield Flaw(wrong.where, f"a sentence of {len(_sentence(outcome))} characters")


def _told(outcome: ExerciseOutcome) -> str:
    """Return what an answer was told, for a lecturer."""
    code = f" with {outcome.code}" if outcome.code else ""
    said = f": {_sentence(outcome)}" if outcome.said else ""
    return f"{outcome.exercise.id} is {outcome.status}{code}{said}"


def _sentence(outcome: ExerciseOutcome) -> str:
    return Catalogue(DEFAULT_LANGUAGE).sentence(*outcome.said) if outcome.said else ""


def _flaws_of_texts(lab: Lab) -> Iterator[Flaw]:
    starter = lab.folder / "starter.py"
    if starter.read_text(encoding="utf-8") != starter_of(lab):
        yield Flaw(str(lab.number), "starter.py is not what the library gives; make it anew")
    for catalogue in map(Catalogue, languages()):
        readme = catalogue.readme(lab).read_text(encoding="utf-8")
        for exercise in lab.exercises:
            where = f"{exercise.id}, {catalogue.language}"
            if exercise.id not in readme:
                yield Flaw(where, "README.md does not name it")
            for what in _flaws_of_texts_of(exercise, catalogue.texts(exercise)):
                yield Flaw(where, what)
    for exercise in lab.exercises:
        if exercise.kind == "expose":
            yield from _flaws_of_inputs(exercise)
    for kind in (WRONG, RIGHT):
        yield from _flaws_of_sample_files(lab, kind)


def _flaws_of_inputs(exercise: Exercise) -> Iterator[Flaw]:
    """Compare what lab.toml and right/ say of inputs that expose the wrong answers."""
    wrong = {path.stem for path in answers_to(target_of(exercise), WRONG)}
    if unknown := sorted(set(exercise.left_out) - wrong):
        yield Flaw(exercise.id, f"left_out names answers that do not exist: {', '.join(unknown)}")
    if len(counted_wrong_answers(exercise)) < _LEAST_COUNTS[WRONG]:
        yield Flaw(exercise.id, f"has not {_LEAST_COUNTS[WRONG]} wrong answers to expose")
    right = answers_to(exercise, RIGHT)
    if not right:
        yield Flaw(exercise.id, "has no right answer")
    for path in right:
        inputs = getattr(load_answers(path), exercise.names[0])
        if len(inputs) > _MOST_INPUTS:
            yield Flaw(f"{RIGHT}/{path.name}", f"has {len(inputs)} inputs, {_MOST_INPUTS} at most")


def _flaws_of_texts_of(exercise: Exercise, texts: ExerciseTexts) -> Iterator[str]:
    if exercise.kind == "predict":
        if len(texts.wrong) < _LEAST_MISCONCEPTIONS:
            yield "a prediction needs two wrong answers"
    elif len(texts.hints) != _HINT_TIERS:
        yield f"needs {_HINT_TIERS} hints"
    for line in solution_lines(exercise):
        if line in "\n".join(texts.hints):
            yield f"a hint contains a line of the solution: {line}"


def solution_lines(exercise: Exercise) -> list[str]:
    """Return the lines of the solution's body, without docstring and short ones."""
    if exercise.kind != "implement":
        return []
    source = source_of(exercise)
    (node,) = ast.parse(source).body
    body = [part for part in getattr(node, "body", []) if not _is_docstring(part)]
    lines = [line.strip() for part in body for line in ast.unparse(part).splitlines()]
    lines += [line.strip() for line in source.splitlines()[body[0].lineno - 1 :]] if body else []
    return sorted({line for line in lines if len(line) >= _LINE_CHARACTERS})


def _is_docstring(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def _flaws_of_sample_files(lab: Lab, kind: str) -> Iterator[Flaw]:
    samples = sample_answers(lab, kind)
    for exercise in lab.exercises:
        count = sum(each.number == exercise.number for each in samples)
        if exercise.kind == "implement" and count < _LEAST_COUNTS[kind]:
            what = f"has {count} {noun(f'{kind} answer', count)}, {_LEAST_COUNTS[kind]} at least"
            yield Flaw(exercise.id, what)
    numbers = [exercise.number for exercise in lab.exercises]
    for each in samples:
        count = len(each.path.read_text(encoding="utf-8").splitlines())
        if count > _MOST_LINES:
            yield Flaw(each.where, f"has {count} lines, {_MOST_LINES} at most")
        if each.number not in numbers:
            yield Flaw(each.where, f"there is no exercise {lab.number}.{each.number}")
        answers = Answers(each.path)  # it is Python
        for exercise in lab.exercises if kind == WRONG else ():
            for name in exercise.answers:
                if exercise.number != each.number and answers.line_of(name):
                    yield Flaw(each.where, f"answers {exercise.id}, too: {name}")
        for language in languages() if kind == WRONG else ():
            try:
                Catalogue(language).reason(each.says)
            except KeyError:
                yield Flaw(each.where, f"{each.says} is in no catalogue")
