"""`course similar`: pairs of answers that are alike. Source: ours."""

from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from kminilog.cli.lab.options import labs_option
from kminilog.cli.shared.named_files import DirectoryName
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import warn_all, write_document, write_line, write_table
from kminilog.course.teaching.similarity import CodePlace, Pair, similar_pairs
from kminilog.course.teaching.submissions import submissions_in
from kminilog.text import count


@click.command("similar", epilog=example("kminilog course similar submissions"))
@click.argument("submissions", type=DirectoryName())
@json_option
@labs_option
def similar_command(submissions: Path, as_json: bool) -> None:
    """List pairs of functions of two students that are alike.

    Names, strings, comments and layout do not count, nor what the starter, the README or the
    course's own answer has. Short functions are left out: they are alike by chance. Nothing of a
    student's runs. A pair is a reason to look at both places, and no proof.
    """
    with TemporaryDirectory() as unpacked:
        found = submissions_in(submissions, Path(unpacked))
        warn_all(found.notices)
        warn_all(f"{name}: {fault}" for name, fault in found.students.items() if fault)
        pairs = similar_pairs(found.handed_in)
    if as_json:
        return write_document({"pairs": [_json(pair) for pair in pairs]})
    if not pairs:
        return write_line("No two functions of different students are alike.")
    for (lab, *files), rows in groupby(pairs, key=_files):
        own = list(rows)
        write_line(f"lab {lab}, {' and '.join(files)}: {count(len(own), 'function')}")
        write_table(
            ("alike", "function", "lines", "and lines"),
            [(f"{e.share:.0%}", e.first.function, _lines(e.first), _lines(e.second)) for e in own],
        )
    return None


def _files(pair: Pair) -> tuple[int, str, str]:
    one, other = (f"{place.student} ({place.file})" for place in (pair.first, pair.second))
    return pair.lab, one, other


def _lines(place: CodePlace) -> str:
    return f"{place.line}-{place.last_line}"


def _json(pair: Pair) -> dict[str, object]:
    places = {"first": pair.first._asdict(), "second": pair.second._asdict()}
    return {"lab": pair.lab, "alike": round(pair.share, 3), **places}
