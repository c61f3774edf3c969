"""`lab hint`, `predict` and `solution`: help before, while and after a student writes.

Source: ours.
"""

import sys

import click

from kminilog.cli.lab.options import course_options, folder_of
from kminilog.cli.lab.texts import next_lines
from kminilog.cli.shared.interrupts import interruptible_wait
from kminilog.cli.shared.options import example
from kminilog.cli.shared.output import write_line, write_lines
from kminilog.course.catalogue import Catalogue
from kminilog.course.material import Exercise, exercise_of, lab_of
from kminilog.course.teaching.starter import source_of
from kminilog.course.work_folder import WorkFolder

NOT_YET = 1


@click.command("hint", epilog=example("kminilog lab hint 1.2"))
@click.argument("what", metavar="N.M")
@course_options
def hint(what: str, catalogue: Catalogue) -> None:
    """Give a hint: first a question, then a fact, then nearly the code."""
    exercise = exercise_of(what)
    give_hint(folder_of(lab_of(exercise.lab)), exercise, catalogue)


def give_hint(folder: WorkFolder, exercise: Exercise, catalogue: Catalogue) -> None:
    """Write the hints for an exercise, one more than the last time."""
    hints = catalogue.texts(exercise).hints
    shown = min(int(folder.noted("hints", exercise) or 0) + 1, len(hints))
    for number, text in enumerate(hints[:shown], start=1):
        write_line(catalogue.say("hint", number=number, all=len(hints), text=text))
    if hints:
        folder.note("hints", exercise, shown)
    else:
        write_line(catalogue.say("no-hint", exercise=exercise.id))


@click.command("predict", epilog=example("kminilog lab predict 1.7 --answer none"))
@click.argument("what", metavar="N.M")
@click.option("--answer", help="Your answer; without it you are asked.")
@course_options
def predict(what: str, answer: str | None, catalogue: Catalogue) -> None:
    """Answer a question before you code; nobody grades it."""
    exercise = exercise_of(what)
    folder = folder_of(lab_of(exercise.lab))
    if exercise.kind != "predict":
        raise click.UsageError(catalogue.say("no-prediction", exercise=exercise.id))
    choices = show_question(exercise, catalogue)
    if answer is None:
        answer = _ask(catalogue.say("your-answer"))
        if answer is None:
            raise click.UsageError(catalogue.say("no-answer", exercise=exercise.id))
    for number, (english, choice) in enumerate(choices.items(), start=1):
        if answer in (str(number), english, choice):
            break
    else:
        raise click.UsageError(catalogue.say("no-choice", answer=answer, all=len(choices)))
    take_answer(folder, exercise, english, catalogue)
    write_lines(next_lines(folder.lab, folder.done, catalogue, folder.lab.walk))


def show_question(exercise: Exercise, catalogue: Catalogue) -> dict[str, str]:
    """Write the question of a prediction and its choices, by number; return the choices."""
    choices = catalogue.choices(exercise)
    write_line(catalogue.texts(exercise).question)
    for number, choice in enumerate(choices.values(), start=1):
        write_line(f"  {number}  {choice}")
    return choices


def take_answer(folder: WorkFolder, exercise: Exercise, english: str, catalogue: Catalogue) -> None:
    """Keep the answer to a prediction, and write what it shows, and what is right.

    `english` is the answer in English, so that progress reads the same in every language.
    """
    folder.note("predicted", exercise, english)
    texts = catalogue.texts(exercise)
    last = "predicted-right"
    for each in texts.wrong:
        if each.answer == catalogue.choices(exercise)[english]:
            write_line(catalogue.say("predicted-wrong", misconception=each.misconception))
            last = "predicted-instead"
    write_line(catalogue.say(last, because=texts.because))


def _ask(question: str) -> str | None:
    """Return the line that answers a question on stderr; None at the end of the input.

    A line without a word asks again.
    """
    line = "\n"
    while line and not line.strip():
        click.echo(f"{question}: ", nl=False, err=True)
        with interruptible_wait():
            line = sys.stdin.readline()
    return line.strip() or None


@click.command("solution", epilog=example("kminilog lab solution 1.1 --anyway"))
@click.argument("what", metavar="N.M")
@click.option(
    "--anyway", is_flag=True, help="Show the function even if your own answer has not passed."
)
@course_options
def solution(what: str, anyway: bool, catalogue: Catalogue) -> int:
    """Show the library's own function, or the course's if the library has none."""
    exercise = exercise_of(what)
    if exercise.kind != "implement":
        raise click.UsageError(
            catalogue.say("no-solution", exercise=exercise.id, kind=exercise.kind)
        )
    if not anyway and exercise.id not in folder_of(lab_of(exercise.lab)).passed:
        write_line(catalogue.say("not-passed", exercise=exercise.id))
        return NOT_YET
    write_lines([f"# kminilog.{exercise.symbol}"] if exercise.symbol else [])
    write_lines(source_of(exercise).splitlines())
    return 0
