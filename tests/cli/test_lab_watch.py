"""`kminilog lab watch` on a terminal: a save is checked at once, and a key asks for more."""

import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from kminilog.cli.lab import judging
from kminilog.cli.lab.judging import Watched, wait_for_save_or_key
from kminilog.cli.main import main
from kminilog.course.judging.checking import check
from kminilog.course.judging.outcome import Outcome
from kminilog.course.material import exercise_of
from tests.cli.command_line import PROGRAM, environment
from tests.course.student import CHECKSUM, HEADER, start_lab

WRONG = HEADER.replace("4 +", "16 +")


class Screen:
    """A terminal on which `lab watch` runs."""

    def __init__(self, directory: Path, *words: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [*PROGRAM, "lab", "watch", *words],
            cwd=directory,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environment(), "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"},
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.said = ""

    def until(self, text: str) -> None:
        """Read until the terminal has shown this text."""
        while text not in self.said:
            ready, _, _ = select.select([self.master], [], [], 60)
            assert ready, (text, self.said)
            self.said += os.read(self.master, 65536).decode()
        self.said = self.said.split(text, 1)[1]

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def shows_nothing_for(self, seconds: float) -> bool:
        return not self.said.strip() and not select.select([self.master], [], [], seconds)[0]

    def end(self) -> int:
        """Wait for the end, and return the exit code."""
        code = self.process.wait(30)
        os.close(self.master)
        return code


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def folder(tmp_path):
    return start_lab(tmp_path)


@pytest.fixture
def screen(folder):
    screen = Screen(folder.path.parent, "1")
    yield screen
    if screen.process.poll() is None:
        os.killpg(screen.process.pid, signal.SIGKILL)
        screen.process.wait()


WAITING = "n: next exercise, h: hint, q: end.\r\n"


def test_watch_checks_each_save_and_goes_on_only_with_a_key(folder, screen):
    screen.until("1.1  todo")
    screen.until(WAITING)
    folder.answers_path.write_text(WRONG)
    screen.until("size-includes-12: header(")
    screen.until(WAITING)
    folder.answers_path.write_text(WRONG.replace("16 +", "77 +"))  # as many bytes
    screen.until("1.1  fail")
    screen.until(" gave 0000000000000000000000")
    screen.until(WAITING)
    new = folder.path / "answers.py.swp"  # as editors save: another file takes the name
    new.write_text(HEADER + CHECKSUM)
    new.rename(folder.answers_path)
    screen.until("1.1  pass")
    screen.until(WAITING)
    assert screen.shows_nothing_for(1)
    screen.press("x")
    assert screen.shows_nothing_for(0.5)
    screen.press("n")
    screen.until("1.2  pass")
    screen.until("Next: 1.6 Read the bytes of a message\r\n")
    screen.until(WAITING)
    screen.press("n")
    screen.until("1.6  error")
    screen.until(WAITING)
    screen.press("h")
    screen.until("Hint 1 of 3: ")
    screen.press("h")
    screen.until("Hint 2 of 3: ")
    screen.press("q")
    assert screen.end() == 1


def test_watch_goes_where_next_says_and_asks_what_is_to_be_predicted(folder, screen):
    for id, following in (("1.1", "1.2 "), ("1.2", "1.6 "), ("1.6", "1.7 One byte changes on")):
        screen.until(f"{id}  todo")
        screen.until(f"Next: {following}")
        screen.until(WAITING)
        screen.press("n")
    screen.until("1.7  todo")
    screen.until("Next: 1.3 ")
    screen.until("  1  none\r\n  2  the checksum\r\n")
    screen.until("Press the number of your answer. n: next exercise, q: end.\r\n")
    screen.press("5")
    assert screen.shows_nothing_for(0.5)
    screen.press("2")
    screen.until("Not quite. The checksum covers what stands after")
    screen.until("Right: ")
    screen.until("Next: 1.3 ")
    for following in ("1.3", "1.4", "1.5", "1.8", "1.1", "1.2", "1.6", "1.3"):  # 1.7 is done
        screen.press("n")
        screen.until(f"  {following}  todo")
        screen.until(WAITING)
    screen.press("q")
    assert screen.end() == 1


