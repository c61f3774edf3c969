"""`lab check`, `exam` and `watch`: what the library says of the student's functions.

`judged` waits for the processes that judge, in a thread. No signal is raised there: one that is
raised in `Popen.wait` can leave a lock of Python's taken, and the command never ends. `watch` looks
at the file ten times a second, and checks one exercise after each save. On a terminal the result
takes the place of the one before, and a key asks for the next exercise. Without a terminal there
are no keys: it goes on until the exercise passes, then to the next. Source: ours; staying until a
key is pressed is what learners of other courses asked for.
"""

import select
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import click

from kminilog.cli.lab.helping import give_hint, show_question, take_answer
from kminilog.cli.lab.options import course_options, folder_of, wanted_exercises
from kminilog.cli.lab.texts import (
    labs_with_exam,
    next_lines,
    outcome_json,
    outcome_lines,
    summary_lines,
)
from kminilog.cli.lab.tracing import show_trace
from kminilog.cli.shared.interrupts import (
    check_interrupt,
    interruptible_wait,
    is_interrupted,
)
from kminilog.cli.shared.keys import keys_of_terminal
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import (
    clear_screen,
    complain,
    flush,
    write_document,
    write_line,
    write_lines,
)
from kminilog.cli.shared.output_files import OutputFile
from kminilog.course.catalogue import Catalogue
from kminilog.course.judging.checking import check
from kminilog.course.judging.outcome import PASS, UNREADABLE, ExerciseOutcome
from kminilog.course.judging.sandbox import end_all
from kminilog.course.judging.spark_job import RUNS
from kminilog.course.material import Exercise, lab_of
from kminilog.course.work_folder import WorkFolder, begin_exam, number_around, pass_exam
from kminilog.errors import SparkUnavailableError

NOT_YET = 1
NOTHING_TO_CHECK = 2
PROGRAM = "kminilog"
"""What runs a command in a process of its own."""
Result = TypeVar("Result")
_SECONDS_BETWEEN_SIGNALS = 0.02
_LOOK_SECONDS = 0.1


@click.command("check", epilog=example("kminilog lab check 1"))
@click.argument("what", metavar="[N[.M]]", required=False)
@click.option("--no-spark", is_flag=True, help="Leave out what starts Spark.")
@click.option("--verbose", is_flag=True, help="Show the traceback of an error in your code.")
@click.option(
    "--trace",
    is_flag=True,
    help="Of one exercise, N.M: show your value beside the right one, step by step.",
)
@click.option("--html", type=OutputFile(), metavar="FILE", help="With --trace: write it as a page.")
@json_option
@course_options
def check_command(
    what: str | None,
    no_spark: bool,
    verbose: bool,
    trace: bool,
    html: Path | None,
    as_json: bool,
    catalogue: Catalogue,
) -> int:
    """Check a lab or one exercise; without N, the lab whose folder you are in."""
    if html and not trace:
        raise click.UsageError(catalogue.say("html-is-of-trace"))
    if trace and (as_json or "." not in (what or "")):
        raise click.UsageError(catalogue.say("trace-is-of-one"))
    if what is None:
        number = number_around(Path.cwd())
        if number is None:
            raise click.UsageError(catalogue.say("check-what"))
        what = str(number)
    lab, exercises = wanted_exercises(what)
    folder = folder_of(lab)
    if no_spark:
        for exercise in exercises:
            if exercise.needs_spark:
                complain(catalogue.say("left-out", exercise=exercise.id))
        exercises = [each for each in exercises if not each.needs_spark]
        if not exercises:
            raise click.UsageError(catalogue.say("nothing-to-check"))
    outcomes, left_out = _checked(folder, exercises, catalogue)
    for sentence in left_out:
        complain(sentence)
    if not outcomes:
        return NOTHING_TO_CHECK
    if as_json:
        write_document({"exercises": [outcome_json(each, catalogue) for each in outcomes]})
        for each in outcomes:
            keep(folder, each)
    else:
        _show(folder, outcomes, catalogue, lab.walk, is_verbose=verbose)
    if trace:
        show_trace(outcomes[0], html, catalogue)
    is_all = len(outcomes) == len(exercises)
    is_passed = all(each.status == PASS for each in outcomes if each.exercise.is_graded)
    return 0 if is_all and is_passed else NOT_YET


