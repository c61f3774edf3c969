"""Sources whose keys and values Python reads by itself, in tasks of Spark or without Spark.

    spark.source.records    files --> JVM --> SQL --> Arrow --> the task's Python
    here                    files ----------------------------> the task's Python

If no SQL expression is asked for, no record has to pass through the JVM. That passage costs more
than all later work on a record. This module knows which formats can be read so, and not how.
Source: ours.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

import pyarrow as pa

from kminilog.source.description import Source
from kminilog.source.file_columns import FileColumns
from kminilog.source.files import SourceFile
from kminilog.source.parquet_columns import ParquetColumns
from kminilog.source.tasks import Tasks

Item = TypeVar("Item")
AnyColumns = ParquetColumns | FileColumns


class Columns(Protocol[Item]):
    """The keys and values of a source, in items that tasks read: row groups, pieces of files."""

    @property
    def size_bytes(self) -> int:
        """How many bytes all items have, as far as that is known."""
        ...

    def groups(self, cores: int) -> list[list[Item]]:
        """Return the items of each task: neighbours, with about as many bytes in each task."""
        ...

    def read(self, items: Sequence[Item], /) -> Iterator[pa.RecordBatch]:
        """Yield the records of items in source order, with the columns of `read_source`."""
        ...


def columns_of(
    source: Source, files: Sequence[SourceFile], tasks: Tasks | None = None
) -> AnyColumns | None:
    """Return the columns of a source; None if `read_source` has to read it.

    With `tasks`, large CSV files are cut; these tasks look where (csv_cuts.py).
    """
    return ParquetColumns.of(source, files) or FileColumns.of(source, files, tasks)
