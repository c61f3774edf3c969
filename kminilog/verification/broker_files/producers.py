"""What idempotent and transactional producers have written: sequences, and transactions.

    sequence        the first of a batch follows the last one of this producer; a new epoch begins
                    with 0; after the greatest, 2^31 - 1, comes 0; a marker has none
    transaction     begins with the first transactional batch of its producer, ends with a marker
    last stable     below it each transaction has ended: the first offset of the oldest open one
    offset

The batches are told one by one, in the order of the log. What came before the first one of a
producer is not known: retention has deleted it, so any sequence may come first. This module knows
no files, and no gap of offsets; the caller says up to where offsets are missing, because sequences
are missing there, too. Memory O(producers).
Source: Kafka: ProducerAppendInfo, ProducerStateManager, CompletedTxn.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from kminilog.broker_files.record_batch import BatchHeader
from kminilog.verification.broker_files.faults import BrokerFault

_SEQUENCES = 1 << 31


class Complaint(NamedTuple):
    """A fault, in words; its place is that of the batch which was told."""

    kind: BrokerFault
    detail: str


class Aborted(NamedTuple):
    """A transaction that its marker has aborted, as the transaction index should have it.

    `first_offset` is None if it began below the first batch of the log.
    """

    producer_id: int
    first_offset: int | None
    last_offset: int
    last_stable_offset: int


class _Producer:
    """The last batch of a producer; None for a sequence that is not known."""

    __slots__ = ("epoch", "last_offset", "last_sequence")

    def __init__(self, epoch: int, last_sequence: int | None, last_offset: int) -> None:
        self.epoch = epoch
        self.last_sequence = last_sequence
        self.last_offset = last_offset


class Producers:
    """The state of all producers of a partition, up to a batch."""

    def __init__(self) -> None:
        self._by_id: dict[int, _Producer] = {}
        self.open: dict[int, int] = {}  # first offset by producer, in ascending order

    def take(self, header: BatchHeader, missing_until: int = 0) -> Complaint | None:
        """Take a batch of records; return what is wrong with its sequence, if anything is.

        Offsets are missing in front of `missing_until`.

        >>> header = BatchHeader(0, 0, 0, 2, 0, 0, 9, 0, 0, 7, 0, base_sequence=0, record_count=10)
        >>> producers = Producers()
        >>> producers.take(header)
        >>> producers.take(header._replace(base_offset=10, base_sequence=10))
        >>> print(producers.take(header._replace(base_offset=20, base_sequence=30)).detail)
        producer 7, epoch 0: sequence 30, expected 20
        """
        producer_id, epoch = header.producer_id, header.producer_epoch
        last_offset = header.base_offset + header.last_offset_delta
        if self.begins(header):
            self.open[producer_id] = header.base_offset
        last_sequence = (header.base_sequence + header.last_offset_delta) % _SEQUENCES
        known = self._by_id.get(producer_id)
        if known is None:
            self._by_id[producer_id] = _Producer(epoch, last_sequence, last_offset)
            return None
        wrong = None
        if known.last_offset >= missing_until:
            wrong = self._judge(header, known)
        known.last_offset = last_offset
        if epoch >= known.epoch:
            known.epoch, known.last_sequence = epoch, last_sequence
        return wrong

    def begins(self, header: BatchHeader) -> bool:
        """Tell if a batch begins a transaction.

        Compaction leaves the last batch of a producer without records, and removes its marker.
        """
        is_new = header.producer_id not in self.open
        return header.is_transactional and is_new and header.record_count > 0

    def end_transaction(self, header: BatchHeader, *, is_aborted: bool) -> Aborted | None:
        """Take a marker; return the transaction that it has aborted, if it has."""
        producer_id, last_offset = header.producer_id, header.base_offset
        known = self._by_id.get(producer_id)
        if known is None:
            self._by_id[producer_id] = _Producer(header.producer_epoch, None, last_offset)
        elif header.producer_epoch > known.epoch:
            known.epoch, known.last_sequence = header.producer_epoch, -1
        first_offset = self.open.pop(producer_id, None)
        if not is_aborted:
            return None
        stable = next(iter(self.open.values()), last_offset + 1)
        return Aborted(producer_id, first_offset, last_offset, stable)

    def to_json(self) -> dict[str, Any]:
        """Return the state as a document, of which `from_json` makes it again."""
        known = {
            str(number): [one.epoch, one.last_sequence, one.last_offset]
            for number, one in self._by_id.items()
        }
        return {"known": known, "open": [*self.open.items()]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Producers":
        """Return the state that a document has."""
        producers = cls()
        producers.open = dict(document["open"])
        for number, row in document["known"].items():
            producers._by_id[int(number)] = _Producer(*row)
        return producers

    @staticmethod
    def _judge(header: BatchHeader, known: _Producer) -> Complaint | None:
        who = f"producer {header.producer_id}, epoch {header.producer_epoch}"
        if header.producer_epoch < known.epoch:
            detail = f"{who}, after a batch of epoch {known.epoch}"
            return Complaint(BrokerFault.PRODUCER_EPOCH, detail)
        if known.last_sequence is None:
            return None
        expected = 0
        if header.producer_epoch == known.epoch:
            expected = (known.last_sequence + 1) % _SEQUENCES
        if header.base_sequence == expected:
            return None
        detail = f"{who}: sequence {header.base_sequence}, expected {expected}"
        is_later = (header.base_sequence - expected) % _SEQUENCES < _SEQUENCES // 2
        kind = BrokerFault.SEQUENCE_GAP if is_later else BrokerFault.DUPLICATE_SEQUENCE
        return Complaint(kind, detail)
