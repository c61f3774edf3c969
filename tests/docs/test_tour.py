"""docs/tour.md: its commands print what it shows, and reach its excerpts in their order.

The excerpts stand in the page, so that every viewer of Markdown shows them. After a change of the
source, `python -m tests.docs.test_tour` writes them anew.
"""

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from kminilog.course.judging.patching import library_answer
from tests.docs.test_tutorial import sessions

FILE = Path(__file__).parents[2] / "docs" / "tour.md"
PAGE = FILE.read_text()
# Where a function stands, then its lines.
EXCERPT = re.compile(r"^`([\w.]+)`:\n\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What reaches the excerpts of each section.
REACHED_BY = {
    "Into a batch": "produce",
    "To the leader": "produce",
    "Into the log": "produce",
    "Its index entry": "produce",
    "After a crash": "recover",
    "Found again": "find",
    "Fetched": "consume",
    "Committed": "consume",
}
# Calls of the package's functions, one a line in the file `calls`, in order.
WATCH = """
import sys
from kminilog.cli.main import main

def note(frame, event, arg):
    module = frame.f_globals.get("__name__", "")
    if event == "call" and module.startswith("kminilog."):
        calls.append(f"{module.removeprefix('kminilog.')}.{frame.f_code.co_qualname}")

calls = []
sys.setprofile(note)
try:
    main(sys.argv[1:])
finally:
    sys.setprofile(None)
    with open("calls", "w") as file:
        print(*calls, sep="\\n", file=file)
"""
KMINILOG = f'kminilog() {{ "{sys.executable}" -c "$WATCH" "$@"; }}\n'


def stops(command: str) -> list[str]:
    """Return the excerpts that a command is to reach, in the order of the page."""
    parts = (part.split("\n", 1) for part in PAGE.split("\n## ")[1:])
    return [
        stop
        for title, text in parts
        if REACHED_BY.get(title) == command
        for stop, _ in EXCERPT.findall(text)
    ]


def missed(wanted: list[str], calls: list[str]) -> list[str]:
    """Return the stops that are not reached, or not after the one before."""
    rest = iter(calls)
    return [stop for stop in wanted if not any(call == stop for call in rest)]


@pytest.mark.processes
def test_commands_print_what_the_page_shows_and_reach_its_excerpts(tmp_path):
    reached = {}
    for command, output in sessions(PAGE):
        done = subprocess.run(
            ["bash", "-c", KMINILOG + command],
            cwd=tmp_path,
            env=os.environ | {"WATCH": WATCH},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert (command, done.returncode, done.stdout) == (command, 0, output)
        for verb in set(command.split()) & set(REACHED_BY.values()):
            reached[verb] = (tmp_path / "calls").read_text().splitlines()
    for verb in REACHED_BY.values():
        assert len(stops(verb)) > 1
        assert missed(stops(verb), reached[verb]) == [], verb


def test_stop_in_the_wrong_order_is_seen():
    assert missed(["a", "c", "b"], ["a", "b", "c"]) == ["b"]


def excerpt(symbol: str) -> str:
    """Return a function of the package as it is now, without its docstring."""
    source = dedent(inspect.getsource(library_answer(symbol)))
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert ast.get_docstring(function)
    docstring, lines = function.body[0], source.splitlines(keepends=True)
    head, body = lines[: docstring.lineno - 1], lines[docstring.end_lineno :]
    return "".join(head) + "".join(body).lstrip("\n")


def with_excerpts(page: str) -> str:
    """Return a page with each excerpt taken from the source anew."""
    return EXCERPT.sub(lambda found: f"`{found[1]}`:\n\n```python\n{excerpt(found[1])}```", page)


def test_excerpts_are_what_the_source_is_now():
    assert EXCERPT.findall(PAGE)
    assert with_excerpts(PAGE) == PAGE, "write them anew: python -m tests.docs.test_tour"


def test_each_excerpt_is_reached_by_a_command():
    reached = [stop for verb in dict.fromkeys(REACHED_BY.values()) for stop in stops(verb)]
    assert reached == [stop for stop, _ in EXCERPT.findall(PAGE)]


if __name__ == "__main__":
    FILE.write_text(with_excerpts(PAGE))
