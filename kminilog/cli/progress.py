"""Progress on stderr while a command works for a long time.

On a terminal it is one line that is updated, by rich. Elsewhere, or with NO_COLOR, it is a plain
line every ten seconds, and none if the work is done before. A step is a safe point for Ctrl-C. This
module knows no command.
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
    """Show progress; yields a function that takes the present step."""
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        with _moving_line(title) as at:
            yield interruptible_call(at)
    else:
        with _plain_lines(title) as at:
            yield interruptible_call(at)


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
