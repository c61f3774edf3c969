"""The work of many students, graded: each folder by itself, in a process of its own.

    python -m kminilog.course.teaching.grading PROGRAM 1 FOLDER STUDENT RESULT

PROGRAM is the module that runs a command, such as `kminilog`. FOLDER is a copy of a student's
folder for a lab. The process checks it as `lab check` does, one exercise after the other, and
writes into RESULT, a JSON file, what became of each. If it ends in any other way, the row of each
exercise says so, and the others go on. A folder for which the machine was too busy is checked once
more. Source: ours.
"""

import json
import os
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue
from kminilog.course.judging.checking import check, hanging_seconds, most_seconds
from kminilog.course.judging.limits import CPU_SECONDS
from kminilog.course.judging.outcome import (
    ERROR,
    FAIL,
    TIMEOUT,
    TODO,
    TOO_BUSY,
    CatalogueSentence,
    ExerciseOutcome,
)
from kminilog.course.judging.sandbox import ProcessResult, TooBusyError, end_all, run_module
from kminilog.course.material import Exercise, Lab, lab_of
from kminilog.course.teaching.marks import NO, YES, Mark
from kminilog.course.teaching.roster import LateRule, Roster
from kminilog.course.teaching.submissions import FILES, HandedIn
from kminilog.course.work_folder import (
    PROGRESS_FILE,
    DamagedProgressError,
    WorkFolder,
    read_progress,
)
from kminilog.text import printable

_MEMORY_BYTES = 4 << 30
_USUAL_SECONDS = 1.0  # for an exercise, on an idle machine
_USUAL_JOB_SECONDS = 20.0  # the same for a job, which starts Spark twice
_START_SECONDS = 2
_SECONDS_BETWEEN_ENDS = 0.02
_NAMED_NEIGHBOURS = 3


def workers() -> int:
    """Return how many folders are graded at the same time."""
    return os.cpu_count() or 1


def limits_of(handed_in: Sequence[HandedIn]) -> tuple[float, float]:
    """Return how many seconds it takes to grade some folders, side by side, on an idle machine.

    The first number is the usual one, the second is for answers that all hang.
    """
    usual = sum(_usual_seconds(exercise) for each in handed_in for exercise in each.lab.graded)
    hanging = [
        _START_SECONDS + sum(hanging_seconds(one) + _usual_seconds(one) for one in each.lab.graded)
        for each in handed_in
    ]
    longest = max(hanging, default=0)
    side_by_side = min(workers(), len(hanging) or 1)
    return usual / side_by_side, sum(hanging) / side_by_side + longest


def _usual_seconds(exercise: Exercise) -> float:
    return _USUAL_JOB_SECONDS if exercise.needs_spark else _USUAL_SECONDS


# ---- a process for each folder


def grade(
    handed_in: Sequence[HandedIn], catalogue: Catalogue, program: str
) -> Generator[tuple[HandedIn, list[Mark]], None, None]:
    """Yield each folder and its marks, as soon as it is graded; the catalogue has the reasons.

    Where the iteration ends early, the processes are ended.
    """
    pool = ThreadPoolExecutor(workers())
    futures = {pool.submit(_graded_apart, each, catalogue, program): each for each in handed_in}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        at_work = [future for future in futures if future.running()]
        while wait(at_work, _SECONDS_BETWEEN_ENDS).not_done:
            end_all()


def _graded_apart(one: HandedIn, catalogue: Catalogue, program: str) -> list[Mark]:
    digest = one.digest()
    try:
        files = one.files()
    except OSError as error:
        name = printable(Path(str(error.filename)).name)
        why = CatalogueSentence("unreadable", {"reason": f"{name}: {printable(error.strerror)}"})
        return marks_of_all(one.student, one.lab, ERROR, why, catalogue, digest)
    with tempfile.TemporaryDirectory() as temporary:
        for name, data in files.items():
            Path(temporary, name).write_bytes(data)
        try:
            ran = _judged_at_most_twice(one, Path(temporary), program)
        except TooBusyError:
            why = CatalogueSentence("folder-too-busy", {"lab": str(one.lab.number)})
            return marks_of_all(one.student, one.lab, ERROR, why, catalogue, digest)
    if ran.result is None:
        reason = f"exit code {ran.code}"
        if ran.code is not None and ran.code < 0:
            reason = signal.Signals(-ran.code).name
        elif lines := ran.errors.strip().splitlines():
            reason = lines[-1]
        why = CatalogueSentence("folder-ended", {"lab": str(one.lab.number), "reason": reason})
        return marks_of_all(one.student, one.lab, ERROR, why, catalogue, digest)
    told = ran.result
    return [_full_mark(one.student, each, told, catalogue, digest) for each in one.lab.exercises]


