"""Every record of a source against every message of a topic, as one distributed job.

Records and messages with the same key and value are *copies*. The copies in the source are numbered
in source order, those in the log by partition and offset. The n-th copy in the source is paired
with the n-th copy in the log:

    source   a  b  a  c  r       a1 - a1       in order
    log      a  b  a  a  d       b1 - b1       in order
                                 a2 - a2       in order
                                      a3       duplicate: the source has this less often
                                 c1 -          missing
                                 r1 -          rejected, if it is known to be, else missing
                                      d1       extra: the source has nothing like it

Rejected records are numbered after their copies, so that stored messages are paired with the other
copies. A pair is out of order if, in its partition, a record with the same key that comes later in
the source stands before it. If a copy is missing or there are too many, nobody can tell which copy
is which; so the order of these is not checked. Copies are found by a 128-bit hash (MD5), so that
values are not shuffled. A record that cannot be decoded is a copy of nothing. Only counts and a few
samples reach the driver. Source: ours.
"""

from typing import NamedTuple

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, Observation, Row, Window
from pyspark.sql import functions as sql

from kminilog.format.names import segment_name
from kminilog.spark.source.records import Place
from kminilog.verification.findings import SAMPLE_COUNT, FindingClass

REJECTED, SHOWN = "rejected", "shown"


class StoredPlace(NamedTuple):
    """Where a message is in its topic."""

    partition: int
    offset: int
    position: int
    segment: str


class Sample(NamedTuple):
    """A record and its message. `stored` is None if it is missing, `source` if it is extra.

    For a duplicate, `source` is the first copy in the source.
    """

    kind: str
    key: bytes | None
    source: Place | None
    stored: StoredPlace | None


class Group(NamedTuple):
    """The pairs of one kind: how many, and the first SAMPLE_COUNT."""

    total: int
    samples: list[Sample]


class Account(NamedTuple):
    """What became of all records and messages.

    `source` and `stored` were counted while they were read, `groups` while they were compared. A
    group's name is a class of findings, or REJECTED, or SHOWN for pairs that were asked for.
    """

    source: int
    stored: int
    groups: dict[str, Group]

    def count(self, kind: str) -> int:
        """Return how many pairs are of a kind; 0 for a kind without a group."""
        return self.groups[kind].total if kind in self.groups else 0

    def samples(self) -> list[Sample]:
        """Return the samples of all kinds."""
        return [sample for group in self.groups.values() for sample in group.samples]


class Comparison:
    """The pairs of some records and messages, and what is counted while they are made.

    `records` are those of `read_source` with `is_rejected`, `messages` those of `read_log`. `pairs`
    has a row for each record, with its message if it has one, and for each message without record.
    Its columns are `kind` (null for a sound pair), `key`, `source`, `stored` and `first_source`.
    """

    def __init__(self, records: DataFrame, messages: DataFrame) -> None:
        self._in_source, self._in_log = Observation(), Observation()
        count = sql.count(sql.lit(1)).alias("count")
        self.pairs = _judge(
            records.observe(self._in_source, count), messages.observe(self._in_log, count)
        )

    def account(self, also: Column | None = None) -> Account:
        """Count and sample the findings, by reading the source and the log once.

        `also` is a condition on the column `stored`: sound pairs that it selects are SHOWN. Raises
        Spark's exceptions.
        """
        kind = sql.col("kind")
        if also is not None:
            kind = sql.coalesce(kind, sql.when(also, SHOWN))
        groups = summarise(self.pairs.withColumn("kind", kind))
        return Account(_observed(self._in_source), _observed(self._in_log), groups)


def _observed(observation: Observation) -> int:
    try:
        return int(observation.get["count"])
    except Py4JJavaError:  # Spark has removed a plan without rows, and its counter with it
        return 0


