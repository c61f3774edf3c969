"""Some records of a source: those that a findings file of `verify --findings` calls missing.

    {"class": "missing", "source_file": "/data/orders.txt", "source_position": 4711, ...}    a line
    {"class": "missing", "source_file": "/data/orders.csv", "source_row": 17, ...}           a row

The file is lines of JSON, or Parquet by its ending; a program may have saved it again. A record is
known by its place, and keeps it: so it goes to the partition where the job would have put it that
has lost it. Its digest tells if it is still the one that stands there. Source: ours.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.json import decode

from kminilog.columns.digests import Words, digests
from kminilog.errors import SourceError
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.places import PLACE_COLUMNS, Integers, Order, places_of
from kminilog.jobs.source.source_files import SourceFile
from kminilog.json_fields import file_names

_FIELDS = (
    "class",
    "topic",
    "source_file",
    "source_file_base64",
    "source_row",
    "source_position",
    "source_digest",
)
_ALWAYS = {"class", "topic"}
_MISSING = "missing"
_DIGEST = re.compile("([0-9a-f]{16})-([0-9a-f]{16})")
_AGAIN = "run `verify --findings` again"


class MissingRecords(NamedTuple):
    """What a findings file calls missing: the digest of each record, by its file and its number.

    The number is that of its row, from 0, or the byte where it begins. `topics` lack the records.
    """

    path: str
    topics: frozenset[str]
    records: Mapping[tuple[str, int], str]

    @property
    def identity(self) -> str:
        """A name that is the same for the same records of the same topics."""
        told = repr((sorted(self.topics), sorted(self.records.items())))
        return f"only-{blake2b(told.encode(), digest_size=16).hexdigest()}"

    def check_topic(self, topic: str) -> None:
        """Raise SourceError if other topics lack the records."""
        for other in self.topics - {topic}:
            reason = f"it lists missing records of topic {other}, not of topic {topic}"
            raise SourceError(self.path, reason=reason)

    def places(self, files: Sequence[SourceFile], order: Order) -> dict[int, str]:
        """Return the digest of each record by its place as a number, in source order.

        Raises SourceError for a file that is not one of these, and for a number out of range.
        """
        ranks = {os.path.realpath(file.path): file.rank for file in files}
        found = {}
        for (file, within), digest in self.records.items():
            if file not in ranks:
                reason = f"a record is missing from {file}, which is no file of this source"
                raise SourceError(self.path, reason=reason)
            if not 0 <= within < 1 << order.shift:
                raise SourceError(self.path, reason=f"no file has a record number {within}")
            found[ranks[file] << order.shift | within] = digest
        return dict(sorted(found.items()))


def read_missing(source: Source) -> MissingRecords:
    """Return what the findings file of a source calls missing. O(findings).

    Raises SourceError for a file that is no such file, was made by a version without digests, or
    for another format; and for one that calls nothing missing, unless the source may be empty.
    """
    path, topics, records = str(source.only), set[str](), dict[tuple[str, int], str]()
    for row in _rows(path):
        if row["class"] == _MISSING:
            record = _record(path, row, source)
            digest = _digest(path, row)
            if records.setdefault(record, digest) != digest:
                raise SourceError(path, reason=f"it names two records at one place of {record[0]}")
            topics.add(str(row["topic"]))
    if not (records or source.allow_empty):
        raise SourceError(path, reason="it lists no missing record; --allow-empty allows that")
    return MissingRecords(path, frozenset(topics), records)


@dataclass(frozen=True)
class SelectedColumns:
    """The columns of a source, of which only records with `wanted` numbers are read.

    `low` and `high` are the halves of their digests. `path` is the findings file.
    """

    columns: Any
    order: Order
    path: str
    wanted: Integers
    low: Words
    high: Words

    @property
    def size_bytes(self) -> int:
        """How many bytes all items have, also those of other records."""
        return int(self.columns.size_bytes)

    @property
    def staged_bytes(self) -> int:
        """0: how large the few records are that are missing is not known before they are read."""
        return 0

    def groups(self, cores: int) -> list[list[Any]]:
        """Return the items of each task; those of files without wanted records are left out."""
        ranks = set(np.unique(self.wanted >> self.order.shift).tolist())
        found = self.columns.groups(cores)
        kept = ([item for item in group if not ranks.isdisjoint(_ranks(item))] for group in found)
        return [group for group in kept if group]

    def read(self, items: Sequence[Any], /) -> Iterator[pa.RecordBatch]:
        """Yield the wanted records of items in source order, with the columns of `Columns`.

        Raises SourceError if another record stands where one is wanted.
        """
        for batch in self.columns.read(items):
            numbers = self.order.numbers(places_of(batch))
            is_wanted = np.isin(numbers, self.wanted)
            if is_wanted.any():
                found = batch.filter(pa.array(is_wanted))
                self._check(found, np.searchsorted(self.wanted, numbers[is_wanted]))
                yield found

    def _check(self, records: pa.RecordBatch, slots: Integers) -> None:
        found = digests(records.column("key"), records.column("value"))
        others = np.flatnonzero((found.low != self.low[slots]) | (found.high != self.high[slots]))
        if len(others):
            rank, position, row = (records.column(n)[int(others[0])].as_py() for n in PLACE_COLUMNS)
            where = f"file {rank}, position {position}, row {row}"  # PLACE_TEXT of partitioning
            raise _changed(self.path, f"{where}: this is not the record that is missing")

    def first_gone(self, source: Source, files: Sequence[SourceFile]) -> SourceError:
        """Return the error for the first wanted place where no record begins.

        There must be one. Reads the files once more, up to it. Raises SourceError.
        """
        items, left = [item for group in self.groups(1) for item in group], self.wanted
        for batch in self.columns.read(items):
            numbers = self.order.numbers(places_of(batch))
            passed = left[: np.searchsorted(left, numbers.max(initial=-1), "right")]
            left, absent = left[len(passed) :], passed[~np.isin(passed, numbers)]
            if len(absent):
                left = absent
                break
        place = self.order.place(left[0] if len(left) else self.wanted[0])
        at = f"row {place.row + 1}" if source.has_rows else f"byte {place.position}"
        return _changed(self.path, f"{files[place.rank].path}: no record begins at {at}")


def _ranks(item: Any) -> range:
    """Return the ranks of an item: one, but for a partition of a Kafka broker."""
    return range(item.rank, getattr(item, "last_rank", item.rank) + 1)


def _changed(path: str, what: str) -> SourceError:
    why = "the source has changed since, or other options read it"
    return SourceError(path, reason=f"{what}; {why}: {_AGAIN}")


def selected(source: Source, files: Sequence[SourceFile], columns: Any) -> SelectedColumns:
    """Return the columns of the records that the source's findings file calls missing.

    O(findings). Raises what `read_missing` and `MissingRecords.places` raise.
    """
    missing, order = read_missing(source), Order.of(source, len(files))
    found = missing.places(files, order)
    halves = [[int(half, 16) for half in digest.split("-")] for digest in found.values()]
    words = np.array(halves, np.uint64).reshape(-1, 2)
    wanted = np.array([*found], np.int64)
    return SelectedColumns(columns, order, missing.path, wanted, words[:, 1], words[:, 0])


def _record(path: str, row: Mapping[str, Any], source: Source) -> tuple[str, int]:
    """Return the real path of a record's file, and the number of the record in it."""
    name = file_names(row).get("source_file")
    if not isinstance(name, str):
        raise SourceError(path, reason="a record is missing, but it does not say from which file")
    within = _whole(path, row, "source_row" if source.has_rows else "source_position")
    if within is None:
        reason = f"it names no record of {name} as format {source.format} has them"
        raise SourceError(path, reason=f"{reason}; give the options of that `verify`")
    return os.path.realpath(name), within - source.has_rows  # rows count from 1


