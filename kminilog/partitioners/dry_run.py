"""Where a partitioner would send records: it is asked as a producer asks it, and nothing is sent.

A witness stands between the placement and the partitioner, and notes each answer. So this works for
a user's own class, too. Values are empty, and a batch, which is never sent, is full at
`batch_size_bytes`. A record is created at the time of the clock that is passed in. Source: ours.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kminilog.clock import Clock, ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encoded_bytes
from kminilog.partitioners.interface import Partitioner
from kminilog.partitioners.placement import Placement

# ---- batches that are never sent


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


# ---- the run


class Choice(NamedTuple):
    """A record's key, its size in a batch, and the answers of the partitioner, at least one.

    `batch_bytes` is the size of its batch with it, and `is_batch_full` whether that is full now.
    `at_ms` is when it was created.
    """

    key: str | bytes | None
    key_bytes: bytes | None
    answers: tuple[int, ...]
    size_bytes: int
    batch_bytes: int
    is_batch_full: bool
    at_ms: int = 0

    @property
    def partition(self) -> int:
        """Where the record goes: the last answer."""
        return self.answers[-1]

    @property
    def is_batch_new(self) -> bool:
        """Whether the batch began with this record."""
        return self.batch_bytes == self.size_bytes


class _Witness(Partitioner):
    """Calls a partitioner and notes its answers."""

    def __init__(self, watched: Partitioner) -> None:
        self._watched = watched
        self.is_asked_again = watched.is_asked_again
        self._answers: list[int] = []

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return the partitioner's answer."""
        answer = self._watched.partition(topic, key, key_bytes, value, value_bytes, cluster)
        self._answers.append(answer)
        return answer

    def on_new_batch(self, topic: str, cluster: ClusterMetadata, previous_partition: int) -> None:
        self._watched.on_new_batch(topic, cluster, previous_partition)

    def take_answers(self) -> tuple[int, ...]:
        """Return the answers since the last time."""
        answers = tuple(self._answers)
        self._answers.clear()
        return answers


def dry_run(
    partitioner: Partitioner,
    keys: Iterable[str | bytes | None],
    topic: str,
    cluster: ClusterMetadata,
    batch_size_bytes: int,
    *,
    clock: Clock | None = None,
    interval_ms: int = 0,
) -> Iterator[Choice]:
    """Yield for each key, in turn, where its record would go; raises as `Placement.place` does.

    Between two records the clock, by default a simulated one, sleeps for `interval_ms`.

    >>> from kminilog.partitioners.round_robin import RoundRobin
    >>> cluster = ClusterMetadata.of_one_topic("orders", [0, 1, 2])
    >>> found = dry_run(RoundRobin(), [None, "21"], "orders", cluster, batch_size_bytes=60)
    >>> [(choice.answers, choice.size_bytes) for choice in found]
    [((0, 0), 26), ((1, 1), 28)]
    """
    witness = _Witness(partitioner)
    batches = OpenBatches(batch_size_bytes)
    placement = Placement(witness, batches.has_room)
    clock = clock or ManualClock()
    for number, key in enumerate(keys):
        if number:
            clock.sleep_ms(interval_ms)
        at_ms = clock.now_ms()
        partitioner.on_timestamp(at_ms)
        key_bytes = key.encode() if isinstance(key, str) else key
        size_bytes = encoded_bytes(KAFKA, key_bytes, b"")
        chosen = placement.place(topic, key, key_bytes, None, b"", cluster, size_bytes)
        is_full = batches.append(topic, chosen, size_bytes)
        partitioner.on_appended(
            topic,
            chosen,
            size_bytes,
            has_key=key is not None,
            is_batch_full=is_full,
            cluster=cluster,
        )
        batch_bytes = batches.size_bytes(topic, chosen)
        answers = witness.take_answers()
        yield Choice(key, key_bytes, answers, size_bytes, batch_bytes, is_full, at_ms)
