"""What the commands of `lab` share: which language, which exercises, which folder. Source: ours."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from kminilog.course.catalogue import Catalogue, language_of_locale, languages
from kminilog.course.material import LABS, Exercise, Lab, exercise_of, lab_of
from kminilog.course.work_folder import WorkFolder

LANGUAGE = "KMINILOG_LANGUAGE"
"""The variable of the environment that names the language."""


def to_language(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the language that an option names; BadParameter if the course does not have it."""
    if value is not None and value not in languages():
        known = ", ".join(map(repr, languages()))
        raise click.BadParameter(f"{value!r} is not one of {known}.", ctx, param)
    return value


def _to_catalogue(ctx: click.Context, param: click.Parameter, value: str | None) -> Catalogue:
    return Catalogue(to_language(ctx, param, value) or language_of_locale())


def use_labs(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:
    """Let this command, and the processes that it starts, take the labs of a folder."""
    if value is None:
        return
    before = os.environ.get(LABS)
    os.environ[LABS] = str(value.absolute())

    def restore() -> None:
        del os.environ[LABS]
        os.environ.update({} if before is None else {LABS: before})

    ctx.call_on_close(restore)


language_option = click.option(
    "--language",
    "catalogue",
    metavar="CODE",
    envvar=LANGUAGE,
    callback=_to_catalogue,
    help="Language of the sentences, en or zh.  "
    "[default: KMINILOG_LANGUAGE, else the locale, else en]",
)
labs_option = click.option(
    "--labs",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    callback=use_labs,
    is_eager=True,
    expose_value=False,
    help="Labs folder of your own.  [default: KMINILOG_LABS, else the course's]",
)
Command = TypeVar("Command", bound=Callable[..., Any])


def course_options(command: Command) -> Command:
    """Add what all commands about labs take: a labs folder, and a language."""
    return labs_option(language_option(command))


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
