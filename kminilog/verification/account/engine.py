"""An engine runs functions over tasks, in this process or in Spark (verification/account/spark.py).

    map        a function of one item, for each item
    exchange   functions that read items and yield (number, value); then functions of a number and
               all its values; here they are in memory, in Spark a shuffle moves them

Both run the same functions on the same batches, so they find the same. Who checks stored files
alone does not wait for what reads sources: that is imported where a source is read. Source: ours.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from kminilog.jobs.source.tasks import LocalTasks, Tasks
from kminilog.progress import Progress, untold
from kminilog.verification.partition_checks import segment_check
from kminilog.verification.summaries import CheckSegment

if TYPE_CHECKING:
    from kminilog.jobs.source.columns import AnyColumns
    from kminilog.jobs.source.description import Source
    from kminilog.jobs.source.source_files import SourceFile

Found = TypeVar("Found")
Numbered = tuple[int, Any]


class Input(NamedTuple):
    """What tasks read: groups of items, each with the function `read` of them.

    Without groups it is the DataFrame of a `SparkEngine`: `read` gets a batch of its rows.
    """

    groups: Sequence[Any] | None
    read: Callable[[Any], Iterable[Numbered]]


class Shuffle(NamedTuple):
    """A function of a number and all its values; Spark divides the numbers among some `tasks`.

    In this process all values are in memory at once, or only those of one of some `passes`: then
    both sides are read in each, and the numbers come in order.
    """

    tasks: int
    work: Callable[[int, Iterable[Any]], Iterable[Any]]
    passes: int | None = None


class Engine(Tasks, Protocol):
    """Runs a verification. Raises KMiniLogErrors, in one line.

    `check_segment` checks a segment, in a task. `told` takes what a task does, in words; Spark
    pickles it with the task.
    """

    name: str
    check_segment: CheckSegment
    told: Callable[[str], object]

    def check_access(self, log_dir: Path) -> None:
        """Raise an error if tasks could not read a log dir."""
        ...

    def at(self, place: str) -> AbstractContextManager["Engine"]:
        """Return the engine for a `with` block; its errors name the `place` that tasks read."""
        ...

    def columns(
        self, source: "Source", files: "Sequence[SourceFile]"
    ) -> "tuple[AnyColumns | None, Sequence[Any] | None]":
        """Return what reads a source in tasks, and the items of each; None of a DataFrame."""
        ...

    def exchange(
        self,
        sides: Sequence[Input],
        shuffles: Sequence[Shuffle],
        joined: Callable[[Iterable[Any]], Found],
        *,
        step: str,
        size_bytes: int,
    ) -> Found:
        """Read all sides, shuffle what was read, and return what the last function gave, joined.

        The last shuffle yields no numbers. `joined` may be called for some of the results first.
        `size_bytes` is how much is read.
        """
        ...


class LocalEngine(LocalTasks):
    """Runs a verification in this process: a small source takes less time than Spark's start."""

    name = "local"

    def __init__(
        self,
        check: CheckSegment | None = None,
        progress: Progress = untold,
    ) -> None:
        """Check segments with `check`; `progress` gets a line for each partition and step."""
        super().__init__()
        self.check_segment = check or segment_check()
        self.told = progress

    def check_access(self, log_dir: Path) -> None:
        """Do nothing: this process reads what it sees."""

    def at(self, place: str) -> AbstractContextManager[Engine]:
        return nullcontext(self)

    def columns(
        self, source: "Source", files: "Sequence[SourceFile]"
    ) -> "tuple[AnyColumns, list[list[Any]]]":
        """Return what reads a source, and all its items as one group."""
        from kminilog.jobs.source.columns import columns_of

        columns = columns_of(source, files)
        return columns, [[item for group in columns.groups(1) for item in group]]

    def exchange(
        self,
        sides: Sequence[Input],
        shuffles: Sequence[Shuffle],
        joined: Callable[[Iterable[Any]], Found],
        *,
        step: str,
        size_bytes: int,
    ) -> Found:
        """Return what the last function of all sides gave, joined."""

        def read() -> Iterator[Numbered]:
            for side in sides:
                yield from side.read(chain.from_iterable(side.groups or ()))

        found: Callable[[], Iterator[Any]] = read
        for shuffle in shuffles:
            found = partial(_shuffled, found, shuffle)
        return joined(found())


def _shuffled(values: Callable[[], Iterator[Numbered]], shuffle: Shuffle) -> Iterator[Any]:
    passes = shuffle.passes or 1
    for turn in range(passes):
        found = defaultdict[int, list[Any]](list)
        for number, value in values():
            if number % passes == turn:
                found[number].append(value)
        for number in sorted(found) if shuffle.passes else found:
            yield from shuffle.work(number, found[number])
