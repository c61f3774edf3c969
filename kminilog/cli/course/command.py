"""`kminilog course`: the lecturer's side. Source: ours."""

from functools import partial

import click

from kminilog.cli.course.grading import grade_command, stats_command
from kminilog.cli.course.similar import similar_command
from kminilog.cli.course.term import init_command, release_command
from kminilog.cli.lab.judging import PROGRAM, judged
from kminilog.cli.lab.options import labs_option
from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import complain, flush, write_document, write_line, write_lines
from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue
from kminilog.course.material import all_labs, lab_of
from kminilog.course.teaching.proof import Exposed, Flaw, exposed_in, flaws_of, missing_package

FLAWED = 1


@click.group("course", no_args_is_help=False, epilog=example("kminilog course check --lab 1"))
def command() -> None:
    """Check labs, and grade what students hand in."""


@command.command("check", epilog=example("kminilog course check --lab 1"))
@click.option("--lab", "number", help="Lab to check.  [default: all]", metavar="N")
@labs_option
@click.option("--no-spark", is_flag=True, help="Leave out what starts Spark.")
@json_option
def check(number: str | None, no_spark: bool, as_json: bool) -> int:
    """Prove that every lab accepts right answers and rejects wrong ones."""
    labs = all_labs() if number is None else (lab_of(number),)
    missing = partial(missing_package, no_spark=no_spark)
    labs = tuple(sorted(labs, key=missing))  # those that cannot be checked come last
    found = []
    english = Catalogue(DEFAULT_LANGUAGE)
    for lab in interruptible(labs):
        flaws = judged(partial(list[Flaw], flaws_of(lab, PROGRAM, no_spark=no_spark)))
        found += flaws
        for each in lab.exercises:
            if no_spark and each.needs_spark:
                complain(f"{each.id} was not checked: --no-spark leaves it out.")
        if not as_json:
            for flaw in flaws:
                write_line(f"  {flaw}")
            verdict = f"{len(flaws)} flaw{'s' * (len(flaws) > 1)}" if flaws else "ok"
            write_line(f"lab {lab.number}, {english.title(lab)}: {verdict}")
            write_lines(map(_exposed_line, exposed_in(lab)))
            flush()
    if as_json:
        flaws_json = [{"where": flaw.where, "what": flaw.what} for flaw in found]
        exposed = [each._asdict() for lab in labs for each in exposed_in(lab)]
        numbers = [lab.number for lab in labs]
        write_document({"labs": numbers, "flaws": flaws_json, "exposed": exposed})
    return FLAWED if found else 0


def _exposed_line(exposed: Exposed) -> str:
    counted = f"{len(exposed.counted)} wrong answers to {exposed.of}: {', '.join(exposed.counted)}"
    left_out = f"; not {', '.join(exposed.left_out)}" if exposed.left_out else ""
    return f"  {exposed.exercise} counts {counted}{left_out}"


for each in (init_command, release_command, grade_command, stats_command, similar_command):
    command.add_command(each)
