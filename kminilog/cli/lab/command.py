"""`kminilog lab`: labs are listed, started and reset.

All commands but `list` and `start` look for the work folder that the current directory is in, or
holds. Source: ours.
"""

import os
import shlex
from pathlib import Path

import click

from kminilog.cli.lab.helping import hint, predict, solution
from kminilog.cli.lab.judging import check_command, exam, watch
from kminilog.cli.lab.options import course_options, folder_of
from kminilog.cli.lab.running import run
from kminilog.cli.lab.texts import engine_lines, labs_with_exam
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import (
    complain,
    write_document,
    write_line,
    write_lines,
    write_table,
)
from kminilog.cli.shared.output_files import OutputFile, write_output
from kminilog.course.answers import ANSWERS_FILE, UnreadableError
from kminilog.course.catalogue import Catalogue
from kminilog.course.material import Exercise, Lab, all_labs, checks_of, exercise_of, lab_of
from kminilog.course.teaching.decisions import count_yours, decisions, engine_page, rooms_of
from kminilog.course.work_folder import (
    NoWorkFolderError,
    WorkFolder,
    folders_below,
    place_for_labs,
)
from kminilog.text import printable


@click.group("lab", no_args_is_help=False, epilog=example("kminilog lab list"))
def command() -> None:
    """Work through the labs: write functions for the real engine."""


@command.command("list", epilog=example("kminilog lab list"))
@json_option
@course_options
def list_labs(as_json: bool, catalogue: Catalogue) -> None:
    """List the labs."""
    if as_json:
        return write_document([_lab_json(lab, catalogue) for lab in all_labs()])
    rows = []
    for lab in all_labs():
        title = catalogue.title(lab)
        rows.append((lab.number, title, lab.minutes, lab.core_minutes, _state(lab)))
    headings = catalogue.say("list-headings").split(" | ")
    write_table(headings, rows)
    write_lines(["", catalogue.say("list-exams", labs=labs_with_exam())])
    begun = [lab for lab in all_labs() if _state(lab) != "-"]
    left = [lab for lab in begun if _state(lab) != f"{len(lab.graded)}/{len(lab.graded)}"]
    if not begun:
        write_line(catalogue.say("list-begin", lab=all_labs()[0].number))
    elif left:
        write_line(catalogue.say("list-go-on", lab=left[0].number))
    return None


def _lab_json(lab: Lab, catalogue: Catalogue) -> dict[str, object]:
    exercises = [
        {
            "exercise": each.number,
            "title": catalogue.texts(each).title,
            "kind": each.kind,
            "core": each.core,
            "minutes": each.minutes,
            "max_points": each.points,
        }
        for each in lab.exercises
    ]
    return {
        "lab": lab.number,
        "title": catalogue.title(lab),
        "minutes": lab.minutes,
        "exercises": exercises,
    }


def _state(lab: Lab) -> str:
    try:
        return _state_of(folder_of(lab))
    except NoWorkFolderError:
        return "-"


def _state_of(folder: WorkFolder) -> str:
    return f"{len(folder.passed)}/{len(folder.lab.graded)}"


@command.command("start", epilog=example("kminilog lab start 1 --name Ada"))
@click.argument("lab", metavar="N")
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for the work folder.  [default: the current one, or beside other labs]",
)
@click.option(
    "--name",
    help="Your name; the files of your exercises are generated from it.  "
    "[default: that of the labs beside it, else the user's name]",
)
@course_options
def start(lab: str, directory: Path | None, name: str | None, catalogue: Catalogue) -> None:
    """Make the work folder of a lab."""
    place = directory or place_for_labs(Path.cwd())
    folder = WorkFolder.start(lab_of(lab), place, name, catalogue.language)
    number, path = folder.lab.number, os.path.relpath(folder.path)
    write_line(catalogue.say("started", lab=number, title=catalogue.title(folder.lab), folder=path))
    write_line()
    who = str(folder.progress["name"])
    if first_win := checks_of(folder.lab).get("first_win"):
        sentence, *lines = catalogue.first_win(folder.lab, who, first_win(who))
        write_lines([sentence, *(f"  {line}".rstrip() for line in lines), ""])
    first = folder.lab.graded[0]
    write_line(catalogue.say("go-there", folder=shlex.quote(path)))
    write_line(catalogue.say("start-readme"))
    values = {"file": ANSWERS_FILE, "name": first.answers[0], "exercise": first.id}
    write_line(catalogue.say("start-next", **values))
    write_line(catalogue.say("start-check", exercise=first.id))


@command.command("reset", epilog=example("kminilog lab reset 1.2"))
@click.argument("what", metavar="N[.M]", required=False)
@click.option("--all", "is_all", is_flag=True, help="Reset all labs that have a work folder here.")
@course_options
def reset(what: str | None, is_all: bool, catalogue: Catalogue) -> None:
    """Put the starter back in the place of an answer, and keep a backup."""
    if (what is None) != is_all:
        raise click.UsageError(catalogue.say("reset-what"))
    if what is not None and "." in what:
        _reset_one(exercise_of(what), catalogue)
        return
    labs = [lab_of(what)] if what else [lab for lab in all_labs() if _state(lab) != "-"]
    if not labs:
        write_line(catalogue.say("no-progress"))
    for lab in labs:
        folder = folder_of(lab)
        _say_reset(folder.answers_path, folder.reset_all(catalogue.language), catalogue)


def _reset_one(exercise: Exercise, catalogue: Catalogue) -> None:
    folder = folder_of(lab_of(exercise.lab))
    if not exercise.answers:
        raise click.UsageError(catalogue.say("nothing-to-reset", exercise=exercise.id))
    try:
        backup = folder.reset(exercise, catalogue.language)
    except UnreadableError as error:
        text = catalogue.say("reset-unreadable", reason=error, lab=exercise.lab)
        raise click.ClickException(text) from None
    _say_reset(folder.answers_path, backup, catalogue)


def _say_reset(answers: Path, backup: Path | None, catalogue: Catalogue) -> None:
    write_line(catalogue.say("reset-done", file=answers))
    if backup:
        write_line(catalogue.say("reset-backup", backup=backup))


@command.command("progress", epilog=example("kminilog lab progress"))
@click.option("--html", type=OutputFile(), help="Write a page with a picture of the engine.")
@json_option
@course_options
def progress(html: Path | None, as_json: bool, catalogue: Catalogue) -> None:
    """Show what has passed here and below, and which decisions of the engine are yours."""
    rows = []
    found = []
    done: list[str] = []
    folders, others = folders_below(Path.cwd())
    for place in others:
        complain(catalogue.say("folder-left-out", folder=printable(place)))
    for folder in folders:
        lab, passed = folder.lab, folder.passed
        done += passed
        points = folder.points
        most = sum(each.points for each in lab.graded)
        title, state = catalogue.title(lab), _state_of(folder)
        rows.append((lab.number, title, state, f"{points}/{most}", " ".join(passed)))
        found.append({"lab": lab.number, "passed": passed, "points": points, "max_points": most})
    rooms = rooms_of(done)
    if as_json:
        decided = {"yours": count_yours(rooms), "all": len(decisions())}
        write_document({"labs": found, "decisions": decided})
    elif rows:
        write_table(catalogue.say("progress-headings").split(" | "), rows)
        write_line()
        write_lines(engine_lines(rooms, catalogue))
    else:
        write_line(catalogue.say("no-progress"))
    if html:
        write_output(html, engine_page(rooms, catalogue).encode())


for each in (check_command, exam, watch, hint, predict, run, solution):
    command.add_command(each)
