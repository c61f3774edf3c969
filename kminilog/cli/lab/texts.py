"""Outcomes of exercises as lines and as JSON; every sentence comes from the catalogue.

Source: ours.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from kminilog.cli.shared.output import width
from kminilog.course.catalogue import Catalogue
from kminilog.course.judging.outcome import ERROR, FAIL, PASS, TIMEOUT, TODO, ExerciseOutcome
from kminilog.course.material import RIGHT, Exercise, Lab, all_labs, answers_to
from kminilog.course.teaching.decisions import Room, count_yours
from kminilog.course.work_folder import WorkFolder
from kminilog.text import DOUBTFUL, GOOD, Span, StyledText, table

_INDENT = " " * 13
_MEANINGS = {PASS: GOOD, FAIL: DOUBTFUL, ERROR: DOUBTFUL, TIMEOUT: DOUBTFUL}


def outcome_json(outcome: ExerciseOutcome, catalogue: Catalogue) -> dict[str, Any]:
    """Return one exercise's outcome as `check --json` has it (docs/lab-check-1.schema.json)."""
    exercise = outcome.exercise
    _, breaks = _reason(outcome, catalogue)
    return {
        "lab": exercise.lab,
        "exercise": exercise.number,
        "title": catalogue.texts(exercise).title,
        "kind": exercise.kind,
        "core": exercise.core,
        "status": outcome.status,
        "points": outcome.points,
        "max_points": exercise.points,
        "reason_code": outcome.code,
        "reason": _sentence(outcome, catalogue, is_whole=True) or None,
        "breaks": breaks,
        "see": exercise.see or None,
        "seconds": round(outcome.seconds, 3),
    }


def labs_with_exam() -> str:
    """Return the numbers of all labs that have an exam; of one's own perhaps none has."""
    return ", ".join(str(lab.number) for lab in all_labs() if lab.has_exam) or "-"


def outcome_lines(
    outcome: ExerciseOutcome, catalogue: Catalogue, *, is_new: bool, is_verbose: bool
) -> Iterator[str]:
    """Yield the lines about one exercise; `is_new` if it did not pass before."""
    exercise = outcome.exercise
    title = catalogue.texts(exercise).title
    if not exercise.core:
        title = f"{title} ({catalogue.say('extra')})"
    points = f"  {outcome.points}/{exercise.points}" if exercise.is_graded else ""
    status = Span(f"{outcome.status:<8}", _MEANINGS.get(outcome.status, ""))
    yield StyledText(f"  {exercise.id:<4} ", status, f"{title}{points}")
    if outcome.status == TODO:
        yield _INDENT + _sentence(outcome, catalogue)
    elif outcome.status in (FAIL, ERROR, TIMEOUT):
        yield from _trouble(outcome, catalogue, is_verbose=is_verbose)
    elif outcome.status == PASS and exercise.is_graded:
        for line in outcome.verdict:
            yield _INDENT + line
        if is_new:
            yield from passed_lines(exercise, catalogue)


def _trouble(outcome: ExerciseOutcome, catalogue: Catalogue, *, is_verbose: bool) -> Iterator[str]:
    exercise = outcome.exercise
    says, breaks = _reason(outcome, catalogue)
    sentence = _sentence(outcome, catalogue, is_whole=is_verbose)
    yield _INDENT + (f"{outcome.code}: {sentence}" if outcome.code else sentence)
    if says:
        yield _INDENT + says
        yield _INDENT + catalogue.say("breaks", what=breaks)
    if outcome.printed:
        yield _INDENT + catalogue.say("printed")
        yield from (f"{_INDENT}  {line}" for line in outcome.printed.splitlines()[:20])
    if is_verbose and outcome.traceback:
        yield from (f"{_INDENT}  {line}" for line in outcome.traceback.splitlines())
    elif sentence != _sentence(outcome, catalogue, is_whole=True):
        yield _INDENT + catalogue.say("shortened")
    yield _INDENT + catalogue.say("help", see=exercise.see, exercise=exercise.id)


def passed_lines(exercise: Exercise, catalogue: Catalogue) -> Iterator[str]:
    """Yield what is said after a pass: why it works, where the solution is, what to read."""
    texts = catalogue.texts(exercise)
    yield _INDENT + catalogue.say("why", why=texts.why)
    if exercise.symbol:
        yield _INDENT + catalogue.say("solution", exercise=exercise.id, symbol=exercise.symbol)
    elif exercise.kind == "implement" and answers_to(exercise, RIGHT):
        yield _INDENT + catalogue.say("solution-of-course", exercise=exercise.id)
    if texts.reading:
        pages = "; ".join(texts.reading)
        name = "reading-docs" if "docs/" in pages else "reading"  # who installs a wheel has no docs
        yield _INDENT + catalogue.say(name, pages=pages)


def summary_lines(
    folder: WorkFolder, catalogue: Catalogue, walk: Sequence[Exercise]
) -> Iterator[str]:
    """Yield how much is passed, and what comes next in a walk; points for a part count as well."""
    lab, done = folder.lab, folder.done
    passed = [each for each in done if each.is_graded]
    yield catalogue.say(
        "summary",
        lab=lab.number,
        passed=len(passed),
        all=len(lab.graded),
        points=folder.points,
        most=sum(each.points for each in lab.graded),
    )
    yield from next_lines(lab, done, catalogue, walk)


def next_lines(
    lab: Lab, done: Sequence[Exercise], catalogue: Catalogue, walk: Sequence[Exercise]
) -> Iterator[str]:
    """Yield that the lab or its core path is done, and the first of a walk that is not."""
    waiting = [each for each in lab.exercises if each not in done]
    if not waiting:
        yield catalogue.say("done", lab=lab.number)
    elif not any(each.core for each in waiting):
        yield catalogue.say("core-done", lab=lab.number)
    for each in [each for each in walk if each not in done][:1]:
        name = "next" if each.is_graded else "next-predict"
        yield catalogue.say(name, exercise=each.id, title=catalogue.texts(each).title)


def engine_lines(rooms: Sequence[Room], catalogue: Catalogue) -> Iterator[str]:
    """Yield how many decisions are the student's, and a line for each room with its seams."""
    every = sum(len(room.seams) for room in rooms)
    yield catalogue.say("decisions", mine=count_yours(rooms), all=every)
    yield catalogue.say("engine-legend")
    rows = []
    for room in rooms:
        marks = (
            f"{'■' if each.is_yours else '□'}\xa0{each.exercise.name}\xa0{each.exercise.id}"
            for each in room.seams
        )
        rows.append(("", room.name, "  ".join(marks)))
    for line in table(("", "", ""), rows, width())[1:]:
        yield line.replace("\xa0", " ")  # a mark stays beside its name


def _sentence(outcome: ExerciseOutcome, catalogue: Catalogue, *, is_whole: bool = False) -> str:
    if outcome.status == TODO:
        name = "not-predicted" if outcome.exercise.kind == "predict" else "todo"
        return catalogue.say(name, exercise=outcome.exercise.id)
    return catalogue.sentence(*outcome.said, is_whole=is_whole) if outcome.said else ""


def _reason(outcome: ExerciseOutcome, catalogue: Catalogue) -> tuple[str | None, str | None]:
    return catalogue.reason(outcome.code) if outcome.code else (None, None)
