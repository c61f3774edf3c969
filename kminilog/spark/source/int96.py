"""Timestamps of type INT96 that have nanoseconds: refused, never cut off.

INT96 is the timestamp type of old Parquet writers, and counts nanoseconds. Spark counts
microseconds, and drops the remaining digits silently. Only reading these columns shows whether they
have such digits. So tasks read them before the records are read. This module does not know what the
records are. Source: Apache Parquet, by pyarrow.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from kminilog.job_errors import SourceError
from kminilog.spark.runtime.task_groups import task_groups
from kminilog.spark.runtime.tasks import in_tasks
from kminilog.spark.source.files import SourceFile

_BATCH_ROWS = 8192
_ADVICE = "Spark has microseconds only; write the file anew with those, or with texts"


def check_int96(spark: SparkSession, files: Sequence[SourceFile]) -> None:
    """Raise an error if an INT96 timestamp has more digits than microseconds.

    Tasks do the work, and one of them raises SourceError; call this inside `spark_failures`, which
    brings it back as such. Reads every INT96 column completely, and only footers of other files.
    """
    concerned = [file for file in files if _names(file.path)]
    cores = spark.sparkContext.defaultParallelism
    groups = task_groups(concerned, lambda file: file.size_bytes, cores=cores)

    def check(group: Sequence[SourceFile]) -> None:
        for file in group:
            for name in _names(file.path):
                _check_column(file.path, name)

    in_tasks(spark, groups, check)


def _names(path: str) -> list[str]:
    """Return the columns of a file that have this type, members as `a.list.element.b`.

    A file that is not readable as Parquet has none: `read_source` reports it.
    """
    with suppress(pa.ArrowException, OSError):
        schema: Any = pq.read_metadata(path).schema
        columns = (schema.column(number) for number in range(len(schema.names)))
        return [column.path for column in columns if column.physical_type == "INT96"]
    return []


def _check_column(path: str, name: str) -> None:
    with (
        pq.ParquetFile(path) as nanos,
        pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as micros,
    ):
        row = 0
        both = (file.iter_batches(_BATCH_ROWS, columns=[name]) for file in (nanos, micros))
        for in_nanos, in_micros in zip(*both, strict=True):
            pair = in_nanos.column(0), in_micros.column(0)
            if _has_more_digits(*pair):
                slices = ([array.slice(at, 1) for array in pair] for at in range(len(in_nanos)))
                row += next(at for at, one in enumerate(slices) if _has_more_digits(*one))
                reason = f"row {row + 1}: column {name} has a timestamp with nanoseconds"
                raise SourceError(path, reason=f"{reason}; {_ADVICE}")
            row += len(in_nanos)


def _has_more_digits(nanos: pa.Array, micros: pa.Array) -> bool:
    """Return whether any of these timestamps, perhaps in lists of lists, has more digits.

    Nanoseconds of distant years do not fit into 64 bits and wrap around. The difference wraps
    around too, and so is right again.
    """
    fine, coarse = (_leaves(array).view(pa.int64()).to_numpy() for array in (nanos, micros))
    return bool((fine - coarse * 1000).any())


def _leaves(array: pa.Array) -> pa.Array:
    """Return the values of one Parquet column, which stand in lists and structs of one member."""
    while not pa.types.is_timestamp(array.type):
        array = array.flatten()[0] if pa.types.is_struct(array.type) else array.flatten()
    return array.drop_null()
