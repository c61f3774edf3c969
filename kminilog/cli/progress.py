"""Signs of life on stderr while a command works for long.

On a terminal a line that moves, with rich; anywhere else, or with NO_COLOR, a plain line every ten
seconds. Nothing at all if the work is done before the first of them. A step is a safe point for
Ctrl-C. Knows no command.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from kminilog.cli.interrupts import interruptible_call
from kminilog.cli.output import warn
from kminilog.printable import printable

SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def working(title: str) -> Iterator[Callable[[str], None]]:
    """Show that work is going on; yields a function that takes what it is at right now."""
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        with _moving_line(title) as at:
            yield interruptible_call(at)
    else:
        with _plain_lines(title) as at:
            yield interruptible_call(at)


@contextmanager
def working_if_long(title: str) -> Iterator[Callable[[str], None]]:
    """As `working`, from the first step on: before it nothing is shown, and nothing loaded.

    For work that takes long in rare cases only. Behind the block a step shows nothing.
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
def _moving_line(title: str) -> Iterator[Callable[[str], None]]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(printable(title), total=None)
        yield lambda step: progress.update(task, description=printable(f"{title}: {step}"))


@contextmanager
def _plain_lines(title: str) -> Iterator[Callable[[str], None]]:
    began, finished = time.monotonic(), threading.Event()
    steps = [title]

    def report() -> None:
        while not finished.wait(SECONDS_BETWEEN_LINES):
            seconds = round(time.monotonic() - began)
            warn(f"{steps[-1]} … {seconds} s")

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield lambda step: steps.append(f"{title}: {step}")
    finally:
        finished.set()
        reporter.join()