def _checked(
    folder: WorkFolder, exercises: list[Exercise], catalogue: Catalogue
) -> tuple[list[ExerciseOutcome], list[str]]:
    """Return the outcomes, and which exercises were left out and why: where Spark cannot start."""
    try:
        at = partial(_say_run, catalogue)
        return judged(partial(check, folder, exercises, PROGRAM, at=at)), []
    except SparkUnavailableError as error:
        name, why = "left-out-no-spark", str(error)
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        name, why = "left-out-no-package", str(error)
    others = [each for each in exercises if not each.needs_spark]
    left_out = [
        catalogue.say(name, exercise=each.id, why=why) for each in exercises if each.needs_spark
    ]
    return judged(partial(check, folder, others, PROGRAM)) if others else [], left_out


def _say_run(catalogue: Catalogue, run: str) -> None:
    """Say on stderr which run of a Spark job begins: each takes a while."""
    if run == RUNS[0]:
        complain(catalogue.say("spark-starts"))
    complain(catalogue.say("spark-run", number=RUNS.index(run) + 1, all=len(RUNS)))


def keep(folder: WorkFolder, outcome: ExerciseOutcome) -> bool:
    """Keep if an exercise passes, or no longer does; tell if a pass is news."""
    forget_unless_passed(folder, outcome)
    is_passed = outcome.status == PASS and outcome.exercise.is_graded
    return is_passed and folder.pass_exercise(outcome.exercise)


def forget_unless_passed(folder: WorkFolder, outcome: ExerciseOutcome) -> None:
    """Forget a pass if the answer does not pass any more, as far as the machine could tell.

    What it still earns, a share for inputs that expose some wrong answers, is kept.
    """
    exercise = outcome.exercise
    if outcome.status != PASS and not outcome.is_too_busy:
        folder.forget_pass(exercise)
        if outcome.points != (folder.noted("shares", exercise) or 0):
            folder.note("shares", exercise, outcome.points)


def _show(
    folder: WorkFolder,
    outcomes: list[ExerciseOutcome],
    catalogue: Catalogue,
    walk: list[Exercise],
    *,
    is_verbose: bool,
) -> None:
    lab = folder.lab
    write_line(
        catalogue.say("heading", lab=lab.number, title=catalogue.title(lab), folder=folder.path)
    )
    if folder.are_checks_changed:
        write_line("  " + catalogue.say("checks-changed"))
    _show_outcomes(folder, outcomes, catalogue, is_verbose=is_verbose)
    write_lines(summary_lines(folder, catalogue, walk))


def _show_outcomes(
    folder: WorkFolder,
    outcomes: list[ExerciseOutcome],
    catalogue: Catalogue,
    *,
    is_verbose: bool = False,
) -> None:
    """Keep and write what became of exercises; of a file that cannot be read, why, once."""
    unreadable = [each for each in outcomes if each.said and each.said.name == UNREADABLE]
    for each in unreadable[:1]:
        write_line(f"  {catalogue.sentence(*each.said)}" if each.said else "")
        write_line("  " + catalogue.say("none-checked"))
    for outcome in outcomes:
        is_new = keep(folder, outcome)
        if outcome not in unreadable:
            write_lines(outcome_lines(outcome, catalogue, is_new=is_new, is_verbose=is_verbose))


@click.command("exam", epilog=example("kminilog lab exam 1"))
@click.argument("what", metavar="N")
@course_options
def exam(what: str, catalogue: Catalogue) -> int:
    """Check all core functions of a lab at once on new data; a pass counts for the core path.

    `kminilog lab list` names the labs that have an exam.
    """
    lab = lab_of(what)
    folder = folder_of(lab)
    functions = lab.core_functions
    if not lab.has_exam:
        raise click.UsageError(catalogue.say("exam-none", lab=lab.number, labs=labs_with_exam()))
    number = begin_exam(folder)
    seed = crc32(f"{folder.seed} exam {number}".encode())
    outcomes = judged(partial(check, folder, functions, PROGRAM, seed=seed))
    title = catalogue.title(lab)
    write_line(catalogue.say("exam-heading", lab=lab.number, title=title, number=number))
    _show_outcomes(folder, outcomes, catalogue)
    if any(each.status != PASS for each in outcomes):
        write_line(catalogue.say("exam-failed", lab=lab.number))
        return NOT_YET
    pass_exam(folder)
    counts = ", ".join(each.id for each in lab.core_graded)
    write_line(catalogue.say("exam-passed", lab=lab.number, exercises=counts))
    return 0


