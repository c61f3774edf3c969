"""What holds for every step-through."""

import json
import os

import pytest

from kminilog.cli.step.command import scene_command
from kminilog.course.steps.document import compact
from kminilog.course.steps.text import render_short, render_text
from tests.cli.command_line import CommandLine, assert_one_line
from tests.course.steps.scenes import NAMES, SCHEMA, made

IN_ORDER = [
    "record",
    "docs-vs-bytes",
    "null-or-empty",
    "flip",
    "append-roll",
    "sparse-index",
    "torn-tail",
    "rebuild-index",
    "find-offset",
    "edges",
    "murmur2",
    "sticky",
    "buffer-pool",
    "failover",
    "range",
    "rebalance",
    "journey",
]


def test_scenes_are_the_same_each_time():
    assert not [
        name for name in NAMES if compact(scene_command(name).document()) != compact(made(name))
    ]


def test_scenes_hold_what_viewers_rely_on():
    for name in NAMES:
        document = made(name)
        document.check()
        SCHEMA.validate(json.loads(compact(document)))
        assert document.name == name


def test_scenes_ask_before_they_tell():
    for name in NAMES:
        questions = [step.ask for step in made(name).steps if step.ask]
        assert questions, name
        assert all(len(ask.choices) >= 3 for ask in questions), name


def test_scenes_as_text_say_every_step():
    for name in NAMES:
        text = " ".join(" ".join(render_text(made(name))).split())
        assert not [s.say for s in made(name).steps if " ".join(s.say.split()) not in text], name


def test_scenes_in_short_say_every_step_and_end_with_the_last_one_in_full():
    for name in NAMES:
        *lines, empty, command = render_short(made(name), ["--seed", 7])
        steps = made(name).steps
        last = list(render_text(made(name), len(steps)))[1:]
        told = lines[2 : -len(last)]
        words = [f"{number} {step.say}" for number, step in enumerate(steps[:-1], start=1)]
        assert (lines[:2], lines[-len(last) :]) == ([made(name).title, ""], last)
        assert "".join("".join(told).split()) == "".join("".join(words).split())
        assert max(map(len, told)) <= 78, name
        assert (empty, command) == ("", f"Each step with its state: kminilog step {name} --seed 7")


def test_step_json_is_the_document(tmp_path):
    for name in NAMES:
        run = CommandLine(tmp_path / "log-dir").ok("step", name, "--json")
        assert run.document == json.loads(compact(made(name))), name


def test_step_list_names_every_scene(tmp_path):
    listed = CommandLine(tmp_path / "log-dir").ok("step", "list", "--json").document
    assert [one["name"] for one in listed] == list(NAMES)
    assert all(one["title"] and isinstance(one["takes"], str) for one in listed)


def test_scenes_are_in_the_order_of_a_course():
    assert list(NAMES) == IN_ORDER


def test_step_all_writes_a_page_for_each_scene_and_a_list(tmp_path):
    commands = CommandLine(tmp_path / "log-dir")
    commands.ok("step", "--all", "--html", tmp_path / "pages")
    written = {path.name: path.read_text() for path in (tmp_path / "pages").iterdir()}
    assert set(written) == {"index.html", *(f"{name}.html" for name in NAMES)}
    for name in NAMES:
        assert compact(made(name)) in written[f"{name}.html"]
        assert f'href="{name}.html"' in written["index.html"]


def test_step_html_writes_one_page_and_says_so(tmp_path):
    page = tmp_path / "page.html"
    run = CommandLine(tmp_path / "log-dir").ok("step", "murmur2", "--html", page)
    assert run.out == f"{page}: 9 steps\n"
    assert compact(made("murmur2")) in page.read_text()


def test_step_html_leaves_a_pipe_or_a_device_in_place(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    run = CommandLine(tmp_path / "log-dir")("step", "murmur2", "--html", pipe)
    assert_one_line(run, 2, "pipe is a FIFO; name a regular file")
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--all"], "write both: kminilog step --all --html DIR"),
        (["--html", "pages"], "write both"),
        (["--all", "--html", "pages", "murmur2"], "need no name"),
        (["nothing"], "No such command 'nothing'"),
        ([], "name a command of `kminilog step`: list, record"),
        (["murmur2", "--from-step", "10"], "no step 10: murmur2 has steps 1 to 9"),
        (["murmur2", "--html", "missing/page.html"], "there is no directory"),
        (["find-offset", "orders-0"], "which offset of orders-0?"),
    ],
)
def test_step_bad_input_is_one_line(tmp_path, monkeypatch, words, part):
    monkeypatch.chdir(tmp_path)
    assert_one_line(CommandLine(tmp_path / "log-dir")("step", *words), 2, part)


def test_scenes_have_a_picture_at_each_step_and_begin_with_none_of_their_questions():
    for name in NAMES:
        steps = made(name).steps
        assert all(step.state.picture for step in steps), name
        assert steps[0].ask is None, name
