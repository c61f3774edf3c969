"""`course similar`: pairs of answers that are alike. Source: ours."""

from itertools import groupby
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from kminilog.cli.lab.options import labs_option
from kminilog.cli.shared.named_files import DirectoryName
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import warn_all, write_document, write_line, write_table
from kminilog.course.teaching.similarity import (
    CodePlace,
    Pair,
    StudentCluster,
    clusters_of,
    similar_pairs,
)
from kminilog.course.teaching.submissions import submissions_in
from kminilog.text import count

_IN_A_PAIR = 2  # students


@click.command("similar", epilog=example("kminilog course similar submissions"))
@click.argument("submissions", type=DirectoryName())
@json_option
@labs_option
def similar_command(submissions: Path, as_json: bool) -> None:
    """List pairs of functions of two students that are alike.

    Names, strings, comments and layout do not count, nor what the starter, the README or the
    course's own answer has. Short functions are left out: they are alike by chance. The command
    runs no code of students. A pair is a reason to look at both places, and no proof. Pairs that
    have a student in common stand together.
    """
    with TemporaryDirectory() as unpacked:
        found = submissions_in(submissions, Path(unpacked))
        warn_all(found.notices)
        warn_all(f"{name}: {fault}" for name, fault in found.students.items() if fault)
        pairs = similar_pairs(found.handed_in)
        clusters = clusters_of(pairs)
    if as_json:
        return write_document(
            {"pairs": [*map(_json, pairs)], "clusters": [*map(_json_of_cluster, clusters)]}
        )
    if not pairs:
        return write_line("No two functions of different students are alike.")
    for cluster in clusters:
        students = len(cluster.students)
        if students > _IN_A_PAIR:
            write_line(
                f"lab {cluster.lab}, {', '.join(cluster.students)}: "
                f"{cluster.alike} of {comb(students, _IN_A_PAIR)} pairs are alike:"
            )
        for (lab, *files), rows in groupby(cluster.pairs, key=_files):
            own = list(rows)
            write_line(f"lab {lab}, {' and '.join(files)}: {count(len(own), 'function')}")
            write_table(
                ("alike", "function", "lines", "and lines"),
                [
                    (f"{e.share:.0%}", e.first.function, _lines(e.first), _lines(e.second))
                    for e in own
                ],
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


def _json_of_cluster(cluster: StudentCluster) -> dict[str, object]:
    return {"lab": cluster.lab, "students": cluster.students, "alike": cluster.alike}