def summarise(pairs: DataFrame) -> dict[str, Group]:
    """Return the groups of some pairs, by kind; a pair without a kind is in no group."""
    fields = sql.struct("key", sql.coalesce("source", "first_source").alias("source"), "stored")
    rows = (
        pairs.where(sql.col("kind").isNotNull())
        .groupBy("kind")
        .agg(
            sql.count(sql.lit(1)),
            sql.min_by(fields, sql.struct("source", "stored"), SAMPLE_COUNT),
        )
        .collect()
    )
    return {
        kind: Group(count, [_sample(kind, sample) for sample in samples])
        for kind, count, samples in rows
    }


def _sample(kind: str, row: Row) -> Sample:
    stored = None
    if row.stored:
        partition, offset, position, segment = row.stored
        stored = StoredPlace(partition, offset, position, segment_name(segment))
    return Sample(
        kind,
        None if row.key is None else bytes(row.key),
        row.source and Place(*row.source),
        stored,
    )


def _judge(records: DataFrame, messages: DataFrame) -> DataFrame:
    source = sql.struct("source_rank", "source_position", "source_row")
    segment = sql.col("segment").cast("long").alias("segment")  # shorter than its 20 digits
    stored = sql.struct("partition", "offset", "position", segment)
    place = sql.concat_ws(",", "source_rank", "source_position", "source_row")
    undecodable = sql.md5(sql.concat(sql.lit("undecodable "), place).cast("binary"))
    of_record = sql.when(sql.col("rejected").isNotNull(), undecodable).otherwise(_fingerprint())
    sides = records.select(
        sql.unhex(of_record).alias("fingerprint"), "key", source.alias("source"), "is_rejected"
    ).unionByName(
        messages.select(
            sql.unhex(_fingerprint()).alias("fingerprint"), "key", stored.alias("stored")
        ),
        allowMissingColumns=True,
    )
    # One shuffle serves the numbering and the pairing.
    copies = Window.partitionBy("fingerprint")
    one_side = Window.partitionBy("fingerprint", sql.col("source").isNull())
    counts = [sql.count(side).over(copies) for side in ("source", "stored")]
    columns = ("key", "source", "stored", "first_source", "is_balanced", "is_rejected")
    pairs = (
        sides.repartition("fingerprint")
        .withColumn("number", sql.row_number().over(one_side.orderBy(*_ORDER_OF_COPIES)))
        .withColumn("first_source", sql.min("source").over(copies))
        .withColumn("is_balanced", counts[0] == counts[1])
        .groupBy("fingerprint", "number")
        .agg(*(sql.max(name).alias(name) for name in columns))
    )
    return pairs.withColumn("kind", _kind()).drop("number", "is_balanced", "is_rejected")


_ORDER_OF_COPIES = ("is_rejected", "source", "stored")


def _fingerprint() -> Column:
    lengths = [
        sql.coalesce(sql.octet_length(name).cast("string"), sql.lit("null"))
        for name in ("key", "value")
    ]
    parts = [sql.coalesce(name, sql.lit(b"")) for name in ("key", "value")]
    return sql.md5(sql.concat(sql.concat_ws(":", *lengths, sql.lit("")).cast("binary"), *parts))


def _kind() -> Column:
    key, source, stored = sql.col("key"), sql.col("source"), sql.col("stored")
    without_key = sql.when(key.isNull(), sql.col("fingerprint"))  # else all would be one group
    in_front = (
        Window.partitionBy("key", without_key, sql.col("stored.partition"))
        .orderBy("stored")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    # Balanced copies all have both a record and a message.
    previous = sql.last(sql.when(sql.col("is_balanced"), source), ignorenulls=True).over(in_front)
    return (
        sql.when(stored.isNull() & sql.col("is_rejected"), REJECTED)
        .when(stored.isNull(), FindingClass.MISSING.value)
        .when(sql.col("first_source").isNull(), FindingClass.EXTRA.value)
        .when(source.isNull(), FindingClass.DUPLICATE.value)
        .when(
            key.isNotNull() & sql.col("is_balanced") & (source < previous),
            FindingClass.KEY_ORDER.value,
        )
    )
