"""Starting the other processes of these tests, real ones, and waiting for what they do.

What a process has said is read to its end through the stream, never by `communicate`, which leaves
out the lines that an earlier `readline` has taken from the pipe already.

Nothing here has a time limit: a busy machine may take ten times as long. A process that has died is
told at once; the `timeout` of pyproject.toml ends a test that hangs, and `end_all` what it started.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, AnyStr

_PROJECT = Path(__file__).parents[2]
_LOOK_SECONDS = 0.002
_started: list["subprocess.Popen[Any]"] = []


class Process(subprocess.Popen[AnyStr]):
    """A process that a failing test does not leave behind, nor what it has started itself: the
    `with` block that an error leaves kills both, and so does the end of the test."""

    def __init__(self, command: list[str], **options: Any) -> None:
        super().__init__(command, start_new_session=True, **options)
        _started.append(self)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind:
            end_at_once(self)
        super().__exit__(kind, error, traceback)


def end_at_once(process: "subprocess.Popen[Any]") -> None:
    """Kill a process that is the first of its group, and the group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            with suppress(BrokenPipeError):  # what it had not read yet
                stream.close()


def end_all() -> None:
    """End what the test has started and not ended: a test that succeeds has nothing left."""
    while _started:
        end_at_once(_started.pop())


def start(module: str, *arguments: object) -> Process[str]:
    """Start a module of tests, as in "crash.reading_process", with these arguments; the caller ends
    it (it is a context manager)."""
    command = [sys.executable, "-m", f"tests.support.{module}", *map(str, arguments)]
    return Process(
        command,
        cwd=_PROJECT,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_until(
    is_so: Callable[[], object], *, alive: "subprocess.Popen[Any] | None" = None
) -> None:
    """Wait until it is so. The process that is to make it so must live until then, if it is named;
    else its last words are the failure."""
    while not is_so():
        if alive and alive.poll() is not None and not is_so():
            said = alive.stderr.read() if alive.stderr else ""
            raise AssertionError(f"it ended with {alive.returncode}: {said}")
        time.sleep(_LOOK_SECONDS)


def cpu_seconds(pid: int) -> float:
    """Return how much processor time a process has had, all its threads together: how far it is,
    however busy the machine. What has ended and is waited for by nobody yet has its last figure.

    Linux only. The number of the clock is what clock_getcpuclockid returns in C.
    """
    return time.clock_gettime(~pid << 3 | 2)


def read_line(process: subprocess.Popen[str]) -> str:
    """Return the next whole line that the process says; what it died of, if it says no more."""
    assert process.stdout
    assert process.stderr
    line = process.stdout.readline()
    assert line.endswith("\n"), process.stderr.read()
    return line.rstrip("\n")


def finish(process: subprocess.Popen[str]) -> str:
    """Wait until the process has ended well, with no complaint; return the rest of what it said."""
    assert process.stdout
    assert process.stderr
    said, complaints = process.stdout.read(), process.stderr.read()
    assert (process.wait(), complaints) == (0, "")
    return said


def kill(process: subprocess.Popen[str]) -> list[str]:
    """Kill it with -9 while it is at work, and return the rest of what it said, whole lines."""
    assert process.poll() is None, f"it died by itself: {read_line(process)}"
    assert process.stdout
    assert process.stderr
    process.kill()
    with process:
        *whole_lines, _ = process.stdout.read().split("\n")
        assert process.wait() == -signal.SIGKILL, process.stderr.read()
    return whole_lines