def test_watch_begins_with_what_is_not_done(folder):
    folder.answers_path.write_text(HEADER)
    folder.pass_exercise(exercise_of("1.1"))
    screen = Screen(folder.path, "1")
    screen.until("1.2  error")
    for exercise in folder.lab.graded:
        folder.pass_exercise(exercise)
    folder.note("predicted", exercise_of("1.7"), "none")
    screen.until(WAITING)
    screen.press("q")
    assert screen.end() == 1
    screen = Screen(folder.path, "1")
    screen.until("All of lab 1 passes.")
    assert screen.end() == 0


def test_lines_are_not_longer_than_the_terminal_is_wide(folder, screen):
    screen.until(WAITING)
    folder.answers_path.write_text(HEADER)
    screen.until("reader that\r\n             has the first 12 bytes")


@pytest.mark.parametrize("has_keys", [True, False])
def test_watch_begins_to_check_within_half_a_second_of_a_save(folder, monkeypatch, has_keys):
    """All that it waits is between two looks, which a clock of the test counts."""
    waited = []

    def wait_and_save(*words: object) -> tuple[list[object], ...]:
        waited.append(words[-1])
        if len(waited) == 3:
            folder.answers_path.write_text(HEADER)
        return [], [], []

    monkeypatch.setattr(judging, "time", SimpleNamespace(sleep=wait_and_save))
    monkeypatch.setattr(judging, "select", SimpleNamespace(select=wait_and_save))
    key = wait_for_save_or_key(Watched(folder.answers_path), input if has_keys else None)
    assert (key, len(waited)) == (None, 3)
    assert max(waited) <= 0.5


def test_watch_checks_a_save_that_it_has_seen_without_waiting_again(folder, monkeypatch):
    events = []

    def save(seconds: float) -> None:
        events.append("waits")
        folder.answers_path.write_text(HEADER)

    def checked(*words: Any) -> list[Outcome]:
        events.append("checks")
        return check(*words)

    monkeypatch.setattr(judging, "time", SimpleNamespace(sleep=save))
    monkeypatch.setattr(judging, "check", checked)
    monkeypatch.chdir(folder.path)
    run = CliRunner().invoke(main, ["lab", "watch", "1.1"])
    assert (run.exit_code, events) == (0, ["checks", "waits", "checks"]), run.output


def test_watch_sees_a_save_while_it_checks(folder, screen, tmp_path):
    screen.until(WAITING)
    mark = tmp_path / "checking"
    endless = f"open({str(mark)!r}, 'w')\n    while True: pass\n    return"
    folder.answers_path.write_text(HEADER.replace("return", endless))
    wait_until(mark.exists)
    folder.answers_path.write_text(HEADER)
    screen.until("1.1  timeout")
    screen.until("1.1  pass")


def test_watch_survives_a_file_that_goes_and_comes(folder, screen):
    screen.until(WAITING)
    folder.answers_path.unlink()
    screen.until("answers.py is missing")
    screen.until(WAITING)
    folder.answers_path.write_text(HEADER)
    screen.until("1.1  pass")


def test_ctrl_c_ends_watching_without_a_word(screen):
    screen.until(WAITING)
    screen.press("\x03")
    assert screen.end() == 130
    assert "Traceback" not in screen.said


def test_watch_ends_with_the_last_exercise(folder):
    folder.answers_path.write_text(HEADER)
    screen = Screen(folder.path, "1.1")
    screen.until("1.1  pass")
    screen.until(WAITING)
    screen.press("n")
    assert screen.end() == 0


def test_watch_of_an_exercise_that_is_left_undone_says_not_yet(folder):
    screen = Screen(folder.path, "1.1")
    screen.until("1.1  todo")
    screen.until(WAITING)
    screen.press("n")
    assert screen.end() == 1


def test_watch_without_a_terminal_goes_on_by_itself(folder):
    with subprocess.Popen(
        [*PROGRAM, "lab", "watch", "1.1"],
        cwd=folder.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as process:
        assert process.stdout
        for line in process.stdout:
            if "Watching" in line:
                break
        folder.answers_path.write_text(HEADER)
        rest = process.stdout.read()
        assert process.wait(30) == 0
    assert re.search(r"1\.1  pass", rest)
