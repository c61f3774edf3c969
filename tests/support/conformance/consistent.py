"""The partitioner of librdkafka at default settings, for `kminilog partition --partitioner`.

Source: librdkafka: rd_kafka_msg_partitioner_consistent_random.
"""

from typing import Any
from zlib import crc32


class Consistent:
    """Places a key by its CRC-32; a record without a key is not asked about here."""

    def partition(
        self, topic: str, key: Any, key_bytes: bytes, value: Any, value_bytes: Any, cluster: Any
    ) -> int:
        """Return the number of the partition."""
        return crc32(key_bytes) % len(cluster.partitions_for_topic(topic))
