"""Why a record can be no message of a topic: in SQL, and for the columns of a batch.

Both say the same. A record that was rejected before, because it cannot be decoded, keeps its
reason. What becomes of what is rejected is not known here. Source: ours.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from kminilog.format.message import encoded_bytes
from kminilog.storage.topics import Topic


def screen(records: DataFrame, topic: Topic) -> DataFrame:
    """Return the records with a reason in `rejected` where there is one."""
    lengths = (sql.coalesce(sql.octet_length(name), sql.lit(0)) for name in ("key", "value"))
    size = sum(lengths, sql.lit(encoded_bytes(topic.dialect, None, None)).cast("long"))
    reason = sql.col("rejected")
    if not topic.dialect.has_value_length:
        no_null = sql.when(sql.col("value").isNull(), sql.lit(_no_null(topic)))
        reason = sql.coalesce(reason, no_null)
    for limit_bytes, (front, back) in _limits(topic):
        text: Column = sql.concat(sql.lit(front), size, sql.lit(back))
        reason = sql.coalesce(reason, sql.when(size > limit_bytes, text))
    return records.withColumn("rejected", reason)


def screen_batch(batch: pa.RecordBatch, topic: Topic) -> pa.RecordBatch:
    """Return the records of a batch with a reason in `rejected` where there is one."""
    key, value, rejected = (batch.column(name) for name in ("key", "value", "rejected"))
    sizes = np.full(len(batch), encoded_bytes(topic.dialect, None, None), np.int64)
    for column in (key, value):
        sizes += pc.fill_null(pc.binary_length(column), 0).to_numpy()
    if not topic.dialect.has_value_length and value.null_count:
        reasons = pc.if_else(value.is_null(), _no_null(topic), pa.scalar(None, pa.string()))
        rejected = pc.coalesce(rejected, reasons)
    for limit_bytes, (front, back) in _limits(topic):
        is_too_large = sizes > limit_bytes
        if is_too_large.any():
            told = pa.array(
                [f"{front}{size}{back}" if size > limit_bytes else None for size in sizes.tolist()],
                pa.string(),
            )
            rejected = pc.coalesce(rejected, told)
    return batch.set_column(batch.schema.get_field_index("rejected"), "rejected", rejected)


def _no_null(topic: Topic) -> str:
    return f"the value is null, and the {topic.dialect.name} dialect has no null value"


def _limits(topic: Topic) -> Iterator[tuple[int, tuple[str, str]]]:
    """The bytes that a message may have at most, and what to say, around its size, of one that has
    more."""
    for setting, limit_bytes in (
        ("max.message.bytes", topic.settings.max_message_bytes),
        ("segment.bytes", topic.settings.segment_bytes),
    ):
        yield limit_bytes, ("a message of ", f" bytes is larger than {setting} = {limit_bytes}")
