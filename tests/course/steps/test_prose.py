"""The words of the step-throughs: labels are words, and text that is shown raw has no markup."""

import re

import pytest

from kminilog.cli.step.command import scene_command
from kminilog.explain.document import Document
from tests.support.course.steps.scenes import NAMES, made, words_of

OTHERS = [
    ("failover", "--switch", "on"),
    ("failover", "--replicas", "2"),
    ("flip", "--dialect", "kafka", "--at", "11"),
    ("null-or-empty", "--dialect", "kafka"),
    ("rebalance", "--strategy", "cooperative-sticky"),
    ("rebuild-index", "--damage", "missing"),
    ("rebuild-index", "--damage", "short"),
    ("torn-tail", "--cut", "5"),
]
IDENTIFIER = re.compile(r"[A-Za-z]+_[A-Za-z_]+|[a-z]+[A-Z][a-z]+[A-Z]?\w*\(")
FILE_NAME = re.compile(r"\d{20}|\.log\b|\.index\b")


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
