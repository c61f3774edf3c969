"""What an engine does for verification: it checks segments, reads both sides, and moves rows.

    this process    one task after the other, rows stay in memory     local_engine.py
    Spark           tasks on executors, a shuffle moves rows          spark/verify/engine.py

Both run the same functions on the same batches, so they find the same. Source: ours.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

import pyarrow as pa

from kminilog.jobs.accounting.log_parts import Part
from kminilog.jobs.accounting.row_join import Judged, RowJoin
from kminilog.jobs.source.columns import AnyColumns
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.source_files import SourceFile
from kminilog.storage.log_dir import LogDir
from kminilog.storage.topics import Topic
from kminilog.verification.records import SmallFiles
from kminilog.verification.summaries import PartitionSummary

Result = TypeVar("Result")
Groups = Sequence[Sequence[Part]]
"""The parts of a log, by the task that reads them."""


class Reader(Protocol):
    """Reads one source, and the log beside it."""

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        ...

    @property
    def columns(self) -> AnyColumns | None:
        """What reads the source in tasks; None if it is a DataFrame."""
        ...

    @property
    def task_count(self) -> int:
        """How many tasks read the source; 0 if it is a DataFrame, which Spark divides."""
        ...

    def map_source(self, work: Callable[[Iterator[pa.RecordBatch]], list[Result]]) -> list[Result]:
        """Return what `work` returns for the records of each task."""
        ...

    def map_parts(self, groups: Groups, work: Callable[[Part], list[Result]]) -> list[Result]:
        """Return what `work` returns for each part, in the order of the parts."""
        ...

    def compare(self, join: RowJoin, groups: Groups) -> list[Judged]:
        """Return what the row join finds: the rows of both sides paired and judged."""
        ...


class Engine(Protocol):
    """Runs a verification. Raises KMiniLogErrors, in one line."""

    @property
    def name(self) -> str:
        """As `verify --json` prints it."""
        ...

    def check(
        self,
        log_dir: LogDir,
        topics: Sequence[Topic],
        records: SmallFiles,
        *,
        strict_index: bool,
        is_full: bool,
    ) -> Iterator[PartitionSummary]:
        """Yield the summary of each partition, in the order of `topics`."""
        ...

    def reading(
        self, source: Source, files: Sequence[SourceFile]
    ) -> AbstractContextManager[Reader]:
        """Return a reader of a source; it is used inside a `with` block."""
        ...
