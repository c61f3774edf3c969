"""docs/life-of-a-message.md: its commands reach the stops in the order of the page."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PAGE = PROJECT / "docs" / "life-of-a-message.md"
STOP = re.compile(r"^\| `([a-z_0-9.]+\.[A-Za-z0-9_.]+)` \|", re.M)
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


def test_stop_in_the_wrong_order_is_seen():
    assert missed(["a", "c", "b"], ["a", "b", "c"]) == ["b"]
