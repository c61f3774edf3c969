"""The plan of a term and its exam questions: complete, and the same in each language."""

import re
from pathlib import Path

import click
import pytest

from kminilog.cli.step.command import command
from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue, languages
from kminilog.course.material import all_labs, labs_folder
from kminilog.course.teaching.term import term, units
from tests.course.test_translations import CODE, FENCED, NUMBER

PROJECT = Path(__file__).parents[3]
QUESTIONS = 5


def weeks_of(plan: bytes) -> list[int]:
    """Return the week of each row of a plan."""
    return [int(week) for week in re.findall(r"^\| (\d+) \|", plan.decode(), re.M)]


@pytest.mark.parametrize("language", languages())
def test_each_lab_has_five_exam_questions_with_answers(language):
    bad = []
    for lab in all_labs():
        path = labs_folder() / "term" / language / f"exam_{lab.number:02}.md"
        text = path.read_text(encoding="utf-8")
        parts = re.split(r"^## (\d)\. .+$", text, flags=re.M)
        answer = {"en": "**Answer.** ", "zh": "**答案。** "}[language]
        if parts[1::2] != [str(number) for number in range(1, QUESTIONS + 1)]:
            bad.append((path.name, parts[1::2]))
        bad += [(path.name, part) for part in parts[2::2] if part.count(f"\n\n{answer}") != 1]
    assert bad == []


def test_exam_questions_have_the_same_numbers_and_code_in_each_language():
    differs = []
    for path in sorted((labs_folder() / "term" / DEFAULT_LANGUAGE).glob("*.md")):
        english, *others = (
            (labs_folder() / "term" / language / path.name).read_text(encoding="utf-8")
            for language in (DEFAULT_LANGUAGE, *sorted({*languages()} - {DEFAULT_LANGUAGE}))
        )
        for other in others:
            for pattern in (FENCED, CODE, NUMBER):
                wanted, found = ({*pattern.findall(text)} for text in (english, other))
                if wanted != found:
                    differs.append((path.name, wanted ^ found))
    assert differs == []


@pytest.mark.parametrize("language", languages())
def test_plan_names_labs_pages_and_step_throughs_that_are_there(language):
    steps = set(command.list_commands(click.Context(command)))
    every = units(Catalogue(language))
    assert [unit.lab for unit in every if unit.lab] == list(all_labs())
    pages = {path.stem for path in (PROJECT / "docs").glob("*.md")}
    assert {name for unit in every for name in unit.read} <= pages
    assert all(unit.read for unit in every[:-1])  # students have nothing else; the last is the exam
    assert {unit.step for unit in every if unit.step} <= steps
    assert all(unit.minutes for unit in every)


def test_plan_has_a_row_for_each_unit_and_each_week():
    catalogue = Catalogue("en")
    count = len(units(catalogue))
    for weeks in (1, 3, count - 1, count, count + 1, 52):
        found = weeks_of(term(weeks, catalogue)["plan.md"])
        assert sorted(found) == found
        assert set(found) == set(range(1, weeks + 1))
        assert len(found) == max(weeks, count)
