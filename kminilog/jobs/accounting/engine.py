"""What an engine does for verification: it checks segments, reads both sides, and moves rows.

    this process    one task after the other, rows stay in memory     local_engine.py
    Spark           tasks on executors, a shuffle moves rows          spark/verify/engine.py

Both run the same functions on the same batches, so they find the same. Source: ours.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from kminilog.jobs.accounting.checksum_pass import ChecksumPass, Compared
from kminilog.jobs.accounting.log_parts import Part
from kminilog.jobs.accounting.row_join import Judged, RowJoin
from kminilog.jobs.source.columns import AnyColumns
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.source_files import SourceFile
from kminilog.jobs.source.tasks import Tasks
from kminilog.storage.log_dir import LogDir
from kminilog.storage.topics import Topic
from kminilog.verification.findings import NewRest
from kminilog.verification.records import SmallFiles
from kminilog.verification.summaries import PartitionSummary

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
    def tasks(self) -> Tasks:
        """What runs tasks."""
        ...

    @property
    def task_count(self) -> int:
        """How many tasks read the source; 0 if it is a DataFrame, which Spark divides."""
        ...

    def sums(self, step: ChecksumPass, groups: Groups) -> Compared:
        """Return what the checksum pass finds: the sums of both sides, compared."""
        ...

    def compare(self, join: RowJoin, groups: Groups) -> Judged:
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
        rest: NewRest | None = None,
    ) -> Iterator[PartitionSummary]:
        """Yield the summary of each partition, in the order of `topics`.

        `rest` makes what takes the findings that a summary does not keep, in tasks.
        """
        ...

    def reading(
        self, source: Source, files: Sequence[SourceFile]
    ) -> AbstractContextManager[Reader]:
        """Return a reader of a source; it is used inside a `with` block."""
        ...
