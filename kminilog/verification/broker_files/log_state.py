"""What the batches of a log so far say of the ones to come: the state from segment to segment.

Memory is that of the producers and of the last gaps. Pure. Source: ours.
"""

from collections import deque
from dataclasses import dataclass, field

from kminilog.verification.broker_files.leader_epochs import BatchPlace, LeaderEpochs
from kminilog.verification.broker_files.offset_order import MissingOffsets
from kminilog.verification.broker_files.producers import Producers

_MOST_GAPS = 1000


@dataclass
class LogState:
    """What the batches so far say of the ones to come; `next_offset` is None before the first."""

    next_offset: int | None = None
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    producers: Producers = field(default_factory=Producers)
    gaps: list[MissingOffsets] = field(
        default_factory=list
    )  # the last ones: later batches may fill them
    older_gaps: list[MissingOffsets] = field(default_factory=list)
    further_gaps: int = 0  # nobody keeps these
    further_missing: int = 0  # offsets in them
    lost: deque[range] = field(default_factory=deque)  # offsets that are not there, ascending
    damaged_until: int = 0  # in front of it bytes could not be read
    missing_until: int = 0  # in front of it offsets are missing, and with them sequences
    open_places: dict[int, BatchPlace] = field(default_factory=dict)  # where transactions began

    def lose(self, start: int, stop: int) -> None:
        """Note offsets that are not there. Of many, the oldest become one, with all between."""
        self.lost.append(range(start, stop))
        if len(self.lost) > _MOST_GAPS:
            oldest = self.lost.popleft()
            self.lost[0] = range(oldest.start, self.lost[0].stop)

    def miss(self, gap: MissingOffsets) -> None:
        """Note offsets that are missing between batches; who asks why comes later."""
        self.gaps.append(gap)
        self.missing_until = gap.stop
        self.lose(gap.start, gap.stop)
        if len(self.gaps) > _MOST_GAPS:
            oldest = self.gaps.pop(0)
            if len(self.older_gaps) < _MOST_GAPS:
                self.older_gaps.append(oldest)
            else:
                self.further_gaps += 1
                self.further_missing += oldest.stop - oldest.start
