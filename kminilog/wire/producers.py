"""Idempotent producers: a batch that is sent again is stored once, also after a restart.

A producer numbers its records in each partition: (producer id, epoch, sequence). For each producer
the last batches are known, with their offsets. Format v0 has no room for that. So it stands in a
file beside the log:

    .producers/orders-0    the topic's id, then an entry of 30 bytes for each batch

    producer id  epoch  first sequence  records  first offset  CRC-32
      int64      int16  int32           int32    int64         uint32

An entry is written *before* its batch. After a kill -9, and under a new leader, it counts as far as
the log goes at that time: so a broker reads the file before it appends anything. (Another command
that appends between the two makes the last entry count for more.) Of a batch that is only half
there, the rest is stored when it comes again, as a batch of its own. A power failure may take
entries whose messages stay; then a batch that is sent again is stored twice.
Source: ours; Kafka: ProducerStateManager, which takes it from the batches of format v2.
"""

import os
import struct
from collections import OrderedDict, deque
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from kminilog.wire.errors import Code, RefusedError
from kminilog.wire.record_sets import Sequence

PRODUCERS_DIR = ".producers"
KNOWN_BATCHES = 12
"""A client has 5 on their way. Each leader that crashes may leave one of them in two pieces."""
KNOWN_PRODUCERS = 10_000
_MOST_REFUSED = 10  # of the batches after one that was refused: a client has 4 on their way
_ENTRY = struct.Struct(">qhiiqI")
_FEW_ENTRIES = 50_000  # a file with more is written anew, once half of it counts no longer


class KnownBatch(NamedTuple):
    """A batch of a producer that is in the log, and where."""

    sequence: Sequence
    records: int
    first_offset: int

    @property
    def next_sequence(self) -> int:
        """The sequence of the record after its last."""
        return self.sequence.after(self.records)


class Stored(NamedTuple):
    """How many records of a batch are in the log already, and the offset of the first."""

    records: int
    first_offset: int


