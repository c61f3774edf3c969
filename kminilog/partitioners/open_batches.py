"""Batches that are never sent: which have room, for a partitioner without a producer.

Source: ours.
"""


class OpenBatches:
    """The size of the open batch of each partition, where none is ever sent.

    >>> batches = OpenBatches(batch_size_bytes=100)
    >>> batches.has_room("orders", 0, 60)
    False
    >>> batches.append("orders", 0, 60), batches.has_room("orders", 0, 40)
    (False, True)
    >>> batches.size_bytes("orders", 0), batches.size_bytes("orders", 1)
    (60, 0)
    >>> batches.append("orders", 0, 40), batches.has_room("orders", 0, 1)
    (True, False)
    """

    def __init__(self, batch_size_bytes: int) -> None:
        # As in a producer: batches of no bytes are batches of one record.
        self._batch_size_bytes = max(1, batch_size_bytes)
        self._size_bytes: dict[tuple[str, int], int] = {}

    def size_bytes(self, topic: str, partition: int) -> int:
        """Return the size of the open batch; 0 if there is none."""
        return self._size_bytes.get((topic, partition), 0)

    def has_room(self, topic: str, partition: int, size_bytes: int) -> bool:
        """Tell if an open batch has room for a record of this size; else close it."""
        open_bytes = self._size_bytes.get((topic, partition))
        if open_bytes is not None and open_bytes + size_bytes <= self._batch_size_bytes:
            return True
        self._size_bytes.pop((topic, partition), None)
        return False

    def append(self, topic: str, partition: int, size_bytes: int) -> bool:
        """Put a record into the open batch or a new one; return whether that is full now."""
        if not self.has_room(topic, partition, size_bytes):
            self._size_bytes[topic, partition] = 0
        self._size_bytes[topic, partition] += size_bytes
        return self._size_bytes[topic, partition] >= self._batch_size_bytes
