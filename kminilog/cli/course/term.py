"""`course init` and `release`: files for the lecturer, and files for the students. Source: ours."""

import re
from collections.abc import Mapping
from pathlib import Path

import click

from kminilog.cli.lab.options import course_options, language_option, use_labs
from kminilog.cli.shared.options import example
from kminilog.cli.shared.output import complain, write_line, write_lines
from kminilog.cli.shared.output_files import OutputDirectory, write_output
from kminilog.course.catalogue import Catalogue
from kminilog.course.material import all_labs, lab_of
from kminilog.course.teaching.release import release
from kminilog.course.teaching.term import exam_path, term
from kminilog.text import count, printable

_MOST_WEEKS = 52
_NUMBERS = re.compile(r"[\d, ]*")


@click.command("init", epilog=example("kminilog course init term"))
@click.argument("directory", type=OutputDirectory())
@click.option("--weeks", type=click.IntRange(1, _MOST_WEEKS), default=14, help="Weeks of the term.")
@course_options
def init_command(directory: Path, weeks: int, catalogue: Catalogue) -> None:
    """Write a term plan, a roster and exam questions into DIRECTORY, for you to edit."""
    files = term(weeks, catalogue)
    for path in files:
        if (directory / path).exists():
            reason = "is there already, and stays as it is; name another directory"
            raise click.UsageError(f"{directory / path} {reason}")
    _write(directory, files)
    for lab in all_labs():
        if exam_path(lab) not in files:
            complain(f"lab {lab.number} has no exam questions, so {exam_path(lab)} was left out")
    write_lines(sorted(str(directory / path) for path in files))


def _to_numbers(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[str]:
    """Return the numbers of labs; any other value is the folder that has the labs."""
    numbers = []
    for value in values:
        if _NUMBERS.fullmatch(value):
            numbers += value.split(",")
        elif Path(value).is_dir():
            use_labs(ctx, param, Path(value))
        else:
            told = f"{value!r} is no directory, and no numbers of labs, like 1,2"
            raise click.BadParameter(told, ctx, param)
    return numbers


@click.command("release", epilog=example("kminilog course release for-students --labs 1,2"))
@click.argument("out", type=OutputDirectory())
@click.option(
    "--labs",
    "numbers",
    metavar="N,...|DIR",
    multiple=True,
    callback=_to_numbers,
    is_eager=True,
    help="Labs to give out, like 1,2, or a labs folder of your own. Repeatable.  "
    "[default: all, of KMINILOG_LABS or the course]",
)
@language_option
def release_command(out: Path, numbers: list[str], catalogue: Catalogue) -> None:
    """Write what students get of the labs into the directory OUT.

    It has no solutions, no wrong and no other right answers. But an installed kminilog has them in
    the source of its library, for all to read.
    """
    labs = tuple(lab_of(each.strip()) for each in numbers) or all_labs()
    files = release(labs, catalogue.language)
    if out.exists():
        for path in sorted(out.rglob("*")):
            name = path.relative_to(out).as_posix()
            if not path.is_dir() and name not in files:
                reason = "is no file of this release; name an empty directory"
                raise click.UsageError(f"{out}/{printable(name)} {reason}")
    _write(out, files)
    titles = [f"  {lab.number}  {catalogue.title(lab)}" for lab in dict.fromkeys(labs)]
    write_line(f"{out}: {count(len(files), 'file')}, no answers in them:")
    write_lines(titles)
    write_line("An installed kminilog shows its source, answers included, to whoever looks.")


def _write(directory: Path, files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        write_output(directory / path, data)
