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

from kminilog.job_errors import SourceError
from kminilog.source.description import Source
from kminilog.source.file_columns import FileColumns, absent_members, names_of
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


def needs_spark(source: Source, files: Sequence[SourceFile]) -> SourceError:
    """Return the error for a source that has no such columns, for those who do without Spark."""
    asked = [name for name in (source.key, source.value) if name is not None]
    if source.key_expr is not None:
        why = "--key-expr is SQL"
    elif source.format == "parquet":
        why = "without it, --key and --value must be columns of text or bytes in all Parquet files"
    elif source.format == "json" and (absent := absent_members(files, asked)):
        why = f"its first JSON lines have no member {absent[0]!r}"
    elif source.value not in (None, *(names_of(source, files, asked) or ())):
        why = f"--value {source.value} is no column, so it is SQL"
    else:
        why = "some names of its columns differ in nothing but capital letters"
    return SourceError(
        str(source), reason=f"only Spark reads such a source ({why}): --engine spark"
    )
