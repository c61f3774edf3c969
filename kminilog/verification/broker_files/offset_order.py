"""Judge a batch whose offset does not follow the one before it: which fault it is.

    the batch after it goes on where this     offset-disorder: its own offset is damaged, since the
    one should have gone on                   checksum does not cover it
    it fills a gap that was found before      offset-disorder: batches have changed places
    it begins later                           a gap, which compaction may explain
    it begins earlier                         offset-overlap

Pure: offsets in, a verdict out. Source: ours; Kafka: UnifiedLog, OffsetsOutOfOrderException.
"""

from typing import NamedTuple

from kminilog.verification.broker_files.faults import BrokerFault


class MissingOffsets(NamedTuple):
    """Offsets that are not there: `start` to `stop` - 1. The place is the batch after them.

    `is_at_leader` tells if that is the first batch of another leader.
    """

    start: int
    stop: int
    segment: str
    position: int
    is_at_leader: bool = False


class OffsetVerdict(NamedTuple):
    """What is wrong, None if only offsets are missing in front of the batch.

    `base_offset` is where the batch should begin, None if it does not belong here at all. Then
    neither indexes nor its producer are asked about it. `next_offset` should follow it.
    """

    kind: BrokerFault | None
    detail: str
    base_offset: int | None
    next_offset: int


def judge_offset(
    expected: int,
    base_offset: int,
    last_offset: int,
    following: int | None,
    gaps: list[MissingOffsets],
) -> OffsetVerdict:
    """Return what is wrong with a batch that does not begin with the offset `expected`.

    `following` is where the batch after it begins. `gaps` are those found so far; what fills a part
    of one takes it away from there.

    >>> judge_offset(10, 26, 35, following=20, gaps=[]).detail
    'offset 26, but its neighbours need 10'
    >>> judge_offset(10, 20, 29, following=30, gaps=[]).kind is None
    True
    >>> gaps = [MissingOffsets(10, 20, "", 0)]
    >>> judge_offset(30, 10, 19, following=30, gaps=gaps).detail, gaps
    ('offsets 10 to 19 have changed places with later ones', [])
    >>> judge_offset(10, 0, 9, following=10, gaps=[]).kind.value
    'offset-overlap'
    """
    by_neighbours = expected + last_offset - base_offset + 1
    if following == by_neighbours and last_offset >= base_offset:
        detail = f"offset {base_offset}, but its neighbours need {expected}"
        return OffsetVerdict(BrokerFault.OFFSET_DISORDER, detail, expected, by_neighbours)
    if base_offset > expected:
        return OffsetVerdict(None, "", base_offset, last_offset + 1)
    for slot, gap in enumerate(gaps):
        if gap.start <= base_offset <= last_offset < gap.stop:
            left = gap._replace(stop=base_offset), gap._replace(start=last_offset + 1)
            gaps[slot : slot + 1] = [one for one in left if one.start < one.stop]
            detail = f"offsets {base_offset} to {last_offset} have changed places with later ones"
            return OffsetVerdict(BrokerFault.OFFSET_DISORDER, detail, None, expected)
    detail = f"offsets {base_offset} to {last_offset}, but all below {expected} were there before"
    next_offset = max(expected, last_offset + 1)
    return OffsetVerdict(BrokerFault.OFFSET_OVERLAP, detail, None, next_offset)
