"""The engine that runs a verification in Spark: tasks are on executors, a shuffle moves values.

A DataFrame as source is read and divided by Spark itself. No record and no message reaches the
driver, but summaries, sums, counts and samples. Source: ours.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Tuple  # noqa: UP035 - Spark looks for Tuple

import pyarrow as pa
from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, StringType

from kminilog.errors import SourceError
from kminilog.jobs.source.columns import AnyColumns, columns_of
from kminilog.jobs.source.description import DATAFRAME, Source
from kminilog.jobs.source.places import RECORD_COLUMNS
from kminilog.jobs.source.source_files import SourceFile
from kminilog.jobs.spark.runtime.executor_checks import check_cluster
from kminilog.jobs.spark.runtime.failures import spark_failures
from kminilog.jobs.spark.runtime.session import own_session
from kminilog.jobs.spark.runtime.tasks import SparkTasks, freeze_modules, watched
from kminilog.progress import Progress
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.system import SystemClock
from kminilog.verification.account.engine import Found, Input, Numbered, Shuffle
from kminilog.verification.account.job import verify_with
from kminilog.verification.fast_segment_checks import check_segment
from kminilog.verification.report import Report
from kminilog.verification.summaries import CheckSegment


class SparkEngine(SparkTasks):
    """Runs a verification in a session; the session's settings stay as they are."""

    name = "spark"
    check_segment: CheckSegment = staticmethod(check_segment)
    told: Callable[[str], object] = str  # does nothing: nobody hears a task

    def __init__(
        self, spark: SparkSession, frame: DataFrame | None = None, report: Progress | None = None
    ) -> None:
        """`frame` is the source, if that is a DataFrame: see `records_of`.

        `report` gets how far the tasks are.
        """
        super().__init__(spark, report)
        self._frame = frame

    def check_access(self, log_dir: Path) -> None:
        """Raise an error if an executor could not read a log dir."""
        check_cluster(self._spark, log_dir)

    @contextmanager
    def at(self, place: str) -> Iterator["SparkEngine"]:
        """Yield an engine with its own session. Spark's exceptions become errors in one line."""
        with spark_failures(place), own_session(self._spark) as own:
            yield SparkEngine(own, self._frame, self._report)

    def columns(
        self, source: Source, files: Sequence[SourceFile]
    ) -> tuple[AnyColumns, Sequence[Any]] | tuple[None, None]:
        """Return what reads a source in tasks, and the items of each; None of a DataFrame."""
        if self._frame is not None:
            return None, None
        columns = columns_of(source, files, SparkTasks(self._spark))
        return columns, columns.groups(self.cores)

    def exchange(
        self,
        sides: Sequence[Input],
        shuffles: Sequence[Shuffle],
        joined: Callable[[Iterable[Any]], Found],
        *,
        step: str,
        size_bytes: int,
    ) -> Found:
        """Return what the last function of all sides gave, joined."""
        first, *others = map(self._read, sides)
        rows = reduce(RDD.union, others, first)
        for shuffle in shuffles:
            rows = _shuffled(rows, shuffle)
        with watched(self._spark, self._report, step, size_bytes):
            return joined(rows.mapPartitions(lambda found: [joined(found)]).collect())

    def _read(self, side: Input) -> "RDD[Numbered]":
        groups, read = side
        if groups is None:
            assert self._frame is not None
            return _rows_of(records_of(self._frame), read)

        def of_task(group: Any) -> Iterable[Numbered]:
            freeze_modules()
            return read(group)

        found = self._spark.sparkContext.parallelize(groups, max(len(groups), 1))
        return found.flatMap(of_task)


def records_of(frame: DataFrame) -> DataFrame:
    """Return the rows of a DataFrame as records: `value`, and `key` if there is one.

    Both are binary or string. The place of a row is its `monotonically_increasing_id`. Raises
    SourceError for other types, or without a value.
    """
    kinds = {field.name: field.dataType for field in frame.schema}
    for name in ("value", "key") if "key" in kinds else ("value",):
        if not isinstance(kinds.get(name), BinaryType | StringType):
            found = f"{name} {kinds[name].simpleString()}" if name in kinds else f"no {name}"
            reason = f"it has {found}; its columns key and value must be binary or string"
            raise SourceError(str(DATAFRAME), reason=reason)
    key = sql.col("key") if "key" in kinds else sql.lit(None)
    return frame.select(
        sql.lit(0).cast("int").alias("source_rank"),
        sql.lit(0).cast("long").alias("source_position"),
        sql.monotonically_increasing_id().alias("source_row"),
        key.cast("binary").alias("key"),
        sql.col("value").cast("binary").alias("value"),
        sql.lit(None).cast("string").alias("rejected"),
    )


def _rows_of(records: DataFrame, read: Callable[[Any], Iterable[Numbered]]) -> "RDD[Numbered]":
    """Return the rows of records that Spark reads.

    A function of columns gives an entry for each record: the first of a batch has all its rows.
    """

    def of_task(batches: Iterator[Tuple[pa.Array, ...]]) -> Iterator[pa.Array]:  # noqa: UP006
        for columns in batches:
            batch = pa.RecordBatch.from_arrays(list(columns), list(RECORD_COLUMNS))
            items = pickle.dumps(list(read(batch)))
            yield pa.array([items, *[None] * (len(batch) - 1)][: len(batch)], pa.binary())

    rows = arrow_udf(of_task, "binary").asNondeterministic()  # type: ignore[call-overload]
    found = records.select(rows(*RECORD_COLUMNS).alias("items")).where("items IS NOT NULL")
    return found.rdd.flatMap(lambda row: pickle.loads(row["items"]))


def _shuffled(rows: "RDD[Numbered]", shuffle: Shuffle) -> "RDD[Any]":
    """Return what the function of each number gives."""
    tasks, work, _ = shuffle

    def of_task(items: Iterable[Numbered]) -> Iterator[Any]:
        freeze_modules()
        ordered = sorted(items, key=itemgetter(0))
        for number, found in groupby(ordered, itemgetter(0)):
            yield from work(number, (item for _, item in found))

    return rows.partitionBy(tasks, lambda number: number % tasks).mapPartitions(of_task)


# ---- for callers in Python


def verify(
    spark: SparkSession,
    log_dir: LogDir,
    topics: Sequence[str],
    *,
    against: Source | DataFrame | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Check the storage of some topics, and compare one with a source, in Spark's tasks.

    The source may be any DataFrame with a column `value`, and perhaps `key`, both binary or string.
    It must give the same rows whenever it is read. Its rows have no order, so the order of keys is
    not checked then. It may be without rows with the option `allow_empty`. `progress` gets how far
    the tasks are. The other options, the report and the errors are those of `verify_with`. Any
    thread may call this, as `ingest`.
    """
    engine = SparkEngine(spark, report=progress)
    if isinstance(against, DataFrame):
        engine = SparkEngine(spark, against, progress)
        against = replace(DATAFRAME, allow_empty=options.pop("allow_empty", False))
    there = LogDir(log_dir.path.absolute())  # the current directory of tasks may be another one
    return verify_with(engine, SystemClock(), there, topics, against=against, **options)