def _whole(path: str, row: Mapping[str, Any], name: str) -> int | None:
    """Return a whole number, also one that a table has as 1.0; None for null or not a number."""
    found = row.get(name)
    if found is None or found != found:
        return None
    if type(found) not in (int, float) or found % 1:
        raise SourceError(path, reason=f"{name} is {found!r}, which is no whole number")
    return int(found)


def _digest(path: str, row: Mapping[str, Any]) -> str:
    found = row.get("source_digest")
    if not isinstance(found, str):
        reason = "it does not say which records are missing, only where; an older version made it"
        raise SourceError(path, reason=f"{reason}: {_AGAIN}")
    if not _DIGEST.fullmatch(found):
        raise SourceError(path, reason=f"source_digest is {found!r}, which is no digest: {_AGAIN}")
    return found


def _rows(path: str) -> Iterator[Mapping[str, Any]]:
    try:
        if Path(path).suffix.lower() == ".parquet":
            with open(path, "rb") as file, pq.ParquetFile(file) as table:
                names = [name for name in _FIELDS if name in table.schema_arrow.names]
                if not {*names} >= _ALWAYS:
                    raise ValueError("it lacks columns of findings")
                for batch in table.iter_batches(columns=names):
                    yield from batch.to_pylist()
            return
        with open(path, "rb") as lines:
            for line in filter(bytes.strip, lines):
                row = decode(line)
                if type(row) is not dict or not row.keys() >= _ALWAYS:
                    raise ValueError("a line is no finding")
                yield row
    except OSError as error:
        raise SourceError(path, reason=error.strerror or str(error)) from None
    except (ValueError, RecursionError, pa.ArrowException) as error:
        reason = f"it is no file that `verify --findings` has written: {error}"
        raise SourceError(path, reason=reason.splitlines()[0]) from None
