"""docs/life-of-a-message.md: its commands reach the stops in the order of the page; its minutes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PAGE = PROJECT / "docs" / "life-of-a-message.md"
STOP = re.compile(r"^\| `([a-z_0-9.]+\.[A-Za-z0-9_.]+)` \|", re.M)
SECTION = re.compile(r"^### (.+) \((\d+) minutes\)\n([\s\S]+?)(?=^###? )", re.M)
LINES_A_MINUTE = 25
# Calls of the package's functions, one a line on stderr, in order.
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
    print(*calls, sep="\\n", file=sys.stderr)
"""


def stops(section: str) -> list[str]:
    """Return the stops of *Down* or *Up*, in the order of the page."""
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    return STOP.findall(text)


def calls_of(log_dir: Path, *words: str) -> list[str]:
    """Run a command in a process of its own and return the calls of all its functions."""
    command = [sys.executable, "-c", WATCH, "--log-dir", str(log_dir), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()


def missed(wanted: list[str], calls: list[str]) -> list[str]:
    """Return the stops that are not reached, or not after the one before."""
    rest = iter(calls)
    return [stop for stop in wanted if not any(call == stop for call in rest)]


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    command = [sys.executable, "-m", "kminilog.cli.main", "--log-dir", str(path)]
    subprocess.run([*command, "topic", "create", "orders", "--partitions", "2"], check=True)
    for name, lines in (("more.txt", "alice:more\n" * 200), ("line.txt", "alice:book\n")):
        (tmp_path / name).write_text(lines)
    produce = ["produce", "orders", str(tmp_path / "more.txt"), "--key-separator", ":"]
    subprocess.run([*command, *produce], check=True)
    return path


def test_stops_on_the_way_down_are_reached_by_produce_in_their_order(log_dir):
    line = str(log_dir.parent / "line.txt")
    calls = calls_of(log_dir, "produce", "orders", line, "--key-separator", ":")
    assert len(stops("Down")) > 15
    assert missed(stops("Down"), calls) == []


def test_stops_on_the_way_up_are_reached_by_find_in_their_order(log_dir):
    assert len(stops("Up")) > 5
    assert missed(stops("Up"), calls_of(log_dir, "find", "orders-1", "199")) == []


def room_of(stop: str) -> Path:
    """Return the module of a function or method: the longest beginning that is a file."""
    names = stop.split(".")
    paths = (
        (PROJECT / "kminilog").joinpath(*names[:end]).with_suffix(".py")
        for end in range(len(names), 0, -1)
    )
    return next(path for path in paths if path.is_file())


@pytest.mark.parametrize(
    ("title", "minutes", "text"),
    SECTION.findall(PAGE.read_text()),
    ids=[title for title, *_ in SECTION.findall(PAGE.read_text())],
)
def test_minutes_of_a_section_are_those_of_its_rooms(title, minutes, text):
    rooms = {room_of(stop) for stop in STOP.findall(text)}
    lines = sum(len(path.read_text().splitlines()) for path in rooms)
    assert int(minutes) % 5 == 0
    # One minute more than rounding to 5 allows, so that not each small change of a room counts.
    assert abs(int(minutes) - lines / LINES_A_MINUTE) <= 3.5, f"{title}: {lines} lines"


def test_each_section_with_stops_has_minutes():
    text = PAGE.read_text()
    assert len(SECTION.findall(text)) == len(re.findall(r"^\| stop \|", text, re.M)) == 5


def test_stop_in_the_wrong_order_is_seen():
    assert missed(["a", "c", "b"], ["a", "b", "c"]) == ["b"]