def _judged_at_most_twice(one: HandedIn, directory: Path, program: str) -> ProcessResult:
    """Check a folder, and once more if the machine was too busy for it or for an exercise."""
    with suppress(TooBusyError):
        ran = _judged_apart(one, directory, program)
        outcomes = ran.result["outcomes"].values() if ran.result else ()
        if not any(each["said"] and each["said"][0] == TOO_BUSY for each in outcomes):
            return ran
    return _judged_apart(one, directory, program)


def _judged_apart(one: HandedIn, directory: Path, program: str) -> ProcessResult:
    words = (program, str(one.lab.number), str(directory), one.student, "RESULT")
    most = most_seconds(one.lab.graded)
    return run_module(
        "kminilog.course.teaching.grading",
        *words,
        folder=directory,
        wall_seconds=most,
        needs_result=True,
    )


def _full_mark(
    student: str, exercise: Exercise, told: Mapping[str, Any], catalogue: Catalogue, digest: str
) -> Mark:
    """Return the mark of an exercise with what the folder's progress.json says."""
    predicted = told["predicted"].get(exercise.id)
    is_known = exercise.kind == "predict" and predicted in catalogue.choices(exercise)
    is_right = is_known and predicted == Catalogue(DEFAULT_LANGUAGE).texts(exercise).right
    mark = _mark(student, exercise, told["outcomes"][exercise.id], catalogue)
    is_wrong = is_known and not is_right
    return replace(
        mark,
        teaches=_misconception(exercise, predicted, catalogue) if is_wrong else mark.teaches,
        hints=told["hints"].get(exercise.id, 0),
        predicted=predicted if is_known else "",
        predicted_right=(YES if is_right else NO) if is_known else "",
        seed=told["seed"],
        tampered=" ".join(told["tampered"]),
        digest=digest,
    )


def _mark(student: str, exercise: Exercise, told: Mapping[str, Any], catalogue: Catalogue) -> Mark:
    said = told["said"]
    if told["status"] == TIMEOUT:  # a slow answer is at another call each time
        said = said[0].removesuffix("-in"), said[1]
    return Mark(
        student,
        exercise.lab,
        exercise.number,
        exercise.kind,
        told["status"],
        points=told["points"],
        max_points=exercise.points,
        reason_code=told["code"] or "",
        reason=catalogue.sentence(*said) if said else "",
        teaches=_lesson(told["code"], catalogue) if told["code"] else "",
        tried="; ".join(catalogue.say(f"tried-{kind}", what=what) for kind, what in told["tried"]),
        seconds=_in_steps(told["seconds"]),
    )


def _lesson(code: str, catalogue: Catalogue) -> str:
    """Return both sentences of a reason code, as `lab check` says them."""
    says, breaks = catalogue.reason(code)
    return f"{says} {catalogue.say('breaks', what=breaks)}"


def _misconception(exercise: Exercise, answer: str, catalogue: Catalogue) -> str:
    """Return what a wrong prediction, which is in English, shows of who gives it."""
    english = Catalogue(DEFAULT_LANGUAGE).texts(exercise).wrong
    place = [each.answer for each in english].index(answer)
    return catalogue.texts(exercise).wrong[place].misconception


def _in_steps(seconds: float) -> int:
    """Return seconds that are the same in a second run: 0, 2, or 3, the limit.

    What a check computes differs a little each time. Almost all take less than one second, so no
    step is near what they take.

    >>> [_in_steps(seconds) for seconds in (0.49, 1.2, 2.4, 3)]
    [0, 0, 2, 3]
    """
    return CPU_SECONDS if seconds >= CPU_SECONDS else int(seconds) // 2 * 2


def marks_of_all(
    student: str,
    lab: Lab,
    status: str,
    why: CatalogueSentence,
    catalogue: Catalogue,
    digest: str = "",
) -> list[Mark]:
    """Return the same mark, without points, for each exercise of a lab."""
    told = {"status": status, "points": 0, "code": None, "said": why, "seconds": 0, "tried": []}
    return [replace(_mark(student, each, told, catalogue), digest=digest) for each in lab.exercises]


# ---- all of it


