"""A record to send, and where it was written.

Source: S1 3, S2; Kafka: ProducerRecord, RecordMetadata.
"""

from typing import Any, NamedTuple

UNKNOWN_PARTITION = -1
NO_OFFSET = -1


class ProducerRecord(NamedTuple):
    """A topic, a key and a value as the serialisers take them, and a partition.

    Without `partition`, the partitioner chooses one. `timestamp_ms`, by default the time of `send`,
    is for partitioners and interceptors alone: format v0 has no field for it, so it is not stored.

    >>> ProducerRecord("orders", value=b"two teapots")[:4]
    ('orders', None, b'two teapots', None)
    """

    topic: str
    key: Any = None
    value: Any = None
    partition: int | None = None
    timestamp_ms: int | None = None


class RecordMetadata(NamedTuple):
    """Where a record was written.

    `offset` is NO_OFFSET if the leader did not answer (acks = 0) or if sending failed. If sending
    failed, `partition` may be UNKNOWN_PARTITION.
    """

    topic: str
    partition: int
    offset: int
