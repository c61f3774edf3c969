"""Keys and values of Parquet files: columns, members of columns, folders, or whole rows as JSON.

    footers     which row groups the files have; tasks read them, each a run of neighbours
    names       a column; `a.b`, a member of a column; a folder `a=1` below the named directory
    no value    the row as JSON (row_json.py): its columns, then the folders, as texts

Each file gives the rows that its footer promises, or reading ends with its name. Each row has the
columns of its own file. This module does not know what becomes of the records. Source: Apache
Parquet, by pyarrow.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kminilog.errors import SourceError
from kminilog.jobs.source.description import Source, check_columns, folder_columns, no_column
from kminilog.jobs.source.line_columns import search
from kminilog.jobs.source.places import records_of
from kminilog.jobs.source.row_json import as_bytes, row_json
from kminilog.jobs.source.source_files import MESSAGE_BYTES, SourceFile
from kminilog.jobs.source.tasks import task_groups

_BATCH_ROWS = 8192
_BATCH_BYTES = 4 << 20
_READING = {
    "buffer_size": 1 << 16,
    "pre_buffer": False,  # else whole column chunks would be in memory
    "page_checksum_verification": True,
    "coerce_int96_timestamp_unit": "us",  # as Spark; 64 bits of nanoseconds end in the year 2262
}
_SAMPLE_ROWS = 64
_LONGEST_REASON = 300
_CHANGED = "it was changed while it was read, or is damaged: its rows are not those of its footer"


@dataclass(frozen=True)
class RowGroup:
    """A row group of a file: `rows` rows from `first_row` on.

    `size_bytes` counts all its columns, uncompressed but with Parquet's encodings. So a value that
    occurs often may be counted once. `folders` are the columns that the file's path has.
    """

    rank: int
    path: str
    number: int
    first_row: int
    rows: int
    size_bytes: int
    folders: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ParquetColumns:
    """The row groups of a source in source order, and what is key and value."""

    row_groups: list[RowGroup]
    source: Source

    @property
    def size_bytes(self) -> int:
        """How many bytes the row groups have, uncompressed."""
        return sum(row_group.size_bytes for row_group in self.row_groups)

    @property
    def staged_bytes(self) -> int:
        """About how many bytes the messages of all rows have."""
        return self.size_bytes + MESSAGE_BYTES * sum(found.rows for found in self.row_groups)

    @classmethod
    def of(cls, source: Source, files: Sequence[SourceFile]) -> "ParquetColumns":
        """Return what the footers of all files say.

        Opens every file, O(row groups). Raises SourceError for a file that cannot be read, or that
        lacks a column that is asked for, or has a name twice.
        """
        row_groups: list[RowGroup] = []
        for file in files:
            with _open(file.path) as opened:
                folders = tuple(folder_columns(file).items())
                _check_names(source, file.path, opened.schema_arrow, dict(folders))
                found = list(_row_groups(file.rank, file.path, opened.metadata, folders))
                if sum(row_group.rows for row_group in found) != opened.metadata.num_rows:
                    reason = "its footer contradicts itself about the number of its rows"
                    raise SourceError(file.path, reason=reason)
                row_groups += found
        return cls(row_groups, source)

    def groups(self, cores: int) -> list[list[RowGroup]]:
        """Return the row groups of each task: neighbours, with about as many bytes in each task."""
        return task_groups(self.row_groups, lambda found: found.size_bytes, cores=cores)

    def read(self, row_groups: Sequence[RowGroup]) -> Iterator[pa.RecordBatch]:
        """Yield the records of row groups, a few MiB at a time, with the columns of `Columns`.

        A row whose JSON is not valid UTF-8 is rejected. Raises SourceError for a file that cannot
        be read, or that has changed since `of` read its footer.
        """
        for (rank, path, folders), found in groupby(
            row_groups, attrgetter("rank", "path", "folders")
        ):
            with _open(path) as file:
                present = set(_row_groups(rank, path, file.metadata, folders))
                for row_group in found:
                    if row_group not in present:
                        raise SourceError(path, reason=_CHANGED)
                    yield from self._read(file, row_group)

    def _read(self, file: Any, row_group: RowGroup) -> Iterator[pa.RecordBatch]:
        row, end = row_group.first_row, row_group.first_row + row_group.rows
        columns = self._columns(dict(row_group.folders))
        sample = next(_batches(file, row_group, columns, _SAMPLE_ROWS), None)
        for batch in _batches(file, row_group, columns, _batch_rows(row_group, sample)):
            yield self._records(batch, row_group, row)
            row += len(batch)
        if row != end:
            raise SourceError(row_group.path, reason=_CHANGED)

    def _columns(self, folders: dict[str, str]) -> list[str] | None:
        """Return what is to be read of a file; None for all of its columns."""
        if self.source.needs_whole:
            return None
        names = [self.source.key, self.source.value]
        return [name for name in names if name is not None and name not in folders]

    def _records(self, batch: pa.RecordBatch, row_group: RowGroup, row: int) -> pa.RecordBatch:
        source, count, folders = self.source, len(batch), dict(row_group.folders)
        key, rejected = pa.nulls(count, pa.binary()), pa.nulls(count, pa.string())
        if source.needs_whole:
            texts = [pa.repeat(text, count) for text in folders.values()]
            names = [*batch.schema.names, *folders]
            whole = row_json(names, [*batch.columns, *texts])
            rejected = _faults(whole)
        if source.key_regex is not None:
            key = search(source.key_regex, whole)
        elif source.key is not None:
            key = _column(batch, source.key, folders)
        value = whole if source.value is None else _column(batch, source.value, folders)
        for name, column in ((source.key, key), (source.value, value)):
            if name is not None and name not in folders and _is_json(batch.schema, name):
                rejected = pc.coalesce(rejected, _faults(column))
        return records_of(row_group.rank, 0, np.arange(row, row + count), key, value, rejected)


@contextmanager
def _open(path: str) -> Iterator[Any]:
    try:
        with pq.ParquetFile(path, **_READING) as file:
            yield file
    except KeyError as error:
        raise SourceError(path, reason=_CHANGED) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:_LONGEST_REASON]
        raise SourceError(path, reason=f"cannot be read as Parquet: {reason}") from error


def _check_names(source: Source, path: str, schema: pa.Schema, folders: dict[str, str]) -> None:
    check_columns(source, path, schema.names, folders)
    names = [*schema.names, *folders]
    if not names:
        raise SourceError(path, reason="it has no columns")
    for name in (source.key, source.value):
        if name is not None and name not in folders and _path_of(schema, name) is None:
            raise no_column(path, name, names)


def _path_of(schema: pa.Schema, name: str) -> list[str] | None:
    """Return where a column is: itself, or the names from a column to its member; None if none."""
    if name in schema.names:
        return [name]
    for end in [place for place, sign in enumerate(name) if sign == "."]:
        if name[:end] in schema.names:
            kind, rest = schema.field(name[:end]).type, name[end + 1 :]
            if pa.types.is_struct(kind) and (below := _path_of(pa.schema(list(kind)), rest)):
                return [name[:end], *below]
    return None


def _column(batch: pa.RecordBatch, name: str, folders: dict[str, str]) -> Any:
    if name in folders:
        return pa.repeat(pa.scalar(folders[name].encode(), pa.binary()), len(batch))
    path = _path_of(batch.schema, name)
    if path is None:
        raise KeyError(name)
    column = batch.column(batch.schema.get_field_index(path[0]))
    return as_bytes(pc.struct_field(column, path[1:]) if path[1:] else column)


def _is_json(schema: pa.Schema, name: str) -> bool:
    """Tell if the text of a column is JSON: if it has parts."""
    path = _path_of(schema, name) or []
    kind: Any = pa.struct(list(schema))
    for part in path:
        kind = kind.field(part).type
    return bool(pa.types.is_nested(kind))


def _faults(rows: Any) -> Any:
    """Return for each row that is not valid UTF-8 the reason why it is rejected; else null."""
    try:
        rows.cast(pa.string())
        return pa.nulls(len(rows), pa.string())
    except pa.ArrowInvalid:
        return pa.array([_fault(row) for row in rows.to_pylist()], pa.string())


def _fault(row: bytes | None) -> str | None:
    try:
        (row or b"").decode()
    except UnicodeDecodeError:
        return "it is not valid UTF-8"
    return None


def _batches(file: Any, row_group: RowGroup, columns: list[str] | None, rows: int) -> Iterator[Any]:
    """Yield the rows of a row group. INT96 timestamps are UTC, which pyarrow does not say."""
    if columns == []:  # only folders are asked for
        count = row_group.rows
        for start in range(0, count, rows):
            yield pa.RecordBatch.from_struct_array(
                pa.array([{}] * min(rows, count - start), pa.struct([]))
            )
        return
    schema, leaves = file.schema, _leaves(pa.struct(list(file.schema_arrow)))
    int96 = {at for n, at in enumerate(leaves) if schema.column(n).physical_type == "INT96"}
    options = {"row_groups": [row_group.number], "columns": columns, "use_threads": False}
    for batch in file.iter_batches(rows, **options):
        whole = pa.struct(list(batch.schema))
        yield batch.cast(pa.schema(list(_in_utc(whole, int96)))) if int96 else batch


def _leaves(kind: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield where the columns of Parquet are in a type, in their order."""
    fields = [kind.field(number) for number in range(kind.num_fields)]
    if not fields:
        yield path
    for field in fields:
        yield from _leaves(getattr(field.type, "storage_type", field.type), (*path, field.name))


def _in_utc(kind: Any, int96: set[tuple[str, ...]], path: tuple[str, ...] = ()) -> Any:
    """Return a type with UTC for its INT96 timestamps."""
    if path in int96:
        return pa.timestamp(kind.unit, "UTC")
    fields = [kind.field(number) for number in range(kind.num_fields)]
    fields = [each.with_type(_in_utc(each.type, int96, (*path, each.name))) for each in fields]
    if pa.types.is_struct(kind):
        return pa.struct(fields)
    if pa.types.is_map(kind):
        return pa.map_(fields[0].type.field(0), fields[0].type.field(1))
    return pa.list_(fields[0]) if pa.types.is_list(kind) else kind


def _row_groups(
    rank: int, path: str, metadata: Any, folders: tuple[tuple[str, str], ...]
) -> Iterator[RowGroup]:
    first_row = 0
    for number in range(metadata.num_row_groups):
        found = metadata.row_group(number)
        size_bytes = found.total_byte_size
        yield RowGroup(rank, path, number, first_row, found.num_rows, size_bytes, folders)
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