@click.command("watch", epilog=example("kminilog lab watch 1"))
@click.argument("what", metavar="N[.M]")
@click.option("--verbose", is_flag=True, help="Show the traceback of an error in your code.")
@course_options
def watch(what: str, verbose: bool, catalogue: Catalogue) -> int:
    """Check after each save; n goes on to the next exercise, h gives a hint, q ends."""
    lab, exercises = wanted_exercises(what)
    folder = folder_of(lab)
    waiting = list(exercises)
    if exercises == list(lab.exercises):
        waiting = [each for each in lab.walk if each not in folder.done]
        if not waiting:
            write_line(catalogue.say("done", lab=lab.number))
    with keys_if_terminal() as read_key:
        if read_key and len(exercises) == 1:
            waiting += [each for each in lab.walk if each not in (*folder.done, *exercises)]
        while waiting:
            exercise = waiting.pop(0)
            if not (exercise.is_graded or read_key):
                write_line(catalogue.say("not-predicted", exercise=exercise.id))
            elif not _watch_one(folder, exercise, waiting, read_key, catalogue, verbose):
                return NOT_YET
            elif read_key and not waiting:
                write_line(catalogue.say("no-next", lab=lab.number))
            elif waiting and exercise not in folder.done:
                waiting.append(exercise)
    is_left = any(each.is_graded and each not in folder.done for each in exercises)
    return NOT_YET if is_left else 0


def _watch_one(
    folder: WorkFolder,
    exercise: Exercise,
    waiting: list[Exercise],
    read_key: Callable[[], str] | None,
    catalogue: Catalogue,
    is_verbose: bool,
) -> bool:
    """Check an exercise after each save until n goes on, True, or q ends, False.

    Without keys it goes on when the exercise has passed, or cannot be checked here. A prediction is
    answered by a digit.
    """
    while True:
        watched = Watched(folder.answers_path)
        outcomes, left_out = _checked(folder, [exercise], catalogue)
        if read_key:
            clear_screen()
        walk = waiting if read_key else [exercise, *waiting]  # where it goes on from here
        _show(folder, outcomes, catalogue, walk, is_verbose=is_verbose)
        for sentence in left_out:
            write_line(sentence)
        is_over = not outcomes or outcomes[0].status == PASS
        if read_key is None and is_over:
            return True
        choices = [] if exercise.is_graded else list(show_question(exercise, catalogue))
        name = "watching-question" if choices else "watching" if read_key else "watching-file"
        write_line(catalogue.say(name, file=folder.answers_path))
        flush()
        while key := wait_for_save_or_key(watched, read_key):
            if key in ("n", "q"):
                return key == "n"
            if key == "h":
                give_hint(folder, exercise, catalogue)
            if key in [str(number) for number, _ in enumerate(choices, start=1)]:
                take_answer(folder, exercise, choices[int(key) - 1], catalogue)
                write_lines(next_lines(folder.lab, folder.done, catalogue, waiting))
            flush()


# ---- processes that judge


def judged(work: Callable[[], Result]) -> Result:
    """Return what `work` returns, or raise what it raises.

    After a signal it ends the processes that judge, also those that `work` starts later, until
    `work` is over; then it raises KeyboardInterrupt.
    """
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(work)
        while not wait([future], _SECONDS_BETWEEN_SIGNALS).done:
            if is_interrupted():
                end_all()
    check_interrupt()  # whatever the work made of processes that have ended
    return future.result()


# ---- a file that is looked at


class Watched:
    """A file, and whether it has changed since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._state()

    def has_changed(self) -> bool:
        """Tell if the file is another one since the last call."""
        before, self._seen = self._seen, self._state()
        return before != self._seen

    def _state(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino


def wait_for_save_or_key(watched: Watched, read_key: Callable[[], str] | None) -> str | None:
    """Return the key that was pressed, or None when the file was saved."""
    while True:
        check_interrupt()
        if watched.has_changed():
            return None
        with interruptible_wait():
            if read_key is None:
                time.sleep(_LOOK_SECONDS)
            elif select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
                return read_key()


def keys_if_terminal() -> AbstractContextManager[Callable[[], str] | None]:
    """Return a context that gives a function that reads keys, or None without a terminal."""
    return keys_of_terminal() if sys.stdin.isatty() else nullcontext(None)
