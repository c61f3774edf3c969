"""Starting the other processes of these tests: real ones, with a pipe for what they say.

What a process has said is read to its end through the stream, never by `communicate`, which leaves
out the lines that an earlier `readline` has taken from the pipe already.
"""

import signal
import subprocess
import sys
from pathlib import Path

_PROJECT = Path(__file__).parents[1]


def start(module: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a module of tests, as in "crash.reading_process", with these arguments; the caller ends
    it (it is a context manager)."""
    command = [sys.executable, "-m", f"tests.{module}", *map(str, arguments)]
    return subprocess.Popen(
        command,
        cwd=_PROJECT,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


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
