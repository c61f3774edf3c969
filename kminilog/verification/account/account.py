"""What became of the records of a source and of the messages of a topic: counts and samples.

Records and messages with the same key and value are *copies*. The copies in the source are numbered
in source order, those in the log by partition and offset. The n-th copy in the source is paired
with the n-th copy in the log:

    source   a  b  a  c  r       a1 - a1       in order
    log      a  b  a  a  d       b1 - b1       in order
                                 a2 - a2       in order
                                      a3       duplicate: the source has this less often
                                 c1 -          missing
                                 r1 -          rejected, if it is known to be, else missing
                                      d1       extra: the source has nothing like it

Rejected records are numbered after their copies, so that stored messages are paired with the other
copies. A pair is out of order if, in its partition, a record with the same key that comes later in
the source stands before it. If a copy is missing or there are too many, nobody can tell which copy
is which; so the order of these is not checked. A record that cannot be decoded is a copy of
nothing. Source: ours.
"""

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kminilog.jobs.source.description import Place
from kminilog.verification.causes import Slot
from kminilog.verification.findings import SAMPLE_COUNT

REJECTED, SHOWN = "rejected", "shown"


class StoredPlace(NamedTuple):
    """Where a message is in its topic; `segment` is the base offset of its segment."""

    partition: int
    offset: int
    position: int
    segment: int


class Sample(NamedTuple):
    """A record and its message. `stored` is None if it is missing, `source` if it is extra.

    For a duplicate, `source` is the first copy in the source. `key` has the first bytes of the key.
    `partition` is where a missing record belongs, or UNKNOWN; `slot` says between which messages,
    if that is known.
    """

    source: Place | None
    stored: StoredPlace | None
    key: bytes | None
    partition: int
    slot: Slot | None = None


class PairGroup(NamedTuple):
    """The pairs of one kind: how many, and the first SAMPLE_COUNT."""

    total: int
    samples: list[Sample]


Groups = dict[str, PairGroup]


class Account(NamedTuple):
    """What became of all records and messages.

    `source` and `stored` were counted while they were read, `groups` while they were compared. A
    group's name is a class of findings, or REJECTED, or SHOWN for pairs that are asked for. `steps`
    are those that were taken; `parts` have a line for every finding, if asked.
    """

    source: int
    stored: int
    groups: Groups
    steps: list[str]
    parts: Sequence[str] = ()

    def count(self, kind: str) -> int:
        """Return how many pairs are of a kind; 0 for a kind without a group."""
        return self.groups[kind].total if kind in self.groups else 0

    def samples(self) -> list[Sample]:
        """Return the samples of all kinds."""
        return [sample for group in self.groups.values() for sample in group.samples]


def merged(parts: Iterable[Groups]) -> Groups:
    """Return the groups of several parts as one; the first samples are kept."""
    found: Groups = {}
    for part in parts:
        for kind, group in part.items():
            before = found.get(kind, PairGroup(0, []))
            both = [*before.samples, *group.samples]
            samples = heapq.nsmallest(SAMPLE_COUNT, both, key=_in_order)
            found[kind] = PairGroup(before.total + group.total, samples)
    return found


def _in_order(sample: Sample) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """By the place in the source, then in the log."""
    return sample.source or (-1,), sample.stored or (-1,)
