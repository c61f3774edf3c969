"""Progress on stderr while a command works for a long time.

On a terminal it is one line that is updated, by rich. Elsewhere, or with NO_COLOR, it is a plain
line every ten seconds, and none if the work is done before. It goes to the stderr of the beginning,
also while file descriptor 2 leads elsewhere, as it does while a JVM starts. A step is a safe point
for Ctrl-C; until the command gets to one, the line says that it ends. This module knows no command.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TextIO

from kminilog.cli.shared.interrupts import interruptible_call, is_interrupted
from kminilog.text import printable

SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def working(title: str) -> Iterator[Callable[[str], None]]:
    """Show progress; yields a function that takes the present step."""
    lines = _moving_line if is_line_moving() else _plain_lines
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
    from rich.progress import Progress, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class StepColumn(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(_step_shown(title, task.description), overflow="ellipsis", no_wrap=True)

    # The clock comes first: a narrow terminal cuts the text, not the sign of life.
    columns = (SpinnerColumn(), TimeElapsedColumn(), StepColumn(""))
    with Progress(*columns, console=Console(file=stderr), transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda step: progress.update(task, description=f"{title}: {step}")


def _step_shown(title: str, step: str) -> str:
    """Return what a line says of a step, or that the command was asked to end."""
    return printable(f"{title}: ending" if is_interrupted() else step)


@contextmanager
def _plain_lines(title: str, stderr: TextIO) -> Iterator[Callable[[str], None]]:
    began, finished = time.monotonic(), threading.Event()
    steps = [title]

    def report() -> None:
        while not finished.wait(SECONDS_BETWEEN_LINES):
            seconds = round(time.monotonic() - began)
            with suppress(OSError):
                line = f"kminilog: {_step_shown(title, steps[-1])} … {seconds} s"
                print(line, file=stderr, flush=True)

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield lambda step: steps.append(f"{title}: {step}")
    finally:
        finished.set()
        reporter.join()
