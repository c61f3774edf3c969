"""Judge the leader epochs of batches: they ascend, and are those on record.

`leader-epoch-checkpoint` says from which offset on each leader wrote. The checksum of a batch does
not cover its epoch, so nothing else shows that it was altered. Without the file, an epoch that goes
up for one batch, and down again, is wrong in that batch. Pure. Source: Kafka: LeaderEpochFileCache.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kminilog.broker_files.checkpoints import LeaderEpoch

_NONE = -1
_NEVER = 1 << 64


class BatchPlace(NamedTuple):
    """Where a batch stands."""

    segment: str
    offset: int
    position: int


class EpochFault(NamedTuple):
    """What is wrong with the epoch of a batch, and where that batch is."""

    detail: str
    place: BatchPlace


class LeaderEpochs:
    """The epoch of the batches so far, and those on record, None if nothing is."""

    def __init__(
        self,
        on_record: Sequence[LeaderEpoch] | None = None,
        read_again: Callable[[], Sequence[LeaderEpoch] | None] | None = None,
    ) -> None:
        """Begin without a batch; `read_again` returns what is on record by now."""
        self.on_record = on_record
        self._read_again = read_again
        self.epoch = _NONE
        self._before = _NONE
        self._changed_at: BatchPlace | None = None
        self._last_told: tuple[int, int] | None = None
        self.next_start = 0 if on_record else _NEVER

    def take(self, epoch: int, place: BatchPlace) -> EpochFault | None:
        """Take a batch whose epoch is not `epoch`, or which is not below `next_start`.

        >>> epochs = LeaderEpochs()
        >>> [epochs.take(epoch, BatchPlace("", at, 0)) for at, epoch in enumerate([0, 3])]
        [None, None]
        >>> tuple(epochs.take(0, BatchPlace("", 2, 0)).place)
        ('', 1, 0)
        >>> epochs = LeaderEpochs([LeaderEpoch(0, 0), LeaderEpoch(3, 170)])
        >>> epochs.take(1, BatchPlace("", 40, 0)).detail
        'leader epoch 1, on record is 0'
        """
        if self.on_record:
            slot = bisect_right(self.on_record, place.offset, key=lambda row: row.start_offset)
            rows = self.on_record
            self.next_start = rows[slot].start_offset if slot < len(rows) else _NEVER
            if slot:
                return self._compare(epoch, rows[slot - 1].epoch, place)
        fault = None
        if epoch < self.epoch:
            if epoch == self._before and self._changed_at:
                fault = EpochFault(
                    f"leader epoch {self.epoch}, but {epoch} before and after", self._changed_at
                )
            else:
                fault = EpochFault(f"leader epoch {epoch}, after {self.epoch}", place)
        self._before, self.epoch, self._changed_at = self.epoch, epoch, place
        return fault

    def has_said(self, before: Sequence[Sequence[int]] | None, start: int, stop: int) -> bool:
        """Tell if the record said the same of the offsets `start` to `stop` - 1 `before`.

        >>> epochs = LeaderEpochs([LeaderEpoch(0, 60), LeaderEpoch(3, 170), LeaderEpoch(4, 200)])
        >>> [epochs.has_said([(0, 0), (3, 170)], start, 190) for start in (0, 60)]
        [False, True]
        """
        return _between(before, start, stop) == _between(self.on_record, start, stop)

    def _compare(self, epoch: int, recorded: int, place: BatchPlace) -> EpochFault | None:
        self.epoch = recorded
        is_told, self._last_told = self._last_told == (epoch, recorded), (epoch, recorded)
        if epoch == recorded or is_told:  # a wrong record is told once, not for each batch
            return None
        before = self.on_record
        if epoch > recorded and self._read_again:
            self.on_record = self._read_again()  # a leader may have been elected meanwhile
        if self.on_record != before:
            return self.take(epoch, place)
        return EpochFault(f"leader epoch {epoch}, on record is {recorded}", place)


def _between(rows: Sequence[Sequence[int]] | None, start: int, stop: int) -> list[tuple[int, int]]:
    """Return the epochs of offsets `start` to `stop` - 1, each with the first one of these."""
    ends = [*(first for _, first in (rows or [])[1:]), stop]
    return [
        (epoch, max(first, start))
        for (epoch, first), end in zip(rows or [], ends, strict=False)
        if max(first, start) < min(end, stop)
    ]
