"""What holds for every step-through."""

import json
import os
import shlex
from pathlib import Path

import pytest

from kminilog.cli.step.command import scene_command
from kminilog.explain.document import compact
from kminilog.explain.drawing import svg
from kminilog.explain.page import render_beside
from kminilog.explain.text import render_short, render_text
from kminilog.format.dialect import DIALECTS
from kminilog.pages import PAGE_BYTES
from tests.support.cli.command_line import CommandLine, assert_one_line, assert_refused
from tests.support.course.steps.scenes import NAMES, SCHEMA, made

IN_ORDER = [
    "record",
    "docs-vs-bytes",
    "null-or-empty",
    "flip",
    "today",
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
    "acks",
    "range",
    "rebalance",
    "streams",
    "journey",
    "wire",
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


def test_step_svg_writes_the_picture_of_each_step(tmp_path):
    run = CommandLine(tmp_path / "log-dir").ok("step", "murmur2", "--svg", tmp_path / "slides")
    assert run.out == f"{tmp_path / 'slides'}: 9 pictures of murmur2\n"
    written = {path.name: path.read_text() for path in (tmp_path / "slides").iterdir()}
    assert sorted(written) == [f"murmur2-0{number}.svg" for number in range(1, 10)]
    assert written["murmur2-04.svg"] == svg(
        made("murmur2").steps[3].state.picture, made("murmur2").steps[3].say
    )


EMPTY = [
    "murmur2 --key=",
    "murmur2 --key-hex=",
    "record empty.log",
    "docs-vs-bytes --key= --value=",
    "null-or-empty --value=",
    "flip --key= --value=",
    "append-roll ''",
    "sparse-index --count 1",
    "torn-tail --cut 0",
    "edges empty-0",
    "sticky --batch-bytes 0",
    "journey ''",
]


@pytest.mark.parametrize("line", EMPTY)
def test_step_with_empty_input_is_drawn_step_by_step_and_as_a_page(tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    Path("empty.log").touch()
    commands = CommandLine(tmp_path / "log-dir")
    commands.ok("topic", "create", "empty", "--partitions", 1)
    steps = commands("step", *shlex.split(line), "--json").document["steps"]
    for output in ("--svg", "--html"):
        assert commands("step", *shlex.split(line), output, "there" + output).code in (0, 1)
    drawn = sorted(Path("there--svg").iterdir())
    pictures = [step["state"]["picture"] for step in steps if step["state"]["picture"]]
    assert len(drawn) == len(pictures)
    assert all(picture["lanes"] for picture in pictures)
    assert all("<svg" in path.read_text() for path in drawn)
    assert "<svg" in Path("there--html").read_text()


def test_step_svg_names_files_of_an_earlier_run_and_leaves_them(tmp_path):
    commands = CommandLine(tmp_path / "log-dir")
    (slides := tmp_path / "slides").mkdir()
    others = ("murmur2-1.svg", "murmur2-10.svg", "murmur2-x.svg", "range-10.svg")
    for name in others:
        (slides / name).write_text("old")
    run = commands("step", "murmur2", "--svg", slides)
    told = f"kminilog: {slides}: not written by this run: murmur2-1.svg, murmur2-10.svg\n"
    assert (run.code, run.err) == (0, told)
    assert [(slides / name).read_text() for name in others] == ["old"] * 4


def test_step_from_step_holds_for_pictures_and_pages_but_json_is_the_whole_document(tmp_path):
    commands = CommandLine(tmp_path / "log-dir")
    words = ["step", "murmur2", "--from-step", 8]
    run = commands.ok(*words, "--svg", tmp_path / "slides")
    assert run.out == f"{tmp_path / 'slides'}: 2 pictures of murmur2\n"
    assert {path.stem for path in (tmp_path / "slides").iterdir()} == {"murmur2-08", "murmur2-09"}
    assert commands.ok(*words, "--json").document == json.loads(compact(made("murmur2")))
    for beside in ([], ["--beside", "range"]):
        commands.ok(*words, *beside, "--html", tmp_path / "page.html")
        assert '<script data-first="8">' in (tmp_path / "page.html").read_text()


def test_step_beside_writes_one_page_with_both(tmp_path):
    page = tmp_path / "page.html"
    other = "murmur2 --key bob"
    run = CommandLine(tmp_path / "log-dir").ok("step", "range", "--beside", other, "--html", page)
    assert run.out == f"{page}: 16 steps beside 8\n"
    beside = scene_command("murmur2").document(["--key", "bob"])
    assert page.read_text() == render_beside(made("range"), beside)


def test_step_beside_reads_the_same_log_dir(tmp_path):
    commands = CommandLine(tmp_path / "log-dir")
    commands.ok("topic", "create", "orders", "--partitions", "1")
    (lines := tmp_path / "lines").write_text("a\nb\n")
    commands.ok("produce", "orders", lines)
    words = ["step", "edges", "--beside", "edges orders-0", "--html", tmp_path / "page.html"]
    commands.ok(*words)
    assert "at the edges of orders-0" in (tmp_path / "page.html").read_text()


def test_pages_beside_each_other_are_about_as_long_as_both():
    for name in NAMES:
        page = render_beside(made(name), made(name)).encode()
        assert len(page) < 2.1 * PAGE_BYTES, name  # the markup of a page in a page is escaped


WRONG = [
    ("--all", "write both: kminilog step --all --html DIR"),
    ("--html pages", "write both"),
    ("--all --html pages murmur2", "need no name"),
    ("nothing", "No such command 'nothing'"),
    ("", "name a command of `kminilog step`: list, record"),
    ("murmur2 --from-step 10", "no step 10: murmur2 has steps 1 to 9"),
    ("murmur2 --html missing/page.html", "there is no directory"),
    ("murmur2 --svg a-file", "is a file; name a directory"),
    ("murmur2 --beside range", "--beside makes a page: add --html FILE"),
    ("murmur2 --beside list --html x", "'list' is no step-through"),
    ("murmur2 --beside '' --html x", "'' names no step-through"),
    ("murmur2 --beside 'range --json' --html x", "--json is an option of the"),
    ("murmur2 --beside 'range --help' --html x", "--help is an option of the"),
    ("murmur2 --beside 'range --member' --html x", "requires an argument"),
    ("find-offset orders-0", "which offset of orders-0?"),
    ("murmur2 --seed 1", "No such option '--seed'"),
    ("record 00000000000000000007.index --dialect kafka", "--dialect changes nothing here: an"),
    ("record --at 31", "the sample has no byte 31: it has bytes 0 to 30"),
    ("record --dialect kafka --at 35", "the sample has no byte 35: it has bytes 0 to 34"),
    ("failover --seed 1", "--seed changes nothing here: nothing is chosen at random"),
    ("failover --switch on --on-failure stop", "--on-failure changes nothing here"),
    ("failover --replicas 2 --switch on", "--switch changes nothing here: a copy leads"),
    ("failover --replicas 2 --on-failure stop", "--on-failure changes nothing here"),
    ("journey alice:book --seed 1", "--seed changes nothing here: the line has a key"),
    ("journey book --partitions 1 --seed 1", "--seed changes nothing here: the topic has one"),
    ("sticky --partitions 1 --seed 1", "--seed changes nothing here: there is one partition"),
    ("sticky --partitioner round-robin --seed 1", "--seed changes nothing here: no partition is"),
    ("murmur2 --beside 'failover --seed 1' --html x", "--seed changes nothing here"),
    ("record 00000000000000000000.log --html 00000000000000000000.log", "is the file that is"),
    ("flip --to ff", "--to is the new value of the byte at --at"),
    ("append-roll --segment-bytes 40 some-words-of-a-long-line", "raise --segment-bytes"),
]

DRAWN = {"sticky", "failover --switch on", "rebalance", "journey keyless"}


def test_step_takes_a_seed_where_it_can_act_and_nowhere_else():
    taking = {name for name in NAMES if "seed" in {one.name for one in scene_command(name).params}}
    assert taking == {words.split()[0] for words in DRAWN}
    for name, *words in map(str.split, DRAWN):
        made_of = {
            compact(scene_command(name).document([*words, "--seed", str(seed)]))
            for seed in range(3)
        }
        assert len(made_of) > 1, name


def test_step_dialect_is_documented_by_default_and_acts_in_every_step_that_takes_it():
    taking = [n for n in NAMES if "dialect" in {one.name for one in scene_command(n).params}]
    assert {"record", "null-or-empty", "flip", "torn-tail"} <= set(taking)
    for name in taking:
        documented, kafka = (
            compact(scene_command(name).document(["--dialect", one])) for one in DIALECTS
        )
        assert compact(made(name)) == documented != kafka, name


def test_step_bad_input_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = ("a-file", "00000000000000000000.index", "00000000000000000000.log")
    for name in (*files, "00000000000000000007.index"):
        Path(name).write_text("")
    assert_refused(CommandLine(tmp_path / "log-dir"), tmp_path, WRONG, "step")


def test_scenes_have_a_picture_at_each_step_and_begin_with_none_of_their_questions():
    for name in NAMES:
        steps = made(name).steps
        assert all(step.state.picture for step in steps), name
        assert steps[0].ask is None, name
