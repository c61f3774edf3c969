"""Verification in this process: for small sources, which take less time than the start of Spark.

Whoever checks stored files alone does not wait for what reads sources: that is imported where a
source is read. Source: ours.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from kminilog.columns.twins import segment_check
from kminilog.storage.log_dir import LogDir
from kminilog.storage.topics import Topic
from kminilog.verification.findings import NewRest
from kminilog.verification.partition_checks import check_partitions
from kminilog.verification.records import SmallFiles
from kminilog.verification.summaries import CheckSegment, PartitionSummary

if TYPE_CHECKING:
    from kminilog.jobs.accounting.local_reader import LocalReader
    from kminilog.jobs.source.description import Source
    from kminilog.jobs.source.source_files import SourceFile


class LocalEngine:
    """Runs a verification in this process."""

    name = "local"

    def __init__(
        self,
        check: CheckSegment | None = None,
        progress: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Check segments with `check`; `progress` gets a line for each partition and step."""
        self._check = check or segment_check()
        self._progress = progress

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
        """Yield the summary of each partition, in the order of `topics`. O(bytes)."""
        return check_partitions(
            log_dir,
            topics,
            records,
            check_segment=partial(self._check, rest=rest) if rest else self._check,
            strict_index=strict_index,
            is_full=is_full,
            progress=self._progress,
        )

    @contextmanager
    def reading(self, source: "Source", files: "Sequence[SourceFile]") -> "Iterator[LocalReader]":
        """Yield a reader of a source."""
        from kminilog.jobs.accounting.local_reader import LocalReader
        from kminilog.jobs.source.columns import columns_of

        yield LocalReader(columns_of(source, files), self._progress)
