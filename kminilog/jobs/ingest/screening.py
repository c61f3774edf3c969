"""Why a record cannot be a message of a topic: a null value without a place for it, or its size.

A record that was rejected before, because it cannot be decoded, keeps that reason. This module does
not know what becomes of rejected records. Source: ours.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kminilog.errors import MessageTooLargeError
from kminilog.format.message import encoded_bytes
from kminilog.settings import TopicSettings
from kminilog.storage.topics import Topic


def screen(records: pa.RecordBatch, topic: Topic) -> pa.RecordBatch:
    """Return the records with a reason in `rejected` for each one that the topic cannot store.

    All records stay, in their order. O(records).
    """
    key, value, rejected = (records.column(name) for name in ("key", "value", "rejected"))
    dialect = topic.dialect
    if value.null_count and not dialect.has_value_length:
        no_null = f"the value is null, and the {dialect.name} dialect has no null value"
        reasons = pc.if_else(value.is_null(), no_null, pa.scalar(None, pa.string()))
        rejected = pc.coalesce(rejected, reasons)
    sizes = np.full(len(records), encoded_bytes(dialect, None, None), np.int64)
    for column in (key, value):
        sizes += pc.fill_null(pc.binary_length(column), 0).to_numpy()
    if (sizes > topic.settings.largest_message_bytes).any():
        too_large = (_too_large(topic.settings, size) for size in sizes.tolist())
        rejected = pc.coalesce(rejected, pa.array(too_large, pa.string()))
    return records.set_column(records.schema.get_field_index("rejected"), "rejected", rejected)


def _too_large(settings: TopicSettings, size_bytes: int) -> str | None:
    try:
        settings.check_message(size_bytes)
    except MessageTooLargeError as error:
        return error.reason
    return None
