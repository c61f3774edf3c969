"""Every record of a source against every message of a topic, as one distributed job.

Records and messages with the same key and value are copies. Copies are numbered, those in the
source in source order, those in the log by partition and offset, and the n-th copy there belongs to
the n-th copy here:

    source   a  b  a  c          a1 - a1       in order
    log      a  b  a  a  d       b1 - b1       in order
                                 a2 - a2       in order
                                      a3       duplicate: the source has this, but not as often
                                 c1 -          missing
                                      d1       extra: the source has nothing like it

A pair is out of order if its key has, in front of it in its partition, a record that comes later in
the source. Where a copy is missing or there are too many, nobody can tell which copy is which, so
these are not judged by their order. Copies are recognised by a 128-bit hash, so that values do not
travel. Only counts and a few samples come to the driver. Source: ours.
"""

from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Observation, Row, Window
from pyspark.sql import functions as sql

from kminilog.spark.source import Place
from kminilog.verification.findings import SAMPLE_COUNT, FindingClass


class StoredPlace(NamedTuple):
    """Where a message is in its topic."""

    partition: int
    offset: int
    position: int
    segment: str


class Sample(NamedTuple):
    """A record and its message; one of them is None if it is missing, extra or a duplicate.

    Of a duplicate, `source` is the first copy in the source.
    """

    kind: FindingClass | None
    key: bytes | None
    source: Place | None
    stored: StoredPlace | None


class Account(NamedTuple):
    """What became of all records and messages.

    `source` and `stored` were counted where they were read, `findings` where they were compared.
    """

    source: int
    stored: int
    findings: dict[FindingClass, int]
    samples: list[Sample]


def account_for(records: DataFrame, messages: DataFrame, also: Column | None) -> Account:
    """Compare the records of a source with the messages of a topic.

    `samples` has up to SAMPLE_COUNT of each class, and as many pairs without a finding that the
    condition `also`, about the column `stored`, selects. Raises Spark's exceptions.
    """
    in_source, in_log = Observation(), Observation()
    count = sql.count(sql.lit(1)).alias("count")
    judged = _judge(records.observe(in_source, count), messages.observe(in_log, count))
    counts = {row["kind"]: row["count"] for row in judged.groupBy("kind").count().collect()}
    counts.pop(None, None)
    return Account(
        in_source.get["count"],
        in_log.get["count"],
        {FindingClass(kind): number for kind, number in counts.items()},
        _samples(judged, also) if counts or also is not None else [],
    )


def _samples(judged: DataFrame, also: Column | None) -> list[Sample]:
    by_kind = Window.partitionBy("kind").orderBy("source", "stored")
    wanted = sql.col("kind").isNotNull()
    rows = (
        judged.where(wanted if also is None else wanted | also)
        .withColumn("number", sql.row_number().over(by_kind))
        .where(sql.col("number") <= SAMPLE_COUNT)
        .orderBy("source", "stored")
    )
    return [_sample(row) for row in rows.collect()]


def _sample(row: Row) -> Sample:
    source = row.source or row.first_source
    return Sample(
        row.kind and FindingClass(row.kind),
        row.key and bytes(row.key),
        source and Place(*source),
        row.stored and StoredPlace(*row.stored),
    )


def _judge(records: DataFrame, messages: DataFrame) -> DataFrame:
    """A row for each record, with its message if there is one, and for each message without."""
    source = sql.struct("source_rank", "source_position", "source_row")
    stored = sql.struct(*StoredPlace._fields)
    sides = records.select(_fingerprint(), "key", source.alias("source")).unionByName(
        messages.select(_fingerprint(), "key", stored.alias("stored")), allowMissingColumns=True
    )
    # One shuffle serves the numbering and the pairing.
    copies = Window.partitionBy("fingerprint")
    one_side = Window.partitionBy("fingerprint", sql.col("source").isNull())
    counts = [sql.count(side).over(copies) for side in ("source", "stored")]
    columns = ("key", "source", "stored", "first_source", "is_balanced")
    pairs = (
        sides.repartition("fingerprint")
        .withColumn("number", sql.row_number().over(one_side.orderBy("source", "stored")))
        .withColumn("first_source", sql.min("source").over(copies))
        .withColumn("is_balanced", counts[0] == counts[1])
        .groupBy("fingerprint", "number")
        .agg(*(sql.max(name).alias(name) for name in columns))
    )
    return pairs.withColumn("kind", _kind()).drop("fingerprint", "number", "is_balanced")


def _fingerprint() -> Column:
    lengths = [
        sql.coalesce(sql.octet_length(name).cast("string"), sql.lit("null"))
        for name in ("key", "value")
    ]
    parts = [sql.coalesce(name, sql.lit(b"")) for name in ("key", "value")]
    data = sql.concat(sql.concat_ws(":", *lengths, sql.lit("")).cast("binary"), *parts)
    return sql.unhex(sql.md5(data)).alias("fingerprint")


def _kind() -> Column:
    """The class of finding that a row is; null if all is well with it."""
    key, source, stored = sql.col("key"), sql.col("source"), sql.col("stored")
    without_key = sql.when(key.isNull(), sql.col("fingerprint"))  # lest all of them are one group
    in_front = (
        Window.partitionBy("key", without_key, sql.col("stored.partition"))
        .orderBy("stored")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    # Balanced ones are all pairs.
    previous = sql.last(sql.when(sql.col("is_balanced"), source), ignorenulls=True).over(in_front)
    return (
        sql.when(stored.isNull(), FindingClass.MISSING.value)
        .when(sql.col("first_source").isNull(), FindingClass.EXTRA.value)
        .when(source.isNull(), FindingClass.DUPLICATE.value)
        .when(
            key.isNotNull() & sql.col("is_balanced") & (source < previous),
            FindingClass.KEY_ORDER.value,
        )
    )
