"""How far a long work is: a text for the user who waits, with numbers in it for a bar or a script.

What works calls a function with each step; it gets texts. Some of them are `TasksDone`. Whoever
shows them knows the clock, and so how much time is left.
"""

from collections.abc import Callable

Progress = Callable[[str], object]
"""What works tells its steps to."""


def untold(step: str) -> None:
    """Take a step that nobody waits for."""


class TasksDone(str):
    """How many tasks of a step are done, and how many bytes that is; tasks are about equally large.

    >>> TasksDone("reading", 3, 8, 96_000_000)
    'reading: 3 of 8 tasks, 36 of 96 MB'
    >>> TasksDone("joining", 1, 2).bytes_done
    0
    """

    step: str
    done: int
    tasks: int
    bytes: int

    def __new__(cls, step: str, done: int, tasks: int, size_bytes: int = 0) -> "TasksDone":
        """Make the text of it."""
        megabytes = [size_bytes * part // max(tasks, 1) // 1_000_000 for part in (done, tasks)]
        size = f", {megabytes[0]:,} of {megabytes[1]:,} MB" if size_bytes else ""
        self = super().__new__(cls, f"{step}: {done:,} of {tasks:,} tasks{size}")
        self.step, self.done, self.tasks, self.bytes = step, done, tasks, size_bytes
        return self

    @property
    def bytes_done(self) -> int:
        """How many bytes the tasks that are done had."""
        return self.bytes * self.done // max(self.tasks, 1)

    def seconds_left(self, seconds: float) -> float | None:
        """Return how long it takes still, if this has taken so long; None if no task is done.

        >>> TasksDone("reading", 3, 8).seconds_left(6)
        10.0
        """
        return seconds * (self.tasks - self.done) / self.done if self.done else None