class IdempotentProducers:
    """The idempotent producers of one partition, while one broker leads it.

    A client has several batches on their way. The first may reach a broker just before it becomes
    the leader, and be refused; the next reaches it just after. Kafka calls this next one out of
    order. Then librdkafka takes a new epoch, and sends again what it does not know to be stored,
    also to other partitions: it may be there twice. So a leader after the first one, `is_later`,
    says a few times that it does not lead, and the client sends both again, in order. That ends
    with the first batch that it stores of this producer.
    """

    def __init__(
        self, path: Path, topic_id: str, log_end_offset: int, *, is_later: bool = False
    ) -> None:
        self._path = path
        self._is_later = is_later
        self._refusals_left: OrderedDict[int, int] = OrderedDict()  # by producer
        self._head = topic_id.encode() + b"\n"
        self._known: OrderedDict[int, deque[KnownBatch]] = OrderedDict()
        self._count = self._size_bytes = 0
        self._descriptor = -1
        for entry in self._entries():
            records = min(entry.records, log_end_offset - entry.first_offset)
            if records > 0:
                self._learn(entry._replace(records=records))
        self._write_anew()

    def stored(self, sequence: Sequence, records: int) -> Stored | None:
        """Return what is in the log of a batch that comes again; None for one that comes next.

        Raises RefusedError for a sequence that is not the next one, and for an older epoch.
        """
        known = self._known.get(sequence.producer_id)
        if known is None:
            self._check_is_no_gap(sequence, 0)
            return None  # whatever its sequence: its entries may be gone with old files
        last = known[-1]
        if sequence.epoch < last.sequence.epoch:
            reason = f"epoch {sequence.epoch}, but {last.sequence.epoch} was seen"
            raise RefusedError(Code.INVALID_PRODUCER_EPOCH, reason)
        if found := _found(known, sequence, records):
            return found
        expected = last.next_sequence if sequence.epoch == last.sequence.epoch else 0
        self._check_is_no_gap(sequence, expected)
        if sequence.first != expected:
            reason = f"sequence {sequence.first}, but {expected} is the next one"
            raise RefusedError(Code.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)
        return None

    def begin(self, batch: KnownBatch) -> None:
        """Note a batch that is about to be appended, so that a kill -9 does not lose it.

        Once it is in the log, `learn` it; if that fails, `take_back`. Raises OSError.
        """
        if self._count >= self._most_entries:
            self._write_anew()
        data = _packed(batch)
        try:
            if os.write(self._descriptor, data) < len(data):
                raise OSError(f"{self._path}: an entry was not written whole")
        except OSError:
            self.take_back()
            raise

    def learn(self, batch: KnownBatch) -> None:
        """Know the batch that `begin` has noted: it is in the log."""
        self._set_refusals_left(batch.sequence.producer_id, 0)
        self._count += 1
        self._size_bytes += _ENTRY.size
        self._learn(batch)

    def take_back(self) -> None:
        """Forget what `begin` has noted: nothing of it is in the log."""
        os.ftruncate(self._descriptor, self._size_bytes)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _check_is_no_gap(self, sequence: Sequence, expected: int) -> None:
        """Raise RefusedError for a batch before which one may have been refused a moment ago."""
        left = self._refusals_left.get(sequence.producer_id, _MOST_REFUSED)
        if self._is_later and left and sequence.first > expected:
            self._set_refusals_left(sequence.producer_id, left - 1)
            reason = f"sequence {sequence.first}, but {expected} is to be sent again before"
            raise RefusedError(Code.NOT_LEADER_OR_FOLLOWER, reason)

    def _set_refusals_left(self, producer: int, count: int) -> None:
        if self._is_later:
            self._refusals_left[producer] = count
            self._refusals_left.move_to_end(producer)
            if len(self._refusals_left) > KNOWN_PRODUCERS:
                self._refusals_left.popitem(last=False)

    def _entries(self) -> list[KnownBatch]:
        """Return the entries of the file; none if it is of an earlier topic of this name."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        head = len(self._head)
        if data[:head] != self._head:
            return []
        found = []
        for at in range(head, len(data) - _ENTRY.size + 1, _ENTRY.size):
            producer, epoch, first, records, offset, crc = _ENTRY.unpack_from(data, at)
            if crc32(data[at : at + _ENTRY.size - 4]) != crc:
                break  # what a power failure has left
            found.append(KnownBatch(Sequence(producer, epoch, first), records, offset))
        return found

    def _learn(self, batch: KnownBatch) -> None:
        producer = batch.sequence.producer_id
        self._known.setdefault(producer, deque(maxlen=KNOWN_BATCHES)).append(batch)
        self._known.move_to_end(producer)
        if len(self._known) > KNOWN_PRODUCERS:
            self._known.popitem(last=False)

    def _write_anew(self) -> None:
        """Write a file with what still counts, and continue in it."""
        batches = [batch for known in self._known.values() for batch in known]
        data = self._head + b"".join(map(_packed, batches))
        new = self._path.with_name(f"{self._path.name}.new")
        self._path.parent.mkdir(exist_ok=True)
        new.write_bytes(data)
        new.replace(self._path)
        before, self._descriptor = self._descriptor, os.open(self._path, os.O_WRONLY | os.O_APPEND)
        self._count, self._size_bytes = len(batches), len(data)
        self._most_entries = max(_FEW_ENTRIES, 2 * len(batches))
        if before >= 0:
            os.close(before)


def _found(known: deque[KnownBatch], sequence: Sequence, records: int) -> Stored | None:
    """Return what is known of a batch: one entry, or those of its pieces, one after the other."""
    first_offset, found, expected = -1, 0, sequence
    for batch in known:
        if batch.sequence == expected and found + batch.records <= records:
            first_offset = first_offset if found else batch.first_offset
            found += batch.records
            expected = batch.sequence._replace(first=batch.next_sequence)
    # Else these are other batches, which only begin as this one does.
    is_same = found == records or (found and expected.first == known[-1].next_sequence)
    return Stored(found, first_offset) if is_same else None


def _packed(batch: KnownBatch) -> bytes:
    data = _ENTRY.pack(*batch.sequence, batch.records, batch.first_offset, 0)[:-4]
    return data + crc32(data).to_bytes(4)
