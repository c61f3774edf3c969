"""A term: what is read, shown and written in which week, and what is asked in the exam.

    labs/term/plan.toml           the units of a term, in their order
    labs/term/en/                 a language each
        texts.toml                what the plan says
        students.md               what students get to read before they begin
        exam_01.md                five questions about lab 1, with answers

Source: ours.
"""

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue
from kminilog.course.material import Lab, all_labs, beside_labs

_ROSTER = "student,lab,deadline,submitted,group,id,email\n"


class Unit(NamedTuple):
    """One unit: the pages of docs/, the step-through, and the lab.

    A unit without a lab has a name in `texts.toml`, and its minutes in `plan.toml`.
    """

    number: int
    title: str
    read: list[str]
    step: str
    lab: Lab | None
    minutes: int


def term_file(name: str, language: str) -> Path:
    """Return a file of a language; that of English where this language lacks it."""
    path = beside_labs("term") / language / name
    return path if path.is_file() else beside_labs("term") / DEFAULT_LANGUAGE / name


def units(catalogue: Catalogue) -> list[Unit]:
    """Return the units of a term. One whose lab is not there stays if it has a name.

    A lab that the plan does not have comes before the last unit, the exam.
    """
    plan = tomllib.loads((beside_labs("term") / "plan.toml").read_text(encoding="utf-8"))
    labs = {lab.number: lab for lab in all_labs()}
    entries = [entry for entry in plan["unit"] if "name" in entry or entry["lab"] in labs]
    planned = {entry.get("lab") for entry in entries}
    entries[-1:-1] = [
        {"lab": lab.number, "read": [], "step": lab.step}
        for lab in all_labs()
        if lab.number not in planned
    ]
    return [
        _unit(number, entry, labs.get(entry.get("lab", 0)), catalogue)
        for number, entry in enumerate(entries, start=1)
    ]


def _unit(number: int, entry: dict[str, Any], lab: Lab | None, catalogue: Catalogue) -> Unit:
    title = catalogue.title(lab) if lab else str(_texts(catalogue)["units"][entry["name"]])
    minutes = lab.minutes if lab else entry["minutes"]
    return Unit(number, title, entry["read"], entry["step"], lab, minutes)


def term(weeks: int, catalogue: Catalogue) -> dict[str, bytes]:
    """Return the files of a term of so many weeks, by their path.

    In a short term a week has several units; in a long one some weeks have none. A lab of a folder
    of one's own may have no exam questions: then it has no file.
    """
    files = {"plan.md": _plan(weeks, catalogue).encode(), "roster.csv": _ROSTER.encode()}
    for lab in all_labs():
        exam = term_file(f"exam_{lab.number:02}.md", catalogue.language)
        if exam.is_file():
            files[exam_path(lab)] = exam.read_bytes()
    return files


def exam_path(lab: Lab) -> str:
    """Return the path of a lab's exam questions among the files of a term."""
    return f"exam/{lab.work_name}.md"


def _plan(weeks: int, catalogue: Catalogue) -> str:
    texts = _texts(catalogue)
    every = units(catalogue)
    rows = []
    for week in range(1, weeks + 1):
        own = [unit for unit in every if (unit.number - 1) * weeks // len(every) + 1 == week]
        rows += [_row(week, unit) for unit in own] or [[str(week), texts["nothing"], *[""] * 4]]
    headings = texts["headings"]
    table = [headings, ["---"] * len(headings), *rows]
    lines = [f"| {' | '.join(row)} |" for row in table]
    before, after = str(texts["before"]).format(weeks=weeks), str(texts["after"])
    return before + "\n".join(lines) + "\n\n" + after


def _row(week: int, unit: Unit) -> list[str]:
    return [
        str(week),
        unit.title,
        ", ".join(f"docs/{name}.md" for name in unit.read),
        f"`kminilog step {unit.step}`" if unit.step else "",
        str(unit.lab.number) if unit.lab else "",
        str(unit.minutes),
    ]


def _texts(catalogue: Catalogue) -> dict[str, Any]:
    return tomllib.loads(term_file("texts.toml", catalogue.language).read_text(encoding="utf-8"))