def completed(
    marks: Iterable[Mark],
    students: Mapping[str, str],
    labs: Sequence[Lab],
    roster: Roster,
    of_groups: Mapping[tuple[str, int], str],
    rule: LateRule,
    catalogue: Catalogue,
    still_open: Collection[tuple[str, int]],
) -> list[Mark]:
    """Return marks with what only all of them together, and the roster, tell.

    Each of `students` has a row for each exercise of `labs`, but for those `still_open`, if he or
    she has handed in nothing; the text beside the name says why a student's folder cannot be read.
    What a group has handed in counts for those of it who have handed in nothing else; without a
    folder of its name, it is what one of them has handed in.
    """
    by_folder = defaultdict(list)
    for mark in marks:
        by_folder[mark.student, mark.lab].append(mark)
    found = []
    for lab in labs:
        for student, fault in students.items():
            group = roster.group_of(student, lab.number)
            name = roster.entry(student, lab.number).group
            first = of_groups.get((name, lab.number), student)
            handed_in_by = next(
                (each for each in (student, first, *group) if (each, lab.number) in by_folder), None
            )
            if handed_in_by:
                own = by_folder[handed_in_by, lab.number]
            elif (student, lab.number) in still_open and not fault:
                continue  # another one was early
            else:
                why = CatalogueSentence(
                    "not-handed-in", {"lab": str(lab.number), "folder": lab.work_name}
                )
                if fault:
                    why = CatalogueSentence("unreadable", {"reason": fault})
                own = marks_of_all(student, lab, ERROR if fault else TODO, why, catalogue)
            late_by = roster.late_by(student, lab.number, handed_in_by) if handed_in_by else None
            found += [
                replace(
                    mark,
                    student=student,
                    group=name,
                    late="" if late_by is None else YES if rule.is_late(late_by) else NO,
                    lost_percent=rule.lost_percent(late_by) if late_by else 0,
                )
                for mark in own
            ]
    return _with_neighbours(found)


def _with_neighbours(marks: Sequence[Mark]) -> list[Mark]:
    """Return marks with the names of others whose folder was made for the same name.

    Those of one group have one folder, so they are no such others; others see the group as one.
    """
    with_seed = defaultdict(set)
    for mark in marks:
        with_seed[mark.lab, mark.seed].add((mark.student, mark.group))
    return [
        replace(
            mark,
            same_seed_as=_listed(
                {
                    f"group {group}" if group else student
                    for student, group in with_seed[mark.lab, mark.seed]
                    if student != mark.student and not (group and group == mark.group)
                }
            )
            if mark.seed
            else "",
        )
        for mark in marks
    ]


def _listed(names: set[str]) -> str:
    first = "; ".join(sorted(names)[:_NAMED_NEIGHBOURS])
    more = len(names) - _NAMED_NEIGHBOURS
    return f"{first}; and {more} more" if more > 0 else first


# ---- in that process


def judged(lab: Lab, directory: Path, student: str, program: str) -> dict[str, Any]:
    """Return what became of each exercise of a folder, and what its progress.json says.

    Without a progress.json as `lab start` writes it, the files to read are those of the student's
    name; `tampered` names it then, as it does where the seed is not that of the name, or where an
    exercise stands in it as passed that does not pass. An error or a timeout proves nothing there.
    """
    folder = WorkFolder(lab, directory)
    tampered = [FILES[1]] if folder.are_checks_changed else []
    try:
        folder.progress = read_progress(directory / PROGRESS_FILE)
    except DamagedProgressError:
        folder.progress = {"name": student, "seed": crc32(student.encode()), "passed": []}
        tampered.append(PROGRESS_FILE)
    else:
        name = folder.progress["name"] = printable(folder.progress["name"])
        tampered += [PROGRESS_FILE] * (crc32(name.encode()) != folder.seed)
    told = folder.progress["passed"]
    ids = [each.id for each in lab.graded]
    folder.progress["passed"] = [each for each in told if each in ids]
    said_to_pass = folder.passed
    outcomes = check(folder, lab.exercises, program, workers=1)
    failed = {each.exercise.id for each in outcomes if _is_not_passed(each)}
    if folder.progress["passed"] != told or failed.intersection(said_to_pass):
        tampered.append(PROGRESS_FILE)
    hints, predicted = (folder.progress.get(kind, {}) for kind in ("hints", "predicted"))
    return {
        "seed": str(folder.seed),
        "tampered": list(dict.fromkeys(tampered)),
        "hints": {id: count for id, count in hints.items() if count in (1, 2, 3)},
        "predicted": {id: text for id, text in predicted.items() if isinstance(text, str)},
        "outcomes": {
            each.exercise.id: {
                "status": each.status,
                "points": each.points,
                "code": each.code,
                "said": each.said,
                "seconds": each.computed_seconds,
                "tried": each.tried,
            }
            for each in outcomes
        },
    }


def _is_not_passed(outcome: ExerciseOutcome) -> bool:
    is_gone = outcome.said is not None and outcome.said.name == "missing-answer"
    return outcome.status in (FAIL, TODO) or is_gone


def main(program: str, lab: str, folder: str, student: str, result: str) -> None:
    """Grade one folder, and write the result; all files on the way are in the folder."""
    if not any(each.needs_spark for each in lab_of(lab).exercises):  # a JVM reserves far more
        import resource  # not every operating system has it

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    Path(result).write_text(
        json.dumps(judged(lab_of(lab), Path(folder), student, program)), encoding="utf-8"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
