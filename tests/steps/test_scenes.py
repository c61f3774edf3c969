"""What holds for every step-through."""

import json

import pytest

from kminilog.cli.step import scene_command
from kminilog.steps.document import compact
from kminilog.steps.text import render_text
from tests.cli.command_line import CommandLine
from tests.steps.scenes import NAMES, SCHEMA, made

each_scene = pytest.mark.parametrize("name", NAMES)


@each_scene
def test_scene_is_the_same_each_time(name):
    assert compact(scene_command(name).document()) == compact(made(name))


@each_scene
def test_scene_holds_what_viewers_rely_on(name):
    document = made(name)
    document.check()
    SCHEMA.validate(json.loads(compact(document)))
    assert document.name == name
    assert 3 <= len(document.steps) <= 60  # more are not read
    assert len(compact(document)) <= 150_000


@each_scene
def test_scene_asks_before_it_tells(name):
    questions = [step.ask for step in made(name).steps if step.ask]
    assert questions
    assert all(len(ask.choices) >= 3 for ask in questions)


@each_scene
def test_scene_as_text_says_every_step(name):
    text = " ".join(" ".join(render_text(made(name))).split())
    for step in made(name).steps:
        assert " ".join(step.say.split()) in text


@each_scene
def test_step_json_is_the_document(name, tmp_path):
    run = CommandLine(tmp_path / "log-dir").ok("step", name, "--json")
    assert run.document == json.loads(compact(made(name)))


def test_step_list_names_every_scene(tmp_path):
    listed = CommandLine(tmp_path / "log-dir").ok("step", "list", "--json").document
    assert [one["name"] for one in listed] == list(NAMES)
    assert all(one["title"] and isinstance(one["takes"], str) for one in listed)
