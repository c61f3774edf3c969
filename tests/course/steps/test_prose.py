"""The words of the step-throughs: labels are words, and text that is shown raw has no markup."""

import re
from collections.abc import Iterator

import pytest

from kminilog.cli.step.command import scene_command
from kminilog.course.steps.document import Document
from tests.support.course.steps.scenes import NAMES, made

OTHERS = [
    ("failover", "--switch", "on"),
    ("flip", "--dialect", "documented", "--at", "11"),
    ("null-or-empty", "--dialect", "documented"),
    ("rebalance", "--strategy", "cooperative-sticky"),
    ("rebuild-index", "--damage", "missing"),
    ("rebuild-index", "--damage", "short"),
    ("torn-tail", "--cut", "5"),
]
IDENTIFIER = re.compile(r"[A-Za-z]+_[A-Za-z_]+|[a-z]+[A-Z][a-z]+[A-Z]?\w*\(")
FILE_NAME = re.compile(r"\d{20}|\.log\b|\.index\b")


def words_of(document: Document) -> Iterator[str]:
    """Yield all that a step-through says in words of its own, names of values and columns too."""
    yield document.title
    for step in document.steps:
        yield step.say
        if step.ask:
            yield step.ask.question
            for choice in step.ask.choices:
                yield from (choice.answer, choice.why)
        yield from step.state.values
        for table in step.state.tables:
            yield from (table.title, *table.columns)
        if step.state.picture:
            yield step.state.picture.title
            yield from (lane.name for lane in step.state.picture.lanes)


def check(document: Document) -> None:
    for text in words_of(document):
        assert "`" not in text, text
        assert not IDENTIFIER.search(text), text
        assert " behind" not in text, text
    assert not FILE_NAME.search(document.title), document.title


@pytest.mark.parametrize("name", NAMES)
def test_step_through_says_it_in_words(name):
    check(made(name))


@pytest.mark.parametrize("words", OTHERS, ids=" ".join)
def test_step_through_with_other_arguments_says_it_in_words(words):
    check(scene_command(words[0]).document(words[1:]))


def test_sentences_have_an_end_and_no_place_that_was_not_filled():
    for name in NAMES:
        for step in made(name).steps:
            whys = [choice.why for choice in step.ask.choices] if step.ask else []
            for text in (step.say, *whys):
                assert re.search(r"[.?!]['\")]?$", text), text
                assert not re.search(r"\{[a-z]| [,;]|  ", text), text
