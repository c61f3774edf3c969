"""`lab run`: any command on the student's functions.

Functions are checked each time, as a file may have changed. What does not pass is left out, and
named. Source: ours.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from kminilog.cli.lab.judging import PROGRAM, forget_unless_passed, judged
from kminilog.cli.lab.options import course_options, folder_of
from kminilog.cli.shared.interrupts import interrupted_exit_code, interruptible_wait
from kminilog.cli.shared.options import example
from kminilog.cli.shared.output import complain, flush
from kminilog.course.catalogue import Catalogue
from kminilog.course.judging.checking import check
from kminilog.course.judging.judge import IMPORTS_REFERENCE
from kminilog.course.judging.outcome import PASS, TODO, TOO_BUSY, UNREADABLE, ExerciseOutcome
from kminilog.course.judging.patching import NO_RESULT
from kminilog.course.judging.sandbox import environment_of_package
from kminilog.course.material import lab_of
from kminilog.course.teaching.decisions import decisions
from kminilog.course.work_folder import folders_below
from kminilog.text import printable

_NO_FUNCTION = {UNREADABLE, "missing-answer"}
"""The sentences about a file that has no function to run."""


@click.command(
    "run",
    context_settings={"ignore_unknown_options": True},
    epilog=example("kminilog lab run 1 -- topic list"),
)
@click.argument("lab", metavar="N|all")
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...", type=click.UNPROCESSED)
@click.option("--anyway", is_flag=True, help="Run those functions, too, that do not pass.")
@course_options
def run(lab: str, words: tuple[str, ...], anyway: bool, catalogue: Catalogue) -> int:
    """Run any command on the functions of yours that pass: of lab N, or of all labs."""
    if lab == "all":
        folders, others = folders_below(Path.cwd())
        for place in others:
            complain(catalogue.say("folder-left-out", folder=printable(place)))
    else:
        folders = [folder_of(lab_of(lab))]
    if not folders:
        raise click.UsageError(catalogue.say("no-progress"))
    if not any(each.symbol for folder in folders for each in folder.lab.exercises):
        raise click.UsageError(catalogue.say("run-none", lab=lab))
    answers: list[tuple[str, int, list[str]]] = []
    failing: list[ExerciseOutcome] = []
    for folder in folders:
        exercises = [each for each in folder.lab.exercises if each.symbol]
        outcomes = judged(partial(check, folder, exercises, PROGRAM))
        for each in outcomes:
            forget_unless_passed(folder, each)
        failing += [each for each in outcomes if each.status not in (PASS, TODO)]
        runs = [each for each in outcomes if each.status == PASS or (anyway and _can_run(each))]
        symbols = [each.exercise.symbol for each in runs]
        answers.append((str(folder.answers_path), folder.lab.number, symbols))
    left_out = [each for each in failing if not (anyway and _can_run(each))]
    swapped_in = [each for each in failing if each not in left_out]
    for name, told in (("not-yours", left_out), ("yours-anyway", swapped_in)):
        if told:
            complain(catalogue.say(name, what="; ".join(_reasons(told, catalogue))))
    names = [symbol.rpartition(".")[2] for *_, mine in answers for symbol in mine]
    if lab == "all":
        complain(catalogue.say("banner-all", mine=len(names), all=len(decisions())))
    elif names:
        complain(catalogue.say("banner", names=", ".join(names)))
    else:
        complain(catalogue.say("banner-none"))
    flush()
    command = [sys.executable, "-P", "-m", "kminilog.course.judging.patched"]
    return _run_in_foreground([*command, PROGRAM, NO_RESULT, json.dumps(answers), *words])


def _can_run(outcome: ExerciseOutcome) -> bool:
    """Tell if there is a function to run, right or wrong, that is the student's own."""
    is_there = outcome.said is None or outcome.said.name not in _NO_FUNCTION
    return is_there and outcome.status != TODO and outcome.code != IMPORTS_REFERENCE


def _reasons(outcomes: Sequence[ExerciseOutcome], catalogue: Catalogue) -> list[str]:
    """Return why functions do not pass; for a file that cannot be read, once."""
    found = []
    for each in outcomes:
        if each.said and each.said.name == UNREADABLE:
            lab = each.exercise.lab
            found.append(catalogue.say("run-unreadable", lab=lab, **each.said.values))
        else:
            state = TOO_BUSY if each.is_too_busy else each.status
            found.append(catalogue.say(f"run-{state}", exercise=each.exercise.id))
    return list(dict.fromkeys(found))


def _run_in_foreground(command: list[str]) -> int:
    """Run a process that gets our signals, and return its exit code, as a shell tells it."""
    with subprocess.Popen(command, env=environment_of_package()) as process:
        try:
            with interruptible_wait():
                code = process.wait()
        except KeyboardInterrupt:  # the terminal sends Ctrl-C to both of us, SIGTERM goes to one
            process.send_signal(interrupted_exit_code() - 128)
            process.wait()
            raise
    return code if code >= 0 else 128 - code
