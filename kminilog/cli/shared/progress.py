"""Progress on stderr while a command works for a long time.

On a terminal it is one line that is updated, by rich, with a bar if it is known how much there is
to do. Elsewhere, or with NO_COLOR, it is a plain line every ten seconds, and none if the work is
done before. For a program it is a line of JSON for each step. It goes to the stderr of the
beginning, also while file descriptor 2 leads elsewhere, as it does while a JVM starts. A step is a
safe point for Ctrl-C; until the command gets to one, the line says that it ends. This module knows
no command.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TextIO

import click

from kminilog.cli.shared.interrupts import interruptible_call, is_interrupted
from kminilog.progress import TasksDone
from kminilog.text import printable

SECONDS_BETWEEN_LINES = 10.0


progress_option = click.option(
    "--progress",
    "progress_format",
    type=click.Choice(["json"]),
    help="Write progress to stderr as JSON, one object a line, for a program.",
)


@contextmanager
def working(title: str, *, as_json: bool = False) -> Iterator[Callable[[str], None]]:
    """Show progress; yields a function that takes the present step, a text or `TasksDone`."""
    lines = _moving_line if is_line_moving() else _plain_lines
    lines = _json_lines if as_json else lines
    with _own_stderr() as stderr, lines(title, stderr) as at:
        yield interruptible_call(at)


def is_line_moving() -> bool:
    """Tell if progress is one line that moves; else a step is shown after some seconds only."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")


@contextmanager
def working_if_long(title: str) -> Iterator[Callable[[str], None]]:
    """As `working`, from the first step on: before it nothing is shown and rich is not loaded.

    For work that rarely takes long. After the block a step shows nothing.
    """
    with ExitStack() as shown:
        at: Callable[[str], None] | None = None
        is_over = False

        def step(name: str) -> None:
            nonlocal at
            if not is_over:
                at = at or shown.enter_context(working(title))
                at(name)

        try:
            yield step
        finally:
            is_over = True


@contextmanager
def _own_stderr() -> Iterator[TextIO]:
    """Yield a stream of our own to where stderr leads now."""
    try:
        descriptor = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):  # it is not a file
        yield sys.stderr
        return
    stream = os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace")
    try:
        yield stream
    finally:
        with suppress(OSError):  # nobody reads it any more
            stream.close()


@contextmanager
def _moving_line(title: str, stderr: TextIO) -> Iterator[Callable[[str], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class StepColumn(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(_step_shown(title, task.description), overflow="ellipsis", no_wrap=True)

    class KnownBar(BarColumn):
        def render(self, task: Task) -> Any:
            return Text("") if task.total is None else super().render(task)

    pace = _Pace()

    def at(step: str) -> None:
        done = (step.done, step.tasks) if isinstance(step, TasksDone) else (0, None)
        text = f"{title}: {pace.told(step)}"
        progress.update(task, description=text, completed=done[0], total=done[1])

    # The clock comes first: a narrow terminal cuts the text, not the sign of life.
    columns = (SpinnerColumn(), TimeElapsedColumn(), KnownBar(bar_width=20), StepColumn(""))
    with Progress(*columns, console=Console(file=stderr), transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield at


class _Pace:
    """How long the present step has taken."""

    def __init__(self) -> None:
        self._step: str | None = None
        self._began = time.monotonic()

    def seconds_left(self, step: str) -> float | None:
        """Return how long a step takes still; None if nobody knows. Called with each step."""
        name = step.step if isinstance(step, TasksDone) else step
        if name != self._step:
            self._step, self._began = name, time.monotonic()
        if not isinstance(step, TasksDone):
            return None
        return step.seconds_left(time.monotonic() - self._began)

    def told(self, step: str) -> str:
        """Return the text of a step, with the time that is left."""
        left = self.seconds_left(step)
        return f"{step}, about {left:.0f} s left" if left else str(step)


def _step_shown(title: str, step: str) -> str:
    """Return what a line says of a step, or that the command was asked to end."""
    return printable(f"{title}: ending" if is_interrupted() else step)


@contextmanager
def _plain_lines(title: str, stderr: TextIO) -> Iterator[Callable[[str], None]]:
    began, finished = time.monotonic(), threading.Event()
    steps, pace = [title], _Pace()

    def report() -> None:
        while not finished.wait(SECONDS_BETWEEN_LINES):
            seconds = round(time.monotonic() - began)
            with suppress(OSError):
                line = f"kminilog: {_step_shown(title, steps[-1])} … {seconds} s"
                print(line, file=stderr, flush=True)

    reporter = threading.Thread(target=report, daemon=True)
    with suppress(RuntimeError):  # a browser has no threads, and no signs of life
        reporter.start()
    try:
        yield lambda step: steps.append(f"{title}: {pace.told(step)}")
    finally:
        finished.set()
        if reporter.ident:
            reporter.join()


@contextmanager
def _json_lines(title: str, stderr: TextIO) -> Iterator[Callable[[str], None]]:
    """Write each step as a line, but of equal ones at most one a second."""
    began, pace, last = time.monotonic(), _Pace(), ("", 0, -1.0)

    def at(step: str) -> None:
        nonlocal last
        done = step if isinstance(step, TasksDone) else None
        left, seconds = pace.seconds_left(step), time.monotonic() - began
        kind = (done.step, done.done) if done else (step.lstrip("0123456789"), 0)
        if kind == last[:2] and seconds - last[2] < 1:
            return
        last = (*kind, seconds)
        report = {
            "title": title,
            "step": done.step if done else step,
            "tasks_done": done and done.done,
            "tasks": done and done.tasks,
            "bytes_done": done and done.bytes_done,
            "bytes": done and done.bytes,
            "seconds": round(seconds, 1),
            "seconds_left": None if left is None else round(left, 1),
        }
        with suppress(OSError):
            print(json.dumps(report), file=stderr, flush=True)

    yield at
