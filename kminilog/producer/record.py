"""A record to send, and what became of it.

Source: S1 3, S2; Kafka: ProducerRecord, RecordMetadata.
"""

from typing import Any, NamedTuple

UNKNOWN_PARTITION = -1
NO_OFFSET = -1


class ProducerRecord(NamedTuple):
    """A topic, a key and a value as the serialisers take them, and a partition if one is wanted.

    >>> ProducerRecord("orders", value=b"two teapots")
    ProducerRecord(topic='orders', key=None, value=b'two teapots', partition=None)
    """

    topic: str
    key: Any = None
    value: Any = None
    partition: int | None = None


class RecordMetadata(NamedTuple):
    """Where a record is.

    `offset` is NO_OFFSET if nobody told (acks = 0) or if sending failed; then `partition` may be
    UNKNOWN_PARTITION.
    """

    topic: str
    partition: int
    offset: int
