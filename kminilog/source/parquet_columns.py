"""Keys and values that are plain columns of Parquet files: tasks read them without the JVM.

    read_source    files --> JVM --> SQL --> Arrow --> the task's Python
    here           files ----------------------------> the task's Python

If no SQL expression is asked for, no record has to pass through the JVM. That passage costs more
than all later work on a record. The records and their places are the same in both ways. Sources
that need more than that are left to `read_source`: other types, a column that some files lack,
names of directories as columns. This module does not know what becomes of the records. Source:
Apache Parquet, by pyarrow.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kminilog.job_errors import SourceError
from kminilog.source.description import Source
from kminilog.source.files import SourceFile
from kminilog.source.task_groups import task_groups

_BATCH_ROWS = 8192
_BATCH_BYTES = 4 << 20
_READ_BYTES = 1 << 16
_SAMPLE_ROWS = 64
_CHANGED = "it was changed while it was read, or is damaged: its rows are not those of its footer"
_AS_THEY_STAND = {pa.binary(), pa.string(), pa.large_binary(), pa.large_string()}


@dataclass(frozen=True)
class RowGroup:
    """A row group of a file: `rows` rows from `first_row` on.

    `size_bytes` counts all its columns, uncompressed but with Parquet's encodings. So a value that
    occurs often may be counted once.
    """

    rank: int
    path: str
    number: int
    first_row: int
    rows: int
    size_bytes: int


@dataclass(frozen=True)
class ParquetColumns:
    """The row groups of a source in source order, and the columns to read: key and value."""

    row_groups: list[RowGroup]
    key: str | None
    value: str

    @property
    def size_bytes(self) -> int:
        """How many bytes the row groups have, uncompressed."""
        return sum(row_group.size_bytes for row_group in self.row_groups)

    @classmethod
    def of(cls, source: Source, files: Sequence[SourceFile]) -> "ParquetColumns | None":
        """Return what the footers of all files say; None if `read_source` has to read the source.

        Opens every file, O(row groups). Raises nothing: `read_source` reports a broken file.
        """
        names = [name for name in (source.key, source.value) if name is not None]
        if source.format != "parquet" or source.value is None:
            return None
        if source.key_regex is not None or source.key_expr is not None:
            return None
        row_groups: list[RowGroup] = []
        for file in files:
            try:
                with pq.ParquetFile(file.path) as opened:
                    if _are_partition_columns(file) or not _have(opened.schema_arrow, names):
                        return None
                    row_groups += _row_groups(file.rank, file.path, opened.metadata)
            except (pa.ArrowException, OSError, UnicodeDecodeError):
                return None
        return cls(row_groups, source.key, source.value)

    def groups(self, cores: int) -> list[list[RowGroup]]:
        """Return the row groups of each task: neighbours, with about as many bytes in each task."""
        return task_groups(self.row_groups, lambda found: found.size_bytes, cores=cores)

    def read(self, row_groups: Sequence[RowGroup]) -> Iterator[pa.RecordBatch]:
        """Yield the records of row groups, a few MiB at a time, with the columns of `read_source`.

        None is rejected. Raises SourceError for a file that cannot be read, or that has changed
        since `of` read its footer.
        """
        for (rank, path), found in groupby(row_groups, attrgetter("rank", "path")):
            with (
                _failures(path),
                # With pre_buffer, whole column chunks would be in memory.
                pq.ParquetFile(
                    path,
                    buffer_size=_READ_BYTES,
                    pre_buffer=False,
                    page_checksum_verification=True,
                ) as file,
            ):
                present = set(_row_groups(rank, path, file.metadata))
                for row_group in found:
                    if row_group not in present:
                        raise SourceError(path, reason=_CHANGED)
                    yield from self._read(file, row_group)

    def _read(self, file: Any, row_group: RowGroup) -> Iterator[pa.RecordBatch]:
        names = [name for name in (self.key, self.value) if name is not None]
        row, end = row_group.first_row, row_group.first_row + row_group.rows

        def batches(batch_rows: int) -> Any:
            return file.iter_batches(
                batch_rows, row_groups=[row_group.number], columns=names, use_threads=False
            )

        for batch in batches(_batch_rows(row_group, next(batches(_SAMPLE_ROWS), None))):
            yield self._records(batch, row_group.rank, row)
            row += len(batch)
        if row != end:
            raise SourceError(row_group.path, reason=_CHANGED)

    def _records(self, batch: pa.RecordBatch, rank: int, row: int) -> pa.RecordBatch:
        count = len(batch)
        no_key = pa.nulls(count, pa.binary())
        return pa.record_batch(
            {
                "source_rank": pa.repeat(pa.scalar(rank, pa.int32()), count),
                "source_position": pa.repeat(pa.scalar(0, pa.int64()), count),
                "source_row": pa.array(np.arange(row, row + count)),
                "key": no_key if self.key is None else batch[self.key].cast(pa.binary()),
                "value": batch[self.value].cast(pa.binary()),
                "rejected": pa.nulls(count, pa.string()),
            }
        )


def _are_partition_columns(file: SourceFile) -> bool:
    """Return whether Spark takes names of directories as columns, as in `year=2026/a.parquet`."""
    below = PurePath(file.path).relative_to(file.directory) if file.directory else PurePath()
    return any("=" in part for part in below.parts[:-1])


def _have(schema: pa.Schema, names: Sequence[str]) -> bool:
    """Return whether all names are columns of bytes or text.

    A name with a dot counts as none, because pyarrow takes `a.b` for a member of `a`.
    """
    return all(
        schema.names.count(name) == 1
        and "." not in name
        and schema.field(name).type in _AS_THEY_STAND
        for name in names
    )


def _row_groups(rank: int, path: str, metadata: Any) -> Iterator[RowGroup]:
    first_row = 0
    for number in range(metadata.num_row_groups):
        found = metadata.row_group(number)
        yield RowGroup(rank, path, number, first_row, found.num_rows, found.total_byte_size)
        first_row += found.num_rows


def _batch_rows(row_group: RowGroup, sample: Any) -> int:
    """Return how many rows have a few MiB, by the larger of two guesses of a row's size.

    The size of the row group may be too small, because a frequent value may be stored once. The
    `sample` of first rows may be too small, because these may be short ones.
    """
    row_bytes = row_group.size_bytes / max(row_group.rows, 1)
    if sample:
        row_bytes = max(row_bytes, sample.nbytes / len(sample))
    return min(max(int(_BATCH_BYTES / max(row_bytes, 1)), 1), _BATCH_ROWS)


@contextmanager
def _failures(path: str) -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        raise SourceError(path, reason=_CHANGED) from error
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise SourceError(path, reason=f"cannot be read as Parquet: {reason}") from error
