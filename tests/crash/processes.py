"""Starting the other processes of these tests: real ones, with a pipe for what they say."""

import subprocess
import sys
from pathlib import Path

_PROJECT = Path(__file__).parents[2]


def start(module: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a module of tests/crash with these arguments; the caller ends it (it is a context
    manager)."""
    command = [sys.executable, "-m", f"tests.crash.{module}", *map(str, arguments)]
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
    """Wait until the process has ended well, and return the rest of what it said."""
    said, complaints = process.communicate()
    assert process.returncode == 0, complaints
    return said
