"""The texts of a lab in every language: the same exercises, numbers, code and commands."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import kminilog
from kminilog.course.answers import Answers
from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue, languages
from kminilog.course.material import Exercise, all_labs, lab_of, labs_folder
from kminilog.course.starter_file import starter_in, with_docs
from kminilog.text import columns

PACKAGE = Path(kminilog.__file__).parent
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


def test_program_that_reads_is_no_human_reader_in_chinese():
    texts = [path for path in [*labs_folder().rglob("*"), *PACKAGE.rglob("*")] if "zh" in str(path)]
    found = [
        path for path in texts if path.suffix in (".md", ".toml") and "读者" in path.read_text()
    ]
    assert found == []


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


def docs_of(exercise: Exercise) -> dict[str, str]:
    """Return what the docstrings of a starter say in front of their examples, by name."""
    tree = ast.parse((lab_of(exercise.lab).folder / "starter.py").read_text(encoding="utf-8"))
    parts = [node for node in tree.body if getattr(node, "name", "") in exercise.answers]
    nodes = [node for part in parts for node in ast.walk(part) if hasattr(node, "name")]
    docs = {node.name: ast.get_docstring(node) for node in nodes}
    return {name: doc.partition(">>>")[0] for name, doc in docs.items() if doc}


@pytest.mark.parametrize("language", OTHERS)
def test_docstrings_of_starters_are_all_translated_with_the_same_code_and_numbers(language):
    exercises = [exercise for lab in all_labs() for exercise in lab.exercises]
    english = {each.id: docs_of(each) for each in exercises}
    ours = {each.id: Catalogue(language).texts(each).docs for each in exercises}
    assert {id: docs.keys() for id, docs in ours.items()} == {
        id: docs.keys() for id, docs in english.items()
    }
    differs = [
        (id, name, facts_of(doc), facts_of(ours[id][name]))
        for id, docs in english.items()
        for name, doc in docs.items()
        if facts_of(doc) != facts_of(ours[id][name])
    ]
    assert differs == []


def code_of(source: str) -> str:
    """Return the code of a file without its titles, and with docstrings of examples alone."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        has_doc = isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        if has_doc and (doc := ast.get_docstring(node)):
            node.body[0] = ast.Expr(ast.Constant("".join(doc.partition(">>>")[1:])))
    return ast.unparse(tree)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("lab", all_labs(), ids=lambda lab: lab.work_name)
def test_starter_in_a_language_has_the_same_code_and_examples_and_nothing_is_written(
    lab, language, tmp_path
):
    path = tmp_path / "answers.py"
    path.write_text(starter_in(lab, language), encoding="utf-8")
    answers = Answers(path)
    english = (lab.folder / "starter.py").read_text(encoding="utf-8")
    assert code_of(answers.source) == code_of(english)
    assert len(answers.source.split("\n\n\n")) == len(english.split("\n\n\n"))
    assert [line for line in answers.source.splitlines() if columns(line) > 100] == []
    names = [name for exercise in lab.exercises for name in exercise.answers]
    assert [name for name in names if not answers.is_untouched(name)] == []
    for exercise in lab.exercises:
        for name, doc in Catalogue(language).texts(exercise).docs.items():
            assert " ".join(doc.split()) in " ".join(answers.source.split()), name


ENGLISH_STARTER = '''class A:
    """One."""

    def f():
        """One.

        >>> 1
        """
'''


def test_docstring_changes_up_to_its_examples_and_only_that_of_the_name():
    assert with_docs(ENGLISH_STARTER, {"f": "Two.\n\nThree."}) == ENGLISH_STARTER.replace(
        """One.

        >>>""",
        """Two.

        Three.

        >>>""",
    )


def test_starter_without_docs_in_a_language_stays_english():
    for docs in ({}, {"B": "Two."}):
        assert with_docs(ENGLISH_STARTER, docs) == ENGLISH_STARTER


@pytest.mark.parametrize("language", OTHERS)
def test_texts_have_the_same_exercises_answers_hints_and_numbers(language):
    differs = []
    for lab in all_labs():
        english, ours = (
            tomllib.loads((lab.folder / name / "texts.toml").read_text(encoding="utf-8"))
            for name in (DEFAULT_LANGUAGE, language)
        )
        assert ours.keys() == english.keys(), lab.number
        for each in ours.values():  # English ones are in the starter
            if isinstance(each, dict):
                each.pop("docs", None)
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
