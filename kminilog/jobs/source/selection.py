"""Some records of a source: those that a findings file of `verify --findings` calls missing.

    {"class": "missing", "source_file": "/data/orders.txt", "source_position": 4711, ...}    a line
    {"class": "missing", "source_file": "/data/orders.csv", "source_row": 17, ...}           a row

The file is lines of JSON, or Parquet by its ending. A record is known by its place, and keeps it:
so it goes to the partition where the job would have put it that has lost it. Source: ours.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from kminilog.errors import SourceError
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.places import Integers, Order, places_of
from kminilog.jobs.source.source_files import SourceFile

_FIELDS = ("class", "source_file", "source_row", "source_position")
_MISSING = "missing"


@dataclass(frozen=True)
class SelectedColumns:
    """The columns of a source, of which only records with `wanted` numbers are read."""

    columns: Any
    order: Order
    wanted: Integers

    @property
    def size_bytes(self) -> int:
        """How many bytes all items have, also those of other records."""
        return int(self.columns.size_bytes)

    def groups(self, cores: int) -> list[list[Any]]:
        """Return the items of each task; those of files without wanted records are left out."""
        ranks = set(np.unique(self.wanted >> self.order.shift).tolist())
        found = self.columns.groups(cores)
        kept = ([item for item in group if item.rank in ranks] for group in found)
        return [group for group in kept if group]

    def read(self, items: Sequence[Any], /) -> Iterator[pa.RecordBatch]:
        """Yield the wanted records of items in source order, with the columns of `Columns`."""
        for batch in self.columns.read(items):
            is_wanted = np.isin(self.order.numbers(places_of(batch)), self.wanted)
            if is_wanted.any():
                yield batch.filter(pa.array(is_wanted))


def selected(source: Source, files: Sequence[SourceFile], columns: Any) -> SelectedColumns:
    """Return the columns of the records that the source's findings file calls missing.

    O(findings). Raises SourceError for a file that is no such file, or names other sources.
    """
    order = Order.of(source, len(files))
    return SelectedColumns(columns, order, _wanted(source, files, order))


def check_selected(source: Source, files: Sequence[SourceFile], count: int) -> None:
    """Raise SourceError if a source has not all records that its findings file calls missing."""
    wanted = len(_wanted(source, files, Order.of(source, len(files))))
    if count != wanted:
        reason = f"it calls {wanted} records missing, but the source has {count} of them"
        raise SourceError(str(source.only), reason=f"{reason}; verify it again")


def _wanted(source: Source, files: Sequence[SourceFile], order: Order) -> Integers:
    ranks = {os.path.realpath(file.path): file.rank for file in files}
    path, numbers = str(source.only), list[int]()
    for row in _rows(path):
        if row.get("class") == _MISSING:
            numbers.append(_number(path, row, ranks, source, order))
    if not (numbers or source.allow_empty):
        raise SourceError(path, reason="it calls no record missing; --allow-empty allows that")
    return np.unique(np.array(numbers, np.int64))


def _number(
    path: str, row: Mapping[str, Any], ranks: Mapping[str, int], source: Source, order: Order
) -> int:
    name = row.get("source_file")
    rank = ranks.get(os.path.realpath(name)) if isinstance(name, str) else None
    if rank is None:
        raise SourceError(path, reason=f"a record is missing from {name}, which is no file of this")
    within = row.get("source_row" if source.has_rows else "source_position")
    if type(within) is not int:
        reason = f"it names no record of {name} as format {source.format} has them"
        raise SourceError(path, reason=f"{reason}; give the options of that `verify`")
    return rank << order.shift | within - source.has_rows  # rows count from 1


def _rows(path: str) -> Iterator[Mapping[str, Any]]:
    """Yield the findings of a file."""
    try:
        if Path(path).suffix.lower() == ".parquet":
            with pq.ParquetFile(path) as table:
                if not {*_FIELDS} <= {*table.schema_arrow.names}:
                    raise ValueError("it lacks columns of findings")
                for batch in table.iter_batches(columns=list(_FIELDS)):
                    yield from batch.to_pylist()
            return
        with open(path, "rb") as lines:
            for line in filter(bytes.strip, lines):
                row = orjson.loads(line)
                if type(row) is not dict or not {"class", "source_file"} <= row.keys():
                    raise ValueError("a line is no finding")
                yield row
    except OSError as error:
        raise SourceError(path, reason=error.strerror or str(error)) from None
    except (ValueError, pa.ArrowException) as error:
        reason = f"it is no file that `verify --findings` has written: {error}"
        raise SourceError(path, reason=reason.splitlines()[0]) from None
