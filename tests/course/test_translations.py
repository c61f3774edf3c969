"""The texts of a lab in every language: the same exercises, numbers, code and commands."""

import re
import tomllib

import pytest

from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue, languages
from kminilog.course.material import all_labs

OTHERS = sorted({*languages()} - {DEFAULT_LANGUAGE})
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
NUMBER = re.compile(r"(?<![\w.])\d[\d,.]*\d|\b0x[0-9a-f]+")  # of two digits or more


def parts_of(readme: str) -> dict[str, str]:
    """Return the text about each exercise by its number, and what stands before the first."""
    head, *parts = re.split(r"^\*\*(\d+\.\d+) ", readme, flags=re.MULTILINE)
    return {"": head, **dict(zip(parts[::2], parts[1::2], strict=True))}


def facts_of(text: str) -> dict[str, object]:
    prose = " ".join(FENCED.sub("", text).split())  # code may go on in the next line
    return {
        "code blocks": FENCED.findall(text),
        "code": sorted(set(CODE.findall(prose))),
        "numbers": sorted(set(NUMBER.findall(CODE.sub("", prose)))),
    }


def shape_of(value: object) -> object:
    """Return what two translations share: keys, lengths of lists, code and numbers of texts."""
    if isinstance(value, dict):
        return {key: shape_of(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shape_of(each) for each in value]
    return sorted(set(NUMBER.findall(str(value))))


@pytest.mark.parametrize("language", OTHERS)
def test_readme_has_the_same_exercises_numbers_code_and_commands(language):
    differs = []
    for lab in all_labs():
        english, ours = (
            parts_of(Catalogue(name).readme(lab).read_text(encoding="utf-8"))
            for name in (DEFAULT_LANGUAGE, language)
        )
        assert list(ours) == list(english), lab.number
        for exercise, text in english.items():
            wanted, found = facts_of(text), facts_of(ours[exercise])
            differs += [
                (lab.number, exercise, what, wanted[what], found[what])
                for what in wanted
                if wanted[what] != found[what]
            ]
    assert differs == []


@pytest.mark.parametrize("language", OTHERS)
def test_texts_have_the_same_exercises_answers_hints_and_numbers(language):
    differs = []
    for lab in all_labs():
        english, ours = (
            tomllib.loads((lab.folder / name / "texts.toml").read_text(encoding="utf-8"))
            for name in (DEFAULT_LANGUAGE, language)
        )
        assert ours.keys() == english.keys(), lab.number
        differs += [
            (lab.number, key, shape_of(english[key]), shape_of(ours[key]))
            for key in english
            if shape_of(english[key]) != shape_of(ours[key])
        ]
    assert differs == []


@pytest.mark.parametrize("language", languages())
def test_hint_shows_where_a_command_ends(language):
    """Of `kminilog dump FILE - and look`, the dash would be typed, too."""
    bad = [
        (exercise.id, hint)
        for lab in all_labs()
        for exercise in lab.exercises
        for hint in Catalogue(language).texts(exercise).hints
        if re.search("kminilog [^`]* - ", hint)
    ]
    assert bad == []


def test_readme_of_another_number_and_another_command_differs():
    text = "**1.1 A** (15 minutes). Type `ls`, 34 bytes.\n\n```console\n$ ls\n```\n"
    assert facts_of(text) == facts_of(text.replace("minutes", "分钟"))
    assert facts_of(text) != facts_of(text.replace("15", "16"))
    assert facts_of(text) != facts_of(text.replace("`ls`", "`la`"))
    assert facts_of(text) != facts_of(text.replace("$ ls", "$ la"))
