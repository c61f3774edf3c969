"""How many batches a producer has sent, how full they were, and how many records they had.

A partitioner that changes the partition often sends many small batches; one that sticks to a
partition sends few full ones. Source: S0 4 and 5; Kafka: the metrics batch-size-avg and
records-per-request-avg.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kminilog.format.names import TopicPartition
from kminilog.producer.batch import Batch


class Counts(NamedTuple):
    """The batches of one partition, or of several."""

    batches: int = 0
    records: int = 0
    fill_sum: float = 0.0

    @property
    def mean_fill(self) -> float | None:
        """How much of its buffer a batch took on average, 0 to 1; None without batches.

        >>> Counts(batches=2, records=9, fill_sum=1.5).mean_fill
        0.75
        """
        return self.fill_sum / self.batches if self.batches else None


class BatchCounts:
    """The batches of a producer, by partition; each counts once, however often it was sent."""

    def __init__(self) -> None:
        self._counts: dict[TopicPartition, Counts] = {}

    def note(self, batch: Batch) -> None:
        """Count a batch that was sent, and not lost."""
        more = Counts(1, len(batch.records), batch.size_bytes / len(batch.buffer))
        self._counts[batch.topic_partition] = _sum([self.of(batch.topic_partition), more])

    def of(self, topic_partition: TopicPartition) -> Counts:
        """Return the counts of a partition."""
        return self._counts.get(topic_partition, Counts())

    def total(self) -> Counts:
        """Return the counts of all partitions together."""
        return _sum(self._counts.values())


def _sum(counts: Iterable[Counts]) -> Counts:
    batches, records, fill_sum = zip(Counts(), *counts, strict=True)
    return Counts(sum(batches), sum(records), sum(fill_sum))
