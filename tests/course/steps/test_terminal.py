"""Step-throughs on a terminal: by keys, at 80 columns and 24 lines, and in a real one."""

import io
import os
import pty
import signal
import struct
import subprocess
import termios
from fcntl import ioctl

import pytest
from rich.console import Console

from kminilog.cli.step.command import scene_command
from kminilog.course.steps.terminal import BACK, DOWN, NEXT, Viewer
from tests.support.cli.command_line import PROGRAM, environment
from tests.support.course.steps.scenes import NAMES, made


def screen_of(viewer: Viewer, width: int = 80, height: int = 24) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, force_terminal=True, color_system=None)
    viewer._console = console
    console.print(viewer.frame(), end="")
    return out.getvalue().removesuffix("\n").split("\n")


def viewer_of(name: str, number: int = 1) -> Viewer:
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=True)
    return Viewer(made(name), console, lambda: "q", number)


def answered(viewer: Viewer, name: str, number: int) -> None:
    ask = made(name).steps[number - 1].ask
    if ask:
        wrong = next(n for n, choice in enumerate(ask.choices, start=1) if not choice.is_right)
        viewer.press(str(wrong))
        assert " ".join(made(name).steps[number - 1].say.split()) not in whole(viewer)
        viewer.press("a")


def whole(viewer: Viewer) -> str:
    """All that can be scrolled to, as one line."""
    return " ".join(" ".join(screen_of(viewer, 200, 2000)).split())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
def test_terminal_says_every_step_and_fits(name):
    viewer = viewer_of(name)
    for number, step in enumerate(made(name).steps, start=1):
        answered(viewer, name, number)
        assert " ".join(step.say.split()) in whole(viewer)
        lines = screen_of(viewer)
        assert len(lines) == 24
        assert max(map(len, lines)) <= 80
        assert f"{number} / {len(made(name).steps)}" in lines[0]
        viewer.press(NEXT)
    assert f"{number} / {number}" in screen_of(viewer)[0]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("wide", [60, 120])
@pytest.mark.parametrize("name", NAMES)
def test_terminal_is_as_wide_as_it_is_and_cuts_no_word(name, wide):
    for number in range(1, len(made(name).steps) + 1):
        viewer = viewer_of(name, number)
        viewer.press("a")
        known = {word for line in screen_of(viewer, 400, 2000) for word in line.split()}
        lines = screen_of(viewer, wide, 2000)
        assert max(map(len, lines)) <= wide
        assert {word for line in lines for word in line.split()} <= known | {"…"}


def test_terminal_marks_what_has_changed_since_the_step_before():
    told = [line.split() for line in screen_of(viewer_of("murmur2", 3), 100, 40)]
    marked = [words[words.index("→") + 1] for words in told if "→" in words and "=" in words]
    assert marked == ["round", "h"]


def test_terminal_names_the_thought_behind_a_wrong_answer():
    viewer = viewer_of("murmur2", 9)
    assert "choose by number" in whole(viewer)
    viewer.press("1")
    assert "Not -13: That is the remainder in C and Java" in whole(viewer)
    assert "Six readings" not in whole(viewer)
    viewer.press("5")
    assert "Right 10" in whole(viewer)
    assert "Six readings" in whole(viewer)


@pytest.mark.parametrize(
    "width, below",
    [(80, "18  key length    00 00 00 05"), (50, "22  key           61 6c 69 63 65")],
)
def test_terminal_names_fields_in_full_and_does_not_break_their_bytes(width, below):
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=True)
    document = scene_command("record").document(["--dialect", "kafka"])
    screen = "\n".join(screen_of(Viewer(document, console, lambda: "q", 11), width, 40))
    assert "27  value length  00 00 00 04" in screen
    assert below in screen


def test_terminal_takes_only_ten_keys_for_digits():
    viewer = viewer_of("murmur2", 9)
    viewer.press("²")  # a key of French keyboards
    assert "choose by number" in whole(viewer)
    for key in ("g", *"4" * 5000, "\r"):
        viewer.press(key)
    assert "9 / 9" in screen_of(viewer)[0]


def test_terminal_goes_to_a_number_and_scrolls():
    viewer = viewer_of("find-offset")
    for key in ("g", "2", "4", "\r"):
        viewer.press(key)
    assert "24 / 24" in screen_of(viewer)[0]
    assert "more lines" in screen_of(viewer, 80, 12)[-1]
    first = screen_of(viewer, 80, 12)[1]
    viewer.press(DOWN)
    assert screen_of(viewer, 80, 12)[1] != first
    viewer.press(BACK)
    assert "23 / 24" in screen_of(viewer)[0]
    viewer.press("?")
    assert "first step, last step" in whole(viewer)


class Terminal:
    """`kminilog` in a terminal of 80 columns and 24 lines."""

    def __init__(self, *words: str) -> None:
        self.master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [*PROGRAM, *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environment(), "TERM": "xterm"},
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.said = b""

    def until(self, text: str) -> None:
        """Read until the terminal has shown this text."""
        while text.encode() not in self.said:
            self.said += os.read(self.master, 65536)

    def press(self, keys: str) -> None:
        self.said = b""
        os.write(self.master, keys.encode())

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.mark.processes
def test_terminal_is_stepped_by_keys_and_left_as_it_was():
    with Terminal("step", "murmur2") as terminal:
        terminal.until("1 / 9")
        terminal.press(NEXT)
        terminal.until("2 / 9")
        terminal.press("\x1b[F")
        terminal.until("9 / 9")
        terminal.press("5")
        terminal.until("Right 10")
        terminal.press("q")
        terminal.until("\x1b[?1049l")  # the screen of before
        assert terminal.process.wait() == 0


@pytest.mark.processes
def test_terminal_ctrl_c_ends_quietly():
    with Terminal("step", "murmur2", "--from-step", "4") as terminal:
        terminal.until("4 / 9")
        terminal.press("\x03")
        terminal.until("\x1b[?1049l")
        assert terminal.process.wait() == 128 + signal.SIGINT
        assert b"Traceback" not in terminal.said
