"""Timestamps of type INT96 with more digits than Spark's: refused, never cut off.

INT96, the type of old writers, counts nanoseconds. Spark counts microseconds, and cuts the rest off
without a word. If there is a rest can be known only by reading these columns, and tasks do so
before the records are read. What the records are is not known here. Source: Apache Parquet, by
pyarrow.
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
    """Raise an error, in a job, if a timestamp of type INT96 has digits behind its microseconds.

    `spark_failures` makes a SourceError of it. Reads these columns as a whole, and nothing where
    there are none.
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
    """The columns of a file that have this type, members as `a.list.element.b`."""
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
    """Tell if there are digits behind microseconds in any of these, which may be lists of lists.

    Nanoseconds of distant years do not fit 64 bits. They wrap around, and so does the difference,
    which is right again.
    """
    fine, coarse = (_leaves(array).view(pa.int64()).to_numpy() for array in (nanos, micros))
    return bool((fine - coarse * 1000).any())


def _leaves(array: pa.Array) -> pa.Array:
    """The values of one column as Parquet has columns: in lists and structs of one member."""
    while not pa.types.is_timestamp(array.type):
        array = array.flatten()[0] if pa.types.is_struct(array.type) else array.flatten()
    return array.drop_null()
