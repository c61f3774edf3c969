"""What the commands of `lab` share: which language, which exercises, which folder. Source: ours."""

from pathlib import Path

import click

from kminilog.course.catalogue import Catalogue, language_of_locale, languages
from kminilog.course.material import Exercise, Lab, exercise_of, lab_of
from kminilog.course.work_folder import WorkFolder


def _to_catalogue(ctx: click.Context, param: click.Parameter, value: str | None) -> Catalogue:
    return Catalogue(value or language_of_locale())


language_option = click.option(
    "--language",
    "catalogue",
    type=click.Choice(languages()),
    envvar="KMINILOG_LANGUAGE",
    callback=_to_catalogue,
    help="Language of the sentences.  [default: KMINILOG_LANGUAGE, else the locale, else en]",
)


def wanted_exercises(text: str) -> tuple[Lab, list[Exercise]]:
    """Return the lab and the exercises that `1` or `1.2` asks for."""
    if "." in text:
        exercise = exercise_of(text)
        return lab_of(exercise.lab), [exercise]
    lab = lab_of(text)
    return lab, list(lab.exercises)


def folder_of(lab: Lab) -> WorkFolder:
    """Return the lab's work folder; NoWorkFolderError if none is here (see `WorkFolder.find`)."""
    return WorkFolder.find(lab, Path.cwd())
