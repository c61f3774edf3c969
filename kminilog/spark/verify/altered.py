"""A record that is missing and a message that is extra in the same place: the record was altered.

In a partition, the sound pairs are *landmarks*. A missing record stands between two landmarks in
source order, an extra message between two in the order of offsets:

    source   a   b   c   d           b is missing between a and d, and so is c
    log      a   x   c'  d           x and c' are extra between a and d: b became x, c became c'

If both stand between the same two landmarks, the i-th missing record and the i-th extra message
count as one altered record. This needs the partition of the record, which is not always known. The
sort is by partition, so there are at most as many tasks as partitions. But it is needed only if
records are missing, and messages are extra or the log has losses. Source: ours.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from operator import or_

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sql

from kminilog.spark.source.records import Place
from kminilog.spark.verify.account import Account, summarise
from kminilog.spark.verify.expected_partition import UNKNOWN, ExpectedPartition
from kminilog.verification.causes import Slot
from kminilog.verification.findings import FindingClass

_MISSING, _EXTRA = FindingClass.MISSING.value, FindingClass.EXTRA.value
_UNBOUNDED = (1 << 63) - 1
_RUN = ("partition", "before", "after")
_NEXT_LANDMARK = (
    "lead(landmark) IGNORE NULLS OVER (PARTITION BY partition, is_record ORDER BY rank)"
)


class Alterations:
    """The altered records among the missing records and extra messages of an account."""

    def __init__(self, pairs: DataFrame, expected: ExpectedPartition) -> None:
        self.pairs = _paired(_sides(pairs, expected))

    def amend(self, account: Account) -> Account:
        """Return the account, with pairs that were altered no longer missing and extra.

        Raises Spark's exceptions.
        """
        kept = {k: g for k, g in account.groups.items() if k not in (_MISSING, _EXTRA)}
        return account._replace(groups=kept | summarise(self.pairs))

    def slots(self, account: Account, bounds: Mapping[int, tuple[int, int]]) -> dict[Place, Slot]:
        """Return between which messages the samples of missing records belong, as far as known.

        `bounds` has, by partition, the first and the next offset of what was written to it. Raises
        Spark's exceptions.
        """
        samples = account.groups[_MISSING].samples if _MISSING in account.groups else []
        wanted = [sample.source for sample in samples if sample.source]
        if not wanted:
            return {}
        in_run = Window.partitionBy(*_RUN)
        rows = (
            self.pairs.where((sql.col("kind") == _MISSING) & (sql.col("partition") != UNKNOWN))
            .withColumn("missing_count", sql.count(sql.lit(1)).over(in_run))
            .withColumn("number", sql.row_number().over(in_run.orderBy("source")))
            .where(reduce(or_, (_is_at(place) for place in wanted)))
            .select("source", *_RUN, "number", "missing_count")
            .collect()
        )
        slots = {}
        for source, partition, before, after, number, missing_count in rows:
            start, end = bounds.get(partition, (0, _UNBOUNDED))
            borders = before.b if before else start - 1, after.b if after else end
            slots[Place(*source)] = Slot(partition, *borders, number, missing_count)
        return slots


@contextmanager
def alterations(pairs: DataFrame, expected: ExpectedPartition) -> Iterator[Alterations]:
    """Yield the alterations of some pairs, which stay on the executors' disks until the end."""
    key = sql.when(sql.col("kind").isin(_MISSING, _EXTRA), sql.col("key")).alias("key")
    kept = pairs.select("kind", key, "source", "stored").persist(StorageLevel.DISK_ONLY)
    try:
        yield Alterations(kept, expected)
    finally:
        kept.unpersist()


def _is_at(place: Place) -> Column:
    source = sql.col("source")
    return (
        (source.source_rank == place.rank)
        & (source.source_position == place.position)
        & (source.source_row == place.row)
    )


def _sides(pairs: DataFrame, expected: ExpectedPartition) -> DataFrame:
    """Return a row for each record and for each message, with its rank in its partition."""
    stored, source = sql.col("stored"), sql.col("source")
    rank_in_source = sql.struct(
        source.source_rank.cast("long").alias("a"),
        source.source_position.alias("b"),
        source.source_row.alias("c"),
    )
    rank_in_log = sql.struct(
        sql.lit(0).cast("long").alias("a"), stored.offset.alias("b"), stored.position.alias("c")
    )
    missing = pairs.where(sql.col("kind") == _MISSING).withColumn("partition", expected.column())
    others = pairs.where(stored.isNotNull()).withColumn("partition", stored.partition)
    paired = others.where(source.isNotNull()).withColumn("landmark", rank_in_log)
    extra = others.where(sql.col("kind") == _EXTRA)
    columns = ("partition", "is_record", "rank", "landmark", "key", "source", "stored")
    sides = [
        frame.withColumns({"is_record": sql.lit(is_record), "rank": rank})
        for frame, is_record, rank in (
            (missing, True, rank_in_source),
            (paired, True, rank_in_source),
            (paired, False, rank_in_log),
            (extra, False, rank_in_log),
        )
    ]
    found = sides[0]
    for side in sides[1:]:
        found = found.unionByName(side, allowMissingColumns=True)
    return found.select(*columns)


def _paired(sides: DataFrame) -> DataFrame:
    """Return missing records and extra messages, in one row where they are in the same place."""
    in_front = Window.partitionBy("partition", "is_record").orderBy("rank")
    in_front = in_front.rowsBetween(Window.unboundedPreceding, -1)
    in_run = Window.partitionBy(*_RUN, "is_record").orderBy("rank")
    found = (
        sides.withColumn("before", sql.last("landmark", ignorenulls=True).over(in_front))
        .withColumn("after", sql.expr(_NEXT_LANDMARK))
        .where(sql.col("landmark").isNull())
        .withColumn("number", sql.row_number().over(in_run))
        .groupBy(*_RUN, "number")
        .agg(
            sql.max("source").alias("source"),
            sql.max("stored").alias("stored"),
            # The message's key counts, which may be null.
            sql.max_by("key", sql.when(~sql.col("is_record"), 1).otherwise(0)).alias("key"),
        )
    )
    kind = (
        sql.when(sql.col("stored").isNull(), _MISSING)
        .when(sql.col("source").isNull(), _EXTRA)
        .otherwise(FindingClass.ALTERED.value)
    )
    first_source = sql.lit(None).cast(found.schema["source"].dataType)
    return found.withColumns({"kind": kind, "first_source": first_source})
