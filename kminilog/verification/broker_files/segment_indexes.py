"""The three index files of a segment: read before its log, judged after it.

So what a broker appends meanwhile is not in them. Only a transaction that ends meanwhile would lack
its entry, and a new segment its file: both are looked for once more, at the end.
"""

from collections.abc import Collection, Iterator

from kminilog.broker_files.directory import SegmentFiles
from kminilog.broker_files.untouched import read_untouched
from kminilog.format.names import INDEX_SUFFIX
from kminilog.verification.broker_files.faults import (
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    BrokerFault,
)
from kminilog.verification.broker_files.index_checks import (
    OffsetIndexCheck,
    SegmentIndexFault,
    TimeIndexCheck,
    transaction_index_faults,
)
from kminilog.verification.broker_files.producers import Aborted


class SegmentIndexes:
    """The indexes of one segment. The batches are told to `offsets` and `times`; raises OSError.

    `aborted` takes each transaction that was aborted, `starts` the first offset of each later one.
    """

    def __init__(self, files: SegmentFiles) -> None:
        self._files = files
        entries, times = self._read(INDEX_SUFFIX), self._read(TIME_INDEX_SUFFIX)
        self._has_index, self._has_times = entries is not None, times is not None
        self.offsets = OffsetIndexCheck(entries or b"", files.base_offset)
        self.times = TimeIndexCheck(times or b"", files.base_offset)
        self._aborted_data = self._read(TRANSACTION_INDEX_SUFFIX)
        self.aborted: list[Aborted] = []
        self.starts: set[int] = set()

    def faults(
        self,
        batch_bytes: int,
        last_batch: int | None,
        greatest: int,
        lost: Collection[range],
        *,
        is_last: bool,
    ) -> Iterator[SegmentIndexFault]:
        """Yield all faults, after the last batch was told.

        It begins at `last_batch`, None if there is none; `greatest` is the greatest timestamp.
        """
        if self._has_index:
            yield from self.offsets.faults(batch_bytes, last_batch or 0, is_last=is_last)
        elif last_batch is not None:
            yield from self._missing(BrokerFault.INDEX_SPARSE, INDEX_SUFFIX)
        if self._has_times:
            yield from self.times.faults(greatest, is_last=is_last)
        elif greatest >= 0:  # a broker of format v0 has none
            yield from self._missing(BrokerFault.TIME_INDEX_SPARSE, TIME_INDEX_SUFFIX)
        later_data = self._read(TRANSACTION_INDEX_SUFFIX)
        yield from transaction_index_faults(
            self._aborted_data, later_data, self.aborted, self.starts, lost
        )

    def _missing(self, kind: BrokerFault, suffix: str) -> Iterator[SegmentIndexFault]:
        if self._read(suffix) is None:
            detail = f"there is no {self._files.path(suffix).name}"
            yield SegmentIndexFault(kind, detail, None, None)

    def _read(self, suffix: str) -> bytes | None:
        try:
            return read_untouched(self._files.path(suffix))
        except FileNotFoundError:
            return None
