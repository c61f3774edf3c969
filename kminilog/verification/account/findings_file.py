"""The file with every finding of a verification: lines of JSON, or Parquet, by its ending.

Tasks write parts in a directory beside the file (finding_parts.py). At the end of the verification
the parts are joined, and the file takes the place of the one that was there: all of it or nothing.
The process holds some megabytes, and about 35 KB more for each row group of Parquet. Source: ours.
"""

import io
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from shutil import copyfileobj, rmtree
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import uuid4

from kminilog.errors import LogDirError
from kminilog.storage.durable_files import replacing
from kminilog.storage.files import naming, regular_status
from kminilog.storage.log_dir.log_dir import log_dir_around
from kminilog.verification.finding_parts import AllFindings, FindingParts
from kminilog.verification.findings import ROW_TYPES

if TYPE_CHECKING:
    import pyarrow as pa

LINES, PARQUET = ".jsonl", ".parquet"
_BLOCK_BYTES = 1 << 17
_BLOCKS = 16  # of a row group: to parse a block takes much more memory than to keep its rows


class FindingsFile:
    """A file of findings that is there: an iterable of its rows."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows, each with all of ROW_TYPES; some thousand are in memory.

        Raises OSError.
        """
        if self._is_parquet:
            import pyarrow.parquet as pq

            # pyarrow itself opens no file whose name is not UTF-8.
            with self.path.open("rb") as file, pq.ParquetFile(file) as table:
                for batch in table.iter_batches():
                    yield from batch.to_pylist()
            return
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                yield dict.fromkeys(ROW_TYPES) | json.loads(line)

    def to_frame(self, spark: Any, /) -> Any:
        """Return the rows as a DataFrame of a Spark session; tasks read the file, when asked."""
        kinds = {str: "STRING", int: "BIGINT", list: "ARRAY<STRING>"}
        schema = ", ".join(f"`{name}` {kinds[kind]}" for name, kind in ROW_TYPES.items())
        reader = spark.read.schema(schema)
        read = reader.parquet if self._is_parquet else reader.json
        return read(self.path.absolute().as_uri())

    @property
    def _is_parquet(self) -> bool:
        return self.path.suffix.lower() == PARQUET


@contextmanager
def every_finding(path: Path | None) -> Iterator[AllFindings | None]:
    """Yield what takes every finding, and write the file at the end of the block; None without one.

    After an error in the block there is no file, and an older one stays as it is. All tasks must
    see the directory of the file. Raises ValueError for another ending, LogDirError for a file in a
    log dir, ModuleNotFoundError for Parquet without pyarrow, and OSError.
    """
    if path is None:
        yield None
        return
    if path.suffix.lower() not in (LINES, PARQUET):
        raise ValueError(f"{path}: its name must end in {LINES} or {PARQUET}")
    target, mode = Path(os.path.realpath(path)), None
    if around := log_dir_around(target):
        raise LogDirError(str(path), reason=f"it is in the log dir {around}; name a file elsewhere")
    is_parquet = path.suffix.lower() == PARQUET
    if is_parquet:
        import pyarrow.parquet  # noqa: F401 - said before the work, not after it
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(regular_status(target).st_mode)
    directory = target.with_name(f".{uuid4().hex}.tmp")
    directory.mkdir()
    found = AllFindings(FindingParts(directory))
    try:
        yield found
        with naming(path), replacing(target, temporary=directory / "whole", mode=mode) as file:
            (_write_parquet if is_parquet else _write_lines)(file, found.close())
    finally:
        found.close()
        rmtree(directory, ignore_errors=True)


def _opened(part: str) -> BinaryIO:
    try:
        return open(part, "rb")
    except FileNotFoundError:
        directory = os.path.dirname(os.path.dirname(part))
        reason = "a task has written findings there, but they are not to be seen from here"
        remedy = "name a file in a directory that all executors share"
        raise LogDirError(directory, reason=f"{reason}; {remedy}") from None


def _write_lines(file: BinaryIO, parts: Sequence[str]) -> None:
    for part in parts:
        with _opened(part) as lines:
            copyfileobj(lines, file, _BLOCK_BYTES)


def _write_parquet(file: BinaryIO, parts: Sequence[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {str: pa.string(), int: pa.int64(), list: pa.list_(pa.string())}
    schema = pa.schema([(name, kinds[kind]) for name, kind in ROW_TYPES.items()])
    tables = (table for part in parts for table in _tables(part, schema))
    with pq.ParquetWriter(file, schema, use_dictionary=False) as writer:
        while group := list(islice(tables, _BLOCKS)):
            writer.write_table(pa.concat_tables(group))


def _tables(part: str, schema: "pa.Schema") -> Iterator[Any]:
    """Yield the rows of a part, some megabytes at a time."""
    from pyarrow.json import ParseOptions, ReadOptions, read_json

    parse = ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    with _opened(part) as lines:
        while block := lines.read(_BLOCK_BYTES):
            block += lines.readline()
            read = ReadOptions(use_threads=False, block_size=len(block) + 1)
            yield read_json(io.BytesIO(block), read, parse).select(schema.names)
