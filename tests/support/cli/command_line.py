"""Running the command line: in this process where that is enough, else as a process of its own."""

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from kminilog.cli.main import main
from tests.support.processes import Process
from tests.support.trees import tree_of

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
    """`kminilog` with one log dir, or with what another option names."""

    def __init__(self, log_dir: Path, option: str = "--log-dir") -> None:
        self.log_dir = log_dir
        self._option = option

    def __call__(self, *arguments: str | Path | int, stdin: bytes = b"") -> Run:
        """Run a command in this process."""
        texts = [self._option, str(self.log_dir), *map(str, arguments)]
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
            [*PROGRAM, self._option, str(self.log_dir), *arguments],
            env=environment(),
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
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
        process.wait()
    return seen.decode().replace("\r\n", "\n")


def faults_of(run: Run, code: int, *parts: str) -> list[str]:
    """Return why a command did not end with this code and one line that says all of this."""
    line = run.err
    is_line = line.startswith("kminilog: ") and line.endswith("\n") and line.count("\n") == 1
    checks = {
        f"the exit code is {run.code}, not {code}": run.code == code,
        "it writes to stdout": run.out == "",
        "stderr is not one line that begins with 'kminilog: '": is_line,
        "there is a traceback": "Traceback" not in line,
        **{f"it does not say {part!r}": part in line for part in parts},
    }
    return [fault for fault, holds in checks.items() if not holds]


def assert_one_line(run: Run, code: int, *parts: str) -> None:
    """Assert that a command ended with this code and one line that says all of this."""
    faults = faults_of(run, code, *parts)
    assert not faults, (faults, run)


def assert_refused(
    command: Callable[..., Run],
    directory: Path,
    rows: Iterable[tuple[str, ...]],
    *before: str,
    without: tuple[str, ...] = (),
) -> None:
    """Assert that each row of a table is refused: exit code 2, one line, and no file is changed.

    A row is what a user types, as in a shell, and what the line says of it. `before` are the words
    that all rows begin with. Nothing below `directory` may change, but for files named in `without`
    and for times: a writer that has nothing to do writes its own files anew as it closes.
    """

    def contents() -> dict[str, tuple[object, ...]]:
        return {name: one[:2] for name, one in tree_of(directory, without=without).items()}

    __tracebackhide__ = True  # the rows that do not hold say it all
    offenders = []
    files = contents()
    for typed, *parts in rows:
        run = command(*before, *shlex.split(typed))
        faults = faults_of(run, 2, *parts)
        now = contents()
        changed = sorted(name for name in {*files, *now} if files.get(name) != now.get(name))
        files = now
        if changed:
            faults.append(f"it changed {', '.join(changed)}")
        if faults:
            words = shlex.join([*before, *shlex.split(typed)])
            offenders.append(f"{words}: {'; '.join(faults)}\n    {run}")
    assert not offenders, "\n".join(["not refused as the table says:", *offenders])


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
