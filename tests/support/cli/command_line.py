"""Running the command line: in this process where that is enough, else as a process of its own."""

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from kminilog.cli.main import main
from tests.support.processes import Process

PROJECT = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-m", "kminilog"]


class Run(NamedTuple):
    """What a command did: its exit code, and what it wrote."""

    code: int
    out: str
    err: str
    out_bytes: bytes = b""

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The objects on stdout, one a line."""
        return [json.loads(line) for line in self.out.split("\n")[:-1]]


class CommandLine:
    """`kminilog` with one log dir."""

    def __init__(self, log_dir: Path) -> None:
        self.log_dir = log_dir

    def __call__(self, *arguments: str | Path | int, stdin: bytes = b"") -> Run:
        """Run a command in this process."""
        texts = ["--log-dir", str(self.log_dir), *map(str, arguments)]
        result = CliRunner().invoke(main, texts, input=stdin)
        return Run(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)

    def ok(self, *arguments: str | Path | int, stdin: bytes = b"") -> Run:
        """Run a command that must end with exit code 0 and say nothing on stderr."""
        run = self(*arguments, stdin=stdin)
        assert (run.code, run.err) == (0, ""), run
        return run

    def start(self, *arguments: str, **options: Any) -> Process[bytes]:
        """Start a command as a process of its own."""
        return Process(
            [*PROGRAM, "--log-dir", str(self.log_dir), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            **options,
        )


def environment() -> dict[str, str]:
    """Return the environment of a process that is to find this checkout, and buffers its output."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**kept, "PYTHONPATH": str(PROJECT)}


def on_a_terminal(*arguments: str, **variables: str) -> str:
    """Return what a command writes to stdout, if that is a terminal; it has 80 columns."""
    terminal, end = pty.openpty()
    env = {k: v for k, v in environment().items() if k != "NO_COLOR"}
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=end,
        stderr=subprocess.DEVNULL,
        env={**env, "TERM": "xterm", "COLUMNS": "80", **variables},
    )
    os.close(end)
    seen = b""
    try:
        while data := os.read(terminal, 4096):
            seen += data
    except OSError:
        pass  # the other end is closed: that is all
    finally:
        os.close(terminal)
        process.wait(timeout=30)
    return seen.decode().replace("\r\n", "\n")


def assert_one_line(run: Run, code: int, *parts: str) -> None:
    """Assert that a command ended with this code and one line that says all of this."""
    assert run.code == code, run
    assert run.out == "", run
    assert run.err.startswith("kminilog: "), run
    assert run.err.count("\n") == 1, run
    assert run.err.endswith("\n"), run
    assert "Traceback" not in run.err, run
    for part in parts:
        assert part in run.err, run


def assert_short_form(command_line: CommandLine, lines: list[str], own: Sequence[object]) -> None:
    """Assert that lines are a step-through in short, which ends with the command for all of it."""
    *short, empty, last = lines
    program, *arguments = shlex.split(last.removeprefix("Each step with its state: "))
    assert (program, arguments[0], empty) == ("kminilog", "step", "")
    assert [str(word) for word in own if str(word) not in arguments] == []
    full = command_line.ok(*arguments).out.splitlines()
    steps = command_line.ok(*arguments, "--json").document["steps"]
    end = full.index(f"── step {len(steps)} of {len(steps)}")
    assert short[-len(full[end:]) :] == full[end:]
    assert short[0] == full[0]
    told = " ".join(" ".join(short).split())
    assert all(f"{one['number']} {one['say']}" in told for one in steps[:-1])
    assert 2 * len(lines) < len(full)
